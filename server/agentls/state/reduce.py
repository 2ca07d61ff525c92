"""The reducer: what each event makes of a session's state. Pure; an event never undoes another."""

from typing import assert_never

from agentls.protocol.content import ToolCallPart
from agentls.protocol.events.approvals import ApprovalAnswered, ApprovalRequested
from agentls.protocol.events.compaction import (
    CompactionFailed,
    CompactionStarted,
    ConversationCompacted,
    ToolOutputsCleared,
)
from agentls.protocol.events.conversation import (
    AnswerFinished,
    AnswerProgressed,
    AnswerStarted,
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
from agentls.protocol.events.questions import QuestionsAnswered, QuestionsAsked
from agentls.protocol.events.retries import AnswerStalled, CacheMissed, RetryEnded, RetryScheduled
from agentls.protocol.events.settings import (
    FastModeChanged,
    GatesChanged,
    ModeChanged,
    ModelChanged,
    RuleAdded,
)
from agentls.protocol.events.storage import (
    AccessChanged,
    LogDamaged,
    SessionResumed,
    StorageFailed,
    StorageRecovered,
)
from agentls.protocol.events.tasks import (
    TaskAdded,
    TaskFinished,
    TaskProgressed,
    TasksEvicted,
    TaskStarted,
)
from agentls.protocol.history import Answer, Gap, History, UserMessage
from agentls.protocol.session_state import (
    ModelChoice,
    QueuedPrompt,
    Rule,
    SessionState,
    Turn,
    TurnResult,
)
from agentls.protocol.tool_calls import ToolCall
from agentls.state.changed import changed
from agentls.state.reduce_calls import reduce_call
from agentls.state.reduce_compaction import reduce_compaction
from agentls.state.reduce_live import reduce_live
from agentls.state.reduce_tasks import reduce_task


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
        case (
            RetryScheduled()
            | RetryEnded()
            | AnswerStarted()
            | AnswerStalled()
            | PartStarted()
            | PartDelta()
            | AnswerProgressed()
        ) as event:
            return reduce_live(state, event)
        case AnswerFinished() as event:
            return _answer_finished(state, envelope, event)
        case UsageRecorded() as event:
            return _usage_recorded(state, event)
        case (
            ApprovalRequested()
            | ApprovalAnswered()
            | QuestionsAsked()
            | QuestionsAnswered()
            | ToolCallStarted()
            | ToolCallProgressed()
            | ToolCallFinished()
        ) as event:
            return reduce_call(state, envelope, event)
        case TodosChanged() as event:
            return changed(state, todos=event.todos)
        case (
            TaskAdded()
            | TaskStarted()
            | TaskProgressed()
            | TaskFinished()
            | TasksEvicted() as event
        ):
            return reduce_task(state, envelope, event)
        case (
            ToolOutputsCleared()
            | CompactionStarted()
            | ConversationCompacted()
            | CompactionFailed()
        ) as event:
            return reduce_compaction(state, envelope, event)
        case HeadMoved() as event:
            return _head_moved(state, event)
        case TitleChanged() as event:
            return changed(state, title=event.title)
        case TagChanged() as event:
            return changed(state, tag=event.tag)
        case ModelChanged() as event:
            return _model_changed(state, event)
        case FastModeChanged() as event:
            return changed(state, model=changed(state.model, fast=event.model))
        case GatesChanged() as event:
            return changed(state, gates=event.gates)
        case ModeChanged() as event:
            return changed(state, permissions=changed(state.permissions, mode=event.mode))
        case RuleAdded() as event:
            return _rule_added(state, event)
        case StorageFailed() as event:
            return changed(state, storage=event.trouble)
        case StorageRecovered():
            return changed(state, storage=None)
        case AccessChanged() as event:
            return changed(state, access=event.access)
        case (
            SessionResumed()
            | LogDamaged()
            | ToolResultIgnored()
            | SidechainStarted()
            | CacheMissed()
        ):
            return state
        case _ as never:
            assert_never(never)


def _prompt_queued(state: SessionState, envelope: Envelope, event: PromptQueued) -> SessionState:
    if any(item.id == event.item_id for item in state.queue):
        return state
    item = QueuedPrompt(
        id=event.item_id,
        content=event.content,
        queued_at=envelope.at,
        delivery=event.delivery,
        kind=event.kind,
    )
    return state.model_copy(update={"queue": (*state.queue, item)})


def _prompt_dequeued(state: SessionState, event: PromptDequeued) -> SessionState:
    rest = tuple(item for item in state.queue if item.id != event.item_id)
    return state if len(rest) == len(state.queue) else state.model_copy(update={"queue": rest})


def _user_message_received(
    state: SessionState, envelope: Envelope, event: UserMessageReceived
) -> SessionState:
    message = UserMessage(
        id=event.id,
        at=envelope.at,
        turn_id=envelope.turn_id,
        content=event.content,
        author=event.author,
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
        kind=event.kind,
        instructions=event.instructions,
    )
    return state.model_copy(update={"turn": turn})


def _turn_finished(state: SessionState, envelope: Envelope, event: TurnFinished) -> SessionState:
    result = TurnResult(
        id=envelope.turn_id or event.parent,
        status=event.status,
        error=event.error,
        finished_at=envelope.at,
        duration_ms=event.duration_ms,
        usage=event.usage,
    )
    return state.model_copy(update={"turn": None, "last_turn": result, "live": None})


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
            "turn": turn and _answered(turn, event),
        }
    )


