"""Sessions in memory alone, for `--no-session` and for tests."""

from agentls.errors import UnknownSession
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.requests import SessionSummary
from agentls.sessions.catalog import summary_of
from agentls.sessions.store import LoadedLog, SessionLog


class MemoryStore:
    """Keeps sessions for as long as the process lives."""

    def __init__(self) -> None:
        self._logs: dict[str, MemoryLog] = {}

    def create(self, session_id: str) -> SessionLog:
        """Begin a log; see the port."""
        return self._logs.setdefault(session_id, MemoryLog())

    def open(self, session_id: str) -> SessionLog:
        """Go on with a log; see the port."""
        return self._logs[session_id]

    def load(self, session_id: str) -> LoadedLog:
        """Read a log; see the port."""
        if session_id not in self._logs:
            raise UnknownSession(f"no session {session_id} in memory")
        return LoadedLog(tuple(self._logs[session_id].envelopes))

    def list(self) -> tuple[SessionSummary, ...]:
        """Return what is kept, newest first; see the port."""
        found = [summary_of(log.envelopes) for log in self._logs.values()]
        summaries = [summary for summary in found if summary is not None]
        return tuple(sorted(summaries, key=lambda summary: summary.updated_at, reverse=True))


class MemoryLog:
    """One session's events."""

    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []

    def append(self, envelope: Envelope) -> None:
        """Keep an event."""
        self.envelopes.append(envelope)

    async def flush(self) -> None:
        """Do nothing: all is kept already."""

    async def aclose(self) -> None:
        """Let go; the events stay."""
