from agentls.protocol.content import Todo
from agentls.state.selectors import (
    activity,
    changed_slices,
    message_count,
    pending_approvals,
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
