"""Finds the file or folder that a mention names, and judges whether it may come along.

Blocking: it looks at the disk.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentls.context.mention_syntax import Mention
from agentls.tools.paths import absolute, exists

MOST_LOOKED_AT = 2_000
"""Mentions; what is pasted into a prompt may be full of what looks like one."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a mention stands for."""

    path: Path
    """Absolute. Of a symbol anywhere: the working folder."""
    is_folder: bool
    first_line: int | None = None
    last_line: int | None = None
    symbol: str | None = None
    everywhere: bool = False
    """The symbol is looked for in all of the workspace."""
    refused: str | None = None
    """Why it does not come along."""


def targets(
    mentions: Iterable[Mention],
    cwd: Path,
    roots: Sequence[Path],
    unreadable: Callable[[Path], bool],
) -> list[Target]:
    """Return what is there of what is mentioned, each once, in order."""
    found: dict[tuple[object, ...], Target] = {}
    for mention in list(mentions)[:MOST_LOOKED_AT]:
        target = _target(mention, cwd, _Boundary(cwd, roots), unreadable)
        if target is not None:
            place = os.path.realpath(target.path)
            key = (place, target.first_line, target.last_line, target.symbol, target.everywhere)
            found.setdefault(key, target)
    return list(found.values())


class _Boundary:
    """What is in the workspace."""

    def __init__(self, cwd: Path, roots: Sequence[Path]) -> None:
        self.folders = tuple(dict.fromkeys((cwd, *roots)))
        self._real = tuple(Path(os.path.realpath(folder)) for folder in self.folders)

    def holds(self, path: Path) -> bool:
        """Whether the path leads to a place inside."""
        real = Path(os.path.realpath(path))
        return any(real.is_relative_to(folder) for folder in self._real)

    def seems_to_hold(self, path: Path) -> bool:
        """Whether the path is written like one inside."""
        written = Path(os.path.normpath(path))
        return any(written.is_relative_to(folder) for folder in (*self.folders, *self._real))


_OUTSIDE = (
    "It is not included, as it leads out of the workspace. The user can name it by its absolute "
    "path to bring it along."
)
_KEPT_FROM_THE_MODEL = "It is not included: a permission rule keeps it from being read."


def _target(
    mention: Mention, cwd: Path, boundary: _Boundary, unreadable: Callable[[Path], bool]
) -> Target | None:
    if not mention.path:
        if mention.in_word:
            return None
        return Target(cwd, is_folder=True, symbol=mention.symbol, everywhere=True)
    found = _there(mention, boundary)
    if found is None:
        return None
    path, literally = found
    refused = _refusal(mention, path, boundary, unreadable)
    # An e-mail address may end in a file's name, but nobody wrote it to bring secrets along.
    if mention.in_word and refused is not None:
        return None
    is_folder = path.is_dir()
    if literally:
        return Target(path, is_folder, refused=refused)
    if is_folder:
        return Target(path, is_folder, symbol=mention.symbol, refused=refused)
    lines = (mention.first_line, mention.last_line)
    return Target(path, is_folder, *lines, symbol=mention.symbol, refused=refused)


def _there(mention: Mention, boundary: _Boundary) -> tuple[Path, bool] | None:
    """Return the path that is mentioned and whether its `#` or `:` belong to its name."""
    if mention.in_word and _is_absolute(mention.path):
        return None
    for written in dict.fromkeys((mention.path, mention.literal)):
        for folder in boundary.folders:
            try:
                path = absolute(written, folder)
            except (OSError, ValueError):
                continue
            if exists(path):
                return path, written != mention.path
    return None


def _is_absolute(path: str) -> bool:
    return Path(path).is_absolute() or path.startswith("~")


def _refusal(
    mention: Mention, path: Path, boundary: _Boundary, unreadable: Callable[[Path], bool]
) -> str | None:
    """Say why a path does not come along, though it is there; judged by where it leads.

    What a person names by its absolute path comes from anywhere, but a link in the workspace may
    be a stranger's.
    """
    if not boundary.holds(path) and (
        not _is_absolute(mention.path) or boundary.seems_to_hold(path)
    ):
        return _OUTSIDE
    if unreadable(path) or unreadable(Path(os.path.realpath(path))):
        return _KEPT_FROM_THE_MODEL
    return None
