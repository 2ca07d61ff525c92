"""Where contents of files are kept by their hash: the port, and a folder of objects.

No link that stands inside of the folder is followed: what an agent's command may plant there leads
nowhere.
"""

import errno
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from agentls.checkpoints.pruning import Pruned, prune
from agentls.checkpoints.storage_folders import (
    FOLDER_MODE,
    REFERENCES,
    UNFINISHED,
    object_parts,
    open_folder,
)
from agentls.errors import ContentMissing

CHUNK = 1024 * 1024
"""Bytes held in memory at a time; a smaller file is read at once."""
_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


class Contents(Protocol):
    """Keeps bytes by their SHA-256, in lower-case hexadecimal. All methods may block."""

    def put(self, data: bytes) -> str:
        """Keep `data` and return its hash. Raises OSError."""
        ...

    def put_file(self, path: str) -> str:
        """Keep what a regular file holds, never all of it in memory.

        A file that is written meanwhile may be kept half old and half new: compare its status from
        before and after. Raises OSError; its `filename` is `path` where that cannot be read.
        """
        ...

    def get(self, sha256: str) -> bytes:
        """Return what was kept. Raises `ContentMissing` where it is gone or damaged."""
        ...

    def copy_to(self, sha256: str, descriptor: int) -> None:
        """Write what was kept into an open file, never all of it in memory.

        Raises `ContentMissing`, after some of it was written where it is damaged, and OSError.
        """
        ...

    def has(self, sha256: str) -> bool:
        """Whether something is kept under this hash."""
        ...

    def refer(self, session_id: str, sha256s: Iterable[str]) -> None:
        """Note that a session needs these contents. Raises OSError."""
        ...

    def release(self, session_id: str) -> None:
        """Forget what a session needs, as it is deleted."""
        ...

    def prune(self, quota_bytes: int, keep: Collection[str] = ()) -> Pruned:
        """Remove what no session needs, then the oldest sessions' contents down to the quota.

        Sessions in `keep`, and those that were written to a short while ago, lose nothing.
        """
        ...


