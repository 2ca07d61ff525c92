"""What is git's stays as it is, byte for byte, whatever is looked at, kept and brought back."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.checkpoints import Yard, git, git_state


def repository(folder: Path) -> Path:
    """Make a repository in the middle of work: staged, stashed, changed, untracked."""
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / ".gitignore").write_text("*.log\nbuild/\n")
    for name in ("tracked", "staged", "stashed", "changed", "src/deep"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("committed\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    (folder / "stashed").write_text("in the stash\n")
    git(folder, "stash", "-q")
    (folder / "staged").write_text("staged\n")
    git(folder, "add", "staged")
    (folder / "changed").write_text("not staged\n")
    (folder / "untracked").write_text("untracked\n")
    (folder / "debug.log").write_text("ignored\n")
    return folder


def plain(tmp_path: Path) -> Path:
    return repository(tmp_path / "work")


def linked_worktree(tmp_path: Path) -> Path:
    main = repository(tmp_path / "main")
    git(main, "worktree", "add", "-q", "-b", "other", "../work")
    work = tmp_path / "work"
    (work / "staged").write_text("staged here\n")
    git(work, "add", "staged")
    (work / "changed").write_text("not staged here\n")
    (work / "debug.log").write_text("ignored\n")
    return work


def with_submodule(tmp_path: Path) -> Path:
    library = repository(tmp_path / "library")
    work = repository(tmp_path / "work")
    git(work, "submodule", "--quiet", "add", str(library), "lib")
    (work / "lib" / "changed").write_text("not staged in the submodule\n")
    return work


def no_repository(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    for name in ("tracked", "staged", "changed", "src/deep", "debug.log"):
        (work / name).write_text("no git here\n")
    return work


LAYOUTS = [plain, linked_worktree, with_submodule, no_repository]
COMMAND = (
    "echo 2 > tracked; rm staged changed; mv src moved; mkdir new; echo 3 > new/a;"
    "if [ -d lib ]; then echo 4 > lib/a; fi"
)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
async def test_gits_files_are_identical_before_and_after(
    tmp_path: Path, layout: Callable[[Path], Path]
) -> None:
    work = layout(tmp_path)
    yard = Yard(work)
    yard.tracker.know("debug.log")
    tree, owned = yard.tree(), git_state(tmp_path)
    assert bool(owned) == (layout is not no_repository)
    status = git(work, "status", "--porcelain") if owned else ""
    yard.shell(f"{COMMAND}; echo 5 > debug.log")
    changed = yard.tree()
    assert git_state(tmp_path) == owned
    yard.edit("tracked", "by the tool\n")
    outcome = await yard.rewind()
    assert (outcome.skipped, outcome.failures) == ([], [])
    assert git_state(tmp_path) == owned
    assert yard.tree() == tree
    redone = await yard.rewind(outcome.changes)
    assert (redone.skipped, redone.failures) == ([], [])
    assert git_state(tmp_path) == owned
    assert {**yard.tree(), "tracked": changed["tracked"]} == changed
    await yard.rewind(redone.changes)
    assert git_state(tmp_path) == owned
    if owned:
        without_ours = [
            line
            for line in git(work, "status", "--porcelain").splitlines()
            if ".agentls" not in line
        ]
        assert without_ours == status.splitlines()


@pytest.mark.parametrize("layout", LAYOUTS[:3], ids=lambda layout: layout.__name__)
async def test_what_a_command_did_to_git_stays_done(
    tmp_path: Path, layout: Callable[[Path], Path]
) -> None:
    work = layout(tmp_path)
    yard = Yard(work)
    tree = yard.tree()
    who = "git -c user.name=a -c user.email=a@example.org"
    yard.shell(f"{who} commit -qam 'by the agent'; git branch made; echo 6 > tracked; git add .")
    owned = git_state(tmp_path)
    outcome = await yard.rewind()
    assert (outcome.skipped, outcome.failures) == ([], [])
    assert git_state(tmp_path) == owned
    assert yard.tree() == tree
    assert "made" in git(work, "branch", "--list")


async def test_checkout_by_a_command_is_undone_in_the_files_alone(tmp_path: Path) -> None:
    work = repository(tmp_path / "work")
    git(work, "stash", "drop", "-q")
    git(work, "checkout", "-q", "-f", "-b", "other")
    (work / "tracked").write_text("on the other branch\n")
    git(work, "commit", "-qam", "other")
    yard = Yard(work)
    tree = yard.tree()
    yard.shell("git checkout -q -")
    owned = git_state(tmp_path)
    await yard.rewind()
    assert yard.tree() == tree
    assert git_state(tmp_path) == owned
    assert git(work, "status", "--porcelain").splitlines()[0] == " M tracked"


async def test_ignored_files_survive_a_rewind_of_the_ignore_file(tmp_path: Path) -> None:
    work = repository(tmp_path / "work")
    (work / "build").mkdir()
    (work / "build" / "out").write_text("took an hour\n")
    yard = Yard(work)
    tree = yard.tree()
    yard.shell("echo > .gitignore; echo 1 > new")
    yard.shell("rm .gitignore; echo 2 > new.log")
    outcome = await yard.rewind()
    assert (outcome.skipped, outcome.failures) == ([], [])
    assert yard.tree() == tree


async def test_rewind_in_the_middle_of_a_merge_leaves_the_merge(tmp_path: Path) -> None:
    work = repository(tmp_path / "work")
    git(work, "checkout", "-qf", "-b", "other")
    (work / "tracked").write_text("theirs\n")
    git(work, "commit", "-qam", "theirs")
    git(work, "checkout", "-q", "-")
    (work / "tracked").write_text("ours\n")
    git(work, "commit", "-qam", "ours")
    yard = Yard(work)
    yard.shell("git merge -q other || true")
    owned = git_state(tmp_path)
    assert any(path.endswith(".git/MERGE_HEAD") for path in owned)
    await yard.rewind()
    assert git_state(tmp_path) == owned
    assert (work / "tracked").read_text() == "ours\n"
