"""The port to where sessions are kept: a log each, appended to and read back whole."""

from dataclasses import dataclass
from typing import Protocol

from agentls.protocol.events.envelope import Envelope
from agentls.protocol.requests import SessionSummary

LOG_VERSION = 1


@dataclass(frozen=True, slots=True)
class LogProblem:
    """Something in a log that could not be read; the rest of it was."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class LoadedLog:
    """What a log held."""

    envelopes: tuple[Envelope, ...]
    """In the order of `seq`."""
    problems: tuple[LogProblem, ...] = ()


class SessionLog(Protocol):
    """One session's log, open for writing."""

    def append(self, envelope: Envelope) -> None:
        """Take an event to be written; never waits and never fails."""
        ...

    async def flush(self) -> None:
        """Return when all that was appended is written. Raises `LogNotWritten`; nothing is lost."""
        ...

    async def aclose(self) -> None:
        """Write what is left and let go of the log. Raises `LogNotWritten`."""
        ...


class SessionStore(Protocol):
    """Where the sessions of one workspace are kept."""

    def create(self, session_id: str) -> SessionLog:
        """Begin a log; nothing is written before the session's first prompt."""
        ...

    def open(self, session_id: str) -> SessionLog:
        """Go on with a log that is there."""
        ...

    def load(self, session_id: str) -> LoadedLog:
        """Read a log, blocking. Raises `UnknownSession` and `LogUnreadable`."""
        ...

    def list(self) -> tuple[SessionSummary, ...]:
        """Return what is kept, newest first. Blocking."""
        ...
