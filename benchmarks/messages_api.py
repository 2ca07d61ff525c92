"""A scripted server of the Messages API on loopback, for measuring and for tests.

    python benchmarks/messages_api.py --port 0        prints the port, and serves

It answers `POST /v1/messages` with `stream: true`, HTTP/1.1, keep-alive, chunked. What it plays is
chosen by the last marker in the text of the last user message that holds text:

    [[text:hello there]]          that text, a delta a word (no marker at all: "done")
    [[thinking:hm:hello]]         signed thinking "hm", then the text
    [[deltas:5000]]               that many deltas of a few letters
    [[slow:50:a b c]]             the text, with so many milliseconds before each delta
    [[reads:20:src/a.py]]         20 rounds of one Read call each, then "done"
    [[parallel:10:src/{i}.py]]    one round of 10 Read calls, then "done"; {i} and {i:02}
                                  are the call's number
    [[call:Bash:{"command": "ls"}]]   one call of that tool with that input, then "done"
    [[hang]]                      nothing at all, for ever
    [[status:529]]                that status with the API's error of it; [[status:400:words]] to
                                  choose the message
    [[retry-after:7]]             429 with that header
    [[html:502]]                  that status with a page of HTML
    [[page]]                      status 200 with a page of HTML
    [[error-event:overloaded_error]]   half a text, then an error event; a second colon: its message
    [[cut]]                       half a text, then the connection is cut
    [[cut-early]]                 the headers, then the connection is cut
    [[refuse]]                    the connection is cut at once
    [[eof]]                       half a text, then a clean end
    [[garbage]]                   half a text, then an event that is not JSON
    [[echo-key:401]]              that status, with the credentials sent in its message

In-process: `async with serving() as api:` gives `api.url`, `api.requests` (bodies, the latest 100),
`api.headers` of the latest request, `api.connections` made so far and `api.hung_up`, set when a
client leaves an answer unread.
"""

import argparse
import asyncio
import re
import signal
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any

import orjson

MARKER = re.compile(r"\[\[([a-z-]+)((?::.*?)?)\]\]", re.DOTALL)
EVENTS_PER_WRITE = 64
FOREVER = 86_400
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
PAGE = b"<html><head><title>Bad Gateway</title></head><body><h1>nginx</h1></body></html>\n"
USAGE = {"input_tokens": 100, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 0}

Event = dict[str, Any]
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class MessagesApi:
    """The server; `serving` starts and stops it."""

    def __init__(self, kept: int) -> None:
        self.url = ""
        self.requests: deque[dict[str, Any]] = deque(maxlen=kept)
        self.headers: dict[str, str] = {}
        self.connections = 0
        self.hung_up = asyncio.Event()
        self._answered = 0

    async def serve_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Answer requests until the client leaves."""
        self.connections += 1
        try:
            while (request := await _read_request(reader)) is not None:
                path, self.headers, body = request
                await self._answer(path, body, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.hung_up.set()
        except _HangUp:
            writer.transport.abort()
        finally:
            writer.close()

    async def _answer(self, path: str, body: bytes, writer: asyncio.StreamWriter) -> None:
        if path.partition("?")[0] != "/v1/messages":
            return await send_error(writer, 404, f"no such path: {path}")
        request = orjson.loads(body)
        self.requests.append(request)
        self._answered += 1
        name, argument, done = _script(request["messages"])
        match name:
            case "status":
                status, _, message = argument.partition(":")
                return await send_error(writer, int(status), message or "as scripted")
            case "echo-key":
                secret = self.headers.get("authorization", "")
                return await send_error(writer, int(argument), f"invalid key: {secret}")
            case "retry-after":
                header = f"retry-after: {argument}\r\n"
                return await send_error(writer, 429, "slow down", header)
            case "html":
                return await send(writer, int(argument), PAGE, "text/html")
            case "page":
                return await send(writer, 200, PAGE, "text/html")
            case "refuse":
                raise _HangUp
            case "hang":
                await asyncio.sleep(FOREVER)
            case _:
                start = _message_start(f"msg_{self._answered}", request["model"])
                await _stream(writer, start, *_events(name, argument, done, self._answered))


class _HangUp(Exception):
    pass


def _script(messages: list[dict[str, Any]]) -> tuple[str, str, int]:
    """Return the marker's name and argument, and how many answers it has had already."""
    done = 0
    for message in reversed(messages):
        if message["role"] == "assistant":
            done += 1
            continue
        if text := _text(message["content"]):
            markers = MARKER.findall(text)
            name, argument = markers[-1] if markers else ("text", ":done")
            return name, argument[1:], done
    return "text", "done", 0


