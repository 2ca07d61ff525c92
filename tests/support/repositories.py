"""Workspaces as users have them: no repository, one, a linked worktree, one with a submodule."""

import hashlib
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

Snapshot = dict[str, tuple[int, int, str]]
"""By path: mode, time of the last change, and what is in it."""

FILES = {
    "a.txt": "alpha\nbeta\n",
    "b.txt": "gamma\n",
    "src/main.py": "print('one')\n",
    "src/old.py": "old = 1\n",
}


def git(folder: Path, *words: str) -> str:
    """Run git as a user would who has configured nothing."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_DATE": "2026-11-01T12:00:00Z",
        "GIT_COMMITTER_DATE": "2026-11-01T12:00:00Z",
    }
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost")
    local = ("-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *identity, *local, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def _filled(folder: Path) -> Path:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def plain(folder: Path) -> Path:
    """No repository."""
    return _filled(folder)


def repository(folder: Path) -> Path:
    """Tracked, changed, staged, untracked and ignored files."""
    _filled(folder)
    (folder / ".gitignore").write_text("*.log\nbuild/\n")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    (folder / "b.txt").write_text("gamma\nchanged\n")
    (folder / "src/old.py").write_text("old = 2\n")
    git(folder, "add", "src/old.py")
    (folder / "untracked.txt").write_text("not in git\n")
    (folder / "debug.log").write_text("ignored\n")
    (folder / "build").mkdir()
    (folder / "build/out.bin").write_bytes(b"\0\1")
    return folder


def worktree(folder: Path) -> Path:
    """A linked worktree; the repository lies beside it."""
    beside = folder.parent / "main-repository"
    beside.mkdir()
    repository(beside)
    folder.rmdir()
    git(beside, "worktree", "add", "-q", "-b", "feature", str(folder))
    return folder


def submodule(folder: Path) -> Path:
    """A repository with a submodule in `lib/`."""
    other = folder.parent / "library"
    other.mkdir()
    git(other, "init", "-q")
    (other / "lib.py").write_text("answer = 42\n")
    git(other, "add", "-A")
    git(other, "commit", "-qm", "library")
    repository(folder)
    git(folder, "submodule", "--quiet", "add", str(other), "lib")
    git(folder, "commit", "-qm", "submodule")
    return folder


KINDS: dict[str, Callable[[Path], Path]] = {
    "no repository": plain,
    "repository": repository,
    "linked worktree": worktree,
    "submodule": submodule,
}


def snapshot(folder: Path, *, leave_out: str = ".agentls") -> Snapshot:
    """Return everything below, with the contents, modes and times of all."""
    found: Snapshot = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name.split("/")[0] == leave_out:
            continue
        found[name] = _entry(path)
    return found


def git_snapshot(folder: Path) -> Snapshot:
    """Return every file of every `.git` at, in and beside a workspace."""
    found = snapshot(folder.parent, leave_out="config")
    return {name: entry for name, entry in found.items() if ".git" in name.split("/")}


def contents(folder: Path) -> dict[str, tuple[int, str]]:
    """Return the modes and contents of a workspace's own files."""
    return {
        name: (mode, content)
        for name, (mode, _, content) in snapshot(folder).items()
        if ".git" not in name.split("/")
    }


def _entry(path: Path) -> tuple[int, int, str]:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return status.st_mode, status.st_mtime_ns, f"-> {path.readlink()}"
    if stat.S_ISDIR(status.st_mode):
        return status.st_mode, status.st_mtime_ns, "folder"
    return status.st_mode, status.st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest()
