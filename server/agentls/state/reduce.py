"""The reducer: what each event makes of a session's state. Pure; an event never undoes another."""

from typing import TypeVar, assert_never

from agentls.protocol.content import LivePart, ToolCallPart
from agentls.protocol.events.approvals import ApprovalAnswered, ApprovalRequested
from agentls.protocol.events.conversation import (
    AnswerFinished,
    AnswerProgressed,
    AnswerStarted,
    ConversationCompacted,
    HeadMoved,
    PartDelta,
    PartStarted,
    PromptDequeued,
    PromptQueued,
    SessionCreated,
    SidechainStarted,
    TagChanged,
    TitleChanged,
    TodosChanged,
    ToolCallFinished,
    ToolCallProgressed,
    ToolCallStarted,
    ToolResultIgnored,
    TurnFinished,
    TurnStarted,
    UsageRecorded,
    UserMessageReceived,
)
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.events.kinds import MessageEvent
from agentls.protocol.events.settings import ModeChanged, ModelChanged, RuleAdded
from agentls.protocol.events.storage import (
    AccessChanged,
    LogDamaged,
    SessionResumed,
    StorageFailed,
    StorageRecovered,
)
from agentls.protocol.history import Answer, CallResult, Gap, History, Summary, UserMessage
from agentls.protocol.session_state import (
    LiveAnswer,
    ModelChoice,
    QueuedPrompt,
    Rule,
    SessionState,
    Turn,
    TurnResult,
)
from agentls.protocol.tool_calls import ToolCall
from agentls.protocol.wire_model import WireModel

M = TypeVar("M", bound=WireModel)


def reduce(state: SessionState, envelope: Envelope) -> SessionState:
    """Return the state after `envelope`; the very same object where it changes nothing."""
    match envelope.event:
        case SessionCreated() as event:
            return SessionState(meta=event.session, model=ModelChoice(default=event.model))
        case PromptQueued() as event:
            return _prompt_queued(state, envelope, event)
        case PromptDequeued() as event:
            return _prompt_dequeued(state, event)
        case UserMessageReceived() as event:
            return _user_message_received(state, envelope, event)
        case TurnStarted() as event:
            return _turn_started(state, envelope, event)
        case TurnFinished() as event:
            return _turn_finished(state, envelope, event)
        case AnswerStarted() as event:
            live = LiveAnswer(message_id=event.message_id, model=event.model)
            return state.model_copy(update={"live": live})
        case PartStarted() as event:
            return _part_started(state, event)
        case PartDelta() as event:
            return _part_delta(state, event)
        case AnswerProgressed() as event:
            return _answer_progressed(state, event)
        case AnswerFinished() as event:
            return _answer_finished(state, envelope, event)
        case UsageRecorded() as event:
            return _usage_recorded(state, event)
        case ApprovalRequested() as event:
            call_id, approval = event.approval.call_id, event.approval
            return _with_call(state, call_id, {"status": "waiting", "approval": approval})
        case ApprovalAnswered() as event:
            return _approval_answered(state, event)
        case ToolCallStarted() as event:
            return _tool_call_started(state, envelope, event)
        case ToolCallProgressed() as event:
            return _with_call(state, event.call_id, {"progress": event.text})
        case ToolCallFinished() as event:
            return _tool_call_finished(state, envelope, event)
        case TodosChanged() as event:
            return _with(state, todos=event.todos)
        case ConversationCompacted() as event:
            return _conversation_compacted(state, envelope, event)
        case HeadMoved() as event:
            return state.model_copy(update={"head": event.head, "redo": event.redo})
        case TitleChanged() as event:
            return _with(state, title=event.title)
        case TagChanged() as event:
            return _with(state, tag=event.tag)
        case ModelChanged() as event:
            return _model_changed(state, event)
        case ModeChanged() as event:
            permissions = _with(state.permissions, mode=event.mode)
            return _with(state, permissions=permissions)
        case RuleAdded() as event:
            return _rule_added(state, event)
        case StorageFailed() as event:
            return _with(state, storage=event.trouble)
        case StorageRecovered():
            return _with(state, storage=None)
        case AccessChanged() as event:
            return _with(state, access=event.access)
        case SessionResumed() | LogDamaged() | ToolResultIgnored() | SidechainStarted():
            return state
        case _ as never:
            assert_never(never)


