"""The file that holds a command's output, written and read where others may have planted links."""

import errno
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from agentls.tasks.utf8 import begun_at_end, left_at_beginning

MOST_ON_DISK = 64 * 1024 * 1024
LAST_KEPT = 64 * 1024
"""Bytes of the end that follow in a file which did not take all."""
LONGEST_CHARACTER = 4


@dataclass(frozen=True, slots=True)
class OutputPiece:
    """A piece of what a task has written, as text; no character is cut in two."""

    text: str
    next_offset: int
    """Where the next piece begins, in bytes."""
    size: int
    """How much there is to read by now, in bytes."""


def read_output(path: Path, offset: int, limit: int, *, ended: bool = False) -> OutputPiece:
    """Return about `limit` bytes from `offset` on; blocks. Raises OSError, also for a link.

    Pieces that follow one another give the whole. While more may come, a character whose end is
    still missing is left for the next piece.
    """
    with _opened(path) as descriptor:
        size = os.fstat(descriptor).st_size

        def read(start: int, count: int) -> bytes:
            return os.pread(descriptor, count, start)

        return _piece(read, size, offset, limit, ended)


class OutputFile:
    """Takes any amount of bytes; of those that it cannot hold, the last are put at its end.

    Made by its first `append`. A disk that refuses harms nobody: what is missing is said.
    """

    def __init__(self, path: Path, most: int = MOST_ON_DISK) -> None:
        """Hold the first `most` bytes."""
        self.path = path
        self.trouble: str | None = None
        """Why not all could be written, for a person."""
        self._most = most
        self._on_disk = 0
        self._left_out = 0
        self._last = bytearray()
        self._unwritten = b""
        self._descriptor: int | None = None
        self._ended = False

    def append(self, data: bytes) -> None:
        """Add what came."""
        if not self._left_out:
            data = data[self._write(self._fitting(data)) :]
        self._left_out += len(data)
        self._last += data
        # Not at each append: to move the kept bytes costs as much as they are long.
        if len(self._last) > 2 * LAST_KEPT:
            del self._last[:-LAST_KEPT]

    def finish(self) -> None:
        """Put the end into the file, and let go of it."""
        ending = self._ending()
        self._unwritten = ending[self._write(ending) :] if ending else b""
        if not self._unwritten and self._left_out <= len(self._last):
            # A disk that refused has taken all of it in the end.
            self.trouble = None
        self._last.clear()
        self._ended = True
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with suppress(OSError):
                os.close(descriptor)

    def read(self, offset: int, limit: int) -> OutputPiece:
        """Return a piece of it, as `read_output` does; blocks, and raises OSError.

        An end that could not be written is read as if it had been.
        """
        rest = self._unwritten
        if not rest and not self._on_disk:
            return OutputPiece("", 0, 0)
        if not rest:
            return read_output(self.path, offset, limit, ended=self._ended)

        def read(start: int, count: int) -> bytes:
            found = b""
            if start < self._on_disk:
                with _opened(self.path) as descriptor:
                    found = os.pread(descriptor, min(count, self._on_disk - start), start)
                start += len(found)
            beyond = start - self._on_disk
            return found + rest[beyond : beyond + count - len(found)]

        return _piece(read, self._on_disk + len(rest), offset, limit, True)

    def _fitting(self, data: bytes) -> bytes:
        room = self._most - self._on_disk
        if len(data) <= room:
            return data
        fitting = data[: max(room, 0)]
        return fitting[: len(fitting) - begun_at_end(fitting)]

    def _ending(self) -> bytes:
        last = bytes(self._last[-LAST_KEPT:])
        if self._left_out <= len(last):
            return last
        last = last[left_at_beginning(last) :]
        why = f": {self.trouble}" if self.trouble else ""
        note = f"\n[... {self._left_out - len(last):,} bytes left out{why} ...]\n"
        return note.encode("utf-8", "replace") + last

    def _write(self, data: bytes) -> int:
        """Write what can be, and return how much that was."""
        sent = 0
        try:
            if self._descriptor is None:
                self._descriptor = _make(self.path)
            while sent < len(data):
                sent += os.write(self._descriptor, memoryview(data)[sent:])
        except OSError as error:
            self.trouble = f"{self.path} could not be written: {error.strerror}"
        self._on_disk += sent
        return sent


def _piece(
    read: Callable[[int, int], bytes], size: int, offset: int, limit: int, ended: bool
) -> OutputPiece:
    start = min(max(offset, 0), size)
    before = min(start, LONGEST_CHARACTER - 1)
    data = read(start - before, before + max(limit, LONGEST_CHARACTER))
    # Whoever begins in the middle of a character gets what follows it.
    skipped = left_at_beginning(data[before:]) if begun_at_end(data[:before]) else 0
    data = data[before + skipped :]
    start += skipped
    if not ended or start + len(data) < size:
        data = data[: len(data) - begun_at_end(data)]
    return OutputPiece(data.decode("utf-8", "replace"), start + len(data), size)


@contextmanager
def _opened(path: Path) -> Generator[int]:
    folder = _open_folder(path.parent)
    try:
        # Not waited on where it is a pipe.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(path.name, flags, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileNotFoundError(errno.ENOENT, "this is not a file", str(path))
        yield descriptor
    finally:
        os.close(descriptor)


def _make(path: Path) -> int:
    """Make a file that was not there, closed to others, and open it; no link is followed."""
    for made in (path.parent.parent, path.parent):
        made.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = _open_folder(path.parent)
    try:
        status = os.fstat(folder)
        # Neither made ours nor closed here: it may be one that everybody uses.
        if status.st_uid != os.geteuid() or status.st_mode & 0o022:
            raise PermissionError(errno.EPERM, "others may write to its folder", str(path))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_APPEND | os.O_CLOEXEC
        return os.open(path.name, flags, 0o600, dir_fd=folder)
    finally:
        os.close(folder)


def _open_folder(path: Path) -> int:
    if path.parent.is_symlink():
        raise OSError(errno.ELOOP, "its folder is reached through a link", str(path))
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
