"""The tasks of one session: what runs beside the conversation, from record to end."""

import asyncio
import logging
import os
import secrets
import string
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from agentls.agent.chat import Chat
from agentls.agent.file_history import NOTHING
from agentls.agent.job import Job, RunningTask
from agentls.agent.task_notices import notice
from agentls.checkpoints.observed import Observed
from agentls.errors import SessionClosed, TooManyTasks, UnknownTask
from agentls.protocol.events.tasks import (
    TaskAdded,
    TaskFinished,
    TaskProgressed,
    TasksEvicted,
    TaskStarted,
)
from agentls.protocol.tasks import FINAL_STATUSES, TASK_LETTERS, Task, TaskKind, TaskStatus
from agentls.state.event_store import Moment
from agentls.tasks.command import Command
from agentls.tasks.output import CommandOutput, output_path
from agentls.tasks.output_file import MOST_ON_DISK, OutputFile, OutputPiece, read_output
from agentls.tools.bash import MOST_OUTPUT, command_environment

if TYPE_CHECKING:
    from agentls.agent.agent_job import AgentJob

MOST_RUNNING = 16
"""How many tasks of a session run at once."""
PROGRESS_EVERY = 1.0
CLOSE_SECONDS = 1.4
"""How long it may take to end all tasks when the session closes."""
LOOK_SECONDS = 0.3
"""How long a look at what a task did to files may take when the session closes."""
ENDED_WITH_US = "agentls ended while it ran"

J = TypeVar("J")

logger = logging.getLogger(__name__)

_ALPHABET = string.digits + string.ascii_lowercase


