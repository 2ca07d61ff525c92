"""Sessions as a folder of JSONL files: `<id>.jsonl`, and `<id>/` for what belongs to it."""

import os
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from agentls.errors import LogUnreadable, UnknownSession
from agentls.protocol.events.conversation import PromptQueued, UserMessageReceived
from agentls.protocol.events.envelope import MAIN_CHAT, Envelope
from agentls.protocol.events.storage import SessionResumed
from agentls.protocol.requests import SessionSummary
from agentls.sessions.blobs import Blob, read_blob
from agentls.sessions.catalog import summarise, summarise_as
from agentls.sessions.log_file import LogFile, make_folders
from agentls.sessions.raw_log import read_file
from agentls.sessions.records import envelope_line, header_line, summary_line
from agentls.sessions.store import Fence, RawLog
from agentls.sessions.tail import FileReplaced, Tail
from agentls.sessions.trash import SUFFIX, Trash
from agentls.sessions.writer import LogWriter, write_now
from agentls.state.event_store import timestamp, utc_now

if TYPE_CHECKING:
    from agentls.checkpoints.contents import FolderContents
    from agentls.sessions.lease import FolderLeases

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
DESCRIBE_BYTES = 40 << 10
"""After this many bytes of events an unchanged summary is kept again, so that lists find it."""

_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


