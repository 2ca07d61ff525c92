"""One log file being appended to, which others may delete, replace, cut or write to meanwhile.

Everything here blocks. Before each write the file is looked at, so that no line is ever written
behind half a line, into a file that is no longer the session's, or after another process's events.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import orjson

from agentls.errors import LogConflict
from agentls.sessions.store import Fence

CHUNK_BYTES = 1 << 20
"""Up to this much goes out with one `write`."""
_HEAD_BYTES = 4 << 10
_TAIL_BYTES = 64 << 10
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


class Batch:
    """Whole lines on their way to the file, and how far they have got."""

    def __init__(self, lines: bytes = b"") -> None:
        self._data = lines
        self._sent = 0
        self._prefix = 0
        """Length of what stands before the lines."""

    @property
    def left(self) -> int:
        """Bytes that are not in the file."""
        return len(self._data) - self._sent

    @property
    def cut(self) -> bool:
        """Whether half a line is in the file."""
        return self._sent > 0 and self._data[self._sent - 1 : self._sent] != b"\n"

    def chunk(self) -> memoryview:
        """Return what to write next: whole lines, unless one line alone is too long."""
        end = self._sent + CHUNK_BYTES
        if end < len(self._data):
            end = self._data.rfind(b"\n", self._sent, end) + 1 or end
        return memoryview(self._data)[self._sent : end]

    def advance(self, written: int) -> None:
        """Take note that the next `written` bytes are in the file."""
        self._sent += written

    def begin_afresh(self, prefix: bytes) -> None:
        """Go on behind `prefix`; a line that got half-way is written again from its beginning."""
        start = max(self._prefix, self._data.rfind(b"\n", 0, self._sent) + 1)
        self._data = prefix + self._data[start:]
        self._sent, self._prefix = 0, len(prefix)


class LogFile:
    """Appends to the file at `path`; makes it where it is missing.

    `after` is the number of the last event that the file must hold, None for a file that must not
    be there yet. `prepare` makes the folder it lies in. Not for two threads at once.
    """

    def __init__(
        self,
        path: Path,
        *,
        header: bytes = b"",
        after: int | None = None,
        prepare: Callable[[], None] = lambda: None,
        fence: Fence | None = None,
    ) -> None:
        self.tell: Callable[[str], None] = lambda text: None
        """Is given what has happened to the file, for a person."""
        self._path = path
        self._header = header
        self._after = after
        self._prepare = prepare
        self._fence = fence
        self._fd: int | None = None
        self._size = 0 if after is None else _size_of(path)
        """Where the last byte ends that is known to this process."""
        self._unsynced = False
        self._unsynced_folders = False
        self._moved_to: str | None = None

    @property
    def path(self) -> Path:
        """Where it lies."""
        return self._path

    def check(self) -> None:
        """Raise `LeaseLost` where the session has another owner by now, OSError for its folder."""
        if self._fd is None:
            self._prepare()
        if self._fence is not None and not self._fence.still_mine():
            raise self._fence.lost()

    def write(self, batch: Batch) -> None:
        """Write all of `batch`. Raises OSError, `LeaseLost`, `LogConflict`; it keeps its place."""
        while batch.left:
            self.check()
            fd = self._open(batch) if self._fd is None else self._look_again(self._fd, batch)
            written = os.write(fd, batch.chunk())
            if not written:
                raise OSError(errno.EIO, "nothing was written")
            batch.advance(written)
            self._unsynced = True
            # With O_APPEND the offset now says where the bytes have come to lie.
            end = os.lseek(fd, 0, os.SEEK_CUR)
            self._compare_size(fd, end - written)
            self._size = end

    def sync(self) -> None:
        """Return when all that was written is on the disk itself. Raises OSError."""
        if self._fd is None:
            return
        if self._unsynced:
            getattr(os, "fdatasync", os.fsync)(self._fd)
            self._unsynced = False
        if self._unsynced_folders:
            for folder in (self._path.parent, *self._path.parents[1:3]):
                sync_folder(folder)
            self._unsynced_folders = False

    @property
    def synced(self) -> bool:
        """Whether all that was written is on the disk itself."""
        return not (self._unsynced or self._unsynced_folders)

    def close(self) -> None:
        """Let go of the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self, batch: Batch) -> int:
        """Open the file for the first time, and put before `batch` what must stand there."""
        fd, size = self._open_path()
        try:
            if self._after is None and _holds_more_than_a_beginning(fd, size):
                raise LogConflict(
                    f"{self._path} is there already, and was not written from here; it is left as "
                    "it is. Begin a session with another id."
                )
            if self._after is not None:
                self._compare_size(fd, size)
                self._refuse_later_events(fd, size, self._after)
            batch.begin_afresh(self._beginning(fd, size))
        except BaseException:
            os.close(fd)
            raise
        self._fd, self._size = fd, size - _length_of_torn_end(fd, size)
        return fd

    def _open_path(self) -> tuple[int, int]:
        try:
            fd = os.open(self._path, _FLAGS)
        except FileNotFoundError:
            fd = os.open(self._path, _FLAGS | os.O_CREAT, 0o600)
            self._unsynced_folders = True
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            os.close(fd)
            raise OSError(errno.EINVAL, "this is not a file")
        return fd, status.st_size

    def _beginning(self, fd: int, size: int) -> bytes:
        """Return what must come before the next line: the end of a torn one, a header."""
        if not size:
            return self._header
        newline = b"" if os.pread(fd, 1, size - 1) == b"\n" else b"\n"
        return newline + (self._header if self._header and _is_older(fd, self._header) else b"")

    def _look_again(self, fd: int, batch: Batch) -> int:
        """Return the descriptor to write to, `batch` made to fit what has become of the file."""
        ours = os.fstat(fd)
        try:
            named = os.lstat(self._path)
        except FileNotFoundError:
            named = None
        if named is None and ours.st_nlink:
            self._say_where_it_is(fd)
        elif named is None or (named.st_dev, named.st_ino) != (ours.st_dev, ours.st_ino):
            return self._replace(fd, batch, deleted=named is None)
        if ours.st_size != self._size:
            self._take_new_size(fd, ours.st_size, batch)
        return fd

    def _say_where_it_is(self, fd: int) -> None:
        try:
            place = str(Path(f"/proc/self/fd/{fd}").readlink())
        except OSError:
            place = "another place"
        if place != self._moved_to:
            self._moved_to = place
            self.tell(f"{self._path} was moved to {place} while in use; it goes on being written")

    def _replace(self, old: int, batch: Batch, *, deleted: bool) -> int:
        """Go over to the file that has the name now, and write to it what only the old one has."""
        self._prepare()
        fd, size = self._open_path()
        try:
            known = (
                self._size if not batch.cut else self._size - _length_of_torn_end(old, self._size)
            )
            self._refuse_later_events(fd, size, _last_seq(old, known))
            missing = Batch(_missing_lines(old, known, fd, size))
            missing.begin_afresh(self._beginning(fd, size) if size else b"")
            while missing.left:
                missing.advance(os.write(fd, missing.chunk()))
            end = os.fstat(fd).st_size
            batch.begin_afresh(self._beginning(fd, end))
        except BaseException:
            os.close(fd)
            raise
        os.close(old)
        self._fd, self._size, self._unsynced = fd, end, True
        what = "deleted" if deleted else "replaced by another file"
        self.tell(f"{self._path} was {what} while in use; what it had held is written to it again")
        return fd

    def _take_new_size(self, fd: int, size: int, batch: Batch) -> None:
        self._compare_size(fd, size)
        if batch.cut or not size or os.pread(fd, 1, size - 1) != b"\n":
            batch.begin_afresh(self._beginning(fd, size))
        # Half a line may be one that is just being written: it is looked at again, whole.
        self._size = max(min(self._size, size), size - _length_of_torn_end(fd, size))

    def _compare_size(self, fd: int, size: int) -> None:
        """Tell of a file that has become shorter; raise `LogConflict` where events came."""
        if size < self._size:
            self.tell(
                f"{self._path} was cut short while in use: its last {self._size - size} bytes are "
                "gone, and the session may not be resumed in full. What comes is written behind "
                "what is left."
            )
        elif any(_seq(line) > (self._after or 0) for line in _lines(fd, self._size, size)):
            raise LogConflict(
                f"another process has written to {self._path} since it was read; nothing of it is "
                "overwritten. Open the session again to see what came, or fork it."
            )

    def _refuse_later_events(self, fd: int, size: int, after: int) -> None:
        last = _last_seq(fd, size)
        if last > after:
            raise LogConflict(
                f"{self._path} holds events up to number {last}, and {after} was the last one when "
                "it was read: another process has written to it. Open the session again to see "
                "what came, or fork it."
            )


