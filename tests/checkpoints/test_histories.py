"""Random histories of edits, commands and rewinds: every state can be had again."""

import asyncio
import os
import shlex
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.checkpoints import Tree, Yard

IGNORED = "ignored.log"
PATHS = ["a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", IGNORED, "ü\nx"]
paths = st.sampled_from(PATHS)
texts = st.sampled_from(["", "1\n", "1\n2\n", "\0", "x" * 300])
modes = st.sampled_from([0o644, 0o600, 0o755, 0o444])


@dataclass(frozen=True)
class Edit:
    path: str
    text: str


@dataclass(frozen=True)
class Command:
    """What a shell command does, done without the cost of a shell."""

    actions: tuple[tuple[str, str, str, int], ...]


@dataclass(frozen=True)
class Rewind:
    """Back to a state, counted from the first, as far as there are that many."""

    to: int


commands = st.lists(
    st.tuples(
        st.sampled_from(["write", "delete", "rename", "link", "mode", "copy"]), paths, paths, modes
    ),
    min_size=1,
    max_size=4,
).map(lambda actions: Command(tuple(actions)))
histories = st.lists(
    st.one_of(st.builds(Edit, paths, texts), commands, st.builds(Rewind, st.integers(0, 8))),
    min_size=1,
    max_size=10,
)


@settings(deadline=None, max_examples=120)
@given(history=histories)
def test_every_state_can_be_had_again(history: list[Edit | Command | Rewind]) -> None:
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(live_through(Yard(Path(name).resolve()), history))


async def live_through(yard: Yard, history: list[Edit | Command | Rewind]) -> None:
    yard.put(".gitignore", "*.log\n")
    yard.put("a", "as it was\n")
    yard.put("d/e/a", "as it was\n")
    yard.put(IGNORED, "as it was\n")
    yard.tracker.know(IGNORED)
    states: list[tuple[int, Tree]] = [(0, files(yard))]
    for happening in history:
        match happening:
            case Edit():
                edit(yard, happening)
            case Command():
                point = yard.tracker.before()
                for action in happening.actions:
                    act(yard.folder, *action)
                yard.log += yard.tracker.after(point).changes
            case Rewind():
                await go_to(yard, *states[min(happening.to, len(states) - 1)])
        states.append((len(yard.log), files(yard)))
    for state in reversed(states):
        await go_to(yard, *state)


async def go_to(yard: Yard, logged: int, tree: Tree) -> None:
    """Rewind to a state, redo that, and rewind again."""
    now = files(yard)
    outcome = await yard.rewind(yard.log[logged:])
    assert (outcome.skipped, outcome.failures) == ([], [])
    assert files(yard) == tree
    redone = await yard.rewind(outcome.changes)
    assert (redone.skipped, redone.failures) == ([], [])
    assert files(yard) == now
    again = await yard.rewind(redone.changes)
    assert (again.skipped, again.failures) == ([], [])
    assert files(yard) == tree


def files(yard: Yard) -> Tree:
    """Return the tree without its folders: an empty one is nobody's file."""
    return {path: held for path, held in yard.tree().items() if not stat.S_ISDIR(held[0])}


def edit(yard: Yard, happening: Edit) -> None:
    path = yard.folder / happening.path
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(yard.folder) or real.is_dir():
        return
    try:
        yard.edit(happening.path, happening.text)
    except OSError:
        # A file stands where a folder should be.
        return


def act(root: Path, action: str, one: str, two: str, mode: int) -> None:
    path, other = root / one, root / two
    if path.is_dir() and (two == IGNORED or other.is_relative_to(path)):
        # What comes to be in an ignored folder is nobody's business, and none may hold itself.
        return
    try:
        match action:
            case "write" if not path.is_symlink():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"{shlex.quote(two)}\n" * 3)
                path.chmod(mode)
            case "delete" if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            case "delete":
                path.unlink()
            case "rename":
                path.rename(other)
            case "link":
                path.symlink_to(other.name)
            case "mode" if path.is_file() and not path.is_symlink():
                path.chmod(mode)
            case "copy" if path.is_dir() and not path.is_symlink():
                shutil.copytree(path, other, symlinks=True)
            case _:
                pass
    except (OSError, shutil.Error):
        # Something else is in the way.
        return