class FolderStore:
    """Keeps sessions under `.agentls/sessions` of a folder.

    `on_trouble` is told, for a person, what happens to a log that is being written.
    """

    def __init__(
        self, agentls_folder: Path, *, on_trouble: Callable[[str], None] | None = None
    ) -> None:
        self._agentls_folder = agentls_folder
        self._sessions = agentls_folder / "sessions"
        self._trash = Trash(self._sessions, agentls_folder / "trash")
        self._on_trouble = on_trouble
        self._logs: set[FolderLog] = set()
        self._prepared = False

    @property
    def folder(self) -> Path:
        """The folder that holds all of it."""
        return self._agentls_folder

    @property
    def sessions(self) -> Path:
        """The folder of the logs."""
        return self._sessions

    @property
    def leases(self) -> "FolderLeases":
        """Who has which session to itself; see the port."""
        # Imported for the first prompt: an editor waits for the server's start.
        from agentls.sessions.lease import FolderLeases

        return FolderLeases(self._sessions)

    @property
    def contents(self) -> "FolderContents":
        """The contents of files as they were; see the port."""
        from agentls.checkpoints.contents import FolderContents

        return FolderContents(self._agentls_folder / "checkpoints")

    def create(
        self, session_id: str, chat_id: str = MAIN_CHAT, *, lease: Fence | None = None
    ) -> "FolderLog":
        """Begin a log; see the port."""
        return self._log(session_id, chat_id, None, lease)

    def open(
        self, session_id: str, chat_id: str = MAIN_CHAT, *, after: int, lease: Fence | None = None
    ) -> "FolderLog":
        """Go on with a log; see the port."""
        return self._log(session_id, chat_id, after, lease)

    def has(self, session_id: str) -> bool:
        """Whether there is such a session; see the port."""
        try:
            return bool(_ID.fullmatch(session_id)) and self._path(session_id).is_file()
        except OSError:  # the folder may not be entered
            return False

    def read(self, session_id: str, chat_id: str = MAIN_CHAT, *, whole: bool = False) -> RawLog:
        """Read a log; see the port."""
        path = self._existing(session_id, chat_id)
        try:
            return read_file(path, whole)
        except OSError as error:
            raise LogUnreadable(f"{path} cannot be read: {error.strerror or error}") from error

    def read_new(self, session_id: str, position: int) -> tuple[list[bytes], int]:
        """Return the lines behind `position`; see the port."""
        path = self._existing(session_id, MAIN_CHAT)
        try:
            with Tail(path, position) as tail:
                return tail.read_new(), tail.offset
        except FileReplaced as error:
            raise LogUnreadable(f"{error} since it was read; load the session anew") from error
        except OSError as error:
            raise LogUnreadable(f"{path} cannot be read: {error.strerror or error}") from error

    def chats(self, session_id: str) -> tuple[str, ...]:
        """Return the ids of the conversations of subagents; see the port."""
        self._existing(session_id, MAIN_CHAT)
        return tuple(sorted(_logs_in(self._sessions / session_id / "chats")))

    def blob(self, session_id: str, sha256: str) -> bytes:
        """Return a value that was too big for a line; see the port."""
        _check(session_id)
        return read_blob(self._blobs(session_id), sha256)

    def list(self, *, trashed: bool = False) -> tuple[SessionSummary, ...]:
        """Return what is kept, or what is in the trash, newest first; see the port."""
        if trashed:
            found = [summarise(path) for path in self._trash.logs()]
        else:
            # Strings: a list of a thousand sessions would spend a fifth of its time on paths.
            place = f"{self._sessions}{os.sep}"
            found = [summarise_as(f"{place}{n}{SUFFIX}", n) for n in _logs_in(self._sessions)]
        summaries = [summary for summary in found if summary is not None]
        return tuple(sorted(summaries, key=lambda summary: summary.updated_at, reverse=True))

    def trash(self, session_id: str) -> None:
        """Move a session to the trash; see the port."""
        _check(session_id)
        self._trash.put(session_id)

    def restore(self, session_id: str) -> None:
        """Take a session out of the trash; see the port."""
        _check(session_id)
        self._trash.restore(session_id)

    def purge(self, session_id: str) -> None:
        """Delete a session that is in the trash, for good; see the port."""
        _check(session_id)
        self._trash.purge(session_id)

    def trashed_at(self, session_id: str) -> str | None:
        """Return when a session was moved to the trash, where that is known."""
        _check(session_id)
        return self._trash.trashed_at(session_id)

    def close(self) -> None:
        """Do nothing: the logs hold all there is to let go of."""

    def write_ahead(self) -> None:
        """Write what waits in every open log; see the port."""
        write_now([log.writer for log in tuple(self._logs)])

    def prepare(self) -> None:
        """Make the folder, closed to others, with a `.gitignore` of its own. Raises OSError."""
        # Once made, what it lies in is not made again: the project was moved or deleted.
        self._agentls_folder.mkdir(parents=not self._prepared, exist_ok=True, mode=0o700)
        self._sessions.mkdir(exist_ok=True, mode=0o700)
        self._prepared = True
        gitignore = self._agentls_folder / ".gitignore"
        if not os.path.lexists(gitignore):
            _write_whole(gitignore, GITIGNORE.encode())

    def forget(self, log: "FolderLog") -> None:
        """Take note that a log is closed."""
        self._logs.discard(log)

    def _log(
        self, session_id: str, chat_id: str, after: int | None, lease: Fence | None
    ) -> "FolderLog":
        path = self._path(session_id, chat_id)
        writer = LogWriter(
            LogFile(
                path,
                header=header_line(session_id, chat_id),
                after=after,
                prepare=lambda: self._prepare_for(path),
                fence=lease,
            ),
            on_trouble=self._on_trouble,
        )
        log = FolderLog(self, writer, self._blobs(session_id), is_new=after is None)
        self._logs.add(log)
        return log

    def _prepare_for(self, path: Path) -> None:
        self.prepare()
        if path.parent != self._sessions:
            make_folders(path.parent.parent, path.parent)

    def _blobs(self, session_id: str) -> Path:
        return self._sessions / session_id / "blobs"

    def _path(self, session_id: str, chat_id: str = MAIN_CHAT) -> Path:
        _check(session_id)
        if chat_id == MAIN_CHAT:
            return self._sessions / f"{session_id}{SUFFIX}"
        _check(chat_id)
        return self._sessions / session_id / "chats" / f"{chat_id}{SUFFIX}"

    def _existing(self, session_id: str, chat_id: str) -> Path:
        """Return the path of a log that is there. Raises `UnknownSession`, `LogUnreadable`."""
        path = self._path(session_id, chat_id)
        if not os.path.lexists(path):
            what = "session" if chat_id == MAIN_CHAT else f"conversation {chat_id} in session"
            raise UnknownSession(
                f"no {what} {session_id} in {self._sessions}; `agentls sessions list` shows what "
                "is there"
            )
        inside = path.relative_to(self._sessions).parts
        if any(
            self._sessions.joinpath(*inside[:n]).is_symlink() for n in range(1, len(inside) + 1)
        ):
            raise LogUnreadable(f"{path} is a link, and links are not followed here")
        if not path.is_file():
            raise LogUnreadable(f"{path} is not a file")
        return path


