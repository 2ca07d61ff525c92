"""A workspace in which edits, shell commands and rewinds follow one another, as in a session."""

import contextlib
import os
import stat
import subprocess
from collections.abc import Collection, Generator, Iterable
from pathlib import Path

from agentls.checkpoints.applying import Outcome, Restorer
from agentls.checkpoints.contents import FolderContents
from agentls.checkpoints.limits import Limits
from agentls.checkpoints.present import Look, OpenBuffers
from agentls.checkpoints.restore import Plan, Step, plan
from agentls.checkpoints.tracker import Tracker
from agentls.protocol.content import FileChange
from agentls.tools.line_diff import count_changes

Tree = dict[str, tuple[int, bytes]]
"""What stands at each path: its mode, and a file's bytes or where a link leads."""


class Yard:
    """A workspace with everything that watches over it, and the log of what was changed."""

    def __init__(
        self,
        folder: Path,
        *,
        session_id: str = "s1",
        store: Path | None = None,
        limits: Limits | None = None,
        buffers: OpenBuffers | None = None,
        roots: Iterable[Path] = (),
    ) -> None:
        self.folder = folder
        roots = (folder, *roots)
        self.contents = FolderContents(store or folder / ".agentls" / "checkpoints")
        self.tracker = Tracker(roots, self.contents, session_id, limits, count_lines=count_changes)
        self.look = Look(roots, buffers)
        self.log: list[FileChange] = []
        self._restorer = Restorer(
            self.look, self.contents, session_id, cwd=folder, count_lines=count_changes
        )

    def put(self, name: str | bytes, data: bytes | str = b"", mode: int | None = None) -> Path:
        """Write a file as somebody else would: nobody watches."""
        path = self.folder / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        if mode is not None:
            path.chmod(mode)
        return path

    def shell(self, command: str) -> list[FileChange]:
        """Run a command, watched; return what it changed."""
        point = self.tracker.before()
        subprocess.run(["bash", "-c", command], cwd=self.folder, check=True)
        changes = list(self.tracker.after(point).changes)
        self.log += changes
        return changes

    def edit(self, name: str, data: bytes | str) -> FileChange:
        """Write a file as the tools do."""
        path = self.folder / name
        before = path.read_bytes() if path.exists() else None
        after = data if isinstance(data, bytes) else data.encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(after)
        kept = self.tracker.keep(path, before, after)
        added, removed = count_changes(before or b"", after)
        change = FileChange(
            path=kept.path,
            kind="created" if before is None else "modified",
            before_sha256=kept.before_sha256,
            after_sha256=kept.after_sha256,
            added_lines=added,
            removed_lines=removed,
            before_mode=kept.before_mode,
            after_mode=kept.after_mode,
            restorable=kept.restorable,
        )
        self.log.append(change)
        return change

    def plan(self, changes: Iterable[FileChange] | None = None) -> Plan:
        """Plan the way back to before `changes`, else to before everything."""
        changes = self.log if changes is None else changes
        return plan(list(changes), self.look, cwd=str(self.folder), kept=self.contents.has)

    def steps(self, changes: Iterable[FileChange] | None = None) -> dict[str, Step]:
        """Return the plan's steps by the file's name."""
        return {step.name: step for step in self.plan(changes).steps}

    async def apply(self, planned: Plan, forced: Collection[str] = ()) -> Outcome:
        """Carry a plan out, and log what it changed."""
        return await self._restorer.apply(planned, forced=forced, done=self.log.append)

    async def rewind(
        self, changes: Iterable[FileChange] | None = None, forced: Collection[str] = ()
    ) -> Outcome:
        """Go back to before `changes`, else to before everything."""
        return await self.apply(self.plan(changes), forced)

    def tree(self) -> Tree:
        """Return all that is in the workspace, folders too, but for git's and our own."""
        return tree_of(self.folder, without=(".git", ".agentls"))


def tree_of(folder: Path, without: Collection[str] = ()) -> Tree:
    """Return all that is in a folder."""
    found: Tree = {}
    for above, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in without]
        for name in [*folders, *files]:
            if name in without:
                continue
            path = Path(above, name)
            status = path.lstat()
            held = b""
            if stat.S_ISLNK(status.st_mode):
                held = os.fsencode(path.readlink())
            elif stat.S_ISREG(status.st_mode):
                held = path.read_bytes()
            found[str(path.relative_to(folder))] = (status.st_mode, held)
    return found


def git_state(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return every byte, time and mode of what is git's below `folder`."""
    state: dict[str, tuple[object, ...]] = {}
    for above, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = Path(above, name)
            if ".git" not in path.relative_to(folder).parts:
                continue
            status = path.lstat()
            data = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
            times = (status.st_mtime_ns, status.st_ctime_ns)
            state[str(path)] = (status.st_mode, status.st_ino, *times, status.st_size, data)
    return state


def git(folder: Path, *arguments: str) -> str:
    """Run git, with no configuration but the repository's; return what it prints."""
    quiet = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_OPTIONAL_LOCKS": "0",
    }
    settings = ("user.name=a", "user.email=a@example.org", "protocol.file.allow=always")
    who = [word for setting in settings for word in ("-c", setting)]
    finished = subprocess.run(
        ["git", *who, *arguments], cwd=folder, check=True, capture_output=True, env=quiet, text=True
    )
    return finished.stdout


@contextlib.contextmanager
def as_nobody(folder: Path) -> Generator[None]:
    """Do without the rights that root has, in a folder that is given away for it."""
    if os.geteuid() != 0:
        yield
        return
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    groups, group = os.getgroups(), os.getegid()
    os.setgroups([])
    os.setegid(65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)
        os.setgroups(groups)