class FolderContents:
    """Keeps each content in a file of its own, `ab/cdef…`, closed to other users.

    Several processes may use one folder. An object appears whole or not at all; it is not forced
    to the disk, since one that a power cut damaged is found out when it is read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, data: bytes) -> str:
        """Keep `data`; see the port."""
        sha256 = hashlib.sha256(data).hexdigest()
        name, rest = object_parts(sha256)
        with self._subfolder(name) as folder:
            if _refreshed(rest, len(data), folder):
                return sha256
            with _unfinished(folder) as (unfinished, descriptor):
                _write_all(descriptor, data)
                os.replace(unfinished, rest, src_dir_fd=folder, dst_dir_fd=folder)
        return sha256

    def put_file(self, path: str) -> str:
        """Keep a file; see the port."""
        source = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            status = os.fstat(source)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "Not a regular file", path)
            if (data := _whole(source, status.st_size, path)) is not None:
                return self.put(data)
            os.lseek(source, 0, os.SEEK_SET)
            return self._put_large(source)
        finally:
            os.close(source)

    def get(self, sha256: str) -> bytes:
        """Return a content; see the port."""
        with self._object(sha256) as descriptor:
            data = b"".join(_chunks(descriptor))
        if hashlib.sha256(data).hexdigest() != sha256:
            raise self._damaged(sha256)
        return data

    def copy_to(self, sha256: str, descriptor: int) -> None:
        """Copy a content; see the port."""
        digest = hashlib.sha256()
        with self._object(sha256) as source:
            for chunk in _chunks(source):
                digest.update(chunk)
                _write_all(descriptor, chunk)
        if digest.hexdigest() != sha256:
            raise self._damaged(sha256)

    def has(self, sha256: str) -> bool:
        """Whether an object is there; see the port."""
        try:
            with self._object(sha256):
                return True
        except ContentMissing:
            return False

    def refer(self, session_id: str, sha256s: Iterable[str]) -> None:
        """Append to the session's list; see the port."""
        lines = "".join(f"{sha256}\n" for sha256 in sha256s)
        if not lines:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with self._subfolder(REFERENCES) as folder:
            descriptor = os.open(_checked(session_id), flags, 0o600, dir_fd=folder)
            try:
                # A line that was cut off must not swallow the first of these.
                _write_all(descriptor, f"\n{lines}".encode())
            finally:
                os.close(descriptor)

    def release(self, session_id: str) -> None:
        """Remove the session's list; see the port."""
        with suppress(FileNotFoundError), self._subfolder(REFERENCES, make=False) as folder:
            os.unlink(_checked(session_id), dir_fd=folder)

    def prune(self, quota_bytes: int, keep: Collection[str] = ()) -> Pruned:
        """Remove what is not needed; see the port."""
        return prune(self.folder, quota_bytes, keep)

    def _put_large(self, source: int) -> str:
        """Copy first and hash the copy, so that both are surely the same bytes."""
        with self._subfolder(UNFINISHED) as folder, _unfinished(folder) as (unfinished, copy):
            size = _copy(source, copy)
            os.lseek(copy, 0, os.SEEK_SET)
            digest = hashlib.sha256()
            for chunk in _chunks(copy):
                digest.update(chunk)
            name, rest = object_parts(digest.hexdigest())
            with self._subfolder(name) as target:
                if not _refreshed(rest, size, target):
                    os.replace(unfinished, rest, src_dir_fd=folder, dst_dir_fd=target)
        return digest.hexdigest()

    @contextmanager
    def _object(self, sha256: str) -> Generator[int]:
        """Open a content for reading. Raises `ContentMissing`."""
        name, rest = object_parts(sha256)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            with self._subfolder(name, make=False) as folder:
                descriptor = os.open(rest, flags, dir_fd=folder)
        except OSError as error:
            raise ContentMissing(
                f"the content {sha256[:12]} is not kept in {self.folder}: {error.strerror}"
            ) from error
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise self._damaged(sha256)
            yield descriptor
        finally:
            os.close(descriptor)

    def _damaged(self, sha256: str) -> ContentMissing:
        """Take a damaged object out of the way, so that the content can be put again."""
        name, rest = object_parts(sha256)
        with suppress(OSError), self._subfolder(name, make=False) as folder:
            aside = f"{UNFINISHED}-{secrets.token_hex(8)}"
            os.rename(rest, aside, src_dir_fd=folder, dst_dir_fd=folder)
            # Another process may have put it again since it was read here.
            if _holds(aside, sha256, folder):
                os.rename(aside, rest, src_dir_fd=folder, dst_dir_fd=folder)
            else:
                os.unlink(aside, dir_fd=folder)
        return ContentMissing(
            f"the content {sha256[:12]} that was kept in {self.folder} is damaged; it was removed"
        )

    @contextmanager
    def _subfolder(self, name: str, *, make: bool = True) -> Generator[int]:
        """Open a folder inside of ours, and make both where they are missing. Raises OSError."""
        try:
            folder = open_folder(self.folder)
        except FileNotFoundError:
            if not make:
                raise
            # Not further up: a project that was moved or deleted is not made again.
            self.folder.parent.mkdir(exist_ok=True, mode=FOLDER_MODE)
            self.folder.mkdir(exist_ok=True, mode=FOLDER_MODE)
            folder = open_folder(self.folder)
        try:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, FOLDER_MODE, dir_fd=folder)
            subfolder = open_folder(name, dir_fd=folder)
        finally:
            os.close(folder)
        try:
            yield subfolder
        finally:
            os.close(subfolder)


def _whole(source: int, size: int, path: str) -> bytes | None:
    """Read a file of less than a chunk; None where it is larger."""
    if size >= CHUNK:
        return None
    try:
        data = os.read(source, CHUNK)
        return None if os.read(source, 1) else data
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error


def _checked(session_id: str) -> str:
    if not _SESSION_ID.fullmatch(session_id):
        raise ValueError(f"{session_id!r} is not a session id")
    return session_id


def _refreshed(name: str, size: int, folder: int) -> bool:
    """Whether a whole object is there already; it then counts as new, so that no prune takes it."""
    try:
        os.utime(name, dir_fd=folder, follow_symlinks=False)
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size == size


@contextmanager
def _unfinished(folder: int) -> Generator[tuple[str, int]]:
    """Make a file that is removed again unless it has got another name by then."""
    name = f"{UNFINISHED}-{secrets.token_hex(8)}"
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        yield name, descriptor
    finally:
        os.close(descriptor)
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)


def _copy(source: int, target: int) -> int:
    """Copy a file, sharing blocks where the file system can; return the number of bytes."""
    size = 0
    try:
        while count := os.copy_file_range(source, target, 256 * CHUNK):
            size += count
    except (AttributeError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in _CANNOT_SHARE:
            raise
    # Some file systems say that they have copied all, and have copied nothing.
    for chunk in _chunks(source):
        _write_all(target, chunk)
        size += len(chunk)
    return size


_CANNOT_SHARE = (errno.EXDEV, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM)


def _chunks(descriptor: int) -> Generator[bytes]:
    while chunk := os.read(descriptor, CHUNK):
        yield chunk


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _holds(name: str, sha256: str, folder: int) -> bool:
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        digest = hashlib.sha256()
        for chunk in _chunks(descriptor):
            digest.update(chunk)
        return digest.hexdigest() == sha256
    finally:
        os.close(descriptor)
