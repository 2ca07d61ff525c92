"""What stores of contents have in common that are no folder: what they take and what goes."""

import errno
import os
import stat
import time
from collections import Counter
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from agentls.checkpoints.contents import CHUNK
from agentls.checkpoints.pruning import GRACE, Pruned


@dataclass(frozen=True, slots=True)
class KeptContent:
    """A content, as a prune looks at it."""

    size: int
    used: float
    """When it was last put, in seconds."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What one session needs."""

    sha256s: frozenset[str]
    used: float
    """When it last asked for something, in seconds."""


def chunks_of_file(path: str) -> Generator[bytes]:
    """Yield what a regular file holds, a mebibyte at most at a time. Raises OSError."""
    with _regular_file(path) as source:
        while chunk := os.read(source, CHUNK):
            yield chunk


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data` into an open file. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def plan_prune(
    contents: Mapping[str, KeptContent],
    sessions: Mapping[str, Needs],
    quota_bytes: int,
    keep: Collection[str],
) -> tuple[Pruned, tuple[str, ...]]:
    """Return what a prune does, and the contents it removes; see `Contents.prune`."""
    limit = time.time() - GRACE
    needed = Counter(sha256 for needs in sessions.values() for sha256 in needs.sha256s)
    removed = {
        sha256 for sha256, kept in contents.items() if not needed[sha256] and kept.used <= limit
    }
    left = sum(kept.size for sha256, kept in contents.items() if sha256 not in removed)
    forgotten: list[str] = []
    for session_id, needs in sorted(sessions.items(), key=lambda item: item[1].used):
        if left <= quota_bytes:
            break
        if session_id in keep or needs.used > limit:
            continue
        forgotten.append(session_id)
        needed.subtract(needs.sha256s)
        for sha256 in needs.sha256s & contents.keys():
            if not needed[sha256] and contents[sha256].used <= limit:
                removed.add(sha256)
                left -= contents[sha256].size
    size = sum(contents[sha256].size for sha256 in removed)
    return Pruned(len(removed), size, tuple(forgotten), left), tuple(removed)


@contextmanager
def _regular_file(path: str) -> Generator[int]:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", path)
        yield descriptor
    finally:
        os.close(descriptor)
