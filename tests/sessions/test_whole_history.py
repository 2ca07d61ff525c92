from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentls.cli.sessions_plain import as_text
from agentls.protocol.events.kinds import MessageEvent
from agentls.protocol.history import CallResult, Summary
from agentls.sessions.chain import replay
from agentls.sessions.folder import FolderStore
from agentls.sessions.interop.imports import import_session, read_import
from agentls.sessions.loading import events, load
from agentls.sessions.whole_history import with_whole_history
from tests.support.claude_code import FILES, texts
from tests.support.lives import lived

FORWARD = (
    "prompt", "answer", "answer_with_calls", "start", "finish", "end", "steer", "notice", "compact",
    "compact_turn", "begin_compaction",
)  # fmt: skip


async def test_what_was_said_before_compactions_is_there_once(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / ".agentls")
    session_id, _ = await import_session(FILES / "compacted.jsonl", store)
    state = load(store, session_id).state
    whole = with_whole_history(state, events(store, session_id))
    assert texts(whole) == [
        "First.", "One.", "Second.", "Two.",
        "This session is being continued. First. One.",
        "Third.", "Three.", "- Bash ls (done)",
        "All of it, in short.",
        "Four, still in the third turn.", "Fifth.", "Five.",
    ]  # fmt: skip
    assert whole.model_copy(update={"history": state.history}) == state


@pytest.mark.parametrize("name", ["plain", "many_shapes", "branches", "subagents"])
def test_conversation_without_a_compaction_stays_as_it_is(name: str) -> None:
    envelopes = read_import(FILES / f"{name}.jsonl")[0]["main"]
    state = replay(envelopes)
    assert with_whole_history(state, envelopes) is state


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(FORWARD), st.integers(0, 1000)), max_size=60))
def test_whatever_was_said_is_there_once_and_in_order(steps: list[tuple[str, int]]) -> None:
    log = lived(steps, nested=True).log
    whole = with_whole_history(replay(log), log)
    said = [e.event.id for e in log if isinstance(e.event, MessageEvent)]
    shown = [entry.id for entry in whole.history if not isinstance(entry, CallResult)]
    assert shown == said


def test_compaction_whose_beginning_is_lost_begins_the_conversation() -> None:
    envelopes = read_import(FILES / "compacted.jsonl")[0]["main"]
    state = replay(envelopes)
    place = next(
        place
        for place, envelope in enumerate(envelopes)
        if getattr(envelope.event, "id", None) == state.history[0].model_dump()["id"]
    )
    whole = with_whole_history(state, [envelopes[0], *envelopes[place:]])
    assert whole.history == state.history
    assert isinstance(whole.history[0], Summary)
    assert "First." not in as_text(whole)
