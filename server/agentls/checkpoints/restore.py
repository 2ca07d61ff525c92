"""Plans how files get back to what they were, without touching any.

A plan is the preview, and what `apply` carries out.
"""

import stat
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from agentls.checkpoints.names import path_of
from agentls.checkpoints.present import Present
from agentls.protocol.content import FileChange

Action = Literal["restore", "create", "delete", "mode", "nothing"]


@dataclass(frozen=True, slots=True)
class Target:
    """What a file shall be; neither hash nor mode: it shall not be there."""

    sha256: str | None
    mode: int | None
    """None, beside a hash: as it is now, else what a new file gets."""

    @property
    def absent(self) -> bool:
        """Whether there shall be no file."""
        return self.sha256 is None and self.mode is None


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be done with one file."""

    name: str
    """As in changes."""
    path: str
    action: Action
    """What it takes, conflict or not; `nothing` with a conflict: it cannot be done at all."""
    target: Target
    present: Present
    conflict: str | None
    """Why it is not done unless it is forced, in words that follow the file's name."""

    @property
    def possible(self) -> bool:
        """Whether forcing it helps."""
        return self.action != "nothing"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, in this order."""

    steps: tuple[Step, ...]
    made: frozenset[str]
    """Folders that were not there; they go when they are emptied."""
    made_unknown: frozenset[str]
    """Files of which it is not known which of the folders above were made with them."""

    @property
    def conflicts(self) -> tuple[Step, ...]:
        """What is not done unless it is forced."""
        return tuple(step for step in self.steps if step.conflict)


def plan(
    changes: Sequence[FileChange],
    look: Callable[[str], Present],
    *,
    cwd: str,
    kept: Callable[[str], bool],
) -> Plan:
    """Plan the way back to before the first of `changes`.

    `changes` are all that were made since, in the order of the log, earlier rewinds' included.
    `look` says what is at an absolute path, `kept` whether a content can be had.
    """
    histories = _histories(changes, cwd)
    presents = {path: _unlinked(look(path), histories) for path in histories}
    _join_by_place(histories, presents)
    born = {path: history for path, history in histories.items() if history[0].before.absent}
    around = _Surroundings(frozenset(born), frozenset(presents[path].place for path in born), kept)
    steps = [_step(history, path, presents[path], around) for path, history in histories.items()]
    return Plan(
        tuple(sorted(steps, key=_order)),
        frozenset(_made(born)),
        frozenset(path for path, history in born.items() if history[0].change.made_folders is None),
    )


@dataclass(frozen=True, slots=True)
class _Entry:
    """A change, and when it was."""

    index: int
    change: FileChange

    @property
    def before(self) -> Target:
        return Target(self.change.before_sha256, self.change.before_mode)

    @property
    def after(self) -> Target:
        return Target(self.change.after_sha256, self.change.after_mode)


_Histories = dict[str, list[_Entry]]


def _histories(changes: Iterable[FileChange], cwd: str) -> _Histories:
    """Return what became of each path."""
    histories: _Histories = {}
    for index, change in enumerate(changes):
        histories.setdefault(path_of(change, cwd), []).append(_Entry(index, change))
    return histories


def _join_by_place(histories: _Histories, presents: dict[str, Present]) -> None:
    """Make one history of those of the same file, reached by several paths."""
    first_path: dict[str, str] = {}
    for path in list(histories):
        first = first_path.setdefault(presents[path].place, path)
        if first != path:
            histories[first] = sorted(
                histories[first] + histories.pop(path), key=lambda entry: entry.index
            )


def _unlinked(present: Present, histories: Container[str]) -> Present:
    """Return what will be there when links that were made since are gone again.

    Files are never recorded behind a link, so a link on the way came later. Where the changes say
    so themselves, what stands behind it is not the file.
    """
    if present.link is None or present.link not in histories or present.owner:
        return present
    return Present(present.place_without_link or present.place)


@dataclass(frozen=True, slots=True)
class _Surroundings:
    going: Container[str]
    """Paths at which nothing shall be."""
    going_places: frozenset[str]
    """The same, with links followed."""
    kept: Callable[[str], bool]


def _step(history: list[_Entry], path: str, present: Present, around: _Surroundings) -> Step:
    target, expected = history[0].before, history[-1].after
    name = history[0].change.path
    refusal = _refusal(history[0].change, target, present, around)
    if refusal:
        return Step(name, path, "nothing", target, present, refusal)
    if (
        present.is_folder
        and present.holds is not None
        and around.going_places.issuperset(present.holds)
    ):
        # What the plan removes empties it.
        present = replace(present, mode=None, holds=None, stamp=None)
    action = _action(target, present)
    conflict = None
    if action != "nothing":
        conflict = _on_the_way(present, around) or _conflict(expected, present)
    return Step(name, path, action, target, present, conflict)


def _refusal(
    first: FileChange, target: Target, present: Present, around: _Surroundings
) -> str | None:
    """Return why a file cannot be brought back whoever wants it."""
    if present.owner == ".agentls":
        return "belongs to agentls and is left alone"
    if present.owner:
        return "belongs to git and is left alone"
    if present.problem:
        return present.problem
    if target.absent:
        return None
    if target.sha256 is None or not first.restorable:
        return "cannot be brought back: what it held before was not kept"
    if not _same_state(target, present) and not around.kept(target.sha256):
        return "cannot be brought back: what it held before is no longer kept"
    return None


def _action(target: Target, present: Present) -> Action:
    if target.absent:
        # A folder is no file.
        return "delete" if present.exists and not present.is_folder else "nothing"
    if not present.exists:
        return "create"
    if _same_state(target, present):
        return "nothing"
    same_content = target.sha256 == present.sha256 and _kind(target.mode) == _kind(present.mode)
    return "mode" if same_content else "restore"


def _same_state(target: Target, present: Present) -> bool:
    """Whether there is already what shall be; a mode that is not known matters to nobody."""
    if target.absent or not present.exists:
        return target.absent and not present.exists
    if target.sha256 != present.sha256 or present.is_folder:
        return False
    if target.mode is None:
        return _kind(present.mode) == stat.S_IFREG
    return target.mode == present.mode


def _kind(mode: int | None) -> int:
    """Return the type bits; what is not known is a plain file."""
    return stat.S_IFREG if mode is None else stat.S_IFMT(mode)


def _on_the_way(present: Present, around: _Surroundings) -> str | None:
    """Return what is wrong with where the file is."""
    if present.blocked_by and present.blocked_by not in around.going:
        return f"has no folder any more: {present.blocked_by} is no folder"
    if present.outside and present.link:
        return f"is behind a link that leads out of the workspace: {present.link}"
    if present.outside:
        return "is outside of the workspace"
    return None


def _conflict(expected: Target, present: Present) -> str | None:
    """Return how a file is not what the last change left."""
    if _same_state(expected, present):
        return None
    if expected.absent:
        return f"was deleted then, and {_what_it_is(present)} is there now"
    if not present.exists:
        return "was deleted by something else since"
    if present.in_editor and present.sha256 != expected.sha256:
        return "was changed in the editor since"
    if _kind(expected.mode) != _kind(present.mode):
        return f"is {_what_it_is(present)} now"
    if expected.sha256 is None:
        same = expected.mode == present.mode and not stat.S_ISREG(present.mode or 0)
        return None if same else "was too large to be looked at, so it may have changed since"
    if expected.sha256 == present.sha256:
        return "has got other permissions since"
    return "was changed by something else since"


_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link",
    stat.S_IFREG: "a file",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


def _what_it_is(present: Present) -> str:
    return _KINDS.get(_kind(present.mode), "a device")


def _order(step: Step) -> tuple[bool, int, str]:
    """Put deletions first, deepest first: what is created may need their place."""
    deletes = step.action == "delete"
    return (not deletes, -step.path.count("/") if deletes else 0, step.path)


def _made(born: _Histories) -> Iterable[str]:
    """Yield the folders that were made with files."""
    for path, history in born.items():
        for entry in history:
            folder = path
            for _ in range(entry.change.made_folders or 0):
                folder = folder.rpartition("/")[0]
                yield folder
