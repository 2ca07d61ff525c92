"""Moves what a command writes from its pipe to its output, in a thread of its own.

The event loop is not troubled by much output, nor the command by a loop that is busy.
"""

import asyncio
import os
import select
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from agentls.tasks.output import CommandOutput

CHUNK = 64 * 1024
PIPE_SIZE = 1024 * 1024
"""The most that a pipe holds."""
PROGRESS_EVERY = 0.25
"""Seconds between two times that the loop is told of new output."""


class PipeReader:
    """Reads a pipe to its end, or until it is stopped; the pipe is its own from now on."""

    def __init__(self, pipe: int, output: CommandOutput, tell: Callable[[], None]) -> None:
        """Begin; `tell` is called in the running loop soon after something came, at times."""
        self.ended = asyncio.Event()
        """Everything that was read is in the output, and the output is finished."""
        self._loop = asyncio.get_running_loop()
        self._pipe = pipe
        self._output = output
        self._tell = tell
        self._stop_read, self._stop_write = os.pipe()
        self._stopped = False
        os.set_blocking(pipe, False)
        threading.Thread(target=self._run, name="agentls-output", daemon=True).start()

    def stop(self) -> None:
        """Have it take what is in the pipe by now, and end."""
        if not self._stopped:
            self._stopped = True
            os.close(self._stop_write)

    def _run(self) -> None:
        try:
            self._read()
        finally:
            os.close(self._pipe)
            os.close(self._stop_read)
            self._output.finish()
            self._call(self.ended.set)

    def _read(self) -> None:
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN)
        poll.register(self._stop_read, select.POLLIN)
        next_telling, untold = 0.0, False
        while True:
            wait = max(0.0, next_telling - time.monotonic()) * 1_000 if untold else None
            ready = {descriptor for descriptor, _ in poll.poll(wait)}
            if self._pipe in ready:
                if not self._take():
                    return
                untold = True
            if self._stop_read in ready:
                self._take_rest()
                return
            if untold and time.monotonic() >= next_telling:
                self._call(self._tell)
                next_telling, untold = time.monotonic() + PROGRESS_EVERY, False

    def _take_rest(self) -> None:
        """Take what is in the pipe, but no more than a pipe holds: someone may still write."""
        with suppress(BlockingIOError):
            for _ in range(PIPE_SIZE // CHUNK):
                if not self._take():
                    return

    def _take(self) -> bool:
        """Move a chunk from the pipe to the output; return whether there was one."""
        data = os.read(self._pipe, CHUNK)
        self._output.append(data)
        return bool(data)

    def _call(self, action: Callable[[], None]) -> None:
        # The loop may be closed by now.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(action)
