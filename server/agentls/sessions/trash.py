"""Sessions that were thrown away: moved aside whole, until somebody deletes them for good.

A session is where its log is. So the log goes into the trash before its folder, and comes out after
it; a process that ends in between leaves its log in the trash and its folder outside, and whoever
looks next moves the folder in. Nothing here ever deletes by itself.
"""

import os
import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from agentls.errors import SessionExists, StorageError, UnknownSession
from agentls.sessions.log_file import sync_folder
from agentls.state.event_store import timestamp

SUFFIX = ".jsonl"
LOCK_SECONDS = 10.0
_WHEN = "trashed-at"
_DELETED = ".deleted-"
"""What a folder is called while it is being deleted."""


class Trash:
    """Moves sessions between `sessions` and `folder`. Ids are taken as they are; it blocks.

    All raise `StorageError` where the disk refuses.
    """

    def __init__(self, sessions: Path, folder: Path) -> None:
        self._sessions = sessions
        self._folder = folder

    def put(self, session_id: str) -> None:
        """Move a session in. Raises `UnknownSession`, `SessionExists`."""
        log, place = self._log(session_id), self._folder / session_id
        if not os.path.lexists(log):
            raise UnknownSession(
                f"no session {session_id} in {self._sessions}; `agentls sessions list` shows "
                "what is there"
            )
        with self._locked(f"session {session_id} could not be moved to the trash"):
            if os.path.lexists(place / log.name):
                raise SessionExists(
                    f"another session {session_id} is in the trash already; restore or delete it "
                    "first"
                )
            place.mkdir(mode=0o700, exist_ok=True)
            (place / _WHEN).write_text(timestamp(datetime.now(UTC)) + "\n", encoding="utf-8")
            log.rename(place / log.name)
            self._move_folder_in(session_id)
            self._sync(place)

    def restore(self, session_id: str) -> None:
        """Move a session out. Raises `UnknownSession`, and `SessionExists` for an id in use."""
        place = self._place(session_id)
        with self._locked(f"session {session_id} could not be taken out of the trash"):
            self._move_folder_in(session_id)
            log, folder = self._log(session_id), self._sessions / session_id
            if os.path.lexists(log) or os.path.lexists(folder):
                raise SessionExists(
                    f"a session {session_id} is in {self._sessions} already; it is left alone, and "
                    "so is the one in the trash"
                )
            if (place / session_id).is_dir():
                (place / session_id).rename(folder)
            (place / log.name).rename(log)
            self._sync(self._sessions)
            (place / _WHEN).unlink(missing_ok=True)
            with suppress(OSError):  # something of somebody else's is in it
                place.rmdir()

    def purge(self, session_id: str) -> None:
        """Delete a session that is in the trash, for good. Raises `UnknownSession`."""
        place = self._place(session_id)
        with self._locked(f"session {session_id} could not be deleted"):
            self._move_folder_in(session_id)
            # Renamed first: half a session is never seen.
            place.rename(self._folder / f"{_DELETED}{session_id}-{secrets.token_hex(4)}")
            self._sync(self._folder)
            self._delete_what_was_purged()

    def logs(self) -> list[Path]:
        """Return the logs of the sessions in the trash; what was begun and not finished, is."""
        found = self._found()
        if any(self._is_unfinished(path) for path in found):
            with suppress(StorageError), self._locked("the trash could not be put in order"):
                for path in found:
                    self._move_folder_in(path.stem)
                self._delete_what_was_purged()
        return found

    def trashed_at(self, session_id: str) -> str | None:
        """Return when a session was trashed; None where it is not in the trash, or nobody knows."""
        try:
            text = (self._folder / session_id / _WHEN).read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None
        return text.strip() or None

    def _found(self) -> list[Path]:
        try:
            places = sorted(self._folder.iterdir())
        except OSError:
            return []
        logs = (place / f"{place.name}{SUFFIX}" for place in places)
        return [log for log in logs if log.is_file()]

    def _log(self, session_id: str) -> Path:
        return self._sessions / f"{session_id}{SUFFIX}"

    def _place(self, session_id: str) -> Path:
        place = self._folder / session_id
        if not (place / f"{session_id}{SUFFIX}").is_file():
            raise UnknownSession(
                f"no session {session_id} in the trash; `agentls sessions list --trash` shows what "
                "is there"
            )
        return place

    def _is_unfinished(self, log: Path) -> bool:
        return self._is_folder_outside(log.stem) or any(self._folder.glob(f"{_DELETED}*"))

    def _is_folder_outside(self, session_id: str) -> bool:
        """Whether the log of a folder in `sessions` is in the trash."""
        return (self._sessions / session_id).is_dir() and not os.path.lexists(self._log(session_id))

    def _move_folder_in(self, session_id: str) -> None:
        inside = self._folder / session_id / session_id
        if self._is_folder_outside(session_id) and not os.path.lexists(inside):
            (self._sessions / session_id).rename(inside)

    def _delete_what_was_purged(self) -> None:
        for folder in self._folder.glob(f"{_DELETED}*"):
            shutil.rmtree(folder)

    def _sync(self, folder: Path) -> None:
        for changed in {folder, self._sessions, self._folder}:
            sync_folder(changed)

    @contextmanager
    def _locked(self, failed: str) -> Generator[None]:
        """Keep other processes away meanwhile, so that nobody finishes what is still going on."""
        from filelock import FileLock, Timeout

        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(self._folder / ".lock", timeout=LOCK_SECONDS, mode=0o600):
                yield
        except Timeout as error:
            raise StorageError(
                f"{failed}: another process is at work in {self._folder}. Try again."
            ) from error
        except OSError as error:
            raise StorageError(
                f"{failed}: {error.filename or self._folder}: {error.strerror or error}. "
                "What was moved already is found and put right when the trash is looked at."
            ) from error
