"""Runs shell commands, and sees to it that what they start does not outlive them.

Written for POSIX. On Windows a job object would take the place of the session in `_Command`, and a
named pipe that of the pipe; that has not been written or tried.
"""

import asyncio
import atexit
import os
import shutil
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentls.tasks.guard import Guard
from agentls.tasks.output import BoundedOutput

if TYPE_CHECKING:
    import psutil

GRACE = 2.0
"""Seconds between asking processes to end and ending them."""
LAST_OUTPUT = 0.25
"""Seconds that what a shell left behind may take to finish by itself, as `>(tee log)` does."""
PROGRESS_EVERY = 0.25
CHUNK = 64 * 1024
PIPE_SIZE = 1024 * 1024
KILLS = 20
MARK = "AGENTLS_COMMAND"
"""The environment variable by which a process is known that left its parents and its session."""

_running: set["_Command"] = set()
_guard = Guard()


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended."""

    exit_code: int
    """Minus the signal's number, where a signal ended it."""
    output: str
    """Standard output and standard error as they came, cut in the middle where too long."""
    timed_out: bool
    ended: tuple[str, ...]
    """What still ran and was ended: "sleep (1234)"."""


async def run_command(
    command: str,
    *,
    cwd: Path,
    environment: Mapping[str, str],
    seconds: float,
    most_output: int,
    progress: Callable[[str], None],
) -> CommandResult:
    """Run `command` in a shell of its own session, with nothing to read, and wait for its end.

    The end is that of the shell, even where something it started keeps the output open; whatever
    is left in the session is ended. On time-out, after `seconds`, and on cancellation all of it
    is ended, also what has left the session. `progress` is called at most four times a second with
    the last lines. Raises OSError and ValueError where the command cannot be started.
    """
    running = _Command(command, cwd, environment, BoundedOutput(most_output), progress)
    try:
        timed_out = not await running.ends_within(seconds)
        ended = await running.end_gently(everywhere=timed_out)
    except asyncio.CancelledError:
        await running.end_gently(everywhere=True)
        raise
    finally:
        running.close()
    return CommandResult(running.exit_code, running.output.text(), timed_out, ended)


def kill_all() -> None:
    """End every command at once, and all that it started. For exit paths, signal handlers too."""
    for running in tuple(_running):
        running.kill(everywhere=True)
        running.forget()
    _guard.close()