def _prompt_queued(state: SessionState, envelope: Envelope, event: PromptQueued) -> SessionState:
    if any(item.id == event.item_id for item in state.queue):
        return state
    item = QueuedPrompt(id=event.item_id, content=event.content, queued_at=envelope.at)
    return state.model_copy(update={"queue": (*state.queue, item)})


def _prompt_dequeued(state: SessionState, event: PromptDequeued) -> SessionState:
    rest = tuple(item for item in state.queue if item.id != event.item_id)
    return state if len(rest) == len(state.queue) else state.model_copy(update={"queue": rest})


def _user_message_received(
    state: SessionState, envelope: Envelope, event: UserMessageReceived
) -> SessionState:
    message = UserMessage(
        id=event.id, at=envelope.at, turn_id=envelope.turn_id, content=event.content
    )
    return state.model_copy(
        update={
            "history": _continued(state, envelope, event).append(message),
            "head": event.id,
            "calls": _unfinished(state.calls),
            "live": None,
            "redo": (),
        }
    )


def _turn_started(state: SessionState, envelope: Envelope, event: TurnStarted) -> SessionState:
    turn = Turn(
        id=envelope.turn_id or event.parent,
        message_id=event.parent,
        started_at=envelope.at,
        model=event.model,
    )
    return state.model_copy(update={"turn": turn})


def _turn_finished(state: SessionState, envelope: Envelope, event: TurnFinished) -> SessionState:
    result = TurnResult(
        id=envelope.turn_id or event.parent,
        status=event.status,
        error=event.error,
        finished_at=envelope.at,
        duration_ms=event.duration_ms,
    )
    return state.model_copy(update={"turn": None, "last_turn": result, "live": None})


def _part_started(state: SessionState, event: PartStarted) -> SessionState:
    live = state.live
    if live is None or live.message_id != event.message_id:
        return state
    live = live.model_copy(update={"parts": (*live.parts, event.part)})
    return state.model_copy(update={"live": live})


def _part_delta(state: SessionState, event: PartDelta) -> SessionState:
    """Add the text where it continues the part; a piece that is already there changes nothing."""
    live = state.live
    if live is None or not event.text:
        return state
    for index in range(len(live.parts) - 1, -1, -1):
        part = live.parts[index]
        if part.id != event.part_id:
            continue
        if event.offset != len(part.text):
            return state
        part = part.model_copy(update={"text": part.text + event.text})
        parts = (*live.parts[:index], part, *live.parts[index + 1 :])
        return state.model_copy(update={"live": live.model_copy(update={"parts": parts})})
    return state


def _answer_progressed(state: SessionState, event: AnswerProgressed) -> SessionState:
    """Note how much of the answer is kept; what a crash has left of it becomes the live answer."""
    live = state.live
    if live is None or live.message_id != event.message_id:
        live = LiveAnswer(message_id=event.message_id, model=event.model)
    parts = {part.id: part for part in live.parts}
    kept = live.kept
    for gained in event.parts:
        part = parts.get(gained.part_id)
        if part is None:
            part = LivePart(type=gained.type, id=gained.part_id, name=gained.name)
        if gained.offset == len(part.text):
            part = part.model_copy(update={"text": part.text + gained.text})
        parts[part.id] = part
        kept += len(gained.text)
    live = live.model_copy(update={"parts": tuple(parts.values()), "kept": kept})
    return state.model_copy(update={"live": live})


