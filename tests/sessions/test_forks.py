"""What a fork takes along of a session at work."""

import pytest

from agentls.protocol.content import Usage
from agentls.protocol.events.conversation import SessionMeta
from agentls.protocol.session_state import SessionState
from agentls.sessions.chain import replay
from agentls.sessions.forks import fork
from tests.support.lives import Life

BORN = SessionMeta(id="s2", created_at="2026-12-01T08:00:00.000Z", cwd=".", agentls_version="1")


def life_of(*steps: tuple[str, int]) -> Life:
    life = Life(nested=True)
    for action, seed in steps:
        life.do(action, seed)
    return life


def forked(life: Life, message_id: str | None = None) -> SessionState:
    return replay(fork(life.log, BORN, message_id))


def test_tasks_run_on_in_the_old_session_alone():
    life = life_of(("prompt", 0), ("add_task", 1), ("start_task", 1), ("answer", 0), ("end", 0))
    assert [task.status for task in life.state.tasks] == ["running"]
    assert forked(life).tasks == ()


def test_what_a_compaction_holds_of_the_old_life_is_left_behind_too():
    life = life_of(
        ("prompt", 0), ("answer", 5), ("add_task", 1), ("queue", 0), ("compact", 2), ("answer", 7),
        ("end", 0),
    )  # fmt: skip
    state = forked(life)
    assert (state.tasks, state.queue, state.usage.total) == ((), (), Usage())
    assert (state.meta.id, state.meta.created_at) == ("s2", BORN.created_at)
    assert state.meta.forked_from is not None
    assert state.meta.forked_from.session_id == "s1"
    assert [entry.type for entry in state.history] == [e.type for e in life.state.history]
    assert state.turn is None


def test_a_fork_from_before_a_compaction_is_not_compacting():
    life = life_of(("prompt", 0), ("answer", 0), ("compact", 1), ("end", 0))
    first = next(e.event.id for e in life.log if e.event.type == "answerFinished")
    state = forked(life, first)
    assert [entry.type for entry in state.history] == ["user", "answer"]
    assert (state.compaction.running, state.turn) == (None, None)


def test_a_turn_put_aside_goes_on_in_the_old_session_alone():
    life = life_of(("prompt", 0), ("retry", 4))
    assert life.state.turn.retry.parked
    state = forked(life)
    assert state.turn is not None
    assert state.turn.retry is None


@pytest.mark.parametrize("steps", [(), (("answer_questions", 1),)])
def test_questions_are_answered_where_they_were_asked(steps):
    life = life_of(("prompt", 0), ("answer_with_calls", 0), ("ask_questions", 0), *steps)
    (call,) = forked(life).calls.values()
    assert (call.status, call.questions, call.answers) == ("ready", None, None)


def test_answers_of_a_call_that_has_ended_come_along():
    life = life_of(
        ("prompt", 0), ("answer_with_calls", 0), ("ask_questions", 0), ("answer_questions", 1),
        ("start", 0), ("finish", 0),
    )  # fmt: skip
    call = forked(life).history[-1].call
    assert call.questions is not None
    assert [answer.selected for answer in call.answers] == [("this",)]
