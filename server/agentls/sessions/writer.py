"""The write queue of one log: lines wait a little, go out together, and survive what a disk does.

Each log has a thread of its own that writes, so that a disk that hangs holds up nobody else.
"""

import asyncio
import atexit
import errno
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Protocol

from agentls.errors import AgentError, LeaseLost, LogConflict, LogNotWritten
from agentls.sessions.log_file import CHUNK_BYTES, Batch, LogFile

BATCH_SECONDS = 0.1
INLINE_SECONDS = 0.003
"""A flush waits this long for the writer's thread before it lets the event loop go on."""
PATIENCE_SECONDS = 2.0
"""Whoever has all written at once waits this long for a disk that hangs, and not again."""
RETRY_SECONDS = 1.0

logger = logging.getLogger(__name__)


class Content(Protocol):
    """Something that a line refers to and that must be kept before it."""

    @property
    def size(self) -> int:
        """Bytes."""
        ...

    def write(self) -> None:
        """Keep it, on the disk itself. Raises OSError."""
        ...


@dataclass(frozen=True, slots=True)
class _Request:
    """A wish to have the first `lines` lines written."""

    lines: int
    durable: bool
    awaited: bool
    """Somebody is told if it fails."""
    done: "Future[None]" = field(default_factory=lambda: Future[None]())


