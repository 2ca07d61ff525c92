"""The loop as a function of state: what a turn does next. No I/O, no waiting, no memory."""

from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from agentls.protocol.events.retries import RetryWait
from agentls.protocol.history import Answer
from agentls.protocol.session_state import QueuedPrompt, SessionState
from agentls.protocol.tasks import FINAL_STATUSES, Task
from agentls.protocol.tool_calls import ToolCall

MOST_CONTINUED = 3
"""How often in a row an answer that reached its limit of tokens is gone on with."""


@dataclass(frozen=True, slots=True)
class CallModel:
    """Send the conversation to the model."""


@dataclass(frozen=True, slots=True)
class RunCalls:
    """Carry out tool calls, in this order."""

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class AwaitPerson:
    """Do nothing until a person has answered for this call."""

    call_id: str


@dataclass(frozen=True, slots=True)
class AwaitRetry:
    """Do nothing until it is time to ask the model again."""

    retry: RetryWait


@dataclass(frozen=True, slots=True)
class Steer:
    """Take in what the user has sent to the running turn."""

    items: tuple[QueuedPrompt, ...]


@dataclass(frozen=True, slots=True)
class TellOfTasks:
    """Tell the model how tasks have ended."""

    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class Compact:
    """Put a summary in the place of the conversation so far."""

    reason: Literal["requested", "tooLong"]


@dataclass(frozen=True, slots=True)
class FinishTurn:
    """There is nothing left to do."""

    status: Literal["completed", "maxTurns"]


Step = CallModel | RunCalls | AwaitPerson | AwaitRetry | Steer | TellOfTasks | Compact | FinishTurn


def next_step(state: SessionState, *, max_rounds: int | None = None) -> Step:
    """Return what the running turn does next; after `max_rounds` answers it asks for no other."""
    turn = state.turn
    unfinished = tuple(call for call in state.calls.values() if call.status != "finished")
    if unfinished:
        first = unfinished[0]
        return AwaitPerson(first.id) if first.status == "waiting" else RunCalls(unfinished)
    if turn and turn.retry:
        return AwaitRetry(turn.retry)
    if turn and turn.kind == "compact":
        return FinishTurn("completed") if turn.rounds else Compact("requested")
    may_go_on = max_rounds is None or not turn or turn.rounds < max_rounds
    steering = tuple(item for item in state.queue if is_steering(item))
    if steering and may_go_on:
        return Steer(steering)
    if is_answered(state):
        return FinishTurn("completed")
    if not may_go_on:
        return FinishTurn("maxTurns")
    if _is_window_full(state):
        return Compact("tooLong")
    ended = tuple(task for task in state.tasks if task.status in FINAL_STATUSES)
    return TellOfTasks(ended) if ended else CallModel()


def is_steering(item: QueuedPrompt) -> bool:
    """Whether a queued prompt is for the turn that runs."""
    return item.delivery == "steer" and item.kind == "prompt"


def is_answered(state: SessionState) -> bool:
    """Whether the conversation ends in an answer that is whole."""
    last = state.history[-1]
    if not isinstance(last, Answer):
        return False
    if last.stop_reason == "maxTokens":
        return _continued(state) >= MOST_CONTINUED
    return last.stop_reason not in ("cut", "contextWindow")


def _continued(state: SessionState) -> int:
    """Return how many answers in a row, at the end, reached their limit of tokens."""
    at_limit = takewhile(
        lambda entry: isinstance(entry, Answer) and entry.stop_reason == "maxTokens",
        reversed(state.history),
    )
    return sum(1 for _ in at_limit) - 1


def _is_window_full(state: SessionState) -> bool:
    """Whether the last answer filled the window, and no room has been made since."""
    last = state.history[-1]
    is_full = isinstance(last, Answer) and last.stop_reason == "contextWindow"
    return is_full and state.usage.last is not None