class _Command:
    """A shell that runs, and its descendants."""

    def __init__(
        self,
        command: str,
        cwd: Path,
        environment: Mapping[str, str],
        output: BoundedOutput,
        progress: Callable[[str], None],
    ) -> None:
        self.output = output
        self._progress = _Throttled(lambda: progress(output.last_lines()))
        self._mark = uuid.uuid4().hex
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._pipe, write_end = os.pipe()
        try:
            arguments, stdin = _guard.announcing([_shell(), "-c", command])
            self._shell = subprocess.Popen(
                arguments,
                stdin=stdin,
                stdout=write_end,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env={**environment, MARK: self._mark},
                start_new_session=True,
            )
        except BaseException:
            os.close(self._pipe)
            raise
        finally:
            os.close(write_end)
        self._register()
        os.set_blocking(self._pipe, False)
        self._loop.add_reader(self._pipe, self._read)
        # In a thread of our own: whether asyncio's way waits for the pipe too differs by version.
        threading.Thread(target=self._wait, name="agentls-command", daemon=True).start()

    @property
    def exit_code(self) -> int:
        """The shell's exit code; that of SIGKILL where it could not be ended."""
        code = self._shell.returncode
        return -signal.SIGKILL if code is None else code

    async def ends_within(self, seconds: float) -> bool:
        """Wait for the shell's end; return whether it came in time."""
        return await _within(seconds, self._ended)

    async def end_gently(self, *, everywhere: bool) -> tuple[str, ...]:
        """Ask what is left to end, end what does not, and return what it was."""
        try:
            names = await self._ask_to_end(everywhere)
        except asyncio.CancelledError:
            # Whoever cancels again does not want to wait.
            self.kill(everywhere=everywhere)
            raise
        self._read_rest()
        return names

    def kill(self, *, everywhere: bool) -> None:
        """End all of it at once; more than once, for what is born meanwhile."""
        for _ in range(KILLS):
            family = self._family(everywhere)
            if not family:
                return
            for process in family:
                _signal(process, signal.SIGKILL)
            time.sleep(0.01)

    def close(self) -> None:
        """Let go of the pipe and of what was registered."""
        self._progress.stop()
        self._loop.remove_reader(self._pipe)
        os.close(self._pipe)
        self.forget()

    def forget(self) -> None:
        """No longer see to its end: it has come."""
        _running.discard(self)
        _guard.forget(self._shell.pid)

    def _register(self) -> None:
        _running.add(self)
        _guard.watch(self._shell.pid)
        atexit.unregister(kill_all)
        atexit.register(kill_all)

    def _wait(self) -> None:
        self._shell.wait()
        # The loop may be closed by now.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._ended.set)

    def _read(self) -> None:
        if self._take():
            self._progress.call_soon()

    def _read_rest(self) -> None:
        """Take what is in the pipe, but no more than a pipe holds: someone may still write."""
        for _ in range(PIPE_SIZE // CHUNK):
            if not self._take():
                return

    def _take(self) -> bool:
        """Move a chunk from the pipe to the output; return whether there was one."""
        try:
            data = os.read(self._pipe, CHUNK)
        except BlockingIOError:
            return False
        self.output.append(data)
        if not data:
            self._loop.remove_reader(self._pipe)
        return bool(data)

    async def _ask_to_end(self, everywhere: bool) -> tuple[str, ...]:
        # Listed first: what loses its parent can no longer be found through it.
        family = await asyncio.to_thread(self._family, everywhere)
        if not everywhere:
            family = await _survivors(family, LAST_OUTPUT)
        if not family:
            return ()
        names = [_described(process) for process in family if process.pid != self._shell.pid]
        for process in family:
            _signal(process, signal.SIGTERM)
        await _survivors(family, GRACE)
        await asyncio.to_thread(self.kill, everywhere=everywhere)
        await _within(GRACE, self._ended)
        return tuple(names)

    def _family(self, everywhere: bool) -> "list[psutil.Process]":
        """List what lives of the shell's session and, with `everywhere`, what has left it."""
        # Not needed before the first command, and slow to import.
        import psutil

        found: dict[int, psutil.Process] = {}
        for pid in psutil.pids():
            with suppress(OSError, psutil.Error):
                if os.getsid(pid) == self._shell.pid:
                    found[pid] = psutil.Process(pid)
        if everywhere:
            found |= {process.pid: process for process in self._escaped()}
        found.pop(os.getpid(), None)
        return [process for process in found.values() if _alive(process)]

    def _escaped(self) -> "list[psutil.Process]":
        """List the shell's descendants, and the orphans that bear its mark."""
        import psutil

        found: list[psutil.Process] = []
        with suppress(psutil.Error):
            found += psutil.Process(self._shell.pid).children(recursive=True)
        for process in psutil.process_iter():
            with suppress(OSError, psutil.Error):
                if process.environ().get(MARK) == self._mark:
                    found.append(process)
        return found


class _Throttled:
    """Calls `action` soon after it is wanted, but not more often than `PROGRESS_EVERY`."""

    def __init__(self, action: Callable[[], None]) -> None:
        self._action = action
        self._loop = asyncio.get_running_loop()
        self._next = 0.0
        self._handle: asyncio.TimerHandle | None = None

    def call_soon(self) -> None:
        """Want it."""
        if self._handle is None:
            self._handle = self._loop.call_at(max(self._next, self._loop.time()), self._call)

    def stop(self) -> None:
        """Take back what was wanted and has not been done."""
        if self._handle is not None:
            self._handle.cancel()

    def _call(self) -> None:
        self._handle = None
        self._next = self._loop.time() + PROGRESS_EVERY
        self._action()


def _shell() -> str:
    return shutil.which("bash", path="/bin:/usr/bin:/usr/local/bin") or "/bin/sh"


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Wait for `event`; return whether it came in time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


async def _survivors(family: "list[psutil.Process]", seconds: float) -> "list[psutil.Process]":
    """Wait until none of them lives; return those that still do after `seconds`."""
    pause, waited = 0.005, 0.0
    while (living := [process for process in family if _alive(process)]) and waited < seconds:
        await asyncio.sleep(pause)
        waited += pause
        pause = min(pause * 2, 0.1)
    return living


def _alive(process: "psutil.Process") -> bool:
    """Whether it runs; one that has ended and that nobody has asked after does not."""
    import psutil

    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _signal(process: "psutil.Process", number: int) -> None:
    import psutil

    # It has ended, or belongs to someone else.
    with suppress(OSError, psutil.Error):
        process.send_signal(number)


def _described(process: "psutil.Process") -> str:
    import psutil

    try:
        words = " ".join(process.cmdline()) or process.name()
    except psutil.Error:
        words = "a process"
    return f"{words if len(words) <= 60 else words[:60] + '...'} ({process.pid})"