class LogWriter:
    """Writes a log's lines in the order in which they were appended, each of them once.

    What cannot be written waits in memory and is tried again, each second and with each flush.
    `append` and `flush` belong to one thread. `on_trouble` is called with a text for a person when
    something has happened to the file, in the event loop where there is one.
    """

    def __init__(self, file: LogFile, *, on_trouble: Callable[[str], None] | None = None) -> None:
        self._file = file
        self._file.tell = self._tell
        self._on_trouble = on_trouble
        self._queue: deque[bytes | Content] = deque()
        self._batch = Batch()
        self._batch_lines = 0
        self._taken_lines = self._written_lines = 0
        self._lock = threading.Lock()
        """Held by whoever writes: the thread, or, when none can be started any more, a caller."""
        self._requests: SimpleQueue[_Request | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._slow = False
        """The last flush had to wait; cleared when the thread has written."""
        self._hangs = False
        """The thread has not come back within `PATIENCE_SECONDS`; cleared when it has."""
        self._starting = threading.Lock()
        self._final: AgentError | None = None
        """Why nothing more is ever written."""
        self._failing = False
        self._told = False
        """Whether somebody was told of the trouble that lasts."""
        self._closing = False

    @property
    def unsaved(self) -> int:
        """How many bytes wait to be written, contents included."""
        waiting = list(self._queue)
        sizes = (len(item) if isinstance(item, bytes) else item.size for item in waiting)
        return sum(sizes) + self._batch.left

    def append(self, line: bytes, contents: Iterable[Content] = ()) -> None:
        """Take one line, ending in a newline, and what must be kept before it."""
        self._queue.extend(contents)
        self._queue.append(line)
        self._taken_lines += 1
        if self._timer is None:
            self._write_later()

    async def flush(self, *, durable: bool = False) -> None:
        """Return when every line taken so far is in the file; `durable`: on the disk itself.

        Raises `LogNotWritten`, `LeaseLost`, `LogConflict`.
        """
        if self._is_done(self._taken_lines) and (not durable or self._file.synced):
            return
        if self._loop is not None and self._loop.is_closed():
            self._timer = None
        request = self._ask(durable=durable, awaited=True)
        if not durable and not self._slow:
            with suppress(TimeoutError):
                return request.done.result(INLINE_SECONDS)
            self._slow = True
        # Shielded: a caller that gives up must not take the request away from the thread.
        await asyncio.shield(asyncio.wrap_future(request.done))

    def write_now(self) -> None:
        """Write what waits, blocking, from any thread; what cannot be written goes on waiting."""
        write_now([self])

    def begin_writing(self) -> Callable[[float], None] | None:
        """Begin to write what waits; return how to wait for it, None where nothing is to be done.

        What is returned takes the seconds to wait at most; a disk known to hang is not waited for.
        """
        if self._final is not None or self._is_done(self._taken_lines):
            return None
        request = self._ask()

        def wait(seconds: float) -> None:
            patience = 0 if self._hangs else max(0, seconds)
            try:
                request.done.exception(patience)
            except TimeoutError:
                self._hangs = patience > 0 or self._hangs

        return wait

    def close(self) -> None:
        """Let go of the file as soon as nothing waits any more."""
        self._stop_timer()
        self._closing = True
        if self._thread is None:
            with self._lock:
                self._let_go_when_done()
        else:
            self._requests.put(None)

    def _is_done(self, lines: int) -> bool:
        return self._written_lines >= lines

    def _write_later(self) -> None:
        _open_writers.add(self)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # none runs; a flush or the end of the process writes
            return
        self._loop = loop
        self._timer = loop.call_later(BATCH_SECONDS, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if not self._is_done(self._taken_lines):
            self._ask()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ask(self, *, durable: bool = False, awaited: bool = False) -> _Request:
        """Have the thread write what was taken so far."""
        request = _Request(self._taken_lines, durable, awaited)
        self._requests.put(request)
        # Whoever starts it at this moment starts it for this request too.
        if self._thread is None and self._starting.acquire(blocking=False):
            try:
                self._start_thread()
            finally:
                self._starting.release()
        return request

    def _start_thread(self) -> None:
        if self._thread is not None:
            return
        name = f"writer of {self._file.path}"
        # Noted before it starts: it takes the note back itself, maybe at once.
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # the interpreter is about to end
            self._thread = None
            with self._lock:
                self._work_off([])

    def _serve(self) -> None:
        """Work off requests until the file is closed; the thread's whole life."""
        while True:
            try:
                request = self._requests.get(timeout=RETRY_SECONDS if self._failing else None)
            except Empty:
                request = None
            with self._lock:
                self._work_off([request] if request else [])
                if self._let_go_when_done():
                    self._thread = None
                    # What was asked for a moment ago; whoever asks from now on starts a new thread.
                    self._work_off([])
                    return

    def _work_off(self, requests: list[_Request]) -> None:
        with suppress(Empty):
            while True:
                further = self._requests.get_nowait()
                if further is not None:
                    requests.append(further)
        if not requests and self._final is not None:
            return
        error = self._attempt(durable=any(request.durable for request in requests))
        self._failing = error is not None and self._final is None
        self._slow = self._hangs = False
        self._tell_once(error, awaited=any(request.awaited for request in requests))
        for request in requests:
            if error and (request.durable or not self._is_done(request.lines)):
                request.done.set_exception(type(error)(*error.args))
            else:
                request.done.set_result(None)

    def _tell_once(self, error: AgentError | None, *, awaited: bool) -> None:
        if error is None or awaited:
            self._told = error is not None
        elif not self._told and self.unsaved:
            self._told = True
            self._tell(str(error))

    def _attempt(self, *, durable: bool) -> AgentError | None:
        """Write all that can be written; return why not all of it could."""
        if self._final is not None:
            return self._final
        try:
            self._write_all()
            if durable:
                self._file.sync()
        except OSError as error:
            return self._explained(error)
        except (LeaseLost, LogConflict) as error:
            self._final = error
            return error
        except AgentError as error:
            return error
        except Exception as error:  # a bug must not end the thread: flushes would wait for ever
            logger.exception("the log %s was not written", self._file.path)
            return LogNotWritten(f"{self._file.path} was not written: {error!r}")
        return None

    def _explained(self, error: OSError) -> LogNotWritten:
        reason, advice = _WORDS.get(error.errno or 0, (error.strerror or str(error), _CHECK_DISK))
        return LogNotWritten(
            f"the session's log could not be written: {error.filename or self._file.path}: "
            f"{reason}. {self.unsaved} bytes wait in memory and are written as soon as it is "
            f"possible. {advice}, or go on without a log (`agentls run --no-session`)."
        )

    def _write_all(self) -> None:
        while self._batch.left or self._queue:
            if not self._batch.left:
                self._fill_batch()
            self._file.write(self._batch)
            self._written_lines += self._batch_lines
            self._batch_lines = 0

    def _fill_batch(self) -> None:
        """Take lines from the queue, up to a chunk; a content is kept before the line after it."""
        queue = self._queue
        lines: list[bytes] = []
        room = CHUNK_BYTES
        while queue:
            first = queue[0]
            if isinstance(first, bytes):
                room -= len(first)
                if room < 0 and lines:
                    break
                lines.append(first)
            elif lines:
                break
            else:
                self._file.check()
                first.write()
            queue.popleft()
        self._batch, self._batch_lines = Batch(b"".join(lines)), len(lines)

    def _let_go_when_done(self) -> bool:
        if not self._closing or not (self._final or self._is_done(self._taken_lines)):
            return False
        self._file.close()
        self._final = self._final or LogNotWritten(f"{self._file.path} is closed")
        _open_writers.discard(self)
        return True

    def _tell(self, text: str) -> None:
        """Pass on what has happened to the file."""
        logger.warning("%s", text)
        if self._on_trouble is None:
            return
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._on_trouble, text)
                return
        self._on_trouble(text)


def write_now(writers: Iterable[LogWriter]) -> None:
    """Write what waits in all of these, side by side, from any thread; never raises."""
    waits = [writer.begin_writing() for writer in writers]
    deadline = time.monotonic() + PATIENCE_SECONDS
    for wait in waits:
        if wait is not None:
            wait(deadline - time.monotonic())


def write_all_now() -> None:
    """Write what waits in every log that is open in this process; never raises.

    Called by itself when the interpreter ends; whoever ends the process otherwise calls it before.
    """
    write_now(list(_open_writers))


_open_writers: set[LogWriter] = set()
"""Those that may have something to write."""

_CHECK_DISK = "Check the disk"
_WORDS = {
    errno.ENOSPC: ("there is no room on the disk", "Make room"),
    errno.EDQUOT: ("the disk quota is used up", "Make room within the quota"),
    errno.EFBIG: (
        "the file may not grow larger here",
        "Raise the limit on file sizes (`ulimit -f`)",
    ),
    errno.EIO: (
        "the disk reports an input/output error",
        "Check the disk and its cable or network",
    ),
    errno.EROFS: ("the file system is read-only", "Mount it for writing"),
    errno.EACCES: ("permission is denied", "Give yourself write permission"),
    errno.EPERM: ("the operation is not permitted", "Give yourself write permission"),
    errno.ELOOP: ("it is a link, and links are not followed here", "Put a file in its place"),
    errno.ENOENT: ("its folder is gone", "Put the folder back"),
    errno.ENOTDIR: ("its folder is not a folder", "Put the folder back"),
}
"""The reason and the way out, for a person."""

atexit.register(write_all_now)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_writers.clear)  # what waits is the parent's to write
