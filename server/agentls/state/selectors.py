"""Views derived from a session's state, each computed anew only when what it reads has changed."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from agentls.protocol.content import text_of
from agentls.protocol.history import Answer, CallResult, Gap, Summary, UserMessage
from agentls.protocol.requests import SessionSummary
from agentls.protocol.session_state import (
    Activity,
    LiveAnswer,
    SessionSlices,
    SessionSnapshot,
    SessionState,
    TurnResult,
)
from agentls.protocol.tool_calls import Approval, ToolCall

T = TypeVar("T")

LAST_PROMPT_LENGTH = 200
REMEMBERED = 16
"""How many inputs a selector remembers: enough for the sessions that are busy at the same time."""


class Selector(Generic[T]):
    """A pure function of some fields of the state, memoised by their identity."""

    def __init__(self, compute: Callable[..., T], *fields: str) -> None:
        self._compute = compute
        self._fields = fields
        self._remembered: list[tuple[tuple[Any, ...], T]] = []

    def __call__(self, state: SessionState) -> T:
        """Return the view of `state`."""
        inputs = tuple(getattr(state, field) for field in self._fields)
        for known, result in self._remembered:
            if all(mine is theirs for mine, theirs in zip(inputs, known, strict=True)):
                return result
        result = self._compute(*inputs)
        self._remembered.insert(0, (inputs, result))
        del self._remembered[REMEMBERED:]
        return result


def _pending_approvals(calls: dict[str, ToolCall]) -> tuple[Approval, ...]:
    return tuple(
        call.approval for call in calls.values() if call.status == "waiting" and call.approval
    )


def _is_answering(live: LiveAnswer | None) -> bool:
    return live is not None and any(part.type == "text" for part in live.parts)


pending_approvals = Selector(_pending_approvals, "calls")
_answering = Selector(_is_answering, "live")


def activity(state: SessionState) -> Activity:
    """Return what the session is doing, for a status line."""
    if state.turn is None:
        return _at_rest(state.last_turn)
    running = [call for call in state.calls.values() if call.status == "running"]
    waiting = pending_approvals(state)
    unsaved = state.storage is not None and not state.storage.accepted
    if unsaved:
        label = "Waiting for room to save the session"
    elif len(running) == 1:
        label = running[0].invocation
    elif running:
        label = f"Running {len(running)} tools"
    elif waiting:
        label = "Waiting for approval"
    elif any(call.status == "ready" for call in state.calls.values()):
        label = "Working"
    else:
        label = "Answering" if _answering(state) else "Thinking"
    return Activity(
        status="waiting" if unsaved or (waiting and not running) else "running",
        label=label,
        turn_id=state.turn.id,
        call_ids=(*(call.id for call in running), *(approval.call_id for approval in waiting)),
        error=None,
    )


def _at_rest(last_turn: TurnResult | None) -> Activity:
    error = last_turn.error if last_turn and last_turn.status == "failed" else None
    return Activity(
        status="error" if error else "idle",
        label="Failed" if error else "Idle",
        turn_id=None,
        call_ids=(),
        error=error,
    )


def todo_progress(state: SessionState) -> tuple[int, int]:
    """Return how many lines of the plan are done, and how many there are."""
    return sum(todo.status == "completed" for todo in state.todos), len(state.todos)


def message_count(state: SessionState) -> int:
    """Return the number of prompts, answers and tool results in the conversation."""
    return len(state.history)


def last_answer_text(state: SessionState) -> str:
    """Return the text of the latest answer, without its thinking and its calls."""
    for entry in reversed(state.history):
        match entry:
            case Answer():
                return "\n\n".join(part.text for part in entry.parts if part.type == "text")
            case UserMessage():
                return ""
            case CallResult() | Summary() | Gap():
                continue
    return ""


def last_prompt(state: SessionState) -> str | None:
    """Return what the user said last, in one line of at most 200 characters."""
    for entry in reversed(state.history):
        if isinstance(entry, UserMessage):
            return one_line(text_of(entry.content, " "))
    return None


def one_line(text: str) -> str:
    """Return `text` in one line, cut at 200 characters."""
    return " ".join(text.split())[:LAST_PROMPT_LENGTH]


def summary(state: SessionState, at: str) -> SessionSummary:
    """Return what a list shows of a session that changed last at `at`."""
    meta = state.meta
    return SessionSummary(
        id=meta.id,
        title=state.title,
        tag=state.tag,
        last_prompt=last_prompt(state),
        created_at=meta.created_at,
        updated_at=at,
        message_count=message_count(state),
        model=state.model.effective,
        git_branch=meta.git_branch,
        usage=state.usage.total,
        forked_from=meta.forked_from.session_id if meta.forked_from else None,
        open=True,
    )


SLICES: dict[str, Callable[[SessionState], Any]] = {
    "model": lambda state: state.model,
    "permissions": lambda state: state.permissions,
    "todos": lambda state: state.todos,
    "activity": activity,
    "usage": lambda state: state.usage,
    "approvals": pending_approvals,
    "queue": lambda state: state.queue,
    "title": lambda state: state.title,
    "tag": lambda state: state.tag,
    "access": lambda state: state.access,
    "storage": lambda state: state.storage,
}


def slices(state: SessionState) -> SessionSlices:
    """Return every slice of a session."""
    return SessionSlices(**{name: select(state) for name, select in SLICES.items()})


def changed_slices(new: SessionState, old: SessionState) -> dict[str, Any]:
    """Return the slices that differ between two states of a session, by name."""
    changed: dict[str, Any] = {}
    for name, select in SLICES.items():
        after, before = select(new), select(old)
        if after is not before and after != before:
            changed[name] = after
    return changed


def snapshot(state: SessionState, seq: int) -> SessionSnapshot:
    """Return the session as a late joiner needs it."""
    return SessionSnapshot(seq=seq, state=state, slices=slices(state))
