"""Small logs to keep, and what is read back of them."""

from agentls.errors import LeaseLost, LogNotWritten
from agentls.protocol.content import TextBlock, Usage
from agentls.protocol.events.compaction import ConversationCompacted
from agentls.protocol.events.conversation import (
    PromptQueued,
    SessionCreated,
    SessionMeta,
    TitleChanged,
    UserMessageReceived,
)
from agentls.protocol.events.envelope import MAIN_CHAT, Envelope, SessionEvents
from agentls.protocol.events.settings import ModelChanged
from agentls.protocol.events.storage import SessionResumed
from agentls.protocol.requests import SessionSummary
from agentls.sessions.records import envelope_of
from agentls.sessions.store import RawLog, SessionStore


def moment(number: int) -> str:
    return f"2026-11-30T12:{number // 60:02d}:{number % 60:02d}.000Z"


def envelope(
    seq: int, event: SessionEvents, session_id: str = "s1", chat_id: str = MAIN_CHAT, at: int = 0
) -> Envelope:
    return Envelope(
        seq=seq,
        session_id=session_id,
        chat_id=chat_id,
        turn_id=None,
        origin=None,
        at=moment(at or seq),
        event=event,
    )


def created(session_id: str = "s1", seq: int = 1, at: int = 0) -> Envelope:
    meta = SessionMeta(id=session_id, created_at=moment(at or seq), cwd=".", agentls_version="0")
    return envelope(seq, SessionCreated(session=meta, model="m"), session_id, at=at)


def prompted(seq: int, text: str = "hello", session_id: str = "s1", at: int = 0) -> Envelope:
    event = PromptQueued(item_id=f"turn{seq}", content=(TextBlock(text=text),))
    return envelope(seq, event, session_id, at=at)


def said(seq: int, text: str = "hello", chat_id: str = MAIN_CHAT) -> Envelope:
    event = UserMessageReceived(id=f"msg{seq}", parent=None, content=(TextBlock(text=text),))
    return envelope(seq, event, chat_id=chat_id)


def model_changed(seq: int) -> Envelope:
    return envelope(seq, ModelChanged(model=f"m{seq}", scope="session"))


def resumed(seq: int) -> Envelope:
    return envelope(seq, SessionResumed(agentls_version="0", face="lsp", git_branch=None))


def titled(seq: int, title: str, session_id: str = "s1", at: int = 0) -> Envelope:
    return envelope(seq, TitleChanged(title=title), session_id, at=at)


def compacted(seq: int, kept_from_seq: int | None) -> Envelope:
    event = ConversationCompacted(
        id=f"msg{seq}",
        parent=None,
        logical_parent=f"msg{seq - 1}",
        kept_from=kept_from_seq and f"msg{kept_from_seq}",
        kept_from_seq=kept_from_seq,
        summary="what was",
        message_count=seq - 1,
        state={},
    )
    return envelope(seq, event)


def summary(session_id: str = "s1", at: int = 9, **shown: object) -> SessionSummary:
    return SessionSummary.model_validate(
        {
            "id": session_id,
            "title": "A title",
            "tag": "tag",
            "last_prompt": "hello",
            "created_at": moment(1),
            "updated_at": moment(at),
            "message_count": 7,
            "model": "m",
            "git_branch": "main",
            "usage": Usage(input_tokens=3),
            "forked_from": None,
            "open": False,
            **shown,
        }
    )


def events_in(store: SessionStore, raw: RawLog, session_id: str = "s1") -> list[Envelope]:
    """Return the events of what was read; every blob must be there."""
    found: list[Envelope] = []
    for line in raw.lines:
        if line.startswith(b'{"summary"'):
            continue
        event, missing = envelope_of(line, lambda sha256: store.blob(session_id, sha256))
        assert missing == ()
        found.append(event)
    return found


def kept(store: SessionStore, session_id: str = "s1", chat_id: str = MAIN_CHAT) -> list[Envelope]:
    """Return all events of a log."""
    return events_in(store, store.read(session_id, chat_id, whole=True), session_id)


def seqs(store: SessionStore, session_id: str = "s1", chat_id: str = MAIN_CHAT) -> list[int]:
    return [event.seq for event in kept(store, session_id, chat_id)]


async def keep(store: SessionStore, *events: Envelope) -> None:
    """Begin a session of these events and let go of it."""
    log = store.create(events[0].session_id, events[0].chat_id)
    for event in events:
        log.append(event)
    await log.aclose()


class Gate:
    """A fence that does what the test says."""

    def __init__(self) -> None:
        self.trouble: str | None = None
        self.mine = True

    def still_mine(self) -> bool:
        if self.trouble:
            raise LogNotWritten(self.trouble)
        return self.mine

    def lost(self) -> LeaseLost:
        return LeaseLost("it is another's")
