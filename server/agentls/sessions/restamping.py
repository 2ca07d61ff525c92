"""Gives the events of one session to another: its id in all of them, and numbers without a hole."""

from collections.abc import Sequence

from agentls.protocol.events.compaction import ConversationCompacted
from agentls.protocol.events.conversation import SessionCreated
from agentls.protocol.events.envelope import MAIN_CHAT, Envelope, SessionEvents
from agentls.protocol.events.kinds import MessageEvent


def restamped(
    envelopes: Sequence[Envelope], session_id: str, chat_id: str = MAIN_CHAT
) -> tuple[Envelope, ...]:
    """Return the events as those of another session, numbered anew without a hole."""
    numbers = {
        envelope.event.id: number
        for number, envelope in enumerate(envelopes, start=1)
        if isinstance(envelope.event, MessageEvent)
    }
    return tuple(
        envelope.model_copy(
            update={
                "seq": number,
                "session_id": session_id,
                "chat_id": chat_id,
                "event": _of_session(envelope.event, session_id, numbers),
            }
        )
        for number, envelope in enumerate(envelopes, start=1)
    )


def _of_session(event: SessionEvents, session_id: str, numbers: dict[str, int]) -> SessionEvents:
    match event:
        case SessionCreated():
            meta = event.session.model_copy(update={"id": session_id})
            return event.model_copy(update={"session": meta})
        case ConversationCompacted():
            meta = event.state.get("meta")
            own = {**meta, "id": session_id} if isinstance(meta, dict) else meta
            state = {**event.state, "meta": own}
            kept_from_seq = numbers.get(event.kept_from) if event.kept_from else None
            return event.model_copy(update={"state": state, "kept_from_seq": kept_from_seq})
        case _:
            return event
