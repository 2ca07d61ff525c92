"""Changes single files without following any link, each change whole or not at all.

A place is an absolute path whose folders are no links. A folder that has become one since makes
every call here fail.
"""

import errno
import os
import secrets
import stat
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress

from agentls.checkpoints.scan import Stamp

_PATH_ONLY = getattr(os, "O_PATH", os.O_RDONLY)
"""A folder that may be entered need not be readable."""
_FOLDER = _PATH_ONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Changed(OSError):
    """What is at a place is not what was to be replaced."""


def write(place: str, fill: Callable[[int], None], mode: int | None, expected: Stamp | None) -> int:
    """Put a file at `place`, with the folders it needs; return how many of them were made.

    `fill` writes the content into an open file. `mode` None: as the file is now, else the usual.
    `expected` is the stamp of what is replaced. Raises OSError, and what `fill` raises.
    """
    with _folder_of(place, make=True) as (folder, name, made):
        _check(folder, name, expected)
        temporary = f".agentls-{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        # What is secret must not be open for a moment, what is new gets what the user's mask says.
        first_mode = 0o666 if mode is None and expected is None else 0o600
        descriptor = os.open(temporary, flags, first_mode, dir_fd=folder)
        try:
            try:
                fill(descriptor)
                _take_over(descriptor, folder, name, mode, expected)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            _put_in_place(folder, temporary, name, expected)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
        return made


def link(place: str, target: bytes, expected: Stamp | None) -> int:
    """Put a symbolic link at `place`; see `write`."""
    with _folder_of(place, make=True) as (folder, name, made):
        _check(folder, name, expected)
        temporary = f".agentls-{secrets.token_hex(8)}"
        os.symlink(target, os.fsencode(temporary), dir_fd=folder)
        try:
            _put_in_place(folder, temporary, name, expected)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
        return made


def remove(place: str, expected: Stamp | None) -> None:
    """Remove what is no folder. Raises OSError."""
    with _folder_of(place, make=False) as (folder, name, _):
        _check(folder, name, expected)
        os.unlink(name, dir_fd=folder)


def set_mode(place: str, mode: int, expected: Stamp | None) -> None:
    """Set the permissions of a file that is no link. Raises OSError."""
    with _folder_of(place, make=False) as (folder, name, _):
        _check(folder, name, expected)
        os.chmod(name, stat.S_IMODE(mode), dir_fd=folder)


def remove_empty(folders: Iterable[str]) -> None:
    """Remove the folders that are empty, inner ones first; others stay."""
    for place in sorted(folders, key=lambda place: -place.count("/")):
        with suppress(OSError), _folder_of(place, make=False) as (folder, name, _):
            os.rmdir(name, dir_fd=folder)


def remove_if_all_empty(place: str) -> None:
    """Remove a folder that holds nothing but empty folders. Raises OSError where it holds more."""
    with _folder_of(place, make=False) as (folder, name, _):
        for _, subfolders, files, descriptor in os.fwalk(name, topdown=False, dir_fd=folder):
            if files:
                raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), place)
            for subfolder in subfolders:
                os.rmdir(subfolder, dir_fd=descriptor)
        os.rmdir(name, dir_fd=folder)


@contextmanager
def _folder_of(place: str, *, make: bool) -> Generator[tuple[int, str, int]]:
    """Open the folder of a place, step by step from the root; count the folders that are made.

    Those are removed again where what they were made for fails.
    """
    *names, name = place.split("/")[1:]
    made = 0
    descriptor = os.open("/", _FOLDER)
    try:
        for part in names:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=descriptor)
                    made += 1
            below = os.open(part, _FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor, name, made
    except BaseException:
        folders = ["/".join(["", *names[: len(names) - count]]) for count in range(made)]
        remove_empty(folders)
        raise
    finally:
        os.close(descriptor)


def _check(folder: int, name: str, expected: Stamp | None) -> None:
    """Raise `Changed` where something else is there than was looked at."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        now = None
    else:
        now = (
            *(status.st_mode, status.st_size, status.st_ino),
            *(status.st_mtime_ns, status.st_ctime_ns),
        )
    if now != expected:
        raise Changed(errno.EBUSY, "it was changed at the same moment", name)


def _take_over(
    descriptor: int, folder: int, name: str, mode: int | None, expected: Stamp | None
) -> None:
    """Give a new file the owner and the attributes of the one it replaces, and its mode."""
    if expected and stat.S_ISREG(expected[0]):
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        mine = os.fstat(descriptor)
        if (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
            # Only the superuser may give files away; what it holds counts more.
            with suppress(PermissionError):
                os.fchown(descriptor, status.st_uid, status.st_gid)
        _copy_extended(folder, name, descriptor)
        mode = status.st_mode if mode is None else mode
    if mode is not None:
        # Last, because setting an owner or an access list may take bits away.
        os.fchmod(descriptor, stat.S_IMODE(mode))
    elif expected:
        os.fchmod(descriptor, 0o644)


def _copy_extended(folder: int, name: str, target: int) -> None:
    if not hasattr(os, "listxattr"):
        return
    # Not every file system has them, some belong to the system, and an unreadable file keeps its.
    with suppress(OSError):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        source = os.open(name, flags, dir_fd=folder)
        try:
            for attribute in os.listxattr(source):
                with suppress(OSError):
                    os.setxattr(target, attribute, os.getxattr(source, attribute))
        finally:
            os.close(source)


def _put_in_place(folder: int, temporary: str, name: str, expected: Stamp | None) -> None:
    _check(folder, name, expected)
    os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
