"""The reducer of tool calls: the one state machine of each, with approvals and questions."""

from typing import assert_never

from agentls.protocol.events.approvals import ApprovalAnswered, ApprovalRequested
from agentls.protocol.events.conversation import (
    ToolCallFinished,
    ToolCallProgressed,
    ToolCallStarted,
)
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.events.questions import QuestionsAnswered, QuestionsAsked
from agentls.protocol.history import CallResult
from agentls.protocol.session_state import SessionState

CallEvent = (
    ApprovalRequested
    | ApprovalAnswered
    | QuestionsAsked
    | QuestionsAnswered
    | ToolCallStarted
    | ToolCallProgressed
    | ToolCallFinished
)


def reduce_call(state: SessionState, envelope: Envelope, event: CallEvent) -> SessionState:
    """Return the state after something happened to a call; see `reduce`."""
    match event:
        case ApprovalRequested():
            call_id, approval = event.approval.call_id, event.approval
            return _with_call(state, call_id, {"status": "waiting", "approval": approval})
        case ApprovalAnswered():
            return _approval_answered(state, event)
        case QuestionsAsked():
            call_id, questions = event.questions.call_id, event.questions
            return _with_call(state, call_id, {"status": "waiting", "questions": questions})
        case QuestionsAnswered():
            return _questions_answered(state, event)
        case ToolCallStarted():
            return _tool_call_started(state, envelope, event)
        case ToolCallProgressed():
            return _with_call(state, event.call_id, {"progress": event.text})
        case ToolCallFinished():
            return _tool_call_finished(state, envelope, event)
        case _ as never:
            assert_never(never)


def _approval_answered(state: SessionState, event: ApprovalAnswered) -> SessionState:
    call = state.calls.get(event.call_id)
    if call is None or call.status != "waiting":
        return state
    update: dict[str, object] = {"status": "ready", "decision": event.decision}
    if event.edited_input is not None:
        update["input"] = event.edited_input
    return _with_call(state, event.call_id, update)


def _questions_answered(state: SessionState, event: QuestionsAnswered) -> SessionState:
    call = state.calls.get(event.call_id)
    if call is None or call.status != "waiting":
        return state
    update: dict[str, object] = {"status": "ready", "answers": event.answers}
    return _with_call(state, event.call_id, update)


def _tool_call_started(
    state: SessionState, envelope: Envelope, event: ToolCallStarted
) -> SessionState:
    update: dict[str, object] = {
        "status": "running",
        "decision": event.decision,
        "invocation": event.invocation,
        "started_at": envelope.at,
    }
    return _with_call(state, event.call_id, update)


def _tool_call_finished(
    state: SessionState, envelope: Envelope, event: ToolCallFinished
) -> SessionState:
    call = state.calls.get(event.call_id)
    if call is None or call.status == "finished":
        return state
    finished = call.model_copy(
        update={
            "status": "finished",
            "outcome": event.outcome,
            "summary": event.summary,
            "content": event.content,
            "changes": event.changes,
            "left_out": event.left_out,
            "decision": event.decision or call.decision,
            "progress": None,
            "finished_at": envelope.at,
        }
    )
    update: dict[str, object] = {
        "calls": {**state.calls, event.call_id: finished},
        "history": state.history.append(CallResult(call=finished)),
    }
    if event.variables:
        merged = {**state.variables, **event.variables}
        update["variables"] = {key: value for key, value in merged.items() if value is not None}
    return state.model_copy(update=update)


def _with_call(state: SessionState, call_id: str, update: dict[str, object]) -> SessionState:
    """Change one call that has not finished; a late word about another changes nothing."""
    call = state.calls.get(call_id)
    if call is None or call.status == "finished":
        return state
    changed = call.model_copy(update=update)
    return state.model_copy(update={"calls": {**state.calls, call_id: changed}})