def _text(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block["type"] == "text")


def _events(name: str, argument: str, done: int, serial: int) -> tuple[float, bytes, str]:
    """Return the pause before each delta, the encoded events, and how the answer ends."""
    match name:
        case "deltas":
            return 0, _deltas(int(argument)), "end"
        case "slow":
            pause, _, text = argument.partition(":")
            return int(pause) / 1000, _text_answer(text), "end"
        case "thinking":
            thought, _, text = argument.partition(":")
            return 0, _encode(_thinking(thought), _words(text, 1), _end("end_turn")), "end"
        case "reads" | "parallel":
            count, _, path = argument.partition(":")
            return 0, _reads(name, int(count), path, done, serial), "end"
        case "call":
            tool, _, written = argument.partition(":")
            return 0, _text_answer("done") if done else _call(tool, written, serial), "end"
        case "error-event":
            kind, _, message = argument.partition(":")
            error = {"type": kind, "message": message or "as scripted"}
            return 0, _half(_encode([{"type": "error", "error": error}])), "end"
        case "garbage":
            return 0, _half(b"event: content_block_delta\ndata: {not json\n\n"), "end"
        case "cut" | "eof":
            return 0, _half(b""), name
        case "cut-early":
            return 0, b"", "cut"
        case _:
            return 0, _text_answer(argument), "end"


def _message_start(message_id: str, model: str) -> bytes:
    message = {
        "id": message_id, "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {**USAGE, "output_tokens": 1},
    }  # fmt: skip
    return _encode([{"type": "message_start", "message": message}, {"type": "ping"}])


def _encode(*groups: "list[Event] | Iterator[Event]") -> bytes:
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (event["type"].encode(), orjson.dumps(event))
        for group in groups
        for event in group
    )


def _delta(index: int, delta: Event) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def _block(index: int, block: Event, deltas: list[Event]) -> Iterator[Event]:
    yield {"type": "content_block_start", "index": index, "content_block": block}
    for delta in deltas:
        yield _delta(index, delta)
    yield {"type": "content_block_stop", "index": index}


def _words(text: str, index: int = 0) -> Iterator[Event]:
    words = [
        {"type": "text_delta", "text": word} for word in re.findall(r"\s*\S+\s*$|\s*\S+", text)
    ]
    return _block(index, {"type": "text", "text": ""}, words)


def _thinking(thought: str) -> Iterator[Event]:
    deltas = [
        {"type": "thinking_delta", "thinking": thought},
        {"type": "signature_delta", "signature": "signed:" + thought},
    ]
    return _block(0, {"type": "thinking", "thinking": "", "signature": ""}, deltas)


