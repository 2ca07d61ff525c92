"""What a session does to files: what they held is kept, so that a rewind can bring it back."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from agentls.agent.surroundings import Surroundings
from agentls.checkpoints.observed import Kept, Observed, Point
from agentls.protocol.content import FileChange
from agentls.protocol.events.conversation import HeadMoved, ToolCallFinished, ToolResultIgnored
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.events.tasks import TaskFinished
from agentls.tools.files import FileContent, Files
from agentls.tools.line_diff import count_changes
from agentls.tools.paths import shown
from agentls.tools.tool import ToolResult
from agentls.tools.write import change_of

if TYPE_CHECKING:
    from agentls.checkpoints.tracker import Tracker

T = TypeVar("T")
Run = Callable[[], Awaitable[ToolResult]]


NOTHING = Observed((), None)


class FileHistory:
    """Keeps what the calls of one session change."""

    def __init__(
        self, surroundings: Surroundings, session_id: str, files_read: Callable[[], Iterable[str]]
    ) -> None:
        """Keep for a session; `files_read` names what it has read or written before."""
        self._surroundings = surroundings
        self._session_id = session_id
        self._files_read = files_read
        self._tracker: Tracker | None = None
        self._of_stopped: dict[str, Observed] = {}
        self._with_task: dict[str, Point | None] = {}
        """By calls that left a task behind: from where on what happens is the task's doing."""

    @property
    def cwd(self) -> Path:
        """The folder that paths in changes start from, and commands run in."""
        return self._surroundings.cwd

    def files_for_call(self, call_id: str) -> "KeepingFiles":
        """Return the files as one call sees them, kept as it writes them."""

        def note(change: FileChange) -> None:
            known = self._of_stopped.get(call_id, NOTHING)
            self._of_stopped[call_id] = replace(known, changes=(*known.changes, change))

        files = self._surroundings.host.files
        return KeepingFiles(files, self._made_tracker(), self.cwd, note)

    async def around(self, call_id: str, run: Run) -> ToolResult:
        """Run a command, and return its result with what it did to files.

        Where it is stopped, what it did is found by `of_stopped`.
        """
        tracker = self._made_tracker()
        if tracker is None:
            return await run()
        try:
            point = await asyncio.to_thread(tracker.before)
        except OSError as error:
            return replace(await run(), left_out=_not_looked_at(error))
        try:
            result = await run()
        except BaseException:
            work = asyncio.ensure_future(self._done_by(call_id, tracker, point))
            self._of_stopped[call_id] = await _ended(work)
            raise
        observed = await self._done_by(call_id, tracker, point)
        return replace(
            result,
            changes=(*result.changes, *observed.changes),
            left_out=observed.left_out or point.left_out,
        )

    def leaves_task(self, call_id: str) -> None:
        """Note, while a call runs, that it leaves a task behind, which goes on to change files."""
        self._with_task[call_id] = None

    async def of_task(self, call_id: str) -> Observed:
        """Return, once, what the task of a call did to files after the call had its result.

        A task that has ended before that leaves all it did to the call. What changed while another
        call ran is told once: by whichever of the two ends first.
        """
        point = self._with_task.pop(call_id, None)
        if point is None or self._tracker is None:
            return NOTHING
        return await asyncio.to_thread(_seen, self._tracker.after, point)

    async def disown(self, paths: Iterable[Path]) -> None:
        """Note that what files are now is no running task's doing, but a user's or a rewind's."""
        tracker = self._tracker
        if tracker is None or not self._with_task:
            return

        def note() -> None:
            for path in paths:
                tracker.disown(path)

        await asyncio.to_thread(note)

    def of_stopped(self, call_id: str) -> Observed:
        """Return, once, what a call did that was stopped before it had a result."""
        return self._of_stopped.pop(call_id, NOTHING)

    async def _done_by(self, call_id: str, tracker: "Tracker", point: Point) -> Observed:
        """Return what a call did, which has ended; what its task does from here on is not its."""
        goes_on = call_id in self._with_task
        if goes_on:
            self._with_task[call_id] = point
        look = tracker.since if goes_on else tracker.after
        return await asyncio.to_thread(_seen, look, point)

    def _made_tracker(self) -> "Tracker | None":
        if self._tracker is None and self._surroundings.keeps_contents:
            # Imported for the first call: an editor waits for the server's start.
            from agentls.checkpoints.tracker import Tracker

            self._tracker = Tracker(
                self._surroundings.roots,
                self._surroundings.store.contents,
                self._session_id,
                count_lines=count_changes,
                cwd=self.cwd,
            )
            for path in self._files_read():
                self._tracker.know(self.cwd / path)
        return self._tracker