def _answered(turn: Turn, event: AnswerFinished) -> Turn:
    """Count the answer; a whole one ends the count of what had failed before it."""
    update: dict[str, object] = {"rounds": turn.rounds + 1, "retry": None}
    if event.stop_reason != "cut":
        update |= {"failed_tries": {}, "waited_ms": {}}
    return turn.model_copy(update=update)


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
            "last_response_id": event.response_id,
        }
    )
    if event.purpose == "answer":
        totals = totals.model_copy(update={"last": event.usage, "window": event.window})
    turn = state.turn and changed(state.turn, usage=state.turn.usage + event.usage)
    return state.model_copy(update={"usage": totals, "turn": turn})


def _head_moved(state: SessionState, event: HeadMoved) -> SessionState:
    # Nothing is at work when a head is moved, and what a compaction came to may be left behind.
    compaction = changed(state.compaction, running=None)
    usage = state.usage if event.head == event.previous else changed(state.usage, last=None)
    update = {"head": event.head, "redo": event.redo, "compaction": compaction, "usage": usage}
    return state.model_copy(update=update)


def _model_changed(state: SessionState, event: ModelChanged) -> SessionState:
    if event.scope == "user":
        chosen = ModelChoice(session=None, default=event.model)
    else:
        chosen = ModelChoice(session=event.model, default=state.model.default)
    return changed(state, model=chosen)


def _rule_added(state: SessionState, event: RuleAdded) -> SessionState:
    rule = Rule(behaviour=event.behaviour, rule=event.rule, source=event.source)
    if rule in state.permissions.rules:
        return state
    rules = (*state.permissions.rules, rule)
    permissions = state.permissions.model_copy(update={"rules": rules})
    return state.model_copy(update={"permissions": permissions})


def _continued(state: SessionState, envelope: Envelope, event: MessageEvent) -> History:
    """Return the history that `event` is appended to, with a gap where its parent is missing."""
    if event.parent == state.head:
        return state.history
    gap = Gap(id=f"gap_{event.id}", at=envelope.at, missing=event.parent or "")
    return state.history.append(gap)


def _unfinished(calls: dict[str, ToolCall]) -> dict[str, ToolCall]:
    """Keep only the calls that may still change; the finished ones are in the history."""
    return {call_id: call for call_id, call in calls.items() if call.status != "finished"}
