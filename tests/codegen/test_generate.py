from pathlib import Path

import pytest

from agentls.cli.generate import MORE
from agentls.codegen.generate import check, generate, render
from agentls.errors import ConfigurationError
from agentls.protocol.wire_model import WireModel
from tests.support.wire_examples import ROOT

NAMES = {
    "client-vscode/src/methods.ts",
    "client-vscode/src/protocol.ts",
    "protocol-docs/openrpc.json",
    "protocol-docs/reference.md",
    "protocol-docs/schema.json",
}


class Line(WireModel):
    """A line."""

    text: str


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "server" / "agentls" / "protocol").mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize("name", sorted(NAMES))
def test_committed_file_is_what_the_protocol_says(name: str) -> None:
    committed = (ROOT / name).read_text("utf-8") if (ROOT / name).exists() else None

    if committed != render(MORE)[name]:
        pytest.fail(f"{name} is out of date: run `agentls generate` and commit what it writes")


def test_missing_files_are_written_and_named(checkout: Path) -> None:
    written = generate(checkout)

    assert {path.relative_to(checkout).as_posix() for path in written} == NAMES
    assert {path.relative_to(checkout).as_posix(): path.read_text("utf-8") for path in written} == (
        render()
    )


def test_second_time_nothing_is_written(checkout: Path) -> None:
    generate(checkout)
    before = {name: (checkout / name).stat().st_mtime_ns for name in NAMES}

    assert generate(checkout) == []
    assert {name: (checkout / name).stat().st_mtime_ns for name in NAMES} == before


def test_only_the_file_that_differs_is_written(checkout: Path) -> None:
    generate(checkout)
    stale = checkout / "protocol-docs" / "reference.md"
    stale.write_text("by hand")

    assert generate(checkout) == [stale]
    assert stale.read_text("utf-8") == render()["protocol-docs/reference.md"]


def test_line_ends_that_were_converted_count_as_a_difference(checkout: Path) -> None:
    generate(checkout)
    types = checkout / "client-vscode" / "src" / "protocol.ts"
    types.write_bytes(types.read_bytes().replace(b"\n", b"\r\n"))

    assert check(checkout) == [types]


def test_check_writes_nothing(checkout: Path) -> None:
    stale = check(checkout)

    assert {path.relative_to(checkout).as_posix() for path in stale} == NAMES
    assert not any(path.exists() for path in stale)


def test_more_types_go_to_the_schema_alone(checkout: Path) -> None:
    generate(checkout)

    assert check(checkout, [("Line", "serialization", Line)]) == [
        checkout / "protocol-docs" / "schema.json"
    ]


def test_elsewhere_than_in_a_checkout_the_way_out_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"is not a checkout of agentls.*top of one"):
        generate(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_every_file_says_that_it_is_generated_and_ends_in_one_line_end() -> None:
    for name, text in render().items():
        assert "GENERATED from server/agentls/protocol by `agentls generate`" in text[:400], name
        assert text.endswith("\n")
        assert not text.endswith("\n\n")
        assert "\r" not in text