class BackgroundTasks:
    """Runs a session's tasks; see the port `tools/background.Background`."""

    def __init__(
        self,
        chat: Chat,
        folder: Path,
        secure: Callable[[], Awaitable[None]],
        environment: Callable[[], Mapping[str, str]] = command_environment,
        most_on_disk: int = MOST_ON_DISK,
    ) -> None:
        """Run tasks in the session's working folder, their output in `folder`.

        `secure` returns when every event so far is on disk; `environment` is asked at each start.
        Of the output of one task `most_on_disk` bytes are kept.
        """
        self.folder = folder
        """Where output goes."""
        self.most_on_disk = most_on_disk
        self._chat = chat
        self._secure = secure
        self._environment = environment
        self._beginning = 0
        self._running: dict[str, RunningTask] = {}
        self._files: dict[str, OutputFile] = {}
        self._ends: dict[str, str] = {}
        """The last lines of the tasks that have ended and that the model was not told of."""
        self._evicted: dict[str, Task] = {}
        self._closed = False
        chat.subscribe(self._remember)

    async def start(self, command: str, *, description: str, call_id: str) -> Task:
        """Run a command as a task; see the port. What `secure` raises passes through."""
        output = CommandOutput(MOST_OUTPUT, most_on_disk=self.most_on_disk)

        def begin() -> Command:
            return Command.start(
                command, cwd=self._chat.files.cwd, environment=self._environment(), output=output
            )

        self._make_sure_of_room()
        task = self._add(output, command, description, call_id)
        running = await self._begun(task, begin)
        self._follow_command(task, running, call_id)
        return self.get(task.id)

    def take_over(self, running: Command, command: str, *, description: str, call_id: str) -> Task:
        """Go on with a command that was begun in the foreground; see the port."""
        self._make_sure_of_room()
        running.progress = None
        task = self._add(running.output, command, description, call_id)
        self._follow_command(task, running, call_id)
        return self.get(task.id)

    async def start_agent(
        self, begin: "Callable[[str], AgentJob]", *, description: str, call_id: str
    ) -> Task:
        """Have an agent work as a task; `begin` sets it to work, given the id of its conversation.

        Raises as `start` does.
        """
        self._make_sure_of_room()
        task_id = self._new_id("localAgent")
        task = Task(
            id=task_id,
            kind="localAgent",
            description=description,
            call_id=call_id,
            chat_id=task_id,
            output_path=str(output_path(self.folder, task_id)),
        )
        self._chat.emit(TaskAdded(task=task))
        job = await self._begun(task, lambda: begin(task_id))
        self._files[task_id] = job.output.keep_whole(self.folder, task_id)
        self._go_on(task, job, job.observed)
        return self.get(task_id)

    def get(self, task_id: str) -> Task:
        """Return a task as it is now, also one that has left the state."""
        for task in self._chat.state.tasks:
            if task.id == task_id:
                return task
        if task_id in self._evicted:
            return self._evicted[task_id]
        known = [*(task.id for task in self._chat.state.tasks), *self._evicted]
        those = f"the tasks are: {', '.join(known)}" if known else "there are none"
        raise UnknownTask(f"There is no task {task_id!r}; {those}.")

    async def output(self, task_id: str, offset: int, limit: int) -> OutputPiece:
        """Return a piece of a task's output; see the port."""
        task = self.get(task_id)
        if task_id in self._running:
            await asyncio.to_thread(self._running[task_id].job.output.spill)
        file = self._files.get(task_id)
        if file is not None:
            return await asyncio.to_thread(file.read, offset, limit)
        return await asyncio.to_thread(read_output, self._path(task), offset, limit, ended=True)

    def trouble(self, task_id: str) -> str | None:
        """Say why not all of a task's output is in its file; see the port."""
        self.get(task_id)
        file = self._files.get(task_id)
        return file.trouble if file else None

    async def wait(self, task_id: str, seconds: float) -> Task:
        """Return the task when it has ended, or after so many seconds."""
        self.get(task_id)
        running = self._running.get(task_id)
        if running is not None and running.work is not None:
            await asyncio.wait([running.work], timeout=seconds)
        return self.get(task_id)

    async def stop(self, task_id: str, reason: str = "it was stopped") -> Task:
        """End a task and all that it started; twice is once. See the port."""
        self.get(task_id)
        running = self._running.get(task_id)
        if running is not None and running.work is not None:
            running.end(reason)
            await asyncio.wait([running.work])
        return self.get(task_id)

    def told(self, *task_ids: str) -> None:
        """Note that the model knows how tasks ended: they leave the state; see the port."""
        ended = tuple(task.id for task in self.finished_unseen() if task.id in task_ids)
        if ended:
            self._chat.emit(TasksEvicted(task_ids=ended))

    def finished_unseen(self) -> tuple[Task, ...]:
        """Return the tasks that have ended and that the model was not told of."""
        return tuple(task for task in self._chat.state.tasks if task.status in FINAL_STATUSES)

    def notice(self, tasks: Iterable[Task]) -> str:
        """Return what the model is told of tasks that have ended."""
        return notice(tasks, self._ends)

    def mark_dead(self) -> None:
        """Give tasks their end that ran when agentls ended, and whose end nobody saw."""
        for task in self._chat.state.tasks:
            if task.status in FINAL_STATUSES or task.id in self._running:
                continue
            size = task.output_bytes
            with suppress(OSError):
                size = max(size, self._path(task).lstat().st_size)
            self._finish(task.id, "killed", reason=ENDED_WITH_US, size=size)

    async def aclose(self) -> None:
        """End all that run, at the same time, and take no more."""
        self._closed = True
        works = [running.work for running in self._running.values() if running.work]
        for running in self._running.values():
            running.closing = True
            running.end(ENDED_WITH_US)
        if works:
            _, late = await asyncio.wait(works, timeout=CLOSE_SECONDS)
            for work in late:
                work.cancel()
            await asyncio.gather(*works, return_exceptions=True)

    def reopen(self) -> None:
        """Take tasks again: the session could not be closed after all."""
        self._closed = False

    def _remember(self, new: Moment, old: Moment) -> None:
        """Keep what is known of tasks that leave the state, whoever has the model told of them."""
        if new.envelope is None or not isinstance(new.envelope.event, TasksEvicted):
            return
        gone = frozenset(new.envelope.event.task_ids)
        self._evicted |= {task.id: task for task in old.state.tasks if task.id in gone}
        for task_id in gone:
            self._ends.pop(task_id, None)

    def _make_sure_it_is_open(self) -> None:
        if self._closed:
            raise SessionClosed("the session is closing")

    def _make_sure_of_room(self) -> None:
        self._make_sure_it_is_open()
        if len(self._running) + self._beginning >= MOST_RUNNING:
            ids = ", ".join(self._running)
            raise TooManyTasks(
                f"{MOST_RUNNING} tasks run already, which is the most; end one with TaskStop, or "
                f"wait for one with TaskOutput: {ids}"
            )

    def _add(self, output: CommandOutput, command: str, description: str, call_id: str) -> Task:
        """Put a command on record as a task."""
        task_id = self._new_id("shell")
        file = output.keep_whole(self.folder, task_id)
        task = Task(
            id=task_id,
            kind="shell",
            description=description,
            command=command,
            call_id=call_id,
            output_path=str(file.path),
        )
        self._files[task_id] = file
        self._chat.emit(TaskAdded(task=task))
        return task

    async def _begun(self, task: Task, begin: Callable[[], J]) -> J:
        """Begin what a task does, once that is on record; else the task has failed."""
        self._beginning += 1
        try:
            await self._secure()
            self._make_sure_it_is_open()
            return begin()
        except BaseException as error:
            cancelled = isinstance(error, asyncio.CancelledError)
            why = "it was cancelled" if cancelled else str(error)
            status: TaskStatus = "killed" if cancelled else "failed"
            self._finish(task.id, status, reason=f"it was not begun: {why}")
            raise
        finally:
            self._beginning -= 1

    def _path(self, task: Task) -> Path:
        """Return where the output of a task is that another process ran, in our own folder.

        Whatever path the log names: the log may come from somebody else.
        """
        return self.folder / Path(task.output_path or f"{task.id}.output").name

    def _new_id(self, kind: TaskKind) -> str:
        taken = {task.id for task in self._chat.state.tasks} | self._evicted.keys()
        while True:
            letters = "".join(secrets.choice(_ALPHABET) for _ in range(8))
            task_id = TASK_LETTERS[kind] + letters
            # What was evicted before the session was loaded has left its file alone.
            if task_id not in taken and not os.path.lexists(output_path(self.folder, task_id)):
                return task_id

    def _follow_command(self, task: Task, command: Command, call_id: str) -> None:
        self._chat.files.leaves_task(call_id)
        self._go_on(task, command, lambda: self._chat.files.of_task(call_id))

    def _go_on(self, task: Task, job: Job, observe: Callable[[], Awaitable[Observed]]) -> None:
        """See a job to its end that is done now."""
        running = RunningTask(task.id, job, observe)
        self._running[task.id] = running
        self._chat.emit(TaskStarted(task_id=task.id))
        running.work = asyncio.create_task(self._see_to_its_end(running), name=f"task {task.id}")

    async def _see_to_its_end(self, running: RunningTask) -> None:
        job = running.job
        try:
            await self._follow(running)
            stopped = running.stop.is_set() and not job.has_ended
            await job.end_gently(everywhere=stopped)
            observed = await self._observed(running)
        except asyncio.CancelledError:
            job.kill()
            self._finish(running.task_id, "killed", reason=ENDED_WITH_US, output=job.output)
            raise
        except Exception as error:
            logger.exception("task %s failed", running.task_id)
            job.kill()
            why = f"a fault of agentls: {type(error).__name__}: {error}"
            self._finish(running.task_id, "failed", reason=why, output=job.output)
            return
        finally:
            job.close()
            del self._running[running.task_id]
        code = job.exit_code
        self._finish(
            running.task_id,
            "killed" if stopped else "failed" if code else "completed",
            exit_code=None if stopped else code,
            reason=running.stop_reason if stopped else None,
            output=job.output,
            observed=observed,
        )

    async def _follow(self, running: RunningTask) -> None:
        """Tell of new output until the job is over or is to be ended."""
        output = running.job.output
        ended = asyncio.ensure_future(running.job.wait())
        stop = asyncio.ensure_future(running.stop.wait())
        # Not waited for: the disk may take its time.
        spill = asyncio.ensure_future(asyncio.to_thread(output.spill))
        told = 0
        try:
            while not (ended.done() or stop.done()):
                if output.size != told:
                    told = output.size
                    self._chat.emit(
                        TaskProgressed(
                            task_id=running.task_id,
                            output_bytes=told,
                            last_lines=output.last_lines(),
                        )
                    )
                await asyncio.wait(
                    [ended, stop],
                    timeout=PROGRESS_EVERY,
                    return_when=asyncio.FIRST_COMPLETED,
                )
        finally:
            for waiting in (ended, stop, spill):
                waiting.cancel()
            await asyncio.wait([ended, stop, spill])

    async def _observed(self, running: RunningTask) -> Observed:
        look = running.observe()
        if not running.closing:
            return await look
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return await look
        except TimeoutError:
            return Observed((), "what it did to files is not known: there was no time to look")

    def _finish(
        self,
        task_id: str,
        status: TaskStatus,
        *,
        exit_code: int | None = None,
        reason: str | None = None,
        output: CommandOutput | None = None,
        size: int = 0,
        observed: Observed = NOTHING,
    ) -> None:
        if output is not None:
            self._ends[task_id] = output.last_lines()
        self._chat.emit(
            TaskFinished(
                task_id=task_id,
                status=status,
                exit_code=exit_code,
                reason=reason,
                output_bytes=output.size if output else size,
                changes=observed.changes,
                left_out=observed.left_out,
            )
        )
