import tempfile
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings

from agentls.errors import ImportRefused, UnknownSession
from agentls.protocol.content import TextBlock
from agentls.protocol.events.conversation import UserMessageReceived
from agentls.sessions.folder import FolderStore
from agentls.sessions.interop.export import export_json
from agentls.sessions.interop.imports import import_session, read_import
from agentls.sessions.loading import events, load
from tests.support.lives import actions, lived
from tests.support.logs import log_of

FILES = Path(__file__).parent / "claude_code"


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / ".agentls")


@pytest.fixture
def elsewhere(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "elsewhere" / ".agentls")


def exported(store: FolderStore, session_id: str, path: Path, **changes: Any) -> Path:
    record = orjson.loads(export_json(store, session_id)) | changes
    path.write_bytes(orjson.dumps(record))
    return path


@pytest.mark.parametrize("name", ["plain", "many_shapes", "branches", "compacted", "subagents"])
async def test_export_imports_as_the_same_session(
    store: FolderStore, elsewhere: FolderStore, tmp_path: Path, name: str
) -> None:
    session_id, _ = await import_session(FILES / f"{name}.jsonl", store)
    path = tmp_path / "session.json"
    path.write_bytes(export_json(store, session_id))
    again, report = await import_session(path, elsewhere)
    assert (again, report.left_out) == (session_id, ())
    assert load(elsewhere, again).state == load(store, session_id).state
    assert events(elsewhere, again) == events(store, session_id)
    for chat_id in store.chats(session_id):
        assert events(elsewhere, again, chat_id) == events(store, session_id, chat_id)
    assert elsewhere.list() == store.list()


@settings(max_examples=60, deadline=None)
@given(actions)
def test_export_of_any_session_holds_every_event(steps: list[tuple[str, int]]) -> None:
    log = lived([("prompt", 0), *steps], nested=True).log
    with tempfile.TemporaryDirectory() as folder:
        sessions = Path(folder) / ".agentls" / "sessions"
        sessions.mkdir(parents=True)
        (sessions / "s1.jsonl").write_bytes(log_of(log))
        path = Path(folder) / "session.json"
        path.write_bytes(export_json(FolderStore(sessions.parent), "s1"))
        logs, report = read_import(path)
    assert report.left_out == ()
    assert list(logs["main"]) == log


async def test_export_imports_under_another_id_beside_the_first(
    store: FolderStore, tmp_path: Path
) -> None:
    session_id, _ = await import_session(FILES / "compacted.jsonl", store)
    path = exported(store, session_id, tmp_path / "session.json")
    again, _ = await import_session(path, store, session_id="another")
    first, second = load(store, session_id), load(store, "another")
    assert again == second.state.meta.id == "another"
    assert second.state.history == first.state.history
    assert session_id not in (tmp_path / ".agentls/sessions/another.jsonl").read_text()


async def test_values_beside_the_log_are_in_the_export(
    store: FolderStore, elsewhere: FolderStore, tmp_path: Path
) -> None:
    long = "x" * 200_000 + "\u2028 é"
    record = {
        "type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s1",
        "message": {"role": "user", "content": long},
    }  # fmt: skip
    (tmp_path / "s1.jsonl").write_bytes(orjson.dumps(record))
    session_id, _ = await import_session(tmp_path / "s1.jsonl", store)
    assert [*(tmp_path / ".agentls/sessions/s1/blobs").iterdir()]
    path = exported(store, session_id, tmp_path / "s1.json")
    await import_session(path, elsewhere)
    [prompt] = [
        envelope.event
        for envelope in events(elsewhere, "s1")
        if isinstance(envelope.event, UserMessageReceived)
    ]
    assert prompt.content == (TextBlock(text=long),)


async def test_event_of_a_newer_version_is_left_out_and_told(
    store: FolderStore, elsewhere: FolderStore, tmp_path: Path
) -> None:
    session_id, _ = await import_session(FILES / "plain.jsonl", store)
    known = orjson.loads(export_json(store, session_id))["events"]
    newer = {**known[-1], "event": {"type": "somethingNew"}}
    path = exported(store, session_id, tmp_path / "x.json", events=[*known[:3], newer, *known[3:]])
    _, report = await import_session(path, elsewhere)
    [out] = report.left_out
    assert (out.what, out.count, out.first_line) == ("events of a newer agentls", 1, 4)
    assert load(elsewhere, session_id).damage == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": 99}, "version 99"),
        ({"events": []}, "does not begin"),
        ({"events": None}, "holds no events"),
        ({"events": [{"seq": "x"}]}, "is damaged: main, event 0"),
        ({"chats": {"../x": []}}, "no id"),
        ({"chats": {"main": []}}, "no id"),
        ({"chats": {"side": 3}}, "holds no events of the conversation 'side'"),
    ],
)
async def test_export_that_is_none_is_refused(
    store: FolderStore, tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    session_id, _ = await import_session(FILES / "plain.jsonl", store)
    path = exported(store, session_id, tmp_path / "x.json", **changes)
    with pytest.raises(ImportRefused, match=words):
        read_import(path, session_id="other")


async def test_export_that_names_a_path_as_its_session_is_refused(
    store: FolderStore, tmp_path: Path
) -> None:
    session_id, _ = await import_session(FILES / "plain.jsonl", store)
    path = exported(store, session_id, tmp_path / "x.json")
    path.write_bytes(path.read_bytes().replace(session_id.encode(), b"../../etc/x"))
    with pytest.raises(ImportRefused, match="no id"):
        read_import(path)


def test_export_of_a_session_that_is_not_there(store: FolderStore) -> None:
    with pytest.raises(UnknownSession):
        export_json(store, "nothing")
