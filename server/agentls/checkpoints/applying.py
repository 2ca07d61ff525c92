"""Carries out a plan, file by file: what fails leaves its file as it was."""

import asyncio
import os
import stat
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from agentls.checkpoints import places
from agentls.checkpoints.contents import Contents
from agentls.checkpoints.file_changes import ChangeMaker, CountLines, FileState
from agentls.checkpoints.present import Look, Present
from agentls.checkpoints.restore import Plan, Step
from agentls.checkpoints.scan import SIZE
from agentls.errors import ContentMissing
from agentls.protocol.content import FileChange

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that is as it was, although it should not be."""

    name: str
    reason: str
    """In words that follow the file's name."""


@dataclass(slots=True)
class Outcome:
    """What became of a plan."""

    changes: list[FileChange] = field(default_factory=list[FileChange])
    """What was done, in order. A plan over these undoes it."""
    skipped: list[Step] = field(default_factory=list[Step])
    """Conflicts that were not forced."""
    failures: list[Failure] = field(default_factory=list[Failure])


class Restorer:
    """Brings files back. Whatever it replaces is kept first."""

    def __init__(
        self,
        look: Look,
        contents: Contents,
        session_id: str,
        *,
        cwd: str | Path,
        count_lines: CountLines,
    ) -> None:
        self._look = look
        self._contents = contents
        self._session_id = session_id
        self._make = ChangeMaker(contents, os.path.normpath(str(cwd)), count_lines)

    async def apply(
        self,
        plan: Plan,
        *,
        forced: Collection[str] = (),
        done: Callable[[FileChange], None] = lambda change: None,
    ) -> Outcome:
        """Do what the plan says; conflicts are skipped but for those whose names are `forced`.

        `done` hears of each change as it is made: where this is cancelled, the file that is being
        changed is finished, and no more is begun.
        """
        outcome = Outcome()
        emptied = set[str]()
        for step in plan.steps:
            if step.conflict and not (step.possible and step.name in forced):
                outcome.skipped.append(step)
                continue
            if step.action == "nothing":
                continue
            if step.action != "delete" and emptied:
                await asyncio.to_thread(places.remove_empty, emptied)
                emptied.clear()
            try:
                change = await _to_the_end(self._carry_out(step, forced=step.name in forced), done)
            except (OSError, ContentMissing, _Refused) as error:
                outcome.failures.append(Failure(step.name, _words(error)))
                continue
            outcome.changes.append(change)
            if step.action == "delete":
                emptied.update(self._folders_made(step, plan))
        if emptied:
            await asyncio.to_thread(places.remove_empty, emptied)
        return outcome

    async def _carry_out(self, step: Step, *, forced: bool) -> FileChange:
        now = await asyncio.to_thread(self._look, step.path)
        if now.problem:
            raise _Refused(now.problem)
        if now.place != step.present.place or now.owner:
            raise _Refused("is somewhere else than it was: a folder on the way has been replaced")
        if now.state != step.present.state and not forced:
            raise _Refused("was changed since the preview")
        await asyncio.to_thread(self._keep, now, step)
        if now.in_editor and step.action == "restore":
            made = await self._replace_in_editor(step, now)
        else:
            made = await asyncio.to_thread(self._change_on_disk, step, now)
        return await asyncio.to_thread(self._described, step, now, made)

    def _keep(self, now: Present, step: Step) -> None:
        """Keep what is there, so that it can be brought back. Raises OSError."""
        if now.in_editor:
            text = self._look.buffers.text(Path(step.path))
            kept = None if text is None else self._contents.put(text)
        elif now.mode is not None and stat.S_ISREG(now.mode):
            kept = self._contents.put_file(now.place)
        elif now.mode is not None and stat.S_ISLNK(now.mode):
            target = os.readlink(now.place)  # noqa: PTH115  a path need not be Unicode
            kept = self._contents.put(os.fsencode(target))
        else:
            return
        if kept is None or kept != now.sha256:
            raise _Refused("was changed at the same moment")
        self._contents.refer(self._session_id, (kept,))

    async def _replace_in_editor(self, step: Step, now: Present) -> int:
        data = await asyncio.to_thread(self._contents.get, step.target.sha256 or "")
        if not await self._look.buffers.replace(Path(step.path), data):
            raise _Refused("is open in the editor, which did not take its text")
        if step.target.mode and now.mode and step.target.mode != now.mode:
            await asyncio.to_thread(places.set_mode, now.place, step.target.mode, now.stamp)
        return 0

    def _change_on_disk(self, step: Step, now: Present) -> int:
        """Do it; return how many folders were made. Raises OSError and `ContentMissing`."""
        stamp = now.stamp
        if now.is_folder:
            if step.action == "delete":
                raise _Refused("is a folder now")
            places.remove_if_all_empty(now.place)
            stamp = None
        if step.action == "delete":
            places.remove(now.place, stamp)
            return 0
        mode, sha256 = step.target.mode, step.target.sha256 or ""
        if step.action == "mode" and mode is not None:
            places.set_mode(now.place, mode, stamp)
            return 0
        if mode is not None and stat.S_ISLNK(mode):
            return places.link(now.place, self._contents.get(sha256), stamp)
        return places.write(
            now.place, lambda file: self._contents.copy_to(sha256, file), mode, stamp
        )

    def _described(self, step: Step, before: Present, made: int) -> FileChange:
        after = None if step.action == "delete" else self._look(step.path)
        return self._make.change(
            step.path,
            None if before.is_folder else _state(before),
            _state(after) if after else None,
            made,
        )

    def _folders_made(self, step: Step, plan: Plan) -> set[str]:
        """Return the folders above a deleted file that go when they are empty, by place."""
        found = set[str]()
        path, place = step.path, step.present.place
        while True:
            path, place = path.rpartition("/")[0], place.rpartition("/")[0]
            inside = any(place.startswith(f"{root.rstrip('/')}/") for root in self._look.real_roots)
            if not inside or not path:
                return found
            if path in plan.made or step.path in plan.made_unknown:
                found.add(place)


def _state(present: Present) -> FileState | None:
    if present.mode is None:
        return None
    size = present.stamp[SIZE] if present.stamp else 0
    return FileState(present.mode, present.sha256, size)


class _Refused(Exception):
    """A file is not touched; the text says why."""


async def _to_the_end(
    work: Awaitable[FileChange], done: Callable[[FileChange], None]
) -> FileChange:
    """See a change that has begun to its end, even where the caller is cancelled."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled() and task.exception() is None:
            done(task.result())
        raise
    done(task.result())
    return task.result()


def _words(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"cannot be changed: {error.strerror or error}"
    return str(error)
