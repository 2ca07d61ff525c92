"""Views derived from a session's state, each computed anew only when what it reads has changed."""

import operator
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from agentls.protocol.content import text_of
from agentls.protocol.history import Answer, CallResult, Entry, Gap, History, Summary, UserMessage
from agentls.protocol.requests import SessionSummary
from agentls.protocol.session_state import (
    Activity,
    CompactionState,
    ContextUse,
    LiveAnswer,
    SessionSlices,
    SessionSnapshot,
    SessionState,
    TurnResult,
    UsageTotals,
)
from agentls.protocol.tool_calls import Approval, Questions, ToolCall
from agentls.state.measure import tokens_of, tokens_of_history

T = TypeVar("T")

LAST_PROMPT_LENGTH = 200
MOST_ESTIMATED = 500
"""Entries of a history that are looked at to estimate what nobody has counted."""
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
            if all(map(operator.is_, inputs, known)):
                return result
        result = self._compute(*inputs)
        self._remembered.insert(0, (inputs, result))
        del self._remembered[REMEMBERED:]
        return result


def _pending_approvals(calls: dict[str, ToolCall]) -> tuple[Approval, ...]:
    return tuple(
        call.approval
        for call in calls.values()
        if call.status == "waiting" and call.approval and call.decision is None
    )


def _pending_questions(calls: dict[str, ToolCall]) -> tuple[Questions, ...]:
    return tuple(
        call.questions for call in calls.values() if call.status == "waiting" and call.questions
    )


def _context_use(history: History, usage: UsageTotals, compaction: CompactionState) -> ContextUse:
    return ContextUse(
        used_tokens=_used_tokens(history, usage, compaction),
        window=usage.window,
        compacting=compaction.running,
        compaction_failures=compaction.failures,
    )


def _used_tokens(history: History, usage: UsageTotals, compaction: CompactionState) -> int | None:
    if usage.last is None:
        is_short = len(history) <= MOST_ESTIMATED
        return tokens_of_history(history, compaction.cleared_before) if is_short else None
    since: list[Entry] = []
    for entry in reversed(history):
        if isinstance(entry, Answer):
            break
        since.append(entry)
    return usage.last.context_tokens + tokens_of(since)


def _is_answering(live: LiveAnswer | None) -> bool:
    return live is not None and any(part.type == "text" for part in live.parts)


pending_approvals = Selector(_pending_approvals, "calls")
pending_questions = Selector(_pending_questions, "calls")
context_use = Selector(_context_use, "history", "usage", "compaction")
_answering = Selector(_is_answering, "live")


def tokens_in_use(state: SessionState) -> int:
    """Return about how many tokens the conversation takes, estimated from all of it."""
    return tokens_of_history(state.history, state.compaction.cleared_before)


def activity(state: SessionState) -> Activity:
    """Return what the session is doing, for a status line."""
    if state.turn is None:
        return _at_rest(state.last_turn)
    running = [call for call in state.calls.values() if call.status == "running"]
    waiting = [call for call in state.calls.values() if call.status == "waiting"]
    unsaved = state.storage is not None and not state.storage.accepted
    label = "Waiting for room to save the session" if unsaved else None
    return Activity(
        status="waiting" if unsaved or (waiting and not running) else "running",
        label=label or _label(state, running, waiting),
        turn_id=state.turn.id,
        call_ids=tuple(call.id for call in (*running, *waiting)),
        error=None,
        retry=state.turn.retry,
    )


def _label(state: SessionState, running: list[ToolCall], waiting: list[ToolCall]) -> str:
    """Return in words what a turn is doing."""
    retry = state.turn.retry if state.turn else None
    live = state.live
    if running:
        return running[0].invocation if len(running) == 1 else f"Running {len(running)} tools"
    if waiting:
        return "Waiting for an answer" if waiting[0].questions else "Waiting for approval"
    if any(call.status == "ready" for call in state.calls.values()):
        return "Working"
    if state.compaction.running:
        return "Compacting the conversation"
    if retry:
        return _RETRY_LABELS[retry.cause]
    if live and live.stalled_since:
        return "Waiting for the model, which has gone silent"
    return "Answering" if _answering(state) else "Thinking"


_RETRY_LABELS = {
    "rateLimited": "Waiting: the model takes no more requests just now",
    "overloaded": "Waiting: the model is overloaded",
    "serverFailed": "Waiting: the model's server failed",
    "connectionLost": "Waiting: the connection broke",
    "unreachable": "Waiting: the model's server cannot be reached",
    "streamBroken": "Waiting: the answer broke off",
}


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
                if entry.author == "user":
                    return ""
            case CallResult() | Summary() | Gap():
                continue
    return ""


def last_prompt(state: SessionState) -> str | None:
    """Return what the user said last, in one line of at most 200 characters."""
    for entry in reversed(state.history):
        if isinstance(entry, UserMessage) and entry.author == "user":
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
    "questions": pending_questions,
    "queue": lambda state: state.queue,
    "tasks": lambda state: state.tasks,
    "context": context_use,
    "gates": lambda state: state.gates,
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
