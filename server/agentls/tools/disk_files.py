"""Files as they are on disk: the whole truth where no editor is connected."""

import asyncio
import errno
import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from agentls.tools.files import FileChangedMeanwhile, FileContent

T = TypeVar("T")

LARGEST = 256 * 1024 * 1024
"""Bytes; a bigger file is not read whole."""
DIRECT = 64 * 1024
"""Bytes up to which a read costs less than the thread it would need."""


class DiskFiles:
    """Reads and replaces whole files; links, modes, owners and extended attributes survive."""

    async def read(self, path: Path) -> FileContent:
        """Return the file's bytes. Raises OSError, also for what is not a regular file."""
        if _checked_size(path) <= DIRECT:
            return _read(path)
        return await asyncio.to_thread(_read, path)

    async def write(self, path: Path, data: bytes, *, expected_sha256: str | None) -> FileContent:
        """Replace the file's content, or create the file and the folders above it.

        Whoever reads meanwhile sees the old content or the new, unless the file has several names
        or its folder takes no new files: then it is written in place. A write that has begun is
        brought to its end before a cancellation goes on.
        """
        # In a thread whatever the size: fsync may take long.
        return await _to_the_end(lambda: _write(path, data, expected_sha256))


async def _to_the_end(action: Callable[[], T]) -> T:
    """Run `action` in a thread, and see it finish even where the caller is cancelled."""
    work = asyncio.ensure_future(asyncio.to_thread(action))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        # Read, so that a failure is not reported as one nobody looked at.
        work.exception()
        raise


def _checked_size(path: Path) -> int:
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
    if status.st_size > LARGEST:
        raise OSError(errno.EFBIG, f"Larger than {LARGEST // 2**20} MiB", str(path))
    return status.st_size


def _read(path: Path) -> FileContent:
    return FileContent.of(path.read_bytes())


def _write(path: Path, data: bytes, expected_sha256: str | None) -> FileContent:
    # The link's target is what is written; a link that leads nowhere gets its target.
    target = Path(os.path.realpath(path))
    if expected_sha256 is None:
        _create(target, data)
    else:
        _replace(target, data, expected_sha256)
    written = _read(target)
    if written.data != data:
        raise FileChangedMeanwhile(f"{path} was changed by something else while it was written.")
    return written


def _create(target: Path, data: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        _checked_size(target)
        raise FileChangedMeanwhile(f"{target} was created by something else.") from None
    try:
        _fill(descriptor, data)
    except OSError:
        # Nothing was there before, so half a file helps nobody.
        target.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def _replace(target: Path, data: bytes, expected_sha256: str) -> None:
    before, old = _unchanged(target, expected_sha256)
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    twin = None if before.st_nlink > 1 else _twin(target, before, data)
    if twin is None:
        _overwrite(target, data, old)
        return
    try:
        if _identity(target.stat()) != _identity(before):
            raise FileChangedMeanwhile(f"{target} was changed by something else.")
        twin.replace(target)
    except BaseException:
        twin.unlink(missing_ok=True)
        raise


def _overwrite(target: Path, data: bytes, old: bytes) -> None:
    """Write in place; where the disk refuses half-way, put the old content back."""
    with target.open("r+b", buffering=0) as file:
        try:
            _fill(file.fileno(), data)
        except OSError:
            file.seek(0)
            _fill(file.fileno(), old)
            raise


def _unchanged(target: Path, expected_sha256: str) -> tuple[os.stat_result, bytes]:
    """Return the file's status and bytes, having seen that it still holds what was read."""
    try:
        _checked_size(target)
        status = target.stat()
        current = _read(target)
    except FileNotFoundError:
        raise FileChangedMeanwhile(f"{target} is no longer there.") from None
    if current.sha256 != expected_sha256:
        raise FileChangedMeanwhile(f"{target} was changed by something else.")
    return status, current.data


def _identity(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _twin(target: Path, like: os.stat_result, data: bytes) -> Path | None:
    """Return a file beside `target` with its attributes and the new content.

    None where the folder takes no new file, or where the twin could not have the same owner.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=".agentls-", dir=target.parent)
    except PermissionError:
        return None
    twin = Path(name)
    try:
        try:
            _copy_attributes(target, like, twin)
            _fill(descriptor, data)
        finally:
            os.close(descriptor)
    except _OwnerNotKept:
        twin.unlink()
        return None
    except BaseException:
        twin.unlink(missing_ok=True)
        raise
    return twin


class _OwnerNotKept(Exception):
    """The new file cannot be given the old one's owner."""


def _copy_attributes(source: Path, status: os.stat_result, twin: Path) -> None:
    made = twin.stat()
    if (made.st_uid, made.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.chown(twin, status.st_uid, status.st_gid)
        except PermissionError:
            raise _OwnerNotKept from None
    _copy_extended(source, twin)
    # Last, because setting an owner or an access list may take bits away.
    twin.chmod(stat.S_IMODE(status.st_mode))


def _copy_extended(source: Path, twin: Path) -> None:
    if not hasattr(os, "listxattr"):
        return
    names: list[str] = []
    # Not every file system has them.
    with suppress(OSError):
        names = os.listxattr(source)
    for name in names:
        # Some belong to the system and cannot be set.
        with suppress(OSError):
            os.setxattr(twin, name, os.getxattr(source, name))


def _fill(descriptor: int, data: bytes) -> None:
    """Make `data` the whole content of an open file, on disk when this returns."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.ftruncate(descriptor, len(data))
    os.fsync(descriptor)