def _end(stop_reason: str, output_tokens: int = 10) -> list[Event]:
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    usage = {**USAGE, "output_tokens": output_tokens}
    return [{"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]


@lru_cache(maxsize=64)
def _text_answer(text: str) -> bytes:
    return _encode(_words(text), _end("end_turn"))


@lru_cache(maxsize=8)
def _deltas(count: int) -> bytes:
    deltas = [{"type": "text_delta", "text": f"w{i % 1000} "} for i in range(count)]
    return _encode(_block(0, {"type": "text", "text": ""}, deltas), _end("end_turn", count))


def _half(rest: bytes) -> bytes:
    start = {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "text", "text": ""},
    }
    return _encode([start, _delta(0, {"type": "text_delta", "text": "Half of "})]) + rest


def _reads(name: str, count: int, path: str, done: int, serial: int) -> bytes:
    rounds, at_once = (count, 1) if name == "reads" else (1, count)
    if done >= rounds:
        return _text_answer("done")
    blocks: list[Event] = []
    for index in range(at_once):
        number = done if name == "reads" else index
        written = orjson.dumps({"file_path": path.format(i=number)}).decode()
        blocks.extend(_tool_use(index, f"toolu_{serial}_{index}", "Read", written))
    return _encode(blocks, _end("tool_use"))


def _call(tool: str, written: str, serial: int) -> bytes:
    return _encode(_tool_use(0, f"toolu_{serial}_0", tool, written), _end("tool_use"))


def _tool_use(index: int, call_id: str, tool: str, written: str) -> Iterator[Event]:
    block = {"type": "tool_use", "id": call_id, "name": tool, "input": {}}
    half = len(written) // 2
    deltas = [
        {"type": "input_json_delta", "partial_json": piece}
        for piece in ("", written[:half], written[half:])
    ]
    return _block(index, block, deltas)


async def _stream(
    writer: asyncio.StreamWriter, start: bytes, pause: float, events: bytes, ending: str
) -> None:
    """Send the events in chunks of many, or of one where there is a pause, and end as told."""
    writer.write(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
        b"request-id: req_1\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    if events:
        writer.write(_chunk(start))
    for piece in _pieces(events, 1 if pause else EVENTS_PER_WRITE):
        if pause:
            await asyncio.sleep(pause)
        writer.write(_chunk(piece))
        await writer.drain()
    if ending == "cut":
        await asyncio.sleep(0.05)  # abort() throws away what the socket has not taken yet
        raise _HangUp
    writer.write(b"0\r\n\r\n")
    await writer.drain()


def _pieces(events: bytes, size: int) -> Iterator[bytes]:
    whole = events.split(b"\n\n")[:-1]
    for at in range(0, len(whole), size):
        yield b"\n\n".join(whole[at : at + size]) + b"\n\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def send_error(
    writer: asyncio.StreamWriter, status: int, message: str, header: str = ""
) -> None:
    """Answer with the API's error for a status; `header` is whole lines."""
    error = {"type": ERROR_TYPES.get(status, "api_error"), "message": message}
    body = orjson.dumps({"type": "error", "error": error, "request_id": "req_1"})
    await send(writer, status, body, "application/json", header)


async def send(
    writer: asyncio.StreamWriter, status: int, body: bytes, mime: str, header: str = ""
) -> None:
    """Answer with a whole body; `header` is whole lines."""
    head = f"HTTP/1.1 {status} Scripted\r\ncontent-type: {mime}\r\n{header}"
    writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()


async def _read_request(
    reader: asyncio.StreamReader,
) -> tuple[str, dict[str, str], bytes] | None:
    """Return path, headers and body; None where the client has closed between requests."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    request_line, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return request_line.split(" ")[1], headers, body


@asynccontextmanager
async def serving(port: int = 0, kept: int = 100) -> AsyncIterator[MessagesApi]:
    """Serve on loopback, remembering the latest `kept` requests; leaving ends every connection."""
    api = MessagesApi(kept)
    async with listening(api.serve_connection, port) as url:
        api.url = url
        yield api


@asynccontextmanager
async def listening(serve: Serve, port: int = 0) -> AsyncIterator[str]:
    """Have `serve` take each connection on loopback, and yield the address; leaving ends all."""
    connections: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        try:
            await serve(reader, writer)
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            connections.discard(task)

    server = await asyncio.start_server(connected, "127.0.0.1", port, limit=1 << 22)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tuple(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        await server.wait_closed()


async def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="A scripted server of the Messages API.")
    parser.add_argument("--port", type=int, default=0)
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with serving(parser.parse_args().port, kept=1) as api:
        print(api.url.rpartition(":")[2], flush=True)
        await stopped.wait()


if __name__ == "__main__":
    asyncio.run(main())
