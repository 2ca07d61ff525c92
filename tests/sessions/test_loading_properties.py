"""What must hold for any session: however a log is read, it gives the state of its events."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentls.protocol.session_state import SessionState
from agentls.sessions.chain import choose, replay
from agentls.sessions.loading import events, load
from agentls.sessions.rows import row_of_envelope
from agentls.sessions.sealing import survey
from tests.support.lives import Life, actions, lived, settled
from tests.support.logs import OneLog, log_of

COMMON = (
    "prompt", "answer", "answer_with_calls", "start", "finish", "finish", "end", "end", "stream",
    "keep", "compact", "rewind", "redo", "queue", "unqueue", "todos", "title",
    "steer", "notice", "compact_turn", "begin_compaction", "clear_outputs", "add_task",
    "finish_task", "evict_tasks", "pay_subagent", "fast", "retry", "go_on", "cut",
)  # fmt: skip
long_lives = st.lists(
    st.tuples(st.sampled_from(COMMON), st.integers(0, 1000)), min_size=20, max_size=120
)


@pytest.fixture(scope="module")
def path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "s1.jsonl"


@settings(max_examples=150, deadline=None)
@given(actions | long_lives)
def test_the_loaded_state_is_the_live_state_after_every_action(path, steps):
    life = Life(nested=True)
    for action, seed in steps:
        life.do(action, seed)
        loaded = load(OneLog(path, log_of(life.log)), "s1")
        assert settled(loaded.state) == settled(life.state)
        assert loaded.seq == life.store.seq
        assert loaded.damage == ()
        assert loaded.message_count_difference is None


@settings(max_examples=150, deadline=None)
@given(long_lives, st.integers(0, 1000))
def test_a_sealed_history_is_the_one_that_reducing_every_event_gives(path, steps, cut):
    log = lived(steps, nested=True).log
    log = log[: 1 + cut % len(log)]
    store = OneLog(path, log_of(log))
    reduced = replay(log)
    rows = [row_of_envelope(envelope, 2) for envelope in log]
    branch = choose(rows)
    points = len(survey(SessionState(meta=reduced.meta), rows, branch, branch.selected).parts)
    for open_turns in range(1, points + 2):
        state = load(store, "s1", open_turns=open_turns).state
        assert len(state.history) == len(reduced.history)
        assert all(a == b for a, b in zip(state.history, reduced.history, strict=True))
        assert state == reduced
        assert state.model_dump() == reduced.model_dump()


@settings(max_examples=150, deadline=None)
@given(long_lives)
def test_the_tail_of_a_log_gives_the_state_that_all_of_it_gives(path, steps):
    store = OneLog(path, log_of(lived(steps, nested=True).log))
    tail = load(store, "s1")
    whole = load(store, "s1", whole=True)
    assert tail.state == whole.state
    assert tail.seq == whole.seq
    assert tail.position == whole.position
    assert tail.message_count_difference is whole.message_count_difference is None
    assert whole.complete


@settings(deadline=None)
@given(actions)
def test_every_event_comes_back_as_it_was_written(path, steps):
    life = lived(steps, nested=True)
    assert list(events(OneLog(path, log_of(life.log)), "s1")) == life.log
