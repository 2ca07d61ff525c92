"""Reads prompts: from the command line, from a pipe, or as lines of stream-json.

Reading blocks, so it happens in a daemon thread: one that waits for a pipe nobody will ever write
to must not keep the process alive.
"""

import asyncio
import os
import select
import stat
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import orjson

from agentls.errors import InvalidRequest
from agentls.protocol.requests import Attachment

MAX_STDIN_BYTES = 10 << 20
FIRST_BYTE_SECONDS = 3.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MessageLine:
    """A line of stdin that holds a JSON object."""

    number: int
    """Counted from 1, empty lines included."""
    message: dict[str, Any]


def piped_text(fd: int, *, wait: bool) -> Iterator[str]:
    """Yield what is piped into `fd`, once; nothing where it is a terminal.

    With `wait` false a pipe that stays silent for three seconds counts as empty: some callers pass
    on a pipe of their own that nobody will ever write to. Raises `InvalidRequest` above 10 MiB.
    """
    if os.isatty(fd):
        return
    if not wait and _may_stay_silent(fd) and not _has_something(fd, FIRST_BYTE_SECONDS):
        return
    data = bytearray()
    for chunk in chunks_of(fd):
        data += chunk
        if len(data) > MAX_STDIN_BYTES:
            raise InvalidRequest("more than 10 MiB on stdin; put it in a file and name the file")
    yield data.decode("utf-8", "replace")


def chunks_of(fd: int) -> Iterator[bytes]:
    """Yield what can be read from `fd`, to its end. Raises `InvalidRequest` where it cannot be."""
    while True:
        try:
            chunk = os.read(fd, 1 << 16)
        except BlockingIOError:  # whoever started us shares the pipe, and does not wait
            _has_something(fd, None)
            continue
        except OSError as error:
            raise InvalidRequest(f"stdin cannot be read: {error.strerror}") from error
        if not chunk:
            return
        yield chunk


def message_lines(chunks: Iterable[bytes]) -> Iterator[MessageLine]:
    """Yield the objects of a stream of JSON lines. Raises `InvalidRequest`, naming the line."""
    rest, number = b"", 0
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            number += 1
            yield from _message(line, number)
        if len(rest) > MAX_STDIN_BYTES:
            raise _too_long(number + 1)
    yield from _message(rest, number + 1)


@dataclass(frozen=True, slots=True)
class ScriptPrompt:
    """A prompt, and what goes with it."""

    text: str
    attachments: tuple[Attachment, ...] = ()


def prompt_of(line: MessageLine) -> ScriptPrompt:
    """Return the prompt of a `{"type": "user", "message": {...}}` line. Raises `InvalidRequest`.

    Its content is a text, or blocks of the Messages API: `text`, and `image` and `document` whose
    source is base64.
    """
    inner: Any = line.message.get("message")
    content: Any = cast(dict[str, Any], inner).get("content") if isinstance(inner, dict) else None
    blocks: list[Any] = cast(list[Any], content) if isinstance(content, list) else []
    if isinstance(content, str):
        blocks = [{"type": "text", "text": content}]
    attached = [found for block in blocks if (found := _attachment_of(block)) is not None]
    texts = [_text_of(block) for block in blocks if _attachment_of(block) is None]
    if not blocks or not all(isinstance(text, str) for text in texts):
        raise InvalidRequest(
            f"stdin, line {line.number}: message.content must be a string or a list of blocks "
            "(text; image and document in base64), as in "
            '{"type":"user","message":{"role":"user","content":"..."}}'
        )
    if not attached and not any(text.strip() for text in texts):
        raise InvalidRequest(f"stdin, line {line.number}: the prompt has no text")
    return ScriptPrompt("\n\n".join(texts), tuple(attached))


async def in_daemon_thread(make: Callable[[], Iterator[T]]) -> AsyncGenerator[T, None]:
    """Yield what a blocking iterator yields, and raise what it raises."""
    loop = asyncio.get_running_loop()
    items: asyncio.Queue[tuple[T | None, BaseException | None]] = asyncio.Queue()

    def put(item: T | None, end: BaseException | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(items.put_nowait, (item, end))

    def read() -> None:
        try:
            for item in make():
                put(item, None)
            put(None, StopAsyncIteration())
        except Exception as error:
            put(None, error)

    threading.Thread(target=read, daemon=True, name="stdin").start()
    while True:
        item, end = await items.get()
        if isinstance(end, StopAsyncIteration):
            return
        if end is not None:
            raise end
        yield item  # pyright: ignore[reportReturnType]


def _text_of(block: Any) -> Any:
    return cast(dict[str, Any], block).get("text") if isinstance(block, dict) else None


def _attachment_of(block: Any) -> Attachment | None:
    """Return what a block of a picture or a document brings, None for any other."""
    match block:
        case {"type": "image" | "document", "source": {"type": "base64", "data": str(data)}}:
            title: Any = cast(dict[str, Any], block).get("title")
            return Attachment(data=data, name=title if isinstance(title, str) else None)
        case _:
            return None


def _may_stay_silent(fd: int) -> bool:
    """Whether it is a pipe, or the socket that some parents use for one."""
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _has_something(fd: int, seconds: float | None) -> bool:
    """Wait for something to read, or the end; return whether it came."""
    if os.name == "nt":  # select works on sockets alone there
        return True
    readable, _, _ = select.select([fd], [], [], seconds)
    return bool(readable)


def _message(line: bytes, number: int) -> Iterator[MessageLine]:
    if len(line) > MAX_STDIN_BYTES:
        raise _too_long(number)
    if not line.strip():
        return
    try:
        message = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"stdin, line {number}: not JSON: {error}") from error
    if not isinstance(message, dict):
        raise InvalidRequest(f"stdin, line {number}: not a JSON object")
    yield MessageLine(number, cast(dict[str, Any], message))


def _too_long(number: int) -> InvalidRequest:
    return InvalidRequest(f"stdin, line {number}: longer than 10 MiB")
