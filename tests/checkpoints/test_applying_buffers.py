import asyncio
import hashlib
import stat
from pathlib import Path

import pytest

from agentls.checkpoints.applying import Failure
from tests.support.checkpoints import Yard


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Editor:
    """Open buffers, as an editor has them."""

    def __init__(self) -> None:
        self.texts: dict[Path, bytes] = {}
        self.takes = True

    def text(self, path: Path) -> bytes | None:
        return self.texts.get(path)

    async def replace(self, path: Path, data: bytes) -> bool:
        if self.takes:
            self.texts[path] = data
        return self.takes


@pytest.fixture
def editor() -> Editor:
    return Editor()


@pytest.fixture
def edited(tmp_path: Path, editor: Editor) -> Yard:
    (tmp_path / "work").mkdir()
    return Yard(tmp_path / "work", buffers=editor)


async def test_open_buffer_is_restored_by_the_editor(edited: Yard, editor: Editor) -> None:
    path = edited.put("a", "one", mode=0o644)
    edited.shell("printf two > a; chmod 755 a")
    editor.texts[path] = b"two"
    outcome = await edited.rewind()
    assert outcome.failures == []
    assert editor.texts[path] == b"one"
    assert path.read_bytes() == b"two", "the editor has not saved it yet"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    (change,) = outcome.changes
    assert (change.before_sha256, change.after_sha256) == (sha(b"two"), sha(b"one"))
    path.write_bytes(editor.texts[path])
    await edited.rewind(outcome.changes)
    assert editor.texts[path] == b"two"


async def test_unsaved_text_is_a_conflict_and_is_kept_when_forced(
    edited: Yard, editor: Editor
) -> None:
    path = edited.put("a", "one")
    edited.shell("printf two > a")
    editor.texts[path] = b"being typed"
    outcome = await edited.rewind()
    assert [step.conflict for step in outcome.skipped] == ["was changed in the editor since"]
    assert editor.texts[path] == b"being typed"
    outcome = await edited.rewind(forced={"a"})
    assert editor.texts[path] == b"one"
    await edited.rewind(outcome.changes)
    assert editor.texts[path] == b"being typed"


async def test_editor_that_does_not_take_the_text_is_a_failure(
    edited: Yard, editor: Editor
) -> None:
    path = edited.put("a", "one")
    edited.shell("printf two > a")
    editor.texts[path] = b"two"
    editor.takes = False
    outcome = await edited.rewind()
    assert outcome.failures == [Failure("a", "is open in the editor, which did not take its text")]
    assert path.read_bytes() == b"two"


async def test_new_file_that_is_open_is_deleted_and_made_again(
    edited: Yard, editor: Editor
) -> None:
    edited.shell("printf new > a")
    path = edited.folder / "a"
    editor.texts[path] = b"new"
    outcome = await edited.rewind()
    assert not path.exists()
    outcome = await edited.rewind(outcome.changes)
    assert (outcome.skipped, outcome.failures) == ([], [])
    assert path.read_bytes() == b"new"


async def test_cancelled_rewind_finishes_its_file_and_says_what_it_did(
    edited: Yard, editor: Editor
) -> None:
    for name in ("a", "b"):
        editor.texts[edited.put(name, "one")] = b"two"
    edited.shell("printf two > a; printf two > b")
    begun, go_on = asyncio.Event(), asyncio.Event()
    original = editor.replace

    async def slow(path: Path, data: bytes) -> bool:
        begun.set()
        await go_on.wait()
        return await original(path, data)

    editor.replace = slow  # type: ignore[method-assign]
    made = len(edited.log)
    task = asyncio.create_task(edited.rewind())
    await begun.wait()
    task.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [change.path for change in edited.log[made:]] == ["a"]
    assert editor.texts == {edited.folder / "a": b"one", edited.folder / "b": b"two"}
    await edited.rewind()
    assert set(editor.texts.values()) == {b"one"}
