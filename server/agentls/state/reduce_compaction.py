"""The reducer of what makes room in the model's window."""

from typing import assert_never

from agentls.protocol.events.compaction import (
    CompactionFailed,
    CompactionStarted,
    ConversationCompacted,
    ToolOutputsCleared,
)
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.history import History, Summary
from agentls.protocol.session_state import CompactionState, SessionState
from agentls.protocol.wire_model import JsonObject
from agentls.state.changed import changed

CompactionEvent = ToolOutputsCleared | CompactionStarted | ConversationCompacted | CompactionFailed


def boundary_state(state: SessionState) -> JsonObject:
    """Return what a boundary holds of the state before it; the reducer brings the rest itself."""
    made_anew = {"history", "live", "compaction", "access", "storage", "gates"}
    return state.model_dump(mode="json", by_alias=True, exclude=made_anew)


def reduce_compaction(
    state: SessionState, envelope: Envelope, event: CompactionEvent
) -> SessionState:
    """Return the state after room was made, or was not; see `reduce`."""
    compaction = state.compaction
    match event:
        case ToolOutputsCleared():
            cleared = changed(compaction, cleared_before=event.before, cleared_at=envelope.at)
            # What the last answer's request held says nothing of the next one's.
            usage = changed(state.usage, last=None)
            return changed(state, compaction=cleared, usage=usage)
        case CompactionStarted():
            return changed(state, compaction=changed(compaction, running=event.reason))
        case ConversationCompacted():
            return _conversation_compacted(state, envelope, event)
        case CompactionFailed():
            failures = compaction.failures + event.counts
            return changed(state, compaction=changed(compaction, running=None, failures=failures))
        case _ as never:
            assert_never(never)


def _conversation_compacted(
    state: SessionState, envelope: Envelope, event: ConversationCompacted
) -> SessionState:
    """Begin anew from the snapshot in the event, with the summary and the messages that stay."""
    summary = Summary(
        id=event.id,
        at=envelope.at,
        text=event.summary,
        message_count=event.message_count,
        put_back=event.put_back,
    )
    ids = [getattr(entry, "id", "") for entry in state.history]
    stays = ids.index(event.kept_from) if event.kept_from in ids else len(ids)
    before = SessionState.model_validate({**event.state, "history": []})
    history = History([summary, *state.history[stays:]])
    turn = before.turn
    if turn and turn.kind == "compact":
        turn = turn.model_copy(update={"rounds": 1})
    # Whose the session is and whether it can be written is of this moment, not of the snapshot's.
    return before.model_copy(
        update={
            "history": history,
            "head": event.id,
            "turn": turn,
            "compaction": CompactionState(carried=event.carried),
            "usage": before.usage.model_copy(update={"last": None}),
            "access": state.access,
            "storage": state.storage,
            "gates": state.gates,
        }
    )
