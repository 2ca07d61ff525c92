"""Bytes to and from a client: a thread that reads, a thread that writes, neither held by the loop.

Knows file descriptors and frames, not what a message means.
"""

import asyncio
import contextlib
import logging
import os
import queue
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from agentls.errors import ConfigurationError
from agentls.lsp.framing import Frame, Framer, header_of
from agentls.stdio import take_stdin, take_stdout

LOW_WATER = 64 << 10
"""A backlog of at most this many bytes counts as drained: what a pipe holds by itself."""

_READ_SIZE = 1 << 20
_BATCH_SIZE = 256 << 10
_MAX_UNREAD = 64 << 20

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pipes:
    """Two file descriptors that whoever is given them owns and closes."""

    read_fd: int
    write_fd: int


def take_over_stdio() -> Pipes:
    """Move standard input and output away and return where they are now.

    To be called before anything is printed; see `stdio`. Raises ConfigurationError.
    """
    try:
        os.fstat(0)
        os.fstat(1)
    except OSError as error:
        raise ConfigurationError(
            "agentls speaks LSP on standard input and output, but one of them is closed "
            f"({error.strerror}). Start it from an editor, or with both open."
        ) from error
    return Pipes(take_stdin(), take_stdout())


class Reader:
    """Reads frames in a daemon thread, for the event loop in which it is made.

    A thread and a plain read, as the loop's own pipe transports refuse regular files. It stops
    reading while more than 64 MiB wait to be taken. When the stream ends it closes `fd` and calls
    `on_eof`, in its thread.
    """

    def __init__(self, fd: int, on_eof: Callable[[], None] = lambda: None) -> None:
        os.set_blocking(fd, True)
        self._fd = fd
        self._on_eof = on_eof
        self._loop = asyncio.get_running_loop()
        self._frames: deque[Frame] = deque()
        self._read = 0
        self._taken = 0
        self._ended = False
        self._arrived = asyncio.Event()
        self._room = threading.Event()
        threading.Thread(target=self._run, name="wire-read", daemon=True).start()

    async def frames(self) -> AsyncIterator[Frame]:
        """Yield what arrives, in order, until the stream ends."""
        while True:
            while self._frames:
                frame = self._frames.popleft()
                self._taken += _size(frame)
                if self._unread <= _MAX_UNREAD:
                    self._room.set()
                yield frame
            if self._ended:
                return
            self._arrived.clear()
            await self._arrived.wait()

    @property
    def _unread(self) -> int:
        return self._read - self._taken

    def _run(self) -> None:
        framer = Framer()
        try:
            while data := os.read(self._fd, _READ_SIZE):
                if frames := framer.feed(data):
                    self._hand_over(frames)
                    self._wait_for_room()
            if framer.unfinished:
                log.warning("The client's stream ended in the middle of a message.")
        except OSError as error:
            log.info("Reading from the client failed: %s", error)
        finally:
            os.close(self._fd)
            self._hand_over(None)
            self._on_eof()

    def _hand_over(self, frames: list[Frame] | None) -> None:
        self._read += sum(map(_size, frames or ()))
        # The loop may have been closed while this thread waited for input.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._accept, frames)

    def _wait_for_room(self) -> None:
        if self._unread <= _MAX_UNREAD:
            return
        # Looked at again after clearing: the loop may have taken all of it in between.
        self._room.clear()
        if self._unread > _MAX_UNREAD:
            self._room.wait()

    def _accept(self, frames: list[Frame] | None) -> None:
        if frames is None:
            self._ended = True
        else:
            self._frames.extend(frames)
        self._arrived.set()


class Writer:
    """Writes messages in a daemon thread, in the order sent; sending never waits.

    Whatever is sent is accepted, so memory is bounded by who looks at `backlog` before sending what
    can be left out. When the client is gone `on_broken` is called once, in the loop, and what is
    sent is dropped. Closes `fd` at its end.
    """

    def __init__(self, fd: int, on_broken: Callable[[], None] = lambda: None) -> None:
        os.set_blocking(fd, True)
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._on_broken = on_broken
        self.write_ahead: Callable[[], None] = lambda: None
        """Called in the writing thread before each batch: what must be kept before it is told."""
        self._pieces: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._sent = 0
        self._written = 0
        self._broken = False
        self._waiting: list[Callable[[], None]] = []
        self._finished = asyncio.Event()
        threading.Thread(target=self._run, name="wire-write", daemon=True).start()

    @property
    def backlog(self) -> int:
        """How many bytes were sent and not yet taken by the client."""
        return 0 if self._broken else self._sent - self._written

    @property
    def broken(self) -> bool:
        """Whether the client is gone."""
        return self._broken

    def send(self, body: bytes) -> None:
        """Queue a message. May be called from any thread."""
        header = header_of(body)
        with self._lock:
            if self._broken:
                return
            self._sent += len(header) + len(body)
            # Apart, so that a large body is not copied for its header.
            self._pieces.put(header)
            self._pieces.put(body)

    def when_drained(self, callback: Callable[[], None]) -> None:
        """Call `callback` once in the loop, when `backlog` is at most `LOW_WATER` or all is lost.

        It is never called before this returns. Only for the loop's own thread.
        """
        # Added first and looked at afterwards: the thread counts first and looks here afterwards,
        # so that one of the two sees the other.
        self._waiting.append(callback)
        if self.backlog <= LOW_WATER:
            self._loop.call_soon(self._call_waiting)

    async def wait_drained(self) -> None:
        """Wait until `backlog` is at most `LOW_WATER`, or the client is gone."""
        drained = asyncio.Event()
        self.when_drained(drained.set)
        await drained.wait()

    async def close(self, within: float = 2.0) -> bool:
        """Write what is queued, for at most `within` seconds; return whether all was written.

        A client that does not read is left behind with the thread that waits for it.
        """
        self._pieces.put(None)
        try:
            async with asyncio.timeout(within):
                await self._finished.wait()
        except TimeoutError:
            log.warning("The client does not read; %d bytes were not delivered.", self.backlog)
            return False
        return not self._broken

    def _run(self) -> None:
        try:
            while (batch := self._next_batch()) is not None:
                self.write_ahead()
                self._write(batch)
        except OSError as error:
            log.info("Writing to the client failed: %s", error)
            with self._lock:
                self._broken = True
            self._to_loop(self._on_broken)
        finally:
            os.close(self._fd)
            self._to_loop(self._call_waiting)
            self._to_loop(self._finished.set)

    def _next_batch(self) -> bytes | None:
        piece = self._pieces.get()
        if piece is None:
            return None
        batch, size = [piece], len(piece)
        while size < _BATCH_SIZE:
            try:
                piece = self._pieces.get_nowait()
            except queue.Empty:
                break
            if piece is None:
                self._pieces.put(None)
                break
            batch.append(piece)
            size += len(piece)
        return b"".join(batch)

    def _write(self, batch: bytes) -> None:
        view = memoryview(batch)
        while view:
            written = os.write(self._fd, view)
            view = view[written:]
            self._written += written
            if self._waiting and self.backlog <= LOW_WATER:
                self._to_loop(self._call_waiting)

    def _call_waiting(self) -> None:
        if self.backlog > LOW_WATER:
            return
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback()

    def _to_loop(self, callback: Callable[[], None]) -> None:
        # The loop may have been closed while this thread waited for the client.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback)


def _size(frame: Frame) -> int:
    return len(frame) if isinstance(frame, bytes) else 0
