"""The write queue of one log file: whole lines in batches, large ones written by a thread."""

import asyncio
import logging
import os
import threading
from pathlib import Path

from agentls.errors import LogNotWritten

BATCH_SECONDS = 0.1
CHUNK_BYTES = 1 << 20
INLINE_BYTES = 64 << 10
"""Up to this much a flush writes itself: the page cache takes it sooner than a thread wakes up."""

logger = logging.getLogger(__name__)


class LogWriter:
    """Appends lines to a file.

    Lines wait up to 100 ms to be written together; `flush` writes at once. Each chunk is one
    `write` on a descriptor opened with O_APPEND. What could not be written stays, and the next
    flush tries again from the very byte where it stopped.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None
        self._pending = bytearray()
        self._lock = threading.Lock()
        """Held by whoever writes, so that two flushes never interleave."""
        self._timer: asyncio.TimerHandle | None = None
        self._background: asyncio.Future[None] | None = None

    def append(self, line: bytes) -> None:
        """Take one line, ending in a newline."""
        self._pending += line
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(BATCH_SECONDS, self._write_soon)

    async def flush(self) -> None:
        """Return when every line taken so far is in the file. Raises `LogNotWritten`."""
        self._stop_timer()
        if self._background is not None:
            await self._background
        if len(self._pending) > INLINE_BYTES:
            await asyncio.to_thread(self.write_now)
        elif self._pending:
            self.write_now()

    def write_now(self) -> None:
        """Write what is pending, blocking. Raises `LogNotWritten`."""
        with self._lock:
            try:
                fd = self._open()
                while self._pending:
                    written = os.write(fd, self._pending[:CHUNK_BYTES])
                    del self._pending[:written]
            except OSError as error:
                raise LogNotWritten(
                    f"the session log {self._path} could not be written ({error.strerror}); "
                    f"{len(self._pending)} bytes are kept in memory and written with the next "
                    "ones: make room, or go on without a log (`agentls run --no-session`)"
                ) from error

    def close(self) -> None:
        """Let go of the file. What is pending stays pending."""
        self._stop_timer()
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self) -> int:
        if self._fd is None:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
            self._fd = os.open(self._path, flags, 0o600)
        return self._fd

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _write_soon(self) -> None:
        self._timer = None
        self._background = asyncio.get_running_loop().run_in_executor(None, self._try_to_write)

    def _try_to_write(self) -> None:
        try:
            self.write_now()
        except LogNotWritten as error:
            logger.warning("%s", error)
