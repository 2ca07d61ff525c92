"""What became of the files between two scans."""

import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from agentls.checkpoints.scan import MODE, UNSEEN, Folder, Scan, Stamp, stamp_of
from agentls.ignore_rules import IGNORE_FILE, IgnoreRules, is_within_ignored


@dataclass(frozen=True, slots=True)
class Seen:
    """A scan, and the files looked at besides: ignored ones, and those outside of the workspace."""

    scan: Scan
    others: Mapping[str, Stamp | None] = field(default_factory=dict[str, Stamp | None])


@dataclass(frozen=True, slots=True)
class Difference:
    """A file that is not what it was; None stands for no file."""

    path: str
    before: Stamp | None
    after: Stamp | None
    made_folders: int = 0
    """How many folders, counted from the file up, were not there before."""


@dataclass(frozen=True, slots=True)
class Differences:
    """All that differs, in no order."""

    found: tuple[Difference, ...]
    once_ignored: int
    """Files that were ignored before and are not now, so nobody knows whether they are new."""


def compare(before: Seen, after: Seen) -> Differences:
    """Compare two looks at the same roots.

    What only one of them has looked into is passed over, not taken for new or for gone.
    """
    comparison = _Comparison(before.scan, after.scan)
    for path in _others(before, after):
        comparison.look_beside(path, before, after)
    comparison.compare_folders()
    return comparison.result()


def _others(before: Seen, after: Seen) -> Iterator[str]:
    for path in before.others:
        if path in after.others or after.scan.stamp(path):
            yield path
    for path in after.others:
        if path not in before.others and before.scan.stamp(path):
            yield path


class _Comparison:
    def __init__(self, before: Scan, after: Scan) -> None:
        self._before = before.folders
        self._after = after.folders
        self._found: dict[str, Difference] = {}
        self._beside = set[str]()
        self._made: dict[str, int] = {}
        """New folders, with how many above them, and themselves, are new."""
        self._once_ignored = 0

    def look_beside(self, path: str, before: Seen, after: Seen) -> None:
        old = before.others[path] if path in before.others else before.scan.stamp(path)
        new = after.others[path] if path in after.others else after.scan.stamp(path)
        self._beside.add(path)
        self._add(path, _no_folder(old), _no_folder(new))

    def compare_folders(self) -> None:
        for path, new in self._after.items():
            old = self._before.get(path)
            if old is new:
                continue
            if old is None:
                self._look_at_new_folder(path, new)
            elif old.files is not new.files or old.folders != new.folders:
                self._compare_folder(path, old, new)
        for path, old in self._before.items():
            if path not in self._after:
                self._look_at_lost_folder(path, old)

    def result(self) -> Differences:
        return Differences(tuple(self._found.values()), self._once_ignored)

    def _compare_folder(self, path: str, old: Folder, new: Folder) -> None:
        for name, stamp in new.files.items():
            before = old.files.get(name)
            if before is None:
                self._add_new(f"{path}/{name}", stamp, old.rules, new.rules, made=0)
            elif before != stamp:
                self._add(f"{path}/{name}", before, stamp)
        for name, stamp in old.files.items():
            if name not in new.files:
                # It may be there still, and be ignored now.
                self._add(f"{path}/{name}", stamp, _no_folder(stamp_of(f"{path}/{name}")))

    def _look_at_new_folder(self, path: str, new: Folder) -> None:
        above, _, name = path.rpartition("/")
        old_above = self._before.get(above)
        if old_above is not None and name not in old_above.folders:
            self._made[path] = 1
            old_rules, new_rules = old_above.rules, self._after[above].rules
        elif above in self._made:
            self._made[path] = self._made[above] + 1
            old_rules, new_rules = self._rules_before(above), self._after[above].rules
        else:
            # Not looked into before.
            return
        for name, stamp in new.files.items():
            self._add_new(f"{path}/{name}", stamp, old_rules, new_rules, self._made[path])

    def _rules_before(self, path: str) -> tuple[IgnoreRules, ...]:
        """Return what held before in the nearest folder above that was there."""
        while path not in self._before:
            path = path.rpartition("/")[0]
        return self._before[path].rules

    def _look_at_lost_folder(self, path: str, old: Folder) -> None:
        gone = self._is_gone(path)
        for name, stamp in old.files.items():
            below = f"{path}/{name}"
            self._add(below, stamp, None if gone else _no_folder(stamp_of(below)))

    def _is_gone(self, path: str) -> bool:
        """Whether a folder that was there is not: neither ignored nor out of reach."""
        top = path
        while (above := top.rpartition("/")[0]) not in self._after:
            if above == top or not above:
                break
            top = above
        # A link in its place is not the folder, whatever stands behind it.
        return _is_no_folder(stamp_of(top)) or _is_no_folder(stamp_of(path))

    def _add_new(
        self,
        path: str,
        stamp: Stamp,
        old_rules: tuple[IgnoreRules, ...],
        new_rules: tuple[IgnoreRules, ...],
        made: int,
    ) -> None:
        if path in self._beside:
            return
        was_ignored = old_rules != new_rules and is_within_ignored(path, old_rules)
        if was_ignored and not path.endswith(f"/{IGNORE_FILE}"):
            self._once_ignored += 1
            return
        self._found[path] = Difference(path, None, stamp, made)

    def _add(self, path: str, before: Stamp | None, after: Stamp | None) -> None:
        if UNSEEN in (before, after):
            return
        if before != after and path not in self._found:
            self._found[path] = Difference(path, before, after)


def _is_no_folder(stamp: Stamp | None) -> bool:
    return stamp is None or (stamp != UNSEEN and not stat.S_ISDIR(stamp[MODE]))


def _no_folder(stamp: Stamp | None) -> Stamp | None:
    return None if stamp and stat.S_ISDIR(stamp[MODE]) else stamp
