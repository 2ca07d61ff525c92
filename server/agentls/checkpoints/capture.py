"""Keeps what files hold, and remembers which content a file had in which state."""

import os
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass

from agentls.checkpoints.contents import Contents
from agentls.checkpoints.limits import Limits
from agentls.checkpoints.scan import MODE, MODIFIED, SIZE, Folder, Scan, Stamp, is_settled, stamp_of


class NotKept(Exception):
    """The store of contents refuses; the text says why."""


@dataclass(frozen=True, slots=True)
class _Entry:
    stamp: Stamp
    sha256: str | None
    """None where the file could not be read."""
    read_at: int


class Capture:
    """The contents of one session's files."""

    def __init__(self, contents: Contents, session_id: str, limits: Limits) -> None:
        self._contents = contents
        self._session_id = session_id
        self._limits = limits
        self._entries: dict[str, _Entry] = {}
        self._older: dict[tuple[str, Stamp], str] = {}
        """Contents of states that have passed, for commands that began before."""
        self._done: dict[str, dict[str, Stamp]] = {}
        """Folders of which nothing is left to be kept, as they were then."""
        self._referred = set[str]()
        self._unreferred = list[str]()
        self._unknown_bytes = 0

    def sha(self, path: str, stamp: Stamp) -> str | None:
        """Return the content that a file had in this state; None where it was not kept."""
        entry = self._entries.get(path)
        if entry and entry.stamp == stamp:
            return entry.sha256
        return self._older.get((path, stamp))

    def put(self, data: bytes) -> str:
        """Keep bytes for the session. Raises `NotKept`."""
        try:
            return self._needed(self._contents.put(data))
        except OSError as error:
            raise NotKept(_why(error)) from error

    def read(self, path: str, stamp: Stamp) -> str | None:
        """Keep what the file holds, and return its hash; None where it cannot be read.

        Raises `NotKept`. Files beyond `known_file_bytes` are not read.
        """
        if not has_content(stamp) or stamp[SIZE] > self._limits.known_file_bytes:
            return None
        read_at = time.time_ns()
        sha256 = self._read(path, is_link=stat.S_ISLNK(stamp[MODE]))
        # What was written while it was read is a state that nobody has seen.
        if stamp_of(path) == stamp:
            self._note(path, _Entry(stamp, sha256, read_at))
        return sha256

    def catch_up(self, scan: Scan, known: Iterable[tuple[str, Stamp]], deadline: float) -> None:
        """Keep what is not kept yet: known files all, of the others what the bounds allow.

        Of these the most recently modified come first: they are what the work is about. Raises
        `NotKept`.
        """
        known = list(known)
        for path, stamp in known:
            if not self._is_current(path, stamp):
                self.read(path, stamp)
        spent = 0
        for path, stamp in self._waiting(scan):
            spent += stamp[SIZE]
            if (
                time.monotonic() > deadline
                or spent > self._limits.call_bytes
                or self._unknown_bytes + stamp[SIZE] > self._limits.all_bytes
            ):
                return
            kept = len(self._referred)
            self.read(path, stamp)
            if len(self._referred) > kept:
                self._unknown_bytes += stamp[SIZE]

    def refer(self) -> None:
        """Note in the store what the session needs of what was kept. Raises `NotKept`."""
        if not self._unreferred:
            return
        try:
            self._contents.refer(self._session_id, self._unreferred)
        except OSError as error:
            raise NotKept(_why(error)) from error
        self._unreferred.clear()

    def unsettled(self, scan: Scan) -> list[tuple[str, Stamp]]:
        """Return the kept files that may have changed, right after the scan, and look as before."""
        return [
            (path, stamp)
            for path, stamp in self._open_files(scan)
            if not is_settled(stamp, scan.started_at) and self.sha(path, stamp)
        ]

    def _waiting(self, scan: Scan) -> list[tuple[str, Stamp]]:
        """Return the files to be kept, most recently modified first."""
        most = self._limits.unknown_file_bytes
        waiting = [
            (path, stamp)
            for path, stamp in self._open_files(scan)
            if stamp[SIZE] <= most and has_content(stamp) and not self._is_current(path, stamp)
        ]
        waiting.sort(key=lambda item: item[1][MODIFIED], reverse=True)
        return waiting

    def _open_files(self, scan: Scan) -> Iterable[tuple[str, Stamp]]:
        """Yield the files of the folders in which something may be left to do."""
        for path, folder in scan.folders.items():
            if self._done.get(path) is folder.files:
                continue
            if self._is_done(path, folder):
                self._done[path] = folder.files
                continue
            for name, stamp in folder.files.items():
                yield f"{path}/{name}", stamp

    def _is_done(self, path: str, folder: Folder) -> bool:
        most = self._limits.unknown_file_bytes
        entries = self._entries
        for name, stamp in folder.files.items():
            entry = entries.get(f"{path}/{name}")
            if entry is None or entry.stamp != stamp:
                if stamp[SIZE] <= most and has_content(stamp):
                    return False
            elif not is_settled(stamp, entry.read_at):
                return False
        return True

    def _is_current(self, path: str, stamp: Stamp) -> bool:
        entry = self._entries.get(path)
        return entry is not None and entry.stamp == stamp and is_settled(stamp, entry.read_at)

    def _read(self, path: str, *, is_link: bool) -> str | None:
        try:
            if not is_link:
                return self._needed(self._contents.put_file(path))
            target = os.fsencode(os.readlink(path))  # noqa: PTH115  a path need not be Unicode
        except OSError as error:
            if error.filename == path:
                return None
            raise NotKept(_why(error)) from error
        return self.put(target)

    def _note(self, path: str, entry: _Entry) -> None:
        old = self._entries.get(path)
        if old and old.sha256 and old.stamp != entry.stamp:
            self._older[path, old.stamp] = old.sha256
        self._entries[path] = entry

    def _needed(self, sha256: str) -> str:
        if sha256 not in self._referred:
            self._referred.add(sha256)
            self._unreferred.append(sha256)
        return sha256


def has_content(stamp: Stamp) -> bool:
    """Whether this is a file or a link, and not a folder, pipe, socket or device."""
    return stat.S_ISREG(stamp[MODE]) or stat.S_ISLNK(stamp[MODE])


def _why(error: OSError) -> str:
    return f"contents cannot be kept: {error.strerror or error}"
