"""Removes kept contents that no session needs, and the oldest sessions' beyond a quota."""

import os
import stat
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from agentls.checkpoints.storage_folders import REFERENCES, UNFINISHED, is_sha256, open_folder

GRACE = 3600.0
"""Seconds. What is younger stays: it is being put, or its session is at work in some process."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What a prune removed."""

    contents: int
    bytes: int
    sessions: tuple[str, ...]
    """Whose contents went to keep the quota, oldest first: they can no longer be rewound."""
    left_bytes: int
    """What is still kept; above the quota where sessions at work need it."""


@dataclass(slots=True)
class _Stock:
    """All that the folder holds."""

    objects: dict[str, tuple[int, float]] = field(default_factory=dict[str, tuple[int, float]])
    """Size and time of each."""
    sessions: dict[str, tuple[frozenset[str], float]] = field(
        default_factory=dict[str, tuple[frozenset[str], float]]
    )
    """What each needs, and when it last asked for something."""


def prune(folder: Path, quota_bytes: int, keep: Collection[str]) -> Pruned:
    """Remove what may go; see `Contents.prune`. A folder that is not there is empty."""
    try:
        root = open_folder(folder)
    except OSError:
        return Pruned(0, 0, (), 0)
    try:
        _remove_unfinished(root)
        stock = _take_stock(root)
        needed = Counter(sha for shas, _ in stock.sessions.values() for sha in shas)
        removed = _remove(root, [sha for sha in stock.objects if not needed[sha]], stock)
        left = sum(size for size, _ in stock.objects.values())
        forgotten = list[str]()
        for session_id in _oldest_first(stock, keep):
            if left <= quota_bytes:
                break
            gone = _forget(root, session_id, stock, needed)
            forgotten.append(session_id)
            freed = _remove(root, gone, stock)
            left -= freed[1]
            removed = (removed[0] + freed[0], removed[1] + freed[1])
        return Pruned(removed[0], removed[1], tuple(forgotten), left)
    finally:
        os.close(root)


def _take_stock(root: int) -> _Stock:
    stock = _Stock()
    for first in (f"{number:02x}" for number in range(256)):
        for rest, status in _files(root, first):
            if is_sha256(first + rest):
                stock.objects[first + rest] = (status.st_size, status.st_mtime)
    for session_id, status in _files(root, REFERENCES):
        stock.sessions[session_id] = (_references(root, session_id), status.st_mtime)
    return stock


def _files(root: int, name: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the regular files of a folder inside `root`; nothing where it is no folder."""
    try:
        folder = open_folder(name, dir_fd=root)
    except OSError:
        return
    try:
        for file in os.listdir(folder):  # noqa: PTH208  an open folder has no path
            with suppress(OSError):
                status = os.stat(file, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    yield file, status
    finally:
        os.close(folder)


def _references(root: int, session_id: str) -> frozenset[str]:
    folder = open_folder(REFERENCES, dir_fd=root)
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(session_id, flags, dir_fd=folder), "rb") as file:  # noqa: PTH123
            lines = file.read().decode("ascii", "replace").split("\n")
    finally:
        os.close(folder)
    return frozenset(line for line in lines if is_sha256(line))


def _oldest_first(stock: _Stock, keep: Collection[str]) -> list[str]:
    """Return the sessions that may lose their contents."""
    now = time.time()
    old = [
        (used, session_id)
        for session_id, (_, used) in stock.sessions.items()
        if session_id not in keep and now - used > GRACE
    ]
    return [session_id for _, session_id in sorted(old)]


def _forget(root: int, session_id: str, stock: _Stock, needed: Counter[str]) -> list[str]:
    """Drop a session's references; return the contents that nobody needs any more."""
    shas, _ = stock.sessions.pop(session_id)
    folder = open_folder(REFERENCES, dir_fd=root)
    try:
        with suppress(FileNotFoundError):
            os.unlink(session_id, dir_fd=folder)
    finally:
        os.close(folder)
    needed.subtract(shas)
    return [sha for sha in shas if not needed[sha] and sha in stock.objects]


def _remove(root: int, shas: list[str], stock: _Stock) -> tuple[int, int]:
    """Remove contents that are old enough; return how many, and their bytes."""
    count = size = 0
    limit = time.time() - GRACE
    for sha in shas:
        if stock.objects[sha][1] <= limit and _remove_one(root, sha, limit):
            count += 1
            size += stock.objects.pop(sha)[0]
    return count, size


def _remove_one(root: int, sha: str, limit: float) -> bool:
    """Remove a content, unless it has been put again since it was looked at."""
    try:
        folder = open_folder(sha[:2], dir_fd=root)
    except OSError:
        return False
    name, aside = sha[2:], f"{UNFINISHED}-{sha[2:18]}"
    try:
        os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
        # Who puts it now finds nothing and writes it anew; who did before made it young.
        if os.stat(aside, dir_fd=folder, follow_symlinks=False).st_mtime > limit:
            os.rename(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
            return False
        os.unlink(aside, dir_fd=folder)
    except OSError:
        return False
    finally:
        os.close(folder)
    return True


def _remove_unfinished(root: int) -> None:
    """Remove what a process that was killed has left behind."""
    limit = time.time() - GRACE
    for name in (UNFINISHED, *(f"{number:02x}" for number in range(256))):
        for file, status in _files(root, name):
            if file.startswith(UNFINISHED) and status.st_mtime <= limit:
                with suppress(OSError):
                    folder = open_folder(name, dir_fd=root)
                    try:
                        os.unlink(file, dir_fd=folder)
                    finally:
                        os.close(folder)
