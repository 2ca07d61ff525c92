"""Writes a run to stdout in one of three formats, and always ends it with a result.

A thread writes: a reader that does not read holds up neither the turn nor a signal.
"""

import asyncio
import contextlib
import json
import os
import queue
import select
import stat
import threading
from collections.abc import Callable
from typing import Literal

from pydantic_core import PydanticSerializationError

from agentls.headless.lines import Line, ResultLine
from agentls.stdio import tell

LAST_WRITE_SECONDS = 1.0
"""How long a write may take to fail when nobody reads any more; it takes next to nothing."""

OutputFormat = Literal["text", "json", "stream-json"]


class OutputClosed(Exception):
    """Nobody reads stdout any more, or it cannot be written."""


class Output:
    """Stdout of one run. Lines are written whole, at once and in order."""

    def __init__(self, fd: int, output_format: OutputFormat) -> None:
        self._fd = fd
        self._format = output_format
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._taken = 0
        self._written = 0
        """Counted by the thread alone."""
        self._changed = asyncio.Event()
        self._on_closed: Callable[[], object] = lambda: None
        self.write_ahead: Callable[[], None] = lambda: None
        """Called in the writing thread before each line: what must be kept before it is told."""
        self._thread: threading.Thread | None = None
        self.began = False
        """Whether there was a line."""
        self.ended = False
        """Whether the latest line was a result."""
        self.closed = False
        """Whether the reader went away."""

    def start(self, on_closed: Callable[[], object]) -> None:
        """Begin to write, in the running loop; `on_closed` is called when the reader goes away."""
        self._on_closed = on_closed
        loop = asyncio.get_running_loop()
        self._thread = threading.Thread(
            target=self._write_all, args=(loop,), daemon=True, name="stdout"
        )
        self._thread.start()
        if _is_write_end_of_pipe(self._fd):
            # It becomes "readable" when nobody reads the other end.
            loop.add_reader(self._fd, self._reader_left)

    def write_line(self, line: Line) -> None:
        """Write a line of stream-json; the other formats have none."""
        self.began, self.ended = True, False
        if self._format == "stream-json":
            self._put(json_line(line))

    def write_result(self, result: ResultLine) -> None:
        """Write the end of a prompt's run: its text, or the result as one JSON object."""
        self.ended = True
        if self._format != "text":
            self._put(json_line(result))
        elif not result.is_error:
            self._put((result.result + "\n").encode("utf-8", "replace"))

    async def written(self) -> None:
        """Return when every line so far is written. Raises `OutputClosed`."""
        while self._written < self._taken and not self.closed:
            self._changed.clear()
            await self._changed.wait()
        if self._written < self._taken:
            raise OutputClosed

    async def finish(self) -> bool:
        """Take no more, and return whether every line was written.

        A reader may leave as soon as it has read the last line. Does not wait for one that does
        not read.
        """
        with contextlib.suppress(OSError, ValueError):
            asyncio.get_running_loop().remove_reader(self._fd)
        self._lines.put(None)
        if self._thread is not None and self.closed:
            await asyncio.to_thread(self._thread.join, LAST_WRITE_SECONDS)
        return self._written == self._taken

    def _put(self, data: bytes) -> None:
        self._taken += 1
        if not self.closed:
            self._lines.put(data)

    def _write_all(self, loop: asyncio.AbstractEventLoop) -> None:
        """Write line after line; runs in its own thread."""
        while (data := self._lines.get()) is not None:
            self.write_ahead()
            try:
                _write(self._fd, data)
            except OSError as error:
                _call(loop, lambda error=error: self._fail(error))
                return
            self._written += 1
            _call(loop, self._changed.set)

    def _fail(self, error: OSError) -> None:
        if not isinstance(error, BrokenPipeError):
            tell(f"stdout cannot be written: {error.strerror}")
        self._reader_left()

    def _reader_left(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            asyncio.get_running_loop().remove_reader(self._fd)
        if self.closed:
            return
        self.closed = True
        self._changed.set()
        self._on_closed()


def json_line(line: Line) -> bytes:
    """Return a line as JSON; what UTF-8 cannot carry becomes a question mark."""
    try:
        return line.model_dump_json().encode() + b"\n"
    except PydanticSerializationError:
        # A lone surrogate, as the path of a folder may hold where its name is not UTF-8.
        text = json.dumps(line.model_dump(), ensure_ascii=False)
        return text.encode("utf-8", "replace") + b"\n"


def _is_write_end_of_pipe(fd: int) -> bool:
    if not stat.S_ISFIFO(os.fstat(fd).st_mode):
        return False
    import fcntl  # where there are such pipes, there is this

    return fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY


def _write(fd: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(fd, data) :]
        except BlockingIOError:  # whoever started us shares the pipe, and does not wait
            select.select([], [fd], [])


def _call(loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop may be closed by now
        loop.call_soon_threadsafe(function)
