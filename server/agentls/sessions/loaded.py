"""A conversation as its log leaves it: the value alone, for who begins one that has no log yet."""

from dataclasses import dataclass

from agentls.protocol.events.conversation import SessionMeta
from agentls.protocol.events.storage import LogDamage
from agentls.protocol.session_state import SessionState
from agentls.sessions.store import LOG_VERSION


@dataclass(frozen=True, slots=True)
class LoadedSession:
    """A conversation as its log leaves it."""

    state: SessionState
    seq: int
    """The highest number of an event."""
    call_ids: frozenset[str] = frozenset()
    """Of every tool call in what was read of the log, on whatever branch."""
    turn_ids: frozenset[str] = frozenset()
    """Of every turn in what was read of the log."""
    damage: tuple[LogDamage, ...] = ()
    """What was found damaged and is not on record in the log."""
    message_count_difference: int | None = None
    """Messages found less those that the last finished turn had counted; None: they agree."""
    position: int = 0
    """Where what is appended later begins, for `SessionStore.read_new`."""
    complete: bool = True
    """All of the log was read, not only what its last compaction needs."""
    version: int = LOG_VERSION
    """Of the log's last lines; where it is an older one, a header goes before the next line."""

    @classmethod
    def empty(cls, meta: SessionMeta) -> "LoadedSession":
        """Return a session that has no log yet."""
        return cls(SessionState(meta=meta), 0)
