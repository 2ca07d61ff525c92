"""The processes that a shell command consists of, wherever they went, and their end.

Written for POSIX. On Windows a job object would take the place of the session; that has not been
written or tried. Everything here blocks.
"""

import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

MARK = "AGENTLS_COMMAND"
"""The environment variable by which a process is known that left its parents and its session."""
GRACE = 0.4
"""Seconds between asking processes to end and ending them."""
LAST_OUTPUT = 0.25
"""Seconds that what a shell left behind may take to finish by itself, as `>(tee log)` does."""
KILLS = 20
KILL_PAUSE = 0.01
PROC = Path("/proc")


class Family:
    """A shell that leads a session, and what it has started."""

    def __init__(self, leader: int, mark: str) -> None:
        """Take the process id of the shell, and the value of `MARK` in its environment."""
        self._leader = leader
        self._mark = mark

    def end(self, *, everywhere: bool, hurry: threading.Event) -> tuple[str, ...]:
        """Ask what lives to end, end what does not, and return what it was but for the shell.

        What the shell has left behind may finish first, unless `everywhere`: then all of it ends
        at once, also what has left the session. `hurry` cuts every wait short.
        """
        # Listed first: what loses its parent can no longer be found through it.
        family = self._living(everywhere)
        if not everywhere:
            family = _survivors(family, LAST_OUTPUT, hurry)
        if not family:
            return ()
        names = [_described(process) for process in family if process.pid != self._leader]
        for process in family:
            _signal(process, signal.SIGTERM)
        stubborn = _survivors(family, GRACE, hurry)
        self._kill(stubborn, everywhere)
        return tuple(names)

    def kill(self) -> None:
        """End all of it at once, also what has left the session."""
        self._kill((), everywhere=True)

    def _kill(self, known: "Iterable[psutil.Process]", everywhere: bool) -> None:
        """End all of it; more than once, for what is born meanwhile."""
        for process in known:
            _signal(process, signal.SIGKILL)
        for _ in range(KILLS):
            family = self._living(everywhere)
            if not family:
                return
            for process in family:
                _signal(process, signal.SIGKILL)
            time.sleep(KILL_PAUSE)

    def _living(self, everywhere: bool) -> "list[psutil.Process]":
        """List what lives of the session and, with `everywhere`, what has left it."""
        # Not needed before the first command, and slow to import.
        import psutil

        found: dict[int, psutil.Process] = {}
        for pid in self._pids(everywhere):
            with suppress(psutil.Error):
                found[pid] = psutil.Process(pid)
        if everywhere:
            with suppress(psutil.Error):
                children = psutil.Process(self._leader).children(recursive=True)
                found |= {child.pid: child for child in children}
        found.pop(os.getpid(), None)
        return [process for process in found.values() if _alive(process)]

    def _pids(self, everywhere: bool) -> Iterator[int]:
        """Yield what is in the session and, with `everywhere`, the orphans that bear the mark."""
        import psutil

        for pid in psutil.pids():
            with suppress(OSError, psutil.Error):
                if os.getsid(pid) == self._leader or (everywhere and _bears(pid, self._mark)):
                    yield pid


def _bears(pid: int, mark: str) -> bool:
    """Whether a process bears the mark; raises OSError and psutil.Error where it is not told."""
    import psutil

    if not PROC.joinpath("self/environ").exists():
        return psutil.Process(pid).environ().get(MARK) == mark
    # Read here: many commands may end at once, and psutil takes ten times as long.
    environment = PROC.joinpath(str(pid), "environ").read_bytes()
    return f"{MARK}={mark}".encode() in environment.split(b"\0")


def _survivors(
    family: "list[psutil.Process]", seconds: float, hurry: threading.Event
) -> "list[psutil.Process]":
    """Wait until none of them lives; return those that still do after `seconds`."""
    pause, waited = 0.005, 0.0
    while (living := [process for process in family if _alive(process)]) and waited < seconds:
        if hurry.wait(pause):
            break
        waited += pause
        pause = min(pause * 2, 0.1, max(seconds - waited, 0.005))
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
