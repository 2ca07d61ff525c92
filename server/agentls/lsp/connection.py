"""One client from its first byte to its last, and the life of a server on stdio.

Knows no methods: `rpc` does.
"""

import asyncio
import contextlib
import gc
import logging
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Generator

from pygls.lsp.server import LanguageServer

from agentls.lsp.parent import parent_gone
from agentls.lsp.rpc import protocol_of
from agentls.lsp.wire import Pipes, Reader, Writer, take_over_stdio

END_SECONDS = 10.0
"""How long `on_end` may take."""

_LAST_SECONDS = 20.0
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

log = logging.getLogger(__name__)


class Connection:
    """A server and the client at the other end of two file descriptors."""

    def __init__(
        self,
        server: LanguageServer,
        pipes: Pipes,
        *,
        on_initialized: Callable[[], None] = lambda: None,
        on_eof: Callable[[], None] = lambda: None,
    ) -> None:
        """Begin to read; `on_eof` is called in the reading thread when there is no more."""
        self._on_initialized = on_initialized
        self._protocol = protocol_of(server)
        self._ended = asyncio.Event()
        self._process_id: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._reader = Reader(pipes.read_fd, on_eof)
        self._writer = Writer(pipes.write_fd, on_broken=self.end)
        self._protocol.connect(self)

    @property
    def writer(self) -> Writer:
        """What carries messages to the client."""
        return self._writer

    async def serve(self) -> None:
        """Serve until the client says `exit`, is gone, or `end` is called."""
        async with asyncio.TaskGroup() as tasks:
            serving = [
                tasks.create_task(self._read(), name="wire"),
                tasks.create_task(self._watch(), name="parent"),
            ]
            await self._ended.wait()
            for task in serving:
                task.cancel()
        await self._protocol.hang_up()

    def end(self) -> None:
        """Let `serve` return."""
        self._ended.set()

    async def close(self) -> None:
        """Deliver what is queued, for a bounded time, and close the connection."""
        await self._writer.close()

    def client_exits(self) -> None:
        """Take note that the client said `exit`."""
        self.end()

    def client_initialized(self, process_id: int | None) -> None:
        """Take note that `initialize` was answered; end with that process from now on."""
        self._on_initialized()
        if process_id is not None:
            self._process_id.set_result(process_id)

    async def _read(self) -> None:
        async for frame in self._reader.frames():
            try:
                self._protocol.receive(frame)
            except Exception:
                log.exception("A message could not be dealt with")
            if self._ended.is_set():
                return
            # The handler just begun takes its first step before the next message is looked at, so
            # that messages take effect in the order in which they came.
            await asyncio.sleep(0)
        log.info("The client closed its end.")
        self.end()

    async def _watch(self) -> None:
        process_id = await self._process_id
        await parent_gone(process_id)
        log.info("The client's process %d is gone.", process_id)
        self.end()


async def _nothing() -> None:
    pass


async def serve_stdio(
    make_server: Callable[[], LanguageServer],
    *,
    on_end: Callable[[], Awaitable[None]] = _nothing,
    pipes: Pipes | None = None,
) -> int:
    """Serve the client that started this process, and return the exit code.

    0 after `shutdown`, 1 where the client left without, 128 and its number after a signal. `on_end`
    is awaited once, whatever the end was, for at most `END_SECONDS`. `pipes` are those of
    `take_over_stdio`, where it was called before. To be the last thing the process does: some
    seconds after the end it is gone, even where a thread or the event loop hangs.
    """
    pipes = pipes or take_over_stdio()
    deadline = _Deadline()
    server = make_server()
    # What is in memory now are types and modules, which all stay: full collections skip them from
    # here on. Starting takes a tenth less where the caller raises `gc.set_threshold` to some 10,000
    # before importing pygls; `gc.disable` is no faster and costs 9 MB. Most of the start is
    # `lsprotocol.types`: 554 attrs classes whose methods are compiled anew by each process, which
    # nothing short of patching attrs avoids.
    connection = Connection(server, pipes, on_initialized=gc.freeze, on_eof=deadline.start)
    with _signals_caught(connection.end) as caught:
        try:
            await connection.serve()
        finally:
            deadline.start()
            await _await_bounded(on_end)
            await connection.close()
    if caught:
        return 128 + caught[0]
    return 0 if protocol_of(server).was_shut_down else 1


@contextlib.contextmanager
def _signals_caught(on_signal: Callable[[], None]) -> Generator[list[int]]:
    """Call `on_signal` for each signal that asks for the end; yield the list of those that came.

    A second one changes nothing: closing a terminal sends several, and the end takes bounded time.
    """
    loop = asyncio.get_running_loop()
    caught: list[int] = []

    def catch(number: int) -> None:
        log.info("Ended by %s.", signal.Signals(number).name)
        caught.append(number)
        on_signal()

    for number in _SIGNALS:
        loop.add_signal_handler(number, catch, number)
    try:
        yield caught
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


async def _await_bounded(on_end: Callable[[], Awaitable[None]]) -> None:
    try:
        async with asyncio.timeout(END_SECONDS):
            await on_end()
    except TimeoutError:
        log.error("The end took more than %d seconds and was cut short.", END_SECONDS)
    except Exception:
        log.exception("The end went wrong")


class _Deadline:
    """The moment at which this process is gone, whatever hangs in it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def start(self) -> None:
        """Let time run; again changes nothing. May be called from any thread."""
        if self._lock.acquire(blocking=False):
            threading.Thread(target=self._run, name="deadline", daemon=True).start()

    def _run(self) -> None:
        time.sleep(_LAST_SECONDS)
        os.write(2, b"agentls: something hangs; leaving without it.\n")
        os._exit(1)