def make_folders(*folders: Path) -> None:
    """Make folders in folders, closed to others. Raises OSError.

    A link in place of one is refused: it may have come with the project.
    """
    for folder in folders:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            sync_folder(folder.parent)
        if not stat.S_ISDIR(folder.lstat().st_mode):
            reason = "a link or a file is where a folder should be"
            raise NotADirectoryError(errno.ENOTDIR, reason, str(folder))


def sync_folder(folder: Path) -> None:
    """Make sure that the names in `folder` are on the disk, where the file system can say so."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:  # one that can be entered but not read
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EROFS):
            raise
    finally:
        os.close(descriptor)


def _size_of(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _is_older(fd: int, header: bytes) -> bool:
    """Whether the last header in the file is of an older version than `header`."""
    version = _number(header, "version")
    first = os.pread(fd, _HEAD_BYTES, 0).partition(b"\n")[0]
    return _number(first, "version") < version and _last_version(fd) < version


def _last_version(fd: int) -> int:
    # A newline and a bare quote never stand inside a JSON string.
    mark = b'\n{"log":'
    end = os.fstat(fd).st_size
    while end > 0:
        start = max(0, end - CHUNK_BYTES)
        data = os.pread(fd, end - start + _HEAD_BYTES, start)
        at = data.rfind(mark, 0, end - start + len(mark))
        if at >= 0:
            return _number(data[at + 1 :].partition(b"\n")[0], "version")
        end = start
    return 0


def _last_seq(fd: int, size: int) -> int:
    """Return the highest number among the last events of a file; 0 where it holds none."""
    window = _TAIL_BYTES
    while True:
        start = max(0, size - window)
        found = max((_seq(line) for line in _lines(fd, start, size)), default=0)
        if found or not start:
            return found
        window *= 8


def _length_of_torn_end(fd: int, size: int) -> int:
    window = min(size, _TAIL_BYTES)
    while True:
        newline = os.pread(fd, window, size - window).rfind(b"\n")
        if newline >= 0 or window == size:
            return window - newline - 1
        window = min(size, window * 8)


def _missing_lines(old: int, old_size: int, new: int, new_size: int) -> bytes:
    """Return the lines of the old file that the new one does not have, in their order."""
    have = {_digest(line) for line in _lines(new, 0, new_size)}
    missing = (line for line in _lines(old, 0, old_size) if _digest(line) not in have)
    return b"".join(line + b"\n" for line in missing)


def _digest(line: bytes) -> bytes:
    return blake2b(line, digest_size=16).digest()


def _lines(fd: int, start: int, end: int) -> Iterator[bytes]:
    """Yield the lines between two places, what is cut at either one included, empty ones not."""
    rest = b""
    for at in range(start, end, CHUNK_BYTES):
        *lines, rest = (rest + os.pread(fd, min(CHUNK_BYTES, end - at), at)).split(b"\n")
        yield from filter(None, lines)
    if rest:
        yield rest


def _seq(line: bytes) -> int:
    return _number(line, "seq")


def _holds_more_than_a_beginning(fd: int, size: int) -> bool:
    """Whether there is a whole line besides headers: a first write that was cut off leaves none."""
    if size > _TAIL_BYTES:
        return True
    whole = os.pread(fd, size, 0).split(b"\n")[:-1]
    return any(line.strip() and not line.startswith(b'{"log":') for line in whole)


def _number(line: bytes, name: str) -> int:
    try:
        value = orjson.loads(line)[name]
    except (orjson.JSONDecodeError, LookupError, TypeError):
        return 0
    return value if isinstance(value, int) else 0
