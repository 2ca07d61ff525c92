"""Looks at every file of the workspace once, without reading any.

A scan costs one `stat` for each file. What a folder holds is listed again only where the folder
itself has changed since the scan before.
"""

import os
import stat
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path

from agentls.ignore_rules import (
    GIT,
    IGNORE_FILE,
    IgnoreRules,
    is_ignored,
    is_within_ignored,
    rules_above,
    rules_in,
)

Stamp = tuple[int, ...]
"""What tells one state of a file from another: mode, size, inode, times of change (ns)."""
MODE, SIZE, INODE, MODIFIED, CHANGED = range(5)
UNSEEN: Stamp = ()
"""Of what may be there, but cannot be looked at."""

NEVER = frozenset((GIT, ".agentls"))
"""Names that are passed over wherever they stand: git's is git's alone, and ours is ours."""
OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
FINE = 20_000_000
"""Nanoseconds; the clocks of files step by up to half of it."""
COARSE = 2_050_000_000
"""The same where a file system keeps whole seconds, or every other one."""

_stamp_of: "attrgetter[Stamp]" = attrgetter(
    "st_mode", "st_size", "st_ino", "st_mtime_ns", "st_ctime_ns"
)


@dataclass(frozen=True, slots=True)
class ScanLimits:
    """Where a scan ends, however large the workspace is."""

    files: int = 200_000
    depth: int = 64
    seconds: float = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class Folder:
    """What one folder held, but for what is passed over."""

    stamp: Stamp
    files: dict[str, Stamp]
    """What is no folder, links and special files included."""
    folders: tuple[str, ...]
    """Not all of them need have been looked into."""
    rules: tuple[IgnoreRules, ...]
    """What holds inside of it, outermost first."""
    ignored: int
    """Entries that the rules left out."""
    trusted: bool
    """Whether every later change of its list will show in its stamp."""


@dataclass(slots=True, eq=False)
class Scan:
    """What was seen. A folder that is not in `folders` was not looked into."""

    started_at: int
    """Nanoseconds, on the clock of the system."""
    folders: dict[str, Folder] = field(default_factory=dict[str, Folder])
    """By absolute path, each folder before those in it."""
    files: int = 0
    ignored: int = 0
    """Files and folders that ignore rules left out."""
    left_out: tuple[str, ...] = ()
    """What else was not looked at, in words."""

    def stamp(self, path: str) -> Stamp | None:
        """Return a file's stamp; None where it was not seen."""
        folder, _, name = path.rpartition("/")
        seen = self.folders.get(folder)
        return seen.files.get(name) if seen else None


def scan(
    roots: Iterable[str], previous: Scan | None = None, limits: ScanLimits | None = None
) -> Scan:
    """Look at all files below `roots`, absolute paths. Links are seen and not followed."""
    scanner = _Scanner(previous.folders if previous else {}, limits or ScanLimits())
    for root in roots:
        scanner.look_at_root(os.path.normpath(root).rstrip("/"))
    return scanner.finish()


def stamp_of(path: str) -> Stamp | None:
    """Return what tells the file's state; None where nothing is there, or `UNSEEN`."""
    try:
        return _stamp_of(os.lstat(path))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError:
        return UNSEEN


def is_settled(stamp: Stamp, at: int) -> bool:
    """Whether a change after the moment `at` (ns) is sure to change the stamp.

    A file that changes twice while its clock stands still looks the same both times.
    """
    changed = stamp[CHANGED] if os.name == "posix" else stamp[MODIFIED]
    step = FINE if changed % 1_000_000_000 else COARSE
    return changed < at - step


