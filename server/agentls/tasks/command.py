"""A shell command that runs, and whose end sees to it that nothing it started goes on.

Written for POSIX. On Windows a named pipe would take the place of the pipe; that has not been
written or tried.
"""

import asyncio
import atexit
import os
import shutil
import signal
import subprocess
import threading
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from agentls.tasks.family import MARK, Family
from agentls.tasks.guard import Guard
from agentls.tasks.output import CommandOutput
from agentls.tasks.pipe_reader import PipeReader

REAP_SECONDS = 1.0
"""How long a shell that was killed may take to be gone."""
REST_SECONDS = 5.0
"""How long a disk may take to write the rest of the output of a command that has ended."""
REST_SECONDS_STOPPED = 0.2
"""The same, for a command that was stopped: whoever stopped it does not want to wait."""

T = TypeVar("T")
Progress = Callable[[str], None]

_running: set["Command"] = set()
_guard = Guard()


def kill_all() -> None:
    """End every command at once, and all that it started. For exit paths, signal handlers too."""
    for running in tuple(_running):
        running.kill()
    _guard.close()


class Command:
    """A shell in a session of its own, with nothing to read.

    It ends with the shell, even where something that it started keeps the output open. Whoever
    starts it calls `end_gently`, also after its end, and then `close`.
    """

    def __init__(
        self, shell: subprocess.Popen[bytes], family: Family, pipe: int, output: CommandOutput
    ) -> None:
        self.output = output
        """What it has written so far."""
        self.progress: Progress | None = None
        """Called at most four times a second with the last lines; may be set anew."""
        self._shell = shell
        self._family = family
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._reader = PipeReader(pipe, output, self._show)
        # In a thread of our own: whether asyncio's way waits for the pipe too differs by version.
        threading.Thread(target=self._wait, name="agentls-command", daemon=True).start()

    @classmethod
    def start(
        cls,
        command: str,
        *,
        cwd: Path,
        environment: Mapping[str, str],
        output: CommandOutput,
        progress: Progress | None = None,
    ) -> "Command":
        """Run `command`. Raises OSError and ValueError where it cannot be started."""
        mark = uuid.uuid4().hex
        read_end, write_end = os.pipe()
        try:
            arguments, stdin = _guard.announcing([_shell(), "-c", command])
            shell = subprocess.Popen(
                arguments,
                stdin=stdin,
                stdout=write_end,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env={**environment, MARK: mark},
                start_new_session=True,
            )
        except BaseException:
            os.close(read_end)
            raise
        finally:
            os.close(write_end)
        running = cls(shell, Family(shell.pid, mark), read_end, output)
        running.progress = progress
        _register(running, shell.pid, mark)
        return running

    @property
    def exit_code(self) -> int:
        """The shell's exit code; that of SIGKILL where it could not be ended."""
        code = self._shell.returncode
        return -signal.SIGKILL if code is None else code

    @property
    def has_ended(self) -> bool:
        """Whether the shell has ended."""
        return self._ended.is_set()

    async def wait(self) -> None:
        """Wait for the shell's end."""
        await self._ended.wait()

    async def ends_within(self, seconds: float) -> bool:
        """Wait for the shell's end; return whether it came in time."""
        return await _within(seconds, self._ended)

    async def end_gently(self, *, everywhere: bool) -> tuple[str, ...]:
        """Ask what is left to end, end what does not, and return what it was.

        `everywhere`: also what has left the session, as for a command that is stopped. Cancelled,
        it ends all at once.
        """
        hurry = threading.Event()
        work = _in_a_thread(lambda: self._family.end(everywhere=everywhere, hurry=hurry))
        try:
            names = await asyncio.shield(work)
            await _within(REAP_SECONDS, self._ended)
            self._reader.stop()
            await _within(REST_SECONDS_STOPPED if everywhere else REST_SECONDS, self._reader.ended)
        except asyncio.CancelledError:
            # Whoever cancels again does not want to wait.
            hurry.set()
            await _in_any_case(work)
            raise
        return names

    def kill(self) -> None:
        """End all of it at once, and no longer see to its end."""
        self._family.kill()
        self._forget()

    def close(self) -> None:
        """Let go of what reads its output and of what was registered."""
        self.progress = None
        self._reader.stop()
        self._forget()

    def _forget(self) -> None:
        _running.discard(self)
        _guard.forget(self._shell.pid)

    def _wait(self) -> None:
        self._shell.wait()
        # The loop may be closed by now.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._ended.set)

    def _show(self) -> None:
        if self.progress is not None:
            self.progress(self.output.last_lines())


def _register(running: Command, group: int, mark: str) -> None:
    _running.add(running)
    _guard.watch(group, mark)
    atexit.unregister(kill_all)
    atexit.register(kill_all)


def _shell() -> str:
    return shutil.which("bash", path="/bin:/usr/bin:/usr/local/bin") or "/bin/sh"


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Wait for `event`; return whether it came in time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


def _in_a_thread(work: Callable[[], T]) -> "asyncio.Future[T]":
    """Do `work` in a thread of its own: those of the loop may all be waiting for a disk."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="agentls-end", daemon=True).start()
    return asyncio.wrap_future(future)


async def _in_any_case(work: "asyncio.Future[T]") -> None:
    """Wait for `work` however often the caller, who is about to end, is cancelled."""
    while not work.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([work])
