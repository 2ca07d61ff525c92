"""The port to where sessions are kept: a log of lines each, appended to and read back."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from agentls.errors import LeaseLost
from agentls.protocol.events.envelope import MAIN_CHAT, Envelope
from agentls.protocol.requests import SessionSummary

if TYPE_CHECKING:
    from agentls.checkpoints.contents import Contents
    from agentls.sessions.lease import LeaseStore

LOG_VERSION = 2


@dataclass(frozen=True, slots=True)
class RawLog:
    """The lines of a log as they are kept, nothing looked into."""

    header: bytes
    """The first line; empty where there is none."""
    lines: tuple[bytes, ...]
    """The lines after the header, without the newline that ended each."""
    first_line: int
    """The number of the first of `lines` in the log, from 1; 0 where it was not counted."""
    complete: bool
    """Nothing was left out; False where `lines` begin behind the log's beginning."""
    position: int
    """Where what is appended later begins, for `read_new`."""
    torn: bool = False
    """The last line has no newline at its end."""


class Fence(Protocol):
    """Keeps a process from writing to a log that another one owns by now."""

    def still_mine(self) -> bool:
        """Whether this process may write. Blocking; raises `LogNotWritten` to be asked again."""
        ...

    def lost(self) -> LeaseLost:
        """Return the error to raise where it may not; it says who owns the session."""
        ...


class SessionLog(Protocol):
    """One conversation's log, open for writing."""

    @property
    def unsaved(self) -> int:
        """How many bytes wait to be written."""
        ...

    def append(self, envelope: Envelope) -> None:
        """Take an event to be written; never waits and never fails."""
        ...

    def describe(self, summary: SessionSummary) -> None:
        """Keep what a list shows of the session where a list finds it; never waits nor fails."""
        ...

    async def flush(self, *, durable: bool = False) -> None:
        """Return when all that was appended is written; `durable`: on the disk itself.

        Raises `LogNotWritten`, `LeaseLost` and `LogConflict`; nothing is lost.
        """
        ...

    def write_now(self) -> None:
        """Write what waits, blocking, from any thread. What cannot be written goes on waiting."""
        ...

    async def aclose(self) -> None:
        """Write what is left and let go of the log. Raises what `flush` raises."""
        ...


class SessionStore(Protocol):
    """Where the sessions of one workspace are kept. All but the logs' methods block.

    Unless said otherwise, a session that is not there raises `UnknownSession`.
    """

    @property
    def leases(self) -> "LeaseStore":
        """Who has which session to itself."""
        ...

    @property
    def contents(self) -> "Contents":
        """The contents of files as they were, for rewinds; shared between sessions."""
        ...

    def create(
        self, session_id: str, chat_id: str = MAIN_CHAT, *, lease: Fence | None = None
    ) -> SessionLog:
        """Begin a log; nothing is written before the conversation's first prompt.

        `lease` is asked before each batch whether this process may still write.
        """
        ...

    def open(
        self, session_id: str, chat_id: str = MAIN_CHAT, *, after: int, lease: Fence | None = None
    ) -> SessionLog:
        """Go on with a log whose last event has the number `after`.

        Where somebody else has written later ones, flushing raises `LogConflict`.
        """
        ...

    def has(self, session_id: str) -> bool:
        """Whether there is such a session, the trash apart. Never raises."""
        ...

    def read(self, session_id: str, chat_id: str = MAIN_CHAT, *, whole: bool = False) -> RawLog:
        """Read a log from what its last compaction needs on, or all of it.

        Raises `LogUnreadable`.
        """
        ...

    def read_new(self, session_id: str, position: int) -> tuple[list[bytes], int]:
        """Return the whole lines of the main log behind `position`, and the position behind them.

        Raises `LogUnreadable` where the log is shorter than that: whoever follows it loads it anew.
        """
        ...

    def chats(self, session_id: str) -> tuple[str, ...]:
        """Return the ids of the session's other conversations: those of its subagents."""
        ...

    def blob(self, session_id: str, sha256: str) -> bytes:
        """Return a value that was too big for a line. Raises `ContentMissing`."""
        ...

    def list(self, *, trashed: bool = False) -> tuple[SessionSummary, ...]:
        """Return what is kept, or what is in the trash, newest first."""
        ...

    def trash(self, session_id: str) -> None:
        """Move a session, with all that belongs to it, to the trash."""
        ...

    def restore(self, session_id: str) -> None:
        """Take a session out of the trash. Raises `UnknownSession`, `SessionExists`."""
        ...

    def purge(self, session_id: str) -> None:
        """Delete a session that is in the trash, for good."""
        ...

    def close(self) -> None:
        """Let go of what the store itself holds; its logs are closed before."""
        ...

    def write_ahead(self) -> None:
        """Write what waits in every open log, from any thread; never raises.

        Called before anything is told to the outside, so that nothing is told that is not kept.
        """
        ...
