from pathlib import Path

import pytest

from agentls.cli.sessions_find import find_message, find_session, latest_prompt
from agentls.errors import InvalidRequest, UnknownMessage, UnknownSession
from agentls.sessions.folder import FolderStore
from agentls.sessions.interop.imports import import_session
from agentls.sessions.loading import load

FILE = Path(__file__).parents[1] / "sessions" / "interop" / "claude_code" / "plain.jsonl"


@pytest.fixture
async def store(tmp_path: Path) -> FolderStore:
    store = FolderStore(tmp_path / ".agentls")
    for session_id in ("alpha-1", "alpha-2", "beta"):
        await import_session(FILE, store, session_id=session_id)
    return store


def test_beginning_that_only_one_has_is_enough(store: FolderStore) -> None:
    assert find_session(store, "b") == "beta"
    assert find_session(store, "alpha-2") == "alpha-2"


def test_latest_is_the_newest(store: FolderStore) -> None:
    assert find_session(store, "latest") == store.list()[0].id


def test_beginning_that_several_have_lists_them(store: FolderStore) -> None:
    with pytest.raises(InvalidRequest, match=r"2 sessions: .*alpha-\d \(.*: The parser\)") as told:
        find_session(store, "alpha")
    assert "alpha-1" in str(told.value)
    assert "alpha-2" in str(told.value)


@pytest.mark.parametrize("typed", ["", "gamma", "../beta", "lates"])
def test_beginning_of_none_says_how_to_see_them(store: FolderStore, typed: str) -> None:
    with pytest.raises(UnknownSession, match="agentls sessions list"):
        find_session(store, typed)


def test_trash_is_looked_in_where_it_is_meant(store: FolderStore) -> None:
    store.trash("beta")
    with pytest.raises(UnknownSession):
        find_session(store, "beta")
    assert find_session(store, "be", trashed=True) == "beta"
    with pytest.raises(UnknownSession, match="--trashed"):
        find_session(store, "alpha-1", trashed=True)


def test_session_that_cannot_be_listed_is_found_by_its_whole_id(
    store: FolderStore, tmp_path: Path
) -> None:
    (tmp_path / ".agentls" / "sessions" / "newer.jsonl").write_text(
        '{"log":"agentls","version":9}\n'
    )
    assert find_session(store, "newer") == "newer"


def test_messages_are_found_by_their_beginning(store: FolderStore) -> None:
    state = load(store, "beta").state
    assert find_message(state, "0000000a") == "0000000a-0000-4000-8000-000000000000"
    assert latest_prompt(state) == "0000000a-0000-4000-8000-000000000000"
    assert find_message(state, "on another branch") == "on another branch"
    with pytest.raises(InvalidRequest, match="may be any of"):
        find_message(state, "00")
    with pytest.raises(UnknownMessage):
        latest_prompt(state.model_copy(update={"history": type(state.history)()}))
