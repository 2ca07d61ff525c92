"""Turns differences between two scans into changes, with what the files hold now kept."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from agentls.checkpoints.capture import Capture, NotKept, has_content
from agentls.checkpoints.differences import Difference
from agentls.checkpoints.file_changes import ChangeMaker, FileState
from agentls.checkpoints.limits import Limits
from agentls.checkpoints.scan import CHANGED, MODE, SIZE, Stamp, stamp_of
from agentls.protocol.content import FileChange


@dataclass(slots=True)
class Followed:
    """What came of the differences."""

    changes: list[FileChange] = field(default_factory=list[FileChange])
    """In the order of their paths."""
    states: list[tuple[str, Stamp | None]] = field(default_factory=list[tuple[str, Stamp | None]])
    """What each changed file is now."""
    problems: list[str] = field(default_factory=list[str])
    """For a person."""


def follow(
    found: Iterable[Difference],
    uncertain: Iterable[Difference],
    *,
    capture: Capture,
    make: ChangeMaker,
    limits: Limits,
) -> Followed:
    """Read what has changed, and keep it.

    `uncertain` look the same, and count only where their content differs. What is more than the
    limits allow is left out, new files first, as with those nothing is lost.
    """
    followed = Followed()
    deadline = time.monotonic() + limits.after_seconds
    differences = sorted([*found, *uncertain], key=_importance)
    try:
        try:
            for index, difference in enumerate(differences):
                if len(followed.changes) >= limits.changes or time.monotonic() > deadline:
                    left = len(differences) - index
                    followed.problems.append(f"{left:,} more files changed than can be followed")
                    break
                _follow(difference, followed, capture, make)
        finally:
            capture.refer()
    except NotKept as error:
        followed.problems.append(str(error))
    followed.changes.sort(key=lambda change: change.path)
    return followed


def _importance(difference: Difference) -> tuple[bool, str]:
    return difference.before is None, difference.path


def _follow(
    difference: Difference, followed: Followed, capture: Capture, make: ChangeMaker
) -> None:
    path, before, after = difference.path, difference.before, difference.after
    old = FileState(before[MODE], capture.sha(path, before), before[SIZE]) if before else None
    new = None
    if after:
        # What was written since the scan belongs to it as well.
        after = stamp_of(path) or after
        new = FileState(after[MODE], capture.read(path, after), after[SIZE])
    if before and after and old and new:
        same = old.sha256 == new.sha256 if old.sha256 else _is_untouched(before, after)
        if same and old.mode == new.mode:
            return
        if same:
            old = FileState(old.mode, new.sha256, old.size)
    followed.states.append((path, after))
    followed.changes.append(make.change(path, old, new, difference.made_folders))


def _is_untouched(before: Stamp, after: Stamp) -> bool:
    """Whether nothing but the mode, the owner or the number of names can have changed.

    Nobody kept what the file held, so its times must tell.
    """
    return (
        has_content(before)
        and before[SIZE:CHANGED] == after[SIZE:CHANGED]
        and before[MODE] >> 12 == after[MODE] >> 12
    )
