from pathlib import Path

import pytest

from agentls.agent import saving
from agentls.errors import LeaseLost, LogConflict, LogNotWritten, SessionReadOnly
from agentls.protocol.events.storage import AccessChanged, StorageFailed, StorageRecovered
from agentls.sessions.loading import load
from agentls.state.selectors import activity
from tests.support.agents import PersonHost, Story, open_agent, until
from tests.support.scenarios import calls, says
from tests.support.stores import RefusingStore, agent_over

FULL = LogNotWritten("the log of s1 cannot be written: no space left on device")
TAKEN = LeaseLost("session s1 is now written by lsp, process 4711 on otherhost")


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that cannot be written is tried again soon."""
    monkeypatch.setattr(saving, "RETRY_SECONDS", 0.02)


@pytest.fixture
def store() -> RefusingStore:
    return RefusingStore()


def told(story: Story, kind: type) -> list:
    events = [moment.envelope.event for moment in story.moments if moment.envelope]
    return [event for event in events if isinstance(event, kind)]


async def test_a_turn_that_cannot_be_kept_waits_and_says_why(
    folder: Path, store: RefusingStore
) -> None:
    workspace = agent_over(store, folder, says("hi"))
    session = await workspace.new_session("s1")
    story = Story(session)
    store.refusal = FULL
    session.prompt("one")
    await until(lambda: store.attempts >= 3)
    trouble = session.state.storage
    assert trouble is not None
    assert trouble.message == str(FULL)
    assert trouble.unsaved_bytes > 0
    assert not trouble.accepted
    assert session.state.turn is not None
    assert activity(session.state).status == "waiting"
    assert story.lines == ["turn started"], "the model is not asked before the prompt is kept"
    assert not store.has("s1")
    store.refusal = None
    await session.idle()
    await workspace.aclose()
    assert session.state.storage is None
    assert story.lines == ["turn started", "text: hi", "turn finished"]
    assert len(told(story, StorageRecovered)) == 1
    assert load(store, "s1").state.history == session.state.history


async def test_trouble_that_stays_the_same_is_told_once(folder: Path, store: RefusingStore) -> None:
    workspace = agent_over(store, folder, says("hi"))
    session = await workspace.new_session("s1")
    story = Story(session)
    store.refusal = FULL
    session.prompt("one")
    await until(lambda: store.attempts >= 6)
    assert len(told(story, StorageFailed)) == 1
    since = session.state.storage.since
    store.refusal = LogNotWritten("another reason")
    await until(lambda: session.state.storage.message == "another reason")
    assert session.state.storage.since == since, "the trouble began with the first refusal"
    store.refusal = None
    await session.idle()
    await workspace.aclose()


async def test_a_turn_goes_on_unsaved_once_that_is_accepted_and_nothing_is_lost(
    folder: Path, store: RefusingStore
) -> None:
    workspace = agent_over(
        store, folder, calls("Read", file_path="a.txt"), says("one done"), says("two done")
    )
    session = await workspace.new_session("s1")
    story = Story(session)
    store.refusal = FULL
    session.prompt("one")
    await until(lambda: session.state.storage)
    session.continue_unsaved()
    assert session.state.storage.accepted
    assert activity(session.state).status == "running"
    await session.idle()
    assert story.lines[-2:] == ["text: one done", "turn finished"]
    assert session.state.storage is not None, "it is still not kept"
    session.prompt("two")
    await session.idle()
    assert session.state.storage.accepted, "it was accepted until there is room"
    assert not store.has("s1")
    store.refusal = None
    await session.save()
    assert session.state.storage is None
    assert load(store, "s1").state.history == session.state.history
    await workspace.aclose()


async def test_after_it_has_recovered_new_trouble_is_asked_about_anew(
    folder: Path, store: RefusingStore
) -> None:
    workspace = agent_over(store, folder, says("one"), says("two"))
    session = await workspace.new_session("s1")
    store.refusal = FULL
    session.prompt("one")
    await until(lambda: session.state.storage)
    session.continue_unsaved()
    await session.idle()
    store.refusal = None
    await session.save()
    store.refusal = FULL
    session.prompt("two")
    await until(lambda: session.state.storage)
    before = store.attempts
    await until(lambda: store.attempts > before + 2)
    assert session.state.turn is not None
    assert not session.state.storage.accepted
    store.refusal = None
    await session.idle()
    await workspace.aclose()


async def test_where_nobody_can_be_asked_the_turn_fails_and_says_so(
    folder: Path, store: RefusingStore
) -> None:
    workspace = agent_over(store, folder, says("hi"), host=PersonHost(can_ask=False))
    session = await workspace.new_session("s1")
    story = Story(session)
    store.refusal = FULL
    session.prompt("one")
    await session.idle()
    assert story.lines == ["turn started", "turn failed: LogNotWritten"]
    assert session.state.last_turn.error.message == str(FULL)
    store.refusal = None
    await workspace.aclose()
    assert load(store, "s1").state.last_turn.status == "failed", "nothing was lost"


async def test_a_turn_that_waits_for_room_can_be_cancelled(
    folder: Path, store: RefusingStore
) -> None:
    workspace = agent_over(store, folder, says("next"))
    session = await workspace.new_session("s1")
    store.refusal = FULL
    turn = session.prompt("one").turn_id
    await until(lambda: session.state.storage)
    assert session.cancel(turn)
    await session.idle()
    assert session.state.last_turn.status == "cancelled"
    assert activity(session.state).status == "idle"
    store.refusal = None
    session.prompt("two")
    await session.idle()
    assert session.state.last_turn.status == "completed"
    await workspace.aclose()
    assert [e.type for e in load(store, "s1").state.history] == ["user", "user", "answer"]


async def test_a_tool_does_not_run_before_its_intent_is_kept(
    folder: Path, store: RefusingStore
) -> None:
    workspace = agent_over(
        store, folder, calls("Bash", command="touch made"), says("ok"), mode="bypassPermissions"
    )
    session = await workspace.new_session("s1")

    def refuse_from_the_call_on(new, old) -> None:
        if new.envelope and new.envelope.event.type == "answerFinished" and not made.exists():
            store.refusal = FULL

    made = folder / "made"
    session.subscribe(refuse_from_the_call_on)
    session.prompt("one")
    await until(lambda: session.state.storage)
    assert not made.exists()
    store.refusal = None
    await session.idle()
    assert made.exists()
    await workspace.aclose()


@pytest.mark.parametrize("error", [TAKEN, LogConflict("somebody else has written to s1")])
async def test_a_session_that_another_process_took_becomes_read_only_and_says_whose_it_is(
    folder: Path, store: RefusingStore, error: Exception
) -> None:
    workspace = agent_over(store, folder, says("one"), says("two"))
    session = await workspace.new_session("s1")
    session.prompt("one")
    await session.idle()
    await session.flush()
    story = Story(session)
    store.refusal = error
    session.prompt("two")
    await session.idle()
    assert session.state.last_turn.status == "failed"
    assert session.state.last_turn.error.kind == type(error).__name__
    assert session.state.access.mode == "follower"
    assert told(story, AccessChanged)
    with pytest.raises(SessionReadOnly, match=str(error)):
        session.prompt("three")
    with pytest.raises(SessionReadOnly):
        session.set_mode("plan")
    with pytest.raises(SessionReadOnly):
        await session.rewind(session.state.history[0].id)
    await workspace.aclose()


async def test_a_session_that_another_process_took_can_be_closed_and_opened_again(
    folder: Path, store: RefusingStore
) -> None:
    workspace = agent_over(store, folder, says("one"), says("two"), says("three"))
    session = await workspace.new_session("s1")
    session.prompt("one")
    await session.idle()
    await session.flush()
    store.refusal = TAKEN
    session.prompt("two")
    await session.idle()
    await workspace.close_session("s1")
    assert not workspace.is_open("s1"), "what it holds can never be written here"
    assert workspace.app.now.state.notices[-1].message == str(TAKEN)
    store.refusal = None
    again = await workspace.load_session("s1")
    again.prompt("three")
    await again.idle()
    assert again.state.last_turn.status == "completed"
    await workspace.aclose()


async def test_a_session_whose_last_words_cannot_be_written_stays_until_they_are(
    folder: Path, store: RefusingStore
) -> None:
    workspace = agent_over(store, folder, says("hi"))
    session = await workspace.new_session("s1")
    session.prompt("one")
    await session.idle()
    await session.flush()
    store.refusal = FULL
    session.rename("A name")
    with pytest.raises(LogNotWritten):
        await workspace.close_session("s1")
    assert workspace.is_open("s1"), "what is not written is not let go of"
    store.refusal = None
    await workspace.close_session("s1")
    assert not workspace.is_open("s1")
    assert load(store, "s1").state.title == "A name"
    await workspace.aclose()


async def test_the_log_in_a_folder_waits_for_room_just_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = open_agent(folder, says("hi"), says("ho"))
    session = await workspace.new_session("s1")
    session.prompt("one")
    await session.idle()
    await session.flush()
    log = folder / ".agentls/sessions/s1.jsonl"
    hidden = log.with_name("hidden")
    log.rename(hidden)
    log.mkdir()
    session.prompt("two")
    await until(lambda: session.state.storage)
    assert session.state.turn is not None
    log.rmdir()
    hidden.rename(log)
    await session.idle()
    assert session.state.last_turn.status == "completed"
    assert session.state.storage is None
    await workspace.aclose()
    again = open_agent(folder)
    loaded = await again.load_session("s1")
    assert loaded.state.history == session.state.history
    await again.aclose()
