"""Values that are too big for a log's line: a file each, beside the log, named by its SHA-256."""

import errno
import os
import re
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from agentls.errors import ContentMissing
from agentls.sessions.log_file import CHUNK_BYTES, make_folders, sync_folder

_NAME = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Blob:
    """A value on its way to the disk, into `<folder>/<name>`."""

    folder: Path
    name: str
    data: bytes

    @classmethod
    def of(cls, folder: Path, data: bytes) -> "Blob":
        """Return `data` under the name it has by its content."""
        return cls(folder, sha256(data).hexdigest(), data)

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.data)

    def write(self) -> None:
        """Put it on the disk itself, closed to others, unless it is there. Raises OSError.

        The name appears when the content is whole; a link in its place is replaced, not followed.
        """
        make_folders(self.folder.parent, self.folder)
        target = self.folder / self.name
        if _is_kept(target, self.data):
            return
        temporary = self.folder / f".{self.name}.{secrets.token_hex(4)}.tmp"
        try:
            _write_file(temporary, self.data)
            temporary.replace(target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        sync_folder(self.folder)


def read_blob(folder: Path, name: str) -> bytes:
    """Return the value of this name in `folder`. Raises `ContentMissing` where it is not whole."""
    if not _NAME.fullmatch(name):
        raise ContentMissing(f"{name!r} is not the name of a kept value")
    path = folder / name
    try:
        if folder.is_symlink() or folder.parent.is_symlink():
            raise ContentMissing(f"{folder} is a link, and links are not followed here")
        data = _read_file(path)
    except OSError as error:
        raise ContentMissing(
            f"{path}, which belongs to a session, cannot be read: {error.strerror}"
        ) from error
    if sha256(data).hexdigest() != name:
        raise ContentMissing(f"{path} does not hold what was kept there: its hash is another")
    return data


def _is_kept(path: Path, data: bytes) -> bool:
    with suppress(OSError):
        return _read_file(path) == data
    return False


def _read_file(path: Path) -> bytes:
    # Not waited on where it is a pipe.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise FileNotFoundError(errno.ENOENT, "this is not a file", str(path))
        return file.read()


def _write_file(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        sent = 0
        while sent < len(data):
            sent += os.write(descriptor, memoryview(data)[sent : sent + CHUNK_BYTES])
        getattr(os, "fdatasync", os.fsync)(descriptor)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        os.close(descriptor)
