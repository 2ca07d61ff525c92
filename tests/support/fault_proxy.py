"""A proxy before a server of the Messages API that breaks what passes through it, as it is told.

Each request takes the next fault of the queue, or none where that is empty:

    ok                     pass the answer on as it is
    reset                  the connection is reset before a byte of an answer
    cut:3                  three events of the answer, then a reset
    end:3                  three events of the answer, then a clean end
    stall:3                three events of the answer, then nothing for ever
    silence                nothing at all for ever
    error:3:overloaded_error   three events, then an error event of that type
    status:529             that status, with the API's error for it
    retry-after:429:7      that status with `Retry-After: 7`
    html:502               that status with a page of HTML
"""

import asyncio
import socket
import struct
import urllib.request
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson

from benchmarks.messages_api import PAGE, listening, send, send_error

FOREVER = 3_600


class FaultProxy:
    """The proxy; `proxied` starts and stops it."""

    def __init__(self, upstream: str) -> None:
        self.url = ""
        self.faults: deque[str] = deque()
        self.arrivals: list[float] = []
        """When each request came, on the event loop's clock."""
        self.bodies: list[dict[str, object]] = []
        self._upstream = upstream

    def next(self, *faults: str) -> None:
        """Break the requests that follow like this, one after the other."""
        self.faults.extend(faults)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests until the client leaves."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(_header(head, "content-length") or 0)
                body = await reader.readexactly(length)
                self.arrivals.append(asyncio.get_running_loop().time())
                self.bodies.append(orjson.loads(body))
                await self._answer(head, body, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
        name, _, argument = (self.faults.popleft() if self.faults else "ok").partition(":")
        match name:
            case "reset":
                _reset(writer)
            case "silence":
                await asyncio.sleep(FOREVER)
            case "status":
                await send_error(writer, int(argument), "as told")
            case "retry-after":
                status, _, seconds = argument.partition(":")
                await send_error(writer, int(status), "as told", f"retry-after: {seconds}\r\n")
            case "html":
                await send(writer, int(argument), PAGE, "text/html")
            case _:
                await self._pass_on(name, argument, head, body, writer)

    async def _pass_on(
        self, name: str, argument: str, head: bytes, body: bytes, writer: asyncio.StreamWriter
    ) -> None:
        events = await asyncio.to_thread(self._fetch, head, body)
        count, _, kind = argument.partition(":")
        kept = events if name == "ok" else events[: int(count)]
        if name == "error":
            error = {"type": "error", "error": {"type": kind, "message": "as told"}}
            kept = [*kept, b"event: error\ndata: " + orjson.dumps(error)]
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )
        for event in kept:
            data = event + b"\n\n"
            writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await writer.drain()
        await asyncio.sleep(0.05)  # a reset throws away what the client has not taken yet
        if name == "cut":
            _reset(writer)
        elif name == "stall":
            await asyncio.sleep(FOREVER)
        else:
            writer.write(b"0\r\n\r\n")
            await writer.drain()

    def _fetch(self, head: bytes, body: bytes) -> list[bytes]:
        path = head.split(b" ", 2)[1].decode()
        request = urllib.request.Request(self._upstream + path, body)
        for name in ("authorization", "x-api-key", "anthropic-version", "anthropic-beta"):
            if value := _header(head, name):
                request.add_header(name, value)
        request.add_header("content-type", "application/json")
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.read().strip().split(b"\n\n")


@asynccontextmanager
async def proxied(upstream: str) -> AsyncIterator[FaultProxy]:
    """Run a proxy before the server at `upstream`; leaving ends every connection."""
    proxy = FaultProxy(upstream)
    async with listening(proxy.serve) as url:
        proxy.url = url
        yield proxy


def _header(head: bytes, name: str) -> str | None:
    for line in head.decode("latin-1").split("\r\n")[1:]:
        key, _, value = line.partition(":")
        if key.lower() == name:
            return value.strip()
    return None


def _reset(writer: asyncio.StreamWriter) -> None:
    """Have the client see `ECONNRESET`, not an end."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    raise ConnectionError("reset as told")
