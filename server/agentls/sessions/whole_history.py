"""A conversation as people remember it: what was said before each compaction is there too."""

from collections.abc import Sequence

from agentls.protocol.events.compaction import ConversationCompacted
from agentls.protocol.events.conversation import HeadMoved
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.events.kinds import MessageEvent
from agentls.protocol.history import CallResult, Entry, History, Summary
from agentls.protocol.session_state import SessionState
from agentls.sessions.chain import replay
from agentls.sessions.loading import events
from agentls.sessions.store import SessionStore


def whole_history(store: SessionStore, state: SessionState) -> SessionState:
    """Return a loaded session's state with all of its branch; reads the log where need be."""
    if not any(isinstance(entry, Summary) for entry in state.history):
        return state
    return with_whole_history(state, events(store, state.meta.id))


def with_whole_history(state: SessionState, envelopes: Sequence[Envelope]) -> SessionState:
    """Return `state` with all of its branch; `envelopes` are all events of its log, in order.

    What a compaction has kept word for word stands before its summary, where it was said.
    """
    later: list[Entry] = list(state.history)
    parts: list[list[Entry]] = []
    end = len(envelopes)
    while later and isinstance(later[0], Summary):
        place = _place_of(later[0].id, envelopes[:end])
        earlier = _history_before(envelopes, place) if place is not None else None
        if place is None or earlier is None:
            break
        kept = _kept(envelopes[place], earlier)
        parts.append([later[0], *later[1 + kept :]])
        later, end = list(earlier), place
    if not parts:
        return state
    entries = [*later, *(entry for part in reversed(parts) for entry in part)]
    return state.model_copy(update={"history": History(entries)})


def _place_of(message_id: str, envelopes: Sequence[Envelope]) -> int | None:
    for place in range(len(envelopes) - 1, -1, -1):
        event = envelopes[place].event
        if isinstance(event, ConversationCompacted) and event.id == message_id:
            return place
    return None


def _history_before(envelopes: Sequence[Envelope], place: int) -> History | None:
    """Return the conversation that a compaction took the place of; None where it is not there."""
    event = envelopes[place].event
    assert isinstance(event, ConversationCompacted)
    before = [*envelopes[:place]]
    parent = event.logical_parent
    known = (earlier.event for earlier in before)
    if not any(isinstance(message, MessageEvent) and message.id == parent for message in known):
        return None
    moved = envelopes[place].model_copy(update={"event": HeadMoved(head=parent)})
    return replay([*before, moved]).history


def _kept(compacted: Envelope, earlier: History) -> int:
    """Return how many entries of `earlier` stayed word for word."""
    event = compacted.event
    if not isinstance(event, ConversationCompacted) or event.kept_from is None:
        return 0
    for place, entry in enumerate(earlier):
        if not isinstance(entry, CallResult) and entry.id == event.kept_from:
            return len(earlier) - place
    return 0
