"""Finds out what shell commands do to files, and keeps what the files held before.

One tracker serves one session. Its methods block, and may be called from any thread.
"""

import os
import stat
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from agentls.checkpoints.capture import Capture, NotKept
from agentls.checkpoints.changes import follow
from agentls.checkpoints.contents import Contents
from agentls.checkpoints.differences import Difference, Seen, compare
from agentls.checkpoints.file_changes import ChangeMaker, CountLines
from agentls.checkpoints.limits import Limits
from agentls.checkpoints.names import shown
from agentls.checkpoints.observed import Kept, Observed, Point
from agentls.checkpoints.scan import UNSEEN, Scan, Stamp, scan, stamp_of


@dataclass(slots=True)
class _OpenPoint:
    seen: Seen
    unsettled: tuple[tuple[str, Stamp], ...]
    claimed: dict[str, Stamp | None] = field(default_factory=dict[str, Stamp | None])
    """What others have made of files since: their doing, and where this point's begins anew."""


class Tracker:
    """Watches the files of the workspace's folders, and of those that the session has touched."""

    def __init__(
        self,
        roots: Iterable[str | Path],
        contents: Contents,
        session_id: str,
        limits: Limits | None = None,
        *,
        count_lines: CountLines,
        cwd: str | Path | None = None,
    ) -> None:
        self._roots = tuple(os.path.normpath(str(root)) for root in roots)
        self._cwd = self._roots[0] if cwd is None else os.path.normpath(str(cwd))
        self._limits = limits or Limits()
        self._capture = Capture(contents, session_id, self._limits)
        self._make = ChangeMaker(contents, self._cwd, count_lines)
        self._known = set[str]()
        self._points: dict[int, _OpenPoint] = {}
        self._last_number = 0
        self._last_scan: Scan | None = None
        self._lock = threading.RLock()

    def know(self, path: str | Path) -> None:
        """Note that the session has to do with a file: it is kept whatever ignore rules say."""
        # Not under the lock: a scan may hold it for long, and adding to a set needs none.
        self._known.add(self._own_name(str(path)))

    def before(self) -> Point:
        """Look at everything ahead of a command, and keep what is not kept yet.

        What was written up to now is not the command's doing.
        """
        with self._lock:
            seen = self._look()
            problem = self._catch_up(seen, self._limits.call_seconds)
            self._last_number += 1
            unsettled = tuple(self._capture.unsettled(seen.scan))
            self._points[self._last_number] = _OpenPoint(seen, unsettled)
            return Point(self._last_number, _joined(seen.scan, problem), seen.scan.ignored)

    def after(self, point: Point) -> Observed:
        """Return what has changed since the point, and close it: the command has ended."""
        with self._lock:
            observed = self.since(point)
            self._points.pop(point.number, None)
            return observed

    def since(self, point: Point) -> Observed:
        """Return what has changed since the point, or since this was last asked.

        For a task that goes on in the background. What commands, edits and `disown` have claimed
        in between is not its doing. A closed point has no changes.
        """
        with self._lock:
            own = self._points.get(point.number)
            if own is None:
                return Observed((), None)
            now = self._look()
            comparison = compare(own.seen, now)
            found = self._without_claimed(own, comparison.found, now)
            followed = follow(
                found,
                self._changed_unseen(own, found, now),
                capture=self._capture,
                make=self._make,
                limits=self._limits,
            )
            for path, stamp in followed.states:
                self._claim(path, stamp)
                self._known.add(path)
            words = followed.problems
            if comparison.once_ignored:
                words.append(
                    f"{comparison.once_ignored:,} files that were ignored before: "
                    "whether they are new is not known"
                )
            return Observed(tuple(followed.changes), _joined(now.scan, *words))

    def catch_up(self, seconds: float) -> str | None:
        """Keep what is not kept yet, in an idle moment; return what went wrong, in words."""
        with self._lock:
            return self._catch_up(self._look(), seconds)

    def keep(self, path: str | Path, before: bytes | None, after: bytes | None) -> Kept:
        """Keep what an edit replaced and what it wrote; None stands for no file.

        Called when the file is written. Never raises: without its content before, the change is
        not restorable.
        """
        with self._lock:
            own_name = self._own_name(str(path))
            self._known.add(own_name)
            stamp = stamp_of(own_name)
            self._claim(own_name, stamp)
            shas: list[str | None] = [None, None]
            problem = None
            try:
                shas = [
                    None if data is None else self._capture.put(data) for data in (before, after)
                ]
                self._capture.refer()
            except NotKept as error:
                problem = str(error)
            mode = stamp[0] if stamp else None
            return Kept(
                path=shown(own_name, self._cwd),
                before_sha256=shas[0],
                after_sha256=shas[1],
                before_mode=None if before is None else mode,
                after_mode=None if after is None else mode,
                restorable=problem is None,
                problem=problem,
            )

    def disown(self, path: str | Path) -> None:
        """Note that what the file is now is somebody else's doing: the user saved it."""
        with self._lock:
            own_name = self._own_name(str(path))
            self._claim(own_name, stamp_of(own_name))

    def _look(self) -> Seen:
        self._last_scan = scan(self._roots, self._last_scan, self._limits.scan)
        others = {
            path: self._stamp_of_own(path)
            for path in tuple(self._known)
            if self._last_scan.stamp(path) is None
        }
        return Seen(self._last_scan, others)

    def _stamp_of_own(self, path: str) -> Stamp | None:
        """Return the stamp of a file; None where a folder on the way is a link by now."""
        folder, _, name = path.rpartition("/")
        return stamp_of(path) if self._own_name(folder) == folder and name else None

    def _catch_up(self, seen: Seen, seconds: float) -> str | None:
        deadline = time.monotonic() + seconds
        known_now = tuple(self._known)
        stamps = ((path, seen.scan.stamp(path) or seen.others.get(path)) for path in known_now)
        known = [(path, stamp) for path, stamp in stamps if stamp]
        try:
            try:
                self._capture.catch_up(seen.scan, known, deadline)
            finally:
                self._capture.refer()
        except NotKept as error:
            return str(error)
        return None

    def _claim(self, path: str, stamp: Stamp | None) -> None:
        for point in self._points.values():
            point.claimed[path] = stamp

    def _without_claimed(
        self, own: _OpenPoint, found: Iterable[Difference], now: Seen
    ) -> list[Difference]:
        """Return the differences as they are after what others did, without what only they did."""
        left = [difference for difference in found if difference.path not in own.claimed]
        for path, before in own.claimed.items():
            after = now.scan.stamp(path) or stamp_of(path)
            if after and stat.S_ISDIR(after[0]):
                after = None
            if before != after and UNSEEN not in (before, after):
                left.append(Difference(path, before, after))
        return left

    def _changed_unseen(
        self, own: _OpenPoint, found: Iterable[Difference], now: Seen
    ) -> list[Difference]:
        """Return the files that look the same, but may have changed while their clock stood."""
        differing = {difference.path for difference in found}
        return [
            Difference(path, stamp, stamp)
            for path, stamp in own.unsettled
            if path not in differing and path not in own.claimed and now.scan.stamp(path) == stamp
        ]

    def _own_name(self, path: str) -> str:
        """Return the path of the file itself, links on the way and the last one followed."""
        try:
            real = os.path.realpath(os.path.join(self._cwd, path))  # noqa: PTH118
        except ValueError:
            # No path at all: nothing is there, and nothing will be.
            return path
        for root in self._roots:
            real_root = os.path.realpath(root)
            if real.startswith(f"{real_root.rstrip('/')}/"):
                return f"{root.rstrip('/')}/{real[len(real_root.rstrip('/')) + 1 :]}"
        return real


def _joined(scan: Scan, *problems: str | None) -> str | None:
    words = [*scan.left_out, *(problem for problem in problems if problem)]
    return "; ".join(words) or None
