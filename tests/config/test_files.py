import json
import multiprocessing
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from agentls.config import files
from agentls.config.files import DamagedFile, read_json, update_json
from agentls.errors import BadSettings, StorageError


def set_model(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "model": "m"}


def test_a_change_keeps_what_it_does_not_know(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"other": {"deep": [1, 1.5, null, "ü"]}, "model": "old"}')

    assert update_json(path, set_model)
    assert json.loads(path.read_text()) == {
        "other": {"deep": [1, 1.5, None, "ü"]},
        "model": "m",
    }


def test_a_new_file_and_its_folder_are_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "settings.json"

    update_json(path, set_model)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_change_that_changes_nothing_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"model":    "m"}')
    before = path.stat()

    assert not update_json(path, set_model)
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert path.stat().st_ino == before.st_ino
    assert not update_json(tmp_path / "none.json", lambda values: values)
    assert not (tmp_path / "none.json").exists()


def test_true_is_not_one(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"x": 1}')

    assert update_json(path, lambda _: {"x": True})
    assert path.read_text() == '{\n  "x": true\n}\n'


def test_the_change_cannot_spoil_what_it_is_given(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"x": []}')

    def change(values: dict[str, Any]) -> dict[str, Any]:
        values["x"].append(1)
        return values

    assert update_json(path, change)
    assert json.loads(path.read_text()) == {"x": [1]}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{\n "a": 1,\n "b"\n}', 4, "not JSON"),
        ('{"a": 1} x', 1, "not JSON"),
        ("[]", 1, "one JSON object"),
        ("", None, "empty"),
        (" \n ", None, "empty"),
        ("// only this", None, "empty"),
        ('{"a": 1, "a": 2}', None, "'a' stands twice"),
        ('{"a": NaN}', None, "NaN"),
        ("[" * 100_000, None, "not usable JSON"),
        ('{"a": "x\ny"}', 1, "not JSON"),
    ],
)
def test_a_damaged_file_is_named_with_its_line_and_left_alone(
    tmp_path: Path, text: str, line: int | None, message: str
) -> None:
    path = tmp_path / "settings.json"
    path.write_text(text)

    with pytest.raises(DamagedFile, match=message) as caught:
        update_json(path, set_model)

    assert caught.value.line == line
    assert str(path) in str(caught.value)
    assert line is None or f"line {line}" in str(caught.value)
    assert path.read_text() == text


def test_a_file_cut_at_any_byte_is_never_written_over(tmp_path: Path) -> None:
    whole = json.dumps({"permissions": {"deny": ["Bash(rm:*)", "Read(ü)"]}}, ensure_ascii=False)
    data = (whole + "\n").encode()
    path = tmp_path / "settings.json"

    for length in range(len(whole.encode())):
        path.write_bytes(data[:length])
        with pytest.raises(BadSettings):
            update_json(path, set_model)
        assert path.read_bytes() == data[:length]


def test_what_is_not_a_plain_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b" " * (files.LARGEST + 1))
    (tmp_path / "latin").write_bytes(b'{\n"a": "\xfc"}')

    with pytest.raises(DamagedFile, match="not a file"):
        read_json(tmp_path / "pipe")
    with pytest.raises(DamagedFile, match="not a file"):
        read_json(tmp_path)
    with pytest.raises(DamagedFile, match="larger"):
        read_json(tmp_path / "large")
    with pytest.raises(DamagedFile, match="line 2: it is not UTF-8"):
        read_json(tmp_path / "latin")
    assert read_json(tmp_path / "none") is None


def test_comments_are_read_past_and_never_lost(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    text = '\ufeff{ // one\n  "url": "http://x/*y*/", /* two\n */ "model": "m" }\n'
    path.write_text(text)
    file = read_json(path)

    assert file is not None
    assert file.values == {"url": "http://x/*y*/", "model": "m"}
    assert file.line_of("model") == 3
    assert not update_json(path, set_model)
    with pytest.raises(BadSettings, match="comments"):
        update_json(path, lambda values: {**values, "new": 1})
    assert path.read_text() == text


def test_a_link_to_the_settings_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    real = tmp_path / "dotfiles" / "settings.json"
    real.write_text("{}")
    path = tmp_path / "settings.json"
    path.symlink_to(real)

    update_json(path, set_model)

    assert path.is_symlink()
    assert json.loads(real.read_text()) == {"model": "m"}


def test_values_that_are_not_json_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{}")

    with pytest.raises(BadSettings, match="not JSON"):
        update_json(path, lambda _: {"x": float("inf")})
    with pytest.raises(BadSettings, match="not JSON"):
        update_json(path, lambda _: {"x": object()})  # type: ignore[dict-item]
    assert path.read_text() == "{}"


def test_a_write_that_fails_leaves_the_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"keep": 1}')

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        update_json(path, set_model)

    assert path.read_text() == '{"keep": 1}'
    assert not list(tmp_path.glob(".*.tmp"))


def test_who_holds_the_lock_is_waited_for_and_then_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "settings.json"
    monkeypatch.setattr(files, "LOCK_SECONDS", 0.05)

    with (
        FileLock(f"{path}.lock"),
        pytest.raises(StorageError, match="another process holds"),
    ):
        update_json(path, set_model)
    assert not path.exists()


def count_up(path: str, key: str, times: int) -> None:
    for _ in range(times):
        update_json(Path(path), lambda values: {**values, key: values.get(key, 0) + 1})


def test_processes_that_write_at_once_lose_nothing_of_each_other(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"permissions": {"deny": ["Bash(rm:*)"]}}')
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=count_up, args=(str(path), key, 15)) for key in ("a", "b", "c")]

    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert json.loads(path.read_text()) == {
        "permissions": {"deny": ["Bash(rm:*)"]},
        "a": 15,
        "b": 15,
        "c": 15,
    }


def write_forever(path: str) -> None:
    while True:
        update_json(
            Path(path), lambda values: {**values, "n": values.get("n", 0) + 1, "pad": "x" * 50_000}
        )


def test_a_writer_killed_at_any_moment_leaves_a_whole_file_and_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"keep": 1}')
    spawn = multiprocessing.get_context("spawn")
    for _ in range(3):
        before = path.read_text()
        writer = spawn.Process(target=write_forever, args=(str(path),))
        writer.start()
        while path.read_text() == before:
            writer.join(0.005)
        writer.kill()
        writer.join()

        file = read_json(path)
        assert file is not None
        assert file.values["keep"] == 1

    assert update_json(path, set_model)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(values=st.dictionaries(st.text(), JSON, max_size=4))
def test_any_values_come_back_as_they_were_written(
    values: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / "settings.json"

    update_json(path, lambda _: values)

    file = read_json(path)
    assert (file.values if file else {}) == values