def _answer_finished(
    state: SessionState, envelope: Envelope, event: AnswerFinished
) -> SessionState:
    answer = Answer(
        id=event.id,
        at=envelope.at,
        turn_id=envelope.turn_id,
        model=event.model,
        parts=event.parts,
        stop_reason=event.stop_reason,
        usage=event.usage,
    )
    calls = {
        part.id: ToolCall(
            id=part.id,
            message_id=event.id,
            name=part.name,
            invocation=part.name,
            input=part.input,
            malformed_input=part.malformed_input,
            status="ready",
        )
        for part in event.parts
        if isinstance(part, ToolCallPart)
    }
    turn = state.turn
    return state.model_copy(
        update={
            "history": _continued(state, envelope, event).append(answer),
            "head": event.id,
            "calls": {**_unfinished(state.calls), **calls},
            "live": None,
            "turn": turn and turn.model_copy(update={"rounds": turn.rounds + 1}),
        }
    )


def _usage_recorded(state: SessionState, event: UsageRecorded) -> SessionState:
    usage = state.usage
    if usage.last_response_id == event.response_id:
        return state
    of_model = usage.by_model.get(event.model)
    totals = usage.model_copy(
        update={
            "total": usage.total + event.usage,
            "by_model": {
                **usage.by_model,
                event.model: of_model + event.usage if of_model else event.usage,
            },
            "responses": usage.responses + 1,
            "last": event.usage,
            "last_response_id": event.response_id,
        }
    )
    return state.model_copy(update={"usage": totals})


def _approval_answered(state: SessionState, event: ApprovalAnswered) -> SessionState:
    call = state.calls.get(event.call_id)
    if call is None or call.status != "waiting":
        return state
    update: dict[str, object] = {"status": "ready", "decision": event.decision}
    if event.edited_input is not None:
        update["input"] = event.edited_input
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


def _model_changed(state: SessionState, event: ModelChanged) -> SessionState:
    if event.scope == "user":
        chosen = ModelChoice(session=None, default=event.model)
    else:
        chosen = ModelChoice(session=event.model, default=state.model.default)
    return state if chosen == state.model else state.model_copy(update={"model": chosen})


def _rule_added(state: SessionState, event: RuleAdded) -> SessionState:
    rule = Rule(behaviour=event.behaviour, rule=event.rule, source=event.source)
    if rule in state.permissions.rules:
        return state
    rules = (*state.permissions.rules, rule)
    permissions = state.permissions.model_copy(update={"rules": rules})
    return state.model_copy(update={"permissions": permissions})


def _conversation_compacted(
    state: SessionState, envelope: Envelope, event: ConversationCompacted
) -> SessionState:
    """Begin anew from the snapshot in the event, with the summary and the messages that stay."""
    summary = Summary(
        id=event.id, at=envelope.at, text=event.summary, message_count=event.message_count
    )
    ids = [getattr(entry, "id", "") for entry in state.history]
    stays = ids.index(event.kept_from) if event.kept_from in ids else len(ids)
    before = SessionState.model_validate({**event.state, "history": []})
    history = History([summary, *state.history[stays:]])
    # Whose the session is and whether it can be written is of this moment, not of the snapshot's.
    return before.model_copy(
        update={
            "history": history,
            "head": event.id,
            "access": state.access,
            "storage": state.storage,
        }
    )


def _continued(state: SessionState, envelope: Envelope, event: MessageEvent) -> History:
    """Return the history that `event` is appended to, with a gap where its parent is missing."""
    if event.parent == state.head:
        return state.history
    gap = Gap(id=f"gap_{event.id}", at=envelope.at, missing=event.parent or "")
    return state.history.append(gap)


def _unfinished(calls: dict[str, ToolCall]) -> dict[str, ToolCall]:
    """Keep only the calls that may still change; the finished ones are in the history."""
    return {call_id: call for call_id, call in calls.items() if call.status != "finished"}


def _with_call(state: SessionState, call_id: str, update: dict[str, object]) -> SessionState:
    """Change one call that has not finished; a late word about another changes nothing."""
    call = state.calls.get(call_id)
    if call is None or call.status == "finished":
        return state
    changed = call.model_copy(update=update)
    return state.model_copy(update={"calls": {**state.calls, call_id: changed}})


def _with(model: M, **update: object) -> M:
    """Return `model` with `update`, or the very same object where that says nothing new."""
    if all(getattr(model, name) == value for name, value in update.items()):
        return model
    return model.model_copy(update=update)
