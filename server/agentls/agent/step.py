"""The loop as a function of state: what a turn does next. No I/O, no waiting, no memory."""

from dataclasses import dataclass
from typing import Literal

from agentls.protocol.history import Answer
from agentls.protocol.session_state import SessionState
from agentls.protocol.tool_calls import ToolCall


@dataclass(frozen=True, slots=True)
class CallModel:
    """Send the conversation to the model."""


@dataclass(frozen=True, slots=True)
class RunCalls:
    """Carry out tool calls, in this order."""

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class AwaitApproval:
    """Do nothing until a person has answered for this call."""

    call_id: str


@dataclass(frozen=True, slots=True)
class FinishTurn:
    """There is nothing left to do."""

    status: Literal["completed", "maxTurns"]


Step = CallModel | RunCalls | AwaitApproval | FinishTurn


def next_step(state: SessionState, *, max_rounds: int | None = None) -> Step:
    """Return what the running turn does next; after `max_rounds` answers it asks for no other."""
    unfinished = tuple(call for call in state.calls.values() if call.status != "finished")
    if unfinished:
        first = unfinished[0]
        return AwaitApproval(first.id) if first.status == "waiting" else RunCalls(unfinished)
    if isinstance(state.history[-1], Answer):
        return FinishTurn("completed")
    if max_rounds is not None and state.turn and state.turn.rounds >= max_rounds:
        return FinishTurn("maxTurns")
    return CallModel()
