"""Sessions as a folder of JSONL files, `<id>.jsonl`, in the workspace."""

from pathlib import Path

from agentls.errors import LogNotWritten, LogUnreadable, UnknownSession
from agentls.protocol.events.conversation import PromptQueued, UserMessageReceived
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.requests import SessionSummary
from agentls.sessions.catalog import summarise
from agentls.sessions.records import envelope_line, header_line, parse_log
from agentls.sessions.store import LoadedLog, SessionLog
from agentls.sessions.writer import LogWriter

GITIGNORE = """\
# Written by agentls: sessions and private settings stay out of the repository.
*
!.gitignore
!settings.json
!skills/
!skills/**
!commands/
!commands/**
!agents/
!agents/**
!tools/
!tools/**
"""


class FolderStore:
    """Keeps sessions under `.agentls/sessions` of a folder."""

    def __init__(self, agentls_folder: Path) -> None:
        self._agentls_folder = agentls_folder
        self._sessions = agentls_folder / "sessions"

    @property
    def folder(self) -> Path:
        """The folder that holds all of it."""
        return self._agentls_folder

    def create(self, session_id: str) -> SessionLog:
        """Begin a log; see the port."""
        return self._open(session_id, begun=False)

    def open(self, session_id: str) -> SessionLog:
        """Go on with a log; see the port."""
        return self._open(session_id, begun=True)

    def load(self, session_id: str) -> LoadedLog:
        """Read a log; see the port."""
        path = self._path(session_id)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise UnknownSession(
                f"no session {session_id} in {self._sessions}; `agentls sessions list` shows them"
            ) from None
        except OSError as error:
            raise LogUnreadable(f"{path} cannot be read: {error.strerror}") from error
        return parse_log(data, str(path))

    def list(self) -> tuple[SessionSummary, ...]:
        """Return what is kept, newest first; see the port."""
        found = (summarise(path) for path in self._sessions.glob("*.jsonl"))
        summaries = [summary for summary in found if summary is not None]
        return tuple(sorted(summaries, key=lambda summary: summary.updated_at, reverse=True))

    def prepare(self) -> None:
        """Make the folder, closed to others, with a `.gitignore` of its own. Raises OSError."""
        self._sessions.mkdir(parents=True, exist_ok=True, mode=0o700)
        gitignore = self._agentls_folder / ".gitignore"
        if not gitignore.exists():
            gitignore.write_text(GITIGNORE, encoding="utf-8")

    def _open(self, session_id: str, *, begun: bool) -> SessionLog:
        return FolderLog(self, session_id, self._path(session_id), begun=begun)

    def _path(self, session_id: str) -> Path:
        if not session_id or not all(char.isalnum() or char in "-_" for char in session_id):
            raise UnknownSession(f"{session_id!r} is not a session id")
        return self._sessions / f"{session_id}.jsonl"


class FolderLog:
    """One log file. What comes before the first prompt is held back, so that none stays empty."""

    def __init__(self, store: FolderStore, session_id: str, path: Path, *, begun: bool) -> None:
        self._store = store
        self._writer = LogWriter(path)
        self._begun = begun
        self._has_folder = False
        self._held = bytearray() if begun else bytearray(header_line(session_id))

    def append(self, envelope: Envelope) -> None:
        """Take an event to be written; see the port."""
        line = envelope_line(envelope)
        if self._begun:
            self._writer.append(line)
            return
        self._held += line
        if isinstance(envelope.event, PromptQueued | UserMessageReceived):
            self._begun = True
            self._writer.append(bytes(self._held))
            self._held.clear()

    async def flush(self) -> None:
        """Return when all is written; see the port."""
        if not self._begun:
            return
        if not self._has_folder:
            self._prepare_folder()
        await self._writer.flush()

    async def aclose(self) -> None:
        """Write what is left and close; see the port."""
        try:
            await self.flush()
        finally:
            self._writer.close()

    def _prepare_folder(self) -> None:
        try:
            self._store.prepare()
            self._has_folder = True
        except OSError as error:
            place = error.filename or self._store.folder
            raise LogNotWritten(
                f"the folder of the sessions cannot be made: {place}: {error.strerror}"
            ) from error