def changes_of(envelope: Envelope) -> tuple[FileChange, ...]:
    """Return what an event says was done to files."""
    if isinstance(envelope.event, ToolCallFinished | ToolResultIgnored | TaskFinished | HeadMoved):
        return envelope.event.changes
    return ()


class KeepingFiles:
    """Files whose content is kept before it is replaced; see the port `Files`."""

    def __init__(
        self,
        files: Files,
        tracker: "Tracker | None",
        cwd: Path,
        note_stopped: Callable[[FileChange], None],
    ) -> None:
        self._files = files
        self._tracker = tracker
        self._cwd = cwd
        self._note_stopped = note_stopped
        self._kept: dict[str, Kept] = {}
        self._made_folders: dict[str, int] = {}

    async def read(self, path: Path) -> FileContent:
        """Return the file as the user sees it; see the port."""
        if self._tracker is not None:
            self._tracker.know(path)
        return await self._files.read(path)

    async def write(self, path: Path, data: bytes, *, expected_sha256: str | None) -> FileContent:
        """Replace the file's content; see the port."""
        if self._tracker is None:
            return await self._files.write(path, data, expected_sha256=expected_sha256)
        before = None
        self._made_folders[shown(path, self._cwd)] = _missing_folders(path)
        if expected_sha256 is not None:
            with suppress(OSError):
                before = await self._files.read(path)
        try:
            written = await self._files.write(path, data, expected_sha256=expected_sha256)
            await asyncio.to_thread(self._keep, self._tracker, path, before, written)
        except asyncio.CancelledError:
            # What had begun was brought to its end, and nobody is told of it any more.
            work = asyncio.to_thread(self._look_after, self._tracker, path, before)
            await _ended(asyncio.ensure_future(work))
            raise
        return written

    def completed(self, changes: tuple[FileChange, ...]) -> tuple[FileChange, ...]:
        """Return a call's changes with what is needed to take them back."""
        return tuple(self._completed(change) for change in changes)

    def _keep(
        self, tracker: "Tracker", path: Path, before: FileContent | None, after: FileContent
    ) -> None:
        kept = tracker.keep(path, before.data if before else None, after.data)
        self._kept[shown(path, self._cwd)] = kept

    def _look_after(self, tracker: "Tracker", path: Path, before: FileContent | None) -> None:
        """Note what a write has done that was stopped."""
        try:
            after = FileContent.of(path.read_bytes())
        except OSError:
            return
        if before is None or after.sha256 != before.sha256:
            self._keep(tracker, path, before, after)
            change = change_of(shown(path, self._cwd), before, after)
            self._note_stopped(self._completed(change))

    def _completed(self, change: FileChange) -> FileChange:
        kept = self._kept.get(change.path)
        if kept is None:
            return change
        return change.model_copy(
            update={
                "path": kept.path,
                "before_mode": kept.before_mode,
                "after_mode": kept.after_mode,
                "restorable": kept.restorable,
                "made_folders": self._made_folders.get(change.path),
            }
        )


def _seen(look: Callable[[Point], Observed], point: Point) -> Observed:
    try:
        return look(point)
    except OSError as error:
        return Observed((), _not_looked_at(error))


def _not_looked_at(error: OSError) -> str:
    return f"what it did to files is not known: {error.filename}: {error.strerror}"


def _missing_folders(path: Path) -> int:
    """Return how many of the folders above a file a write will have to make."""
    return sum(1 for _ in takewhile(lambda folder: not folder.exists(), path.parents))


async def _ended(work: asyncio.Future[T]) -> T:
    """Wait for `work` even where the caller, who is about to end, is cancelled once more."""
    with suppress(asyncio.CancelledError):
        await asyncio.shield(work)
    return await work
