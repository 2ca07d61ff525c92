"""What it costs to look at every file of a workspace ahead of a command: ours against git's.

    python benchmarks/checkpoint_scan.py [--quick] [--files 50000]

`git status` compares the same files with its index, which it has from the command before, as our
scan has what the scan before saw. Both run by turns, on the same tree, with a warm page cache.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from driver import SubjectFailed
from table import Row, render

from agentls.checkpoints.contents import FolderContents
from agentls.checkpoints.limits import Limits
from agentls.checkpoints.scan import Scan, scan
from agentls.checkpoints.tracker import Tracker
from agentls.tools.line_diff import count_changes

FILES = 50_000
FILES_IN_FOLDER = 10
STATUS = ("git", "-c", "core.fsmonitor=false", "--no-optional-locks", "status", "--porcelain")
IGNORED = (
    "*.pyc\n__pycache__/\n/build/\n*.log\nnode_modules/\n.venv/\ndist/\n*.egg-info/\n/docs/_*/\n"
)
TARGET = 1.5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a third of the readings")
    parser.add_argument("--files", type=int, default=FILES, help="how many files the tree has")
    arguments = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        rows = measure(pairs=7 if arguments.quick else 21, files=arguments.files)
    except SubjectFailed as failure:
        print(f"No table: {failure}", file=sys.stderr)
        return 1
    print(render(rows))
    print(f"\nload average of the last minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return 0


def measure(*, pairs: int = 21, files: int = FILES) -> list[Row]:
    """Make a tree, measure, and return the rows for the table."""
    with tempfile.TemporaryDirectory(prefix="agentls-bench-") as name:
        folder = Path(name).resolve()
        root = folder / "tree"
        make_tree(root, files)
        git = _Subject(lambda: _git_status(root))
        before = scan([str(root)])
        if before.files != files + 1 or before.left_out:
            raise SubjectFailed(f"the scan saw {before.files} files; left out: {before.left_out}")
        again = _Subject(lambda: _seen(scan([str(root)], before), files))
        first = _Subject(lambda: _seen(scan([str(root)]), files))
        command = _Subject(_command(root, folder / "store"))
        subjects = (git, again, first, command)
        for number in range(pairs + 1):
            for subject in subjects if number % 2 else reversed(subjects):
                subject.run()
        for subject in subjects:
            # What is met for the first time is paid for once.
            subject.forget_first()
    label = f"{files:,} files"
    return [
        _row(f"scan ahead of a command, {label}", git, again, TARGET),
        _row(f"a session's first scan, {label}", git, first, None),
        _row(f"before and after a command, {label}", git, command, None),
    ]


def make_tree(root: Path, files: int) -> None:
    """Make a repository with everything committed and git's index as fresh as it can be."""
    for number in range(files):
        folder_number, name = divmod(number, FILES_IN_FOLDER)
        folder = root / "packages" / f"pkg{folder_number // 250:02d}"
        folder = folder / f"module{folder_number // 25 % 10}" / f"part{folder_number % 25:02d}"
        if name == 0:
            folder.mkdir(parents=True)
        (folder / f"file_{name:03d}.py").write_text(f"# {number}\n" * 20)
    (root / ".gitignore").write_text(IGNORED)
    who = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    for arguments in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "all")):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    # Git reads again what was written in the same second as its index.
    time.sleep(1.1)
    subprocess.run(["git", "update-index", "-q", "--refresh"], cwd=root, check=True)
    subprocess.run(["git", "status", "--porcelain"], cwd=root, check=True)


@dataclass
class _Subject:
    """Something that is measured, with the seconds and the processor time of each run."""

    work: Callable[[], None]
    seconds: list[float] = field(default_factory=list[float])
    cpu: list[float] = field(default_factory=list[float])

    def run(self) -> None:
        cpu, start = _cpu(), time.perf_counter()
        self.work()
        self.seconds.append(time.perf_counter() - start)
        self.cpu.append(_cpu() - cpu)

    def forget_first(self) -> None:
        del self.seconds[0], self.cpu[0]


def _cpu() -> float:
    """Return the processor time of this process and of those it has waited for."""
    used = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        used += usage.ru_utime + usage.ru_stime
    return used


def _git_status(root: Path) -> None:
    finished = subprocess.run(STATUS, cwd=root, check=True, capture_output=True)
    if finished.stdout:
        raise SubjectFailed(f"git sees changes: {finished.stdout[:200]!r}")


def _seen(found: Scan, files: int) -> None:
    if found.files != files + 1:
        raise SubjectFailed(f"the scan saw {found.files} files")


def _command(root: Path, store: Path) -> Callable[[], None]:
    """Return what stands around a command that changes nothing, once everything is kept."""
    tracker = Tracker(
        [root], FolderContents(store), "bench", Limits(call_bytes=2**40), count_lines=count_changes
    )
    tracker.catch_up(600.0)
    # What was kept while its clock had hardly stepped is read once more.
    tracker.catch_up(600.0)

    def around() -> None:
        if tracker.after(tracker.before()).changes:
            raise SubjectFailed("a command that did nothing has changes")

    return around


def _row(name: str, floor: _Subject, ours: _Subject, target: float | None) -> Row:
    return Row(
        name,
        "ms",
        [seconds * 1e3 for seconds in floor.seconds],
        [seconds * 1e3 for seconds in ours.seconds],
        target,
        cpu=sum(ours.cpu) / sum(floor.cpu),
    )


if __name__ == "__main__":
    sys.exit(main())
