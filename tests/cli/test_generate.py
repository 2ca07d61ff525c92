import shutil
from pathlib import Path

import pytest

from tests.support.scripts import Script

GENERATED = (
    "client-vscode/src/methods.ts",
    "client-vscode/src/protocol.ts",
    "protocol-docs/openrpc.json",
    "protocol-docs/reference.md",
    "protocol-docs/schema.json",
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What `generate` needs of a checkout, with everything up to date."""
    place = tmp_path / "checkout"
    (place / "server" / "agentls" / "protocol").mkdir(parents=True)
    for name in GENERATED:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
    return place


def test_check_names_what_is_stale_and_writes_nothing(script: Script, checkout: Path) -> None:
    assert script.command("generate", "--root", str(checkout)).code == 0
    fresh = script.command("generate", "--check", "--root", str(checkout))
    assert (fresh.code, fresh.stdout, fresh.stderr) == (0, "", "")
    schema = checkout / "protocol-docs" / "schema.json"
    schema.write_text("{}")
    stale = script.command("generate", "--check", "--root", str(checkout))
    assert (stale.code, schema.read_text()) == (1, "{}")
    assert stale.told == f"agentls: {schema} is out of date; run `agentls generate`"


def test_generate_writes_what_differs_and_says_what(script: Script, checkout: Path) -> None:
    done = script.command("generate", "--root", str(checkout))
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [f"wrote {checkout / name}" for name in GENERATED]
    assert script.command("generate", "--root", str(checkout)).stdout == ""


def test_place_that_is_no_checkout_is_a_usage_error(script: Script, checkout: Path) -> None:
    none = script.command("generate", "--check", "--root", str(script.folder))
    assert (none.code, str(script.folder) in none.told) == (2, True)
    shutil.rmtree(checkout / "server")
    half = script.command("generate", "--check", "--root", str(checkout))
    assert (half.code, str(checkout) in half.told) == (2, True)


def test_place_that_cannot_be_written_is_one_line(script: Script, checkout: Path) -> None:
    (checkout / "protocol-docs" / "schema.json").mkdir()
    done = script.command("generate", "--root", str(checkout))
    assert (done.code, "schema.json" in done.told) == (1, True)
