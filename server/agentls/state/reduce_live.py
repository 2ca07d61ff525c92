"""The reducer of the answer that streams, and of the waits before it."""

from typing import assert_never

from agentls.protocol.content import LivePart
from agentls.protocol.events.conversation import (
    AnswerProgressed,
    AnswerStarted,
    PartDelta,
    PartStarted,
)
from agentls.protocol.events.retries import AnswerStalled, RetryEnded, RetryScheduled
from agentls.protocol.session_state import LiveAnswer, SessionState
from agentls.state.changed import changed

LiveEvent = (
    RetryScheduled
    | RetryEnded
    | AnswerStarted
    | AnswerStalled
    | PartStarted
    | PartDelta
    | AnswerProgressed
)


def reduce_live(state: SessionState, event: LiveEvent) -> SessionState:
    """Return the state after something came of an answer, or did not; see `reduce`."""
    match event:
        case RetryScheduled():
            return _retry_scheduled(state, event)
        case RetryEnded():
            return changed(state, turn=state.turn and changed(state.turn, retry=None))
        case AnswerStarted():
            live = LiveAnswer(message_id=event.message_id, model=event.model)
            return state.model_copy(update={"live": live})
        case AnswerStalled():
            return _answer_stalled(state, event)
        case PartStarted():
            return _part_started(state, event)
        case PartDelta():
            return _part_delta(state, event)
        case AnswerProgressed():
            return _answer_progressed(state, event)
        case _ as never:
            assert_never(never)


def _retry_scheduled(state: SessionState, event: RetryScheduled) -> SessionState:
    """Count the try that has failed; what it had streamed is void."""
    turn, retry = state.turn, event.retry
    if turn is None:
        return state
    in_a_row = 0 if retry.parked else retry.delay_ms
    waited = turn.waited_ms.get(retry.cause, 0) + in_a_row
    turn = turn.model_copy(
        update={
            "retry": retry,
            "failed_tries": {**turn.failed_tries, retry.cause: retry.attempt},
            "waited_ms": {**turn.waited_ms, retry.cause: waited},
        }
    )
    return state.model_copy(update={"turn": turn, "live": None})


def _answer_stalled(state: SessionState, event: AnswerStalled) -> SessionState:
    live = state.live
    if live is None or live.message_id != event.message_id:
        return state
    return changed(state, live=changed(live, stalled_since=event.silent_since))


def _part_started(state: SessionState, event: PartStarted) -> SessionState:
    live = state.live
    if live is None or live.message_id != event.message_id:
        return state
    parts = (*live.parts, event.part)
    live = live.model_copy(update={"parts": parts, "stalled_since": None})
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
        live = live.model_copy(update={"parts": parts, "stalled_since": None})
        return state.model_copy(update={"live": live})
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
