import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from agentls.errors import ImportRefused, LogNotWritten
from agentls.protocol.events.conversation import AnswerFinished, UserMessageReceived
from agentls.protocol.history import Gap
from agentls.sessions.folder import FolderLog, FolderStore
from agentls.sessions.interop.imports import import_session, read_import
from agentls.sessions.loading import load
from tests.support.claude_code import FILES, assistant, call, left_out, result, texts, user, write


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / ".agentls")


@pytest.mark.parametrize("content", [b"", b"\n", b"{}", b"[1]\n", b"\x00" * 9, b"not\xff json\n"])
async def test_file_without_a_prompt_is_refused_and_leaves_nothing(
    store: FolderStore, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(ImportRefused, match="no prompt"):
        await import_session(path, store)
    assert not (tmp_path / ".agentls").exists()


def test_folder_log_of_ours_and_nothing_are_refused_with_the_way_out(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl", {"log": "agentls", "version": 2, "sessionId": "s1"})
    for path, words in (
        (tmp_path, "not a file"),
        (log, "export --format json"),
        (log.with_name("no"), "not a file"),
    ):
        with pytest.raises(ImportRefused, match=words):
            read_import(path)


async def test_damaged_file_is_carried_as_far_as_it_goes(
    store: FolderStore, tmp_path: Path
) -> None:
    """Torn, spliced, repeated lines, zeros, halves of characters, records that are missing."""
    spliced = orjson.dumps(user("u2", "a1", "Two.")) + orjson.dumps(assistant("a2", "u2"))
    surrogate = orjson.dumps(user("u3", "lost", "smile X.")).replace(b"X", b"\\ud83d")
    path = write(
        tmp_path / "s1.jsonl",
        b"\xef\xbb\xbf" + orjson.dumps(user("u1", None, "One.")),
        b'{"type":"user","uuid":"torn","mess',
        b"\x00\x00" + orjson.dumps(assistant("a1", "u1")) + b"\r",
        spliced,
        orjson.dumps(user("u2", "a1", "Two.")),
        surrogate,
        b"garbage",
        assistant("a3", "u3", call("c1"), {"type": "text", "text": ""}),
        orjson.dumps(user("r1", "a3", [result("c1"), result("c1"), result("c9")]))[:-5],
    )
    session_id, report = await import_session(path, store)
    state = load(store, session_id).state
    assert texts(state) == [
        "One.", "Yes.", "Two.", "Yes.", "smile \ufffd.", "- Bash (cancelled)",
    ]  # fmt: skip
    assert [type(entry) for entry in state.history if isinstance(entry, Gap)] == [Gap]
    assert left_out(report) == {
        "lines that are damaged": (3, 2), "records that are there twice": (1, 5),
    }  # fmt: skip


async def test_nothing_in_a_file_says_where_things_are_written(
    store: FolderStore, tmp_path: Path
) -> None:
    """Ids that are paths, an id of no text, a working folder that is elsewhere."""
    record = user("../../../u", None) | {"sessionId": "../../../etc/x", "cwd": "/etc"}
    session_id, _ = await import_session(write(tmp_path / "x.jsonl", record), store)
    assert session_id.startswith("imported-")
    again = read_import(tmp_path / "x.jsonl")[0]["main"][0].session_id
    assert again == session_id
    side = user("s", None, isSidechain=True, agentId="../../evil")
    odd = write(tmp_path / "y.jsonl", user("u1", None, uuid2=1), side, {"type": 7, "uuid": 3})
    other, _ = await import_session(odd, store)
    assert store.chats(other) == ("agent-------evil",)
    written = {path.name for path in await asyncio.to_thread(lambda: [*tmp_path.iterdir()])}
    assert written == {".agentls", "x.jsonl", "y.jsonl"}


def test_loops_and_orders_of_parents_lose_no_message(tmp_path: Path) -> None:
    path = write(
        tmp_path / "s1.jsonl",
        assistant("a1", "u1"),
        user("u1", "u0"),
        user("u0", None),
        user("l1", "l2"),
        user("l2", "l1"),
        user("own", "own"),
    )
    logs, report = read_import(path)
    messages = [
        e.event.id
        for e in logs["main"]
        if isinstance(e.event, UserMessageReceived | AnswerFinished)
    ]
    assert messages == ["u0", "u1", "a1", "l2", "l1", "own"]
    assert "parents that lead in a circle" in left_out(report)


async def test_mode_and_rules_are_not_taken_from_a_file(store: FolderStore, tmp_path: Path) -> None:
    path = write(tmp_path / "s1.jsonl", user("u1", None, permissionMode="bypassPermissions"))
    session_id, _ = await import_session(path, store, model="my-model")
    state = load(store, session_id).state
    assert (state.permissions.mode, state.permissions.rules) == ("default", ())
    assert state.model.effective == "my-model"


@pytest.mark.parametrize("after", [0, 1, 2])
async def test_import_that_cannot_be_written_leaves_nothing(
    store: FolderStore, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    flush: Callable[..., Any] = FolderLog.flush
    count = 0

    async def failing(log: FolderLog, *, durable: bool = False) -> None:
        nonlocal count
        count += 1
        if count > after:
            raise LogNotWritten("no room")
        await flush(log, durable=durable)

    monkeypatch.setattr(FolderLog, "flush", failing)
    with pytest.raises(LogNotWritten):
        await import_session(FILES / "subagents.jsonl", store)
    monkeypatch.undo()
    assert (store.list(), store.list(trashed=True)) == ((), ())
    session_id, _ = await asyncio.wait_for(import_session(FILES / "subagents.jsonl", store), 30)
    assert store.has(session_id)


def test_conversation_of_a_subagent_alone_names_its_session() -> None:
    file = FILES / "subagents" / "subagents" / "agent-ab12cd.jsonl"
    with pytest.raises(ImportRefused, match=r"904c3e46-.*\.jsonl, which brings this one"):
        read_import(file)