class FolderLog:
    """One log file.

    A new one holds back what comes before the first prompt, so that none stays empty; one that is
    gone on with holds back that it was, so that looking at a session leaves it as it is.
    """

    def __init__(self, store: FolderStore, writer: LogWriter, blobs: Path, *, is_new: bool) -> None:
        self._store = store
        self._blobs = blobs
        self._is_new = is_new
        self._held: list[tuple[bytes, list[Blob]]] | None = []
        """None when nothing is held back any more."""
        self._described: SessionSummary | None = None
        self._undescribed = 0
        """Bytes of events since the last summary."""
        self.writer = writer

    @property
    def unsaved(self) -> int:
        """How many bytes wait to be written; see the port."""
        return self.writer.unsaved

    def append(self, envelope: Envelope) -> None:
        """Take an event to be written; see the port."""
        blobs: list[Blob] = []

        def keep(data: bytes) -> str:
            blobs.append(Blob.of(self._blobs, data))
            return blobs[-1].name

        line = envelope_line(envelope, keep)
        if self._held is not None:
            if not self._begins_with(envelope):
                self._held.append((line, blobs))
                return
            held, self._held = self._held, None
            for earlier in held:
                self.writer.append(*earlier)
        self.writer.append(line, blobs)
        self._undescribed += len(line)

    def describe(self, summary: SessionSummary) -> None:
        """Keep what a list shows; see the port. Nothing is kept of a session that has no change."""
        if self._held is not None:
            return
        # When it was changed is seen from its last event.
        timeless = summary.model_copy(update={"updated_at": "", "open": False})
        if timeless == self._described and self._undescribed < DESCRIBE_BYTES:
            return
        self._described, self._undescribed = timeless, 0
        self.writer.append(summary_line(summary, timestamp(utc_now())))

    async def flush(self, *, durable: bool = False) -> None:
        """Return when all is written; see the port."""
        await self.writer.flush(durable=durable)

    def write_now(self) -> None:
        """Write what waits, blocking; see the port."""
        self.writer.write_now()

    async def aclose(self) -> None:
        """Write what is left and close; see the port."""
        try:
            await self.writer.flush()
        finally:
            self.writer.close()
            self._store.forget(self)

    def _begins_with(self, envelope: Envelope) -> bool:
        if self._is_new:
            return isinstance(envelope.event, PromptQueued | UserMessageReceived)
        return not isinstance(envelope.event, SessionResumed)


def _check(name: str) -> None:
    """Raise `UnknownSession` for what may not be a file's name here."""
    if not _ID.fullmatch(name):
        raise UnknownSession(f"{name!r} is not the id of a session")


def _logs_in(folder: Path) -> list[str]:
    """Return the names of the logs in a folder, without their suffix."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise LogUnreadable(f"{folder} cannot be read: {error.strerror}") from error
    logs = (name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))
    return [name for name in logs if _ID.fullmatch(name)]


def _write_whole(path: Path, data: bytes) -> None:
    """Make a file that is whole from its first moment."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