class _Scanner:
    """One scan."""

    def __init__(self, previous: Mapping[str, Folder], limits: ScanLimits) -> None:
        self._previous = previous
        self._limits = limits
        self._scan = Scan(time.time_ns())
        self._deadline = time.monotonic() + limits.seconds
        self._unreadable = list[str]()
        self._too_many = list[str]()
        self._too_deep = list[str]()
        self._too_late = list[str]()
        self._repositories = list[str]()

    def look_at_root(self, root: str) -> None:
        if root in self._scan.folders:
            return
        above = rules_above(Path(root or "/"))
        # Whoever names a folder wants to see into it.
        rules = () if is_within_ignored(f"{root}/", above) else above
        try:
            # The root itself may be a link: it is what the user has opened.
            descriptor = os.open(root or "/", OPEN_FOLDER & ~os.O_NOFOLLOW)
        except OSError:
            self._unreadable.append(root or "/")
            return
        self._look_into(descriptor, root, rules, 0)

    def finish(self) -> Scan:
        reasons = (
            ("folders that cannot be read", self._unreadable),
            (f"folders beyond {self._limits.files:,} files", self._too_many),
            (f"folders deeper than {self._limits.depth}", self._too_deep),
            (f"folders not reached in {self._limits.seconds:g} s", self._too_late),
            ("repositories without a working tree", self._repositories),
        )
        self._scan.left_out = tuple(
            f"{why}: {len(paths):,}, the first is {paths[0]}" for why, paths in reasons if paths
        )
        return self._scan

    def _look_into(
        self, descriptor: int, path: str, above: tuple[IgnoreRules, ...], depth: int
    ) -> None:
        """Look at an open folder and all below; closes it."""
        try:
            folder = self._again(descriptor, path, above) or self._list(descriptor, path, above)
            if folder is None or not self._take(path, folder):
                return
            for name in folder.folders:
                self._descend(descriptor, path, name, folder.rules, depth + 1)
        except OSError:
            self._unreadable.append(path)
        finally:
            os.close(descriptor)

    def _descend(
        self, descriptor: int, path: str, name: str, rules: tuple[IgnoreRules, ...], depth: int
    ) -> None:
        below = f"{path}/{name}"
        if below in self._scan.folders:
            return
        if depth > self._limits.depth:
            self._too_deep.append(below)
        elif time.monotonic() > self._deadline:
            self._too_late.append(below)
        else:
            try:
                opened = os.open(name, OPEN_FOLDER, dir_fd=descriptor)
            except FileNotFoundError:
                return
            except OSError:
                self._unreadable.append(below)
                return
            self._look_into(opened, below, rules, depth)

    def _take(self, path: str, folder: Folder) -> bool:
        """Add a folder to the scan, unless a bound forbids it."""
        if _is_repository(folder):
            self._repositories.append(path)
            return False
        if self._scan.files + len(folder.files) > self._limits.files:
            self._too_many.append(path)
            return False
        self._scan.folders[path] = folder
        self._scan.files += len(folder.files)
        self._scan.ignored += folder.ignored
        return True

    def _again(self, descriptor: int, path: str, above: tuple[IgnoreRules, ...]) -> Folder | None:
        """Look at the files that were there before; None where the folder must be listed anew."""
        old = self._previous.get(path)
        if old is None or not old.trusted or old.stamp != _stamp_of(os.fstat(descriptor)):
            return None
        inherited = old.rules[:-1] if _has_own(old.rules, path) else old.rules
        if inherited != above:
            return None
        status, stamp = os.stat, _stamp_of
        try:
            files = {
                name: stamp(status(name, dir_fd=descriptor, follow_symlinks=False))
                for name in old.files
            }
        except FileNotFoundError:
            return None
        if files == old.files:
            return old
        if files.get(IGNORE_FILE) != old.files.get(IGNORE_FILE):
            return None
        if any(stat.S_ISDIR(seen[MODE]) for seen in files.values()):
            return None
        return replace(old, files=files)

    def _list(self, descriptor: int, path: str, above: tuple[IgnoreRules, ...]) -> Folder | None:
        now = time.time_ns()
        own_stamp = _stamp_of(os.fstat(descriptor))
        files, folders = dict[str, Stamp](), list[str]()
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if entry.name in NEVER:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                    continue
                try:
                    files[entry.name] = _stamp_of(entry.stat(follow_symlinks=False))
                except FileNotFoundError:
                    continue
        rules = above
        ignore_file = files.get(IGNORE_FILE)
        if ignore_file and (own := rules_in(f"{path}/")):
            rules = (*above, own)
        ignored = _take_out_ignored(path, files, folders, rules) if rules else 0
        trusted = is_settled(own_stamp, now) and (
            ignore_file is None or is_settled(ignore_file, now)
        )
        return Folder(own_stamp, files, tuple(sorted(folders)), rules, ignored, trusted)


def _has_own(rules: tuple[IgnoreRules, ...], path: str) -> bool:
    return bool(rules) and rules[-1].base == f"{path}/"


def _is_repository(folder: Folder) -> bool:
    """Whether this is what other repositories have in `.git`."""
    return "HEAD" in folder.files and {"objects", "refs"}.issubset(folder.folders)


def _take_out_ignored(
    path: str, files: dict[str, Stamp], folders: list[str], rules: tuple[IgnoreRules, ...]
) -> int:
    """Take out what the rules leave out, but for the rules themselves; return how much it was."""
    # Most names are mentioned nowhere, which is quickly said.
    mentioned = {name for rule in rules for name in files if rule.patterns.may_match(name)}
    mentioned.discard(IGNORE_FILE)
    gone = [name for name in mentioned if is_ignored(f"{path}/{name}", rules)]
    for name in gone:
        del files[name]
    kept = [name for name in folders if not is_ignored(f"{path}/{name}/", rules)]
    ignored = len(gone) + len(folders) - len(kept)
    folders[:] = kept
    return ignored
