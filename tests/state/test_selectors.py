from agentls.protocol.content import Todo
from agentls.state.selectors import (
    activity,
    changed_slices,
    context_use,
    message_count,
    pending_approvals,
    pending_questions,
    slices,
    todo_progress,
)
from tests.support.lives import Life, lived


def asked() -> Life:
    return lived([("prompt", 1), ("answer_with_calls", 1), ("ask", 0)])


def test_a_view_is_computed_once_for_the_same_state():
    state = asked().state
    assert pending_approvals(state) is pending_approvals(state)
    other = state.model_copy(update={"title": "another"})
    assert pending_approvals(other) is pending_approvals(state)


def test_activity_tells_waiting_from_running_and_idle():
    life = Life()
    assert activity(life.state).status == "idle"
    life.do("prompt", 1)
    assert (activity(life.state).status, activity(life.state).label) == ("running", "Thinking")
    life.do("stream", 1)
    assert activity(life.state).label == "Answering"
    life.do("answer_with_calls", 0)
    life.do("ask", 0)
    waiting = activity(life.state)
    assert (waiting.status, waiting.label) == ("waiting", "Waiting for approval")
    assert waiting.call_ids == tuple(life.state.calls)
    life.do("reply", 0)
    life.do("start", 0)
    assert activity(life.state).label == "Reading"


def test_an_approval_that_was_answered_is_not_shown_while_the_call_asks_its_questions():
    life = asked()
    assert len(pending_approvals(life.state)) == 1
    life.do("reply", 0)
    life.do("ask_questions", 0)
    assert pending_approvals(life.state) == ()
    assert [q.call_id for q in pending_questions(life.state)] == [next(iter(life.state.calls))]
    assert activity(life.state).label == "Waiting for an answer"
    life.do("answer_questions", 1)
    assert pending_questions(life.state) == ()


def test_activity_says_what_a_turn_waits_for():
    life = lived([("prompt", 1), ("stream", 1), ("stall", 0)])
    assert activity(life.state).label == "Waiting for the model, which has gone silent"
    life.do("retry", 1)
    shown = activity(life.state)
    assert (shown.status, shown.label) == ("running", "Waiting: the model is overloaded")
    assert shown.retry is not None
    life.do("go_on", 0)
    assert activity(life.state).retry is None
    life.do("begin_compaction", 0)
    assert activity(life.state).label == "Compacting the conversation"
    assert context_use(life.state).compacting == "automatic"


def test_the_window_is_as_full_as_the_last_answer_says_and_what_came_since_is_estimated():
    life = lived([("prompt", 1), ("answer", 9), ("pay_subagent", 700)])
    counted = context_use(life.state)
    assert (counted.used_tokens, counted.window) == (9 + 1 + 4, 200_000)
    life.do("steer", 1)
    assert context_use(life.state).used_tokens > counted.used_tokens
    life.do("clear_outputs", 0)
    assert context_use(life.state).window == 200_000


def test_a_failed_turn_shows_until_the_next_begins():
    life = lived([("prompt", 1), ("answer", 1), ("end", 2)])
    assert activity(life.state).status == "idle", "failed, but without an error to show"
    life.do("prompt", 2)
    assert activity(life.state).status == "running"


def test_only_the_slices_that_changed_are_told():
    life = asked()
    before = life.state
    life.do("title", 1)
    assert set(changed_slices(life.state, before)) == {"title"}
    before = life.state
    life.do("reply", 0)
    assert set(changed_slices(life.state, before)) == {"approvals", "activity"}
    assert slices(life.state).title == "title 1"


def test_progress_counts_what_is_done():
    life = Life()
    todos = tuple(
        Todo(content=status, active_form=status, status=status)
        for status in ("completed", "inProgress", "completed", "pending")
    )
    state = life.state.model_copy(update={"todos": todos})
    assert todo_progress(state) == (2, 4)
    assert message_count(asked().state) == 2
