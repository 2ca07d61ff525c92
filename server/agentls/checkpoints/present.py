"""What is at a path now: on disk, or in an open buffer of the editor."""

import hashlib
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from agentls.checkpoints.scan import NEVER, Stamp, stamp_of

CHUNK = 1024 * 1024
LISTED = 1_000
"""Entries of a folder that stands in a file's place; one with more is never emptied."""


class OpenBuffers(Protocol):
    """The editor's side: files that are open there are read and changed there."""

    def text(self, path: Path) -> bytes | None:
        """Return the bytes of an open buffer, as they would be saved; None where none is open."""
        ...

    async def replace(self, path: Path, data: bytes) -> bool:
        """Replace the text of an open buffer; say whether the editor has done so."""
        ...


class NoBuffers:
    """No editor, or none that has anything open."""

    def text(self, path: Path) -> bytes | None:
        """Return None."""
        return None

    async def replace(self, path: Path, data: bytes) -> bool:
        """Do nothing."""
        return False


@dataclass(frozen=True, slots=True)
class Present:
    """What is at a path."""

    place: str
    """The same path with the links among its folders followed."""
    mode: int | None = None
    """`st_mode`; None where nothing is on disk."""
    sha256: str | None = None
    """Of a file's bytes, or of where a link leads; an open buffer's instead, where there is one."""
    in_editor: bool = False
    outside: bool = False
    """The place is in none of the workspace's folders."""
    link: str | None = None
    """The first folder on the way that is a link."""
    place_without_link: str | None = None
    """Where the path would lead if that link were a folder."""
    blocked_by: str | None = None
    """What stands where a folder should be, on the way."""
    holds: tuple[str, ...] | None = None
    """All files below, where a folder stands there; None: it is no folder, or holds too many."""
    owner: str | None = None
    """Whose it is where it is nobody else's: a `.git` folder, or one that is like it."""
    problem: str | None = None
    """Why it cannot be looked at, in words."""
    stamp: Stamp | None = field(default=None, compare=False)

    @property
    def exists(self) -> bool:
        """Whether there is a file, or a folder."""
        return self.mode is not None

    @property
    def state(self) -> tuple[int | None, str | None, bool]:
        """What tells whether it is still the same; an empty folder is as good as nothing."""
        if self.is_folder and self.holds == ():
            return None, None, False
        return self.mode, self.sha256, self.in_editor

    @property
    def is_folder(self) -> bool:
        """Whether a folder is there."""
        return self.mode is not None and stat.S_ISDIR(self.mode)


class Look:
    """Looks at paths, in the folders of one workspace."""

    def __init__(self, roots: Iterable[str | Path], buffers: OpenBuffers | None = None) -> None:
        self._roots = tuple(os.path.normpath(str(root)) for root in roots)
        self._real_roots = tuple(os.path.realpath(root) for root in self._roots)
        self._buffers = buffers or NoBuffers()

    @property
    def buffers(self) -> OpenBuffers:
        """The editor's side."""
        return self._buffers

    @property
    def real_roots(self) -> tuple[str, ...]:
        """The workspace's folders, with links followed."""
        return self._real_roots

    def __call__(self, path: str) -> Present:
        """Return what is at an absolute path. Raises nothing: what is wrong is said in it."""
        try:
            return self._look(path)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            return Present(path, problem=f"cannot be looked at: {reason or error}")

    def _look(self, path: str) -> Present:
        folder, _, name = path.rpartition("/")
        place = f"{os.path.realpath(folder or '/').rstrip('/')}/{name}"
        link, blocked_by = self._way_to(path)
        without_link = None
        if link:
            start = link.rpartition("/")[0]
            without_link = os.path.realpath(start or "/").rstrip("/") + path[len(start) :]
        stamp = stamp_of(place) if blocked_by is None else None
        if stamp == ():
            raise PermissionError(0, "permission denied")
        mode = stamp[0] if stamp else None
        # A buffer without a file is not a file yet, or not any more.
        buffer = self._buffers.text(Path(path)) if mode and stat.S_ISREG(mode) else None
        sha256 = None
        if buffer is not None:
            sha256 = hashlib.sha256(buffer).hexdigest()
        elif mode is not None:
            sha256 = _hash(place, mode)
        return Present(
            place=place,
            mode=mode,
            sha256=sha256,
            in_editor=buffer is not None,
            outside=not any(_is_below(place, root) for root in self._real_roots),
            link=link,
            place_without_link=without_link,
            blocked_by=blocked_by,
            holds=_held(place) if mode is not None and stat.S_ISDIR(mode) else None,
            owner=_owner(path) or _owner(place),
            stamp=stamp,
        )

    def _way_to(self, path: str) -> tuple[str | None, str | None]:
        """Return the first link among the folders of a path, and what stands in their way.

        The workspace's folders themselves may be reached through links.
        """
        start = max((len(root) for root in self._roots if _is_below(path, root)), default=0)
        link = None
        end = start
        while (end := path.find("/", end + 1)) >= 0:
            above = path[:end]
            stamp = stamp_of(above)
            if stamp is None:
                break
            if stamp and stat.S_ISLNK(stamp[0]):
                link = link or above
                if not Path(above).is_dir():
                    return link, above
            elif stamp and not stat.S_ISDIR(stamp[0]):
                return link, above
        return link, None


def _is_below(path: str, root: str) -> bool:
    return path.startswith(f"{root.rstrip('/')}/")


def _owner(path: str) -> str | None:
    """Return whose a path is: git's, or this program's."""
    parts = path.split("/")
    for part in parts:
        if part.casefold() in NEVER:
            return part.casefold()
    for count in range(2, len(parts)):
        folder = "/".join(parts[:count])
        if all(os.path.lexists(f"{folder}/{name}") for name in ("HEAD", "objects", "refs")):
            return folder
    return None


def _hash(place: str, mode: int) -> str | None:
    if stat.S_ISLNK(mode):
        target = os.readlink(place)  # noqa: PTH115  a path need not be Unicode
        return hashlib.sha256(os.fsencode(target)).hexdigest()
    if not stat.S_ISREG(mode):
        return None
    digest = hashlib.sha256()
    descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        while chunk := os.read(descriptor, CHUNK):
            digest.update(chunk)
    finally:
        os.close(descriptor)
    return digest.hexdigest()


def _held(folder: str) -> tuple[str, ...] | None:
    """Return all files below; None where there are too many, or some cannot be seen."""
    found, waiting, seen = list[str](), [folder], 0
    while waiting:
        above = waiting.pop()
        with os.scandir(above) as entries:
            for entry in entries:
                seen += 1
                if seen > LISTED:
                    return None
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    found.append(entry.path)
    return tuple(found)
