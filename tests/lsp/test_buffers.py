"""Files that are open in the editor go back there, so that the user sees it and can undo it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.open_buffer import OpenBuffer, capabilities
from tests.support.scenarios import calls, says, write_scenario
from tests.support.servers import Editor, editor

BEFORE = "one\ntwo\nthree\nfour\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return workspace


@asynccontextmanager
async def changed(
    folder: Path,
    before: bytes,
    after: bytes,
    *,
    encoding: str = "utf-16",
    whole: bool = True,
    can: dict[str, Any] | None = None,
) -> AsyncIterator[tuple[Editor, OpenBuffer]]:
    """Yield an editor that shows a file as a command of the session has left it."""
    (folder / "file.txt").write_bytes(before)
    (folder.parent / "after").write_bytes(after)
    copy = calls("Bash", command=f"cat '{folder.parent / 'after'}' > file.txt")
    scenario = write_scenario(folder.parent / "scenario.json", copy, says("done"))
    async with editor(folder, "--model", f"scripted:{scenario}", greet=False) as made:
        made.hello = await made.client.initialize(
            rootUri=folder.as_uri(),
            capabilities=can if can is not None else capabilities(encoding),
            initializationOptions={"agentls": {"version": 1}},
        )
        await made.new_session(mode="bypassPermissions")
        await made.prompt("change it")
        finished = await made.event("turnFinished")
        assert finished["status"] == "completed", finished
        wants_whole = made.hello["capabilities"]["textDocumentSync"]["change"] == 1
        buffer = OpenBuffer(made.client, folder / "file.txt", encoding, whole=whole or wants_whole)
        await buffer.open()
        yield made, buffer


async def rewind(made: Editor, **params: Any) -> dict[str, Any]:
    """Go back to before the prompt and return what became of the file."""
    got = await made.ask("state/get", sessionId="s1")
    first = got["snapshot"]["state"]["history"][0]["id"]
    result = await made.ask("session/rewind", sessionId="s1", messageId=first, **params)
    (file,) = result["files"]
    return file


async def redo(made: Editor) -> dict[str, Any]:
    (file,) = (await made.ask("session/redo", sessionId="s1"))["files"]
    return file


async def test_an_open_file_is_changed_in_the_editor_and_not_behind_it(folder: Path) -> None:
    after = BEFORE.replace("two", "2").encode()
    async with changed(folder, BEFORE.encode(), after) as (made, buffer):
        file = await rewind(made)
        assert (file["inEditor"], file["conflict"], file["failed"]) == (True, None, None)
        assert buffer.text == BEFORE
        assert (folder / "file.txt").read_bytes() == after, "the user saves it, or not"
        assert buffer.asked[0]["label"] == "agentls: rewind"


@pytest.mark.parametrize(
    ("before", "after", "start", "end", "new"),
    [
        (BEFORE, "one\n2\nthree\nfour\n", (1, 0), (2, 0), "two\n"),
        (BEFORE, "one\nfour\n", (1, 0), (1, 0), "two\nthree\n"),
        ("one\n", "one\ntwo\n", (1, 0), (2, 0), ""),
        ("one\ntwo\n", "one\n", (1, 0), (1, 0), "two\n"),
        ("", "one\n", (0, 0), (1, 0), ""),
        ("one\n", "", (0, 0), (0, 0), "one\n"),
        ("x\n", "y", (0, 0), (0, 1), "x\n"),
        ("x", "y\nz", (0, 0), (1, 1), "x"),
        ("a\na\na\n", "a\na\n", (2, 0), (2, 0), "a\n"),
        ("one\r\ntwo\r\n", "one\r\n2\r\n", (1, 0), (2, 0), "two\r\n"),
        ("one\rtwo\r", "one\r2\r", (1, 0), (2, 0), "two\r"),
    ],
)
async def test_only_the_lines_that_differ_are_replaced(
    folder: Path, before: str, after: str, start: tuple, end: tuple, new: str
) -> None:
    async with changed(folder, before.encode(), after.encode()) as (made, buffer):
        file = await rewind(made)
        assert file["failed"] is None
        (edit,) = buffer.edits
        where = edit["range"]
        assert tuple(where["start"].values()) == start
        assert tuple(where["end"].values()) == end
        assert edit["newText"] == new
        assert buffer.text == before


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_positions_are_counted_as_the_editor_counts(
    folder: Path, encoding: str, whole: bool
) -> None:
    before, after = "é𝄞\nold 𝄞", "é𝄞\nnew 𝄞é𝄞"
    async with changed(folder, before.encode(), after.encode(), encoding=encoding, whole=whole) as (
        made,
        buffer,
    ):
        assert made.hello["capabilities"]["positionEncoding"] == encoding
        await rewind(made)
        length = {"utf-8": 14, "utf-16": 9, "utf-32": 7}[encoding]
        assert buffer.edits[0]["range"]["end"] == {"line": 1, "character": length}
        assert buffer.text == before
        file = await redo(made)
        assert (file["conflict"], file["failed"]) == (None, None)
        assert buffer.text == after


@pytest.mark.parametrize("tells", ["before", "later"])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (BEFORE.encode(), b"one\n2\nthree\nfour\n"),
        (b"one\r\ntwo\r\n", b"one\r\n2\r\n3\r\n"),
        (b"\xef\xbb\xbfone\ntwo\n", b"\xef\xbb\xbfone\n2\n"),
        (b"one\ntwo", b"one\n2"),
        ("a\u2028b\nold\x0cer\x85\n".encode(), "a\u2028b\nnew\x0c\n".encode()),
        (b"", b"made\n"),
    ],
    ids=["lines", "CRLF", "BOM", "no final newline", "U+2028", "empty"],
)
async def test_what_went_back_in_the_editor_comes_again(
    folder: Path, before: bytes, after: bytes, whole: bool, tells: str
) -> None:
    async with changed(folder, before, after, whole=whole) as (made, buffer):
        buffer.tells = tells
        for expected, go in ((before, rewind), (after, redo), (before, rewind)):
            file = await go(made)
            assert (file["conflict"], file["failed"]) == (None, None)
            assert file["inEditor"]
            assert buffer.text == expected.decode("utf-8-sig")
            await buffer.all_told()


async def test_an_editor_that_refuses_is_told_of_and_the_disk_is_left_alone(folder: Path) -> None:
    async with changed(folder, BEFORE.encode(), b"2\n") as (made, buffer):
        buffer.mode = "refuse"
        file = await rewind(made)
        assert file["failed"] == "is open in the editor, which did not take its text"
        assert buffer.text == "2\n"
        assert (folder / "file.txt").read_bytes() == b"2\n"


async def test_an_editor_that_does_not_answer_is_waited_for_only_so_long(folder: Path) -> None:
    async with changed(folder, BEFORE.encode(), b"2\n") as (made, buffer):
        buffer.mode = "ignore"
        file = await rewind(made)
        assert file["failed"] == "is open in the editor, which did not take its text"
        assert (folder / "file.txt").read_bytes() == b"2\n"
        buffer.mode = "apply"
        await made.ask("state/get", sessionId="s1")


async def test_what_the_user_has_typed_is_a_conflict_and_can_be_forced_and_redone(
    folder: Path,
) -> None:
    async with changed(folder, BEFORE.encode(), b"2\n", whole=False) as (made, buffer):
        await buffer.type(0, 1, 1, " and mine")
        file = await rewind(made)
        assert file["conflict"] == "was changed in the editor since"
        assert buffer.asked == []
        await redo_nothing(made)
        file = await rewind(made, force=["file.txt"])
        assert file["failed"] is None
        assert buffer.text == BEFORE
        await redo(made)
        assert buffer.text == "2 and mine\n"


async def redo_nothing(made: Editor) -> None:
    result = await made.ask("session/redo", sessionId="s1")
    assert result["files"] == []


async def test_a_change_while_the_edit_is_on_its_way_is_not_overwritten(folder: Path) -> None:
    async with changed(folder, BEFORE.encode(), b"2\n", whole=False) as (made, buffer):
        buffer.version += 1  # a change of which the server does not know yet
        file = await rewind(made)
        assert file["failed"] is not None
        assert buffer.text == "2\n"


async def test_a_file_that_was_closed_again_is_changed_on_disk(folder: Path) -> None:
    async with changed(folder, BEFORE.encode(), b"2\n") as (made, buffer):
        await buffer.close()
        file = await rewind(made)
        assert (file["inEditor"], file["failed"]) == (False, None)
        assert buffer.asked == []
        assert (folder / "file.txt").read_bytes() == BEFORE.encode()


@pytest.mark.parametrize(
    "can",
    [
        {"workspace": {"applyEdit": True}},
        {"workspace": {"applyEdit": True, "workspaceEdit": {}}},
    ],
)
async def test_an_editor_without_versioned_edits_is_sent_the_plain_kind(
    folder: Path, can: dict[str, Any]
) -> None:
    async with changed(folder, BEFORE.encode(), b"2\n", can=can) as (made, buffer):
        asked: list[dict[str, Any]] = []

        def apply(params: dict[str, Any]) -> dict[str, Any]:
            asked.append(params)
            return {"applied": True}

        made.client.answers["workspace/applyEdit"] = apply
        file = await rewind(made)
        assert file["inEditor"], "what the user has open is not changed behind their back"
        (edit,) = asked[0]["edit"]["changes"][buffer.uri]
        assert edit["newText"] == BEFORE
        assert (folder / "file.txt").read_bytes() == b"2\n"


async def test_an_editor_that_cannot_be_edited_in_has_its_file_changed_on_disk(
    folder: Path,
) -> None:
    async with changed(folder, BEFORE.encode(), b"2\n", can={}) as (made, _):
        file = await rewind(made)
        assert (file["inEditor"], file["failed"]) == (False, None)
        assert (folder / "file.txt").read_bytes() == BEFORE.encode()


async def test_a_path_with_blanks_and_umlauts_is_found_in_the_editor(tmp_path: Path) -> None:
    folder = tmp_path / "ein Ördner #1"
    folder.mkdir()
    async with changed(folder, BEFORE.encode(), b"2\n") as (made, buffer):
        file = await rewind(made)
        assert file["inEditor"]
        assert buffer.text == BEFORE


async def test_the_server_answers_others_while_it_waits_for_the_editor(folder: Path) -> None:
    async with changed(folder, BEFORE.encode(), b"2\n") as (made, buffer):
        buffer.mode = "ignore"
        rewinding = asyncio.create_task(rewind(made))
        await made.client.wait_until(lambda: buffer.asked, "the edit")
        assert (await made.ask("app/get"))["state"]["sessions"] == ["s1"]
        assert (await rewinding)["failed"] is not None


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "BOM"])
async def test_after_the_user_has_saved_what_went_back_it_comes_again(
    folder: Path, mark: bytes
) -> None:
    before, after = mark + b"one\ntwo\n", mark + b"one\n2\n"
    async with changed(folder, before, after) as (made, buffer):
        await rewind(made)
        (folder / "file.txt").write_bytes(mark + buffer.text.encode())
        assert (folder / "file.txt").read_bytes() == before
        file = await redo(made)
        assert (file["conflict"], file["failed"]) == (None, None)
        assert buffer.text == after.decode("utf-8-sig")
