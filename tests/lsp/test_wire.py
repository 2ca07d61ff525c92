"""The reader and the writer by themselves, over pipes."""

import asyncio
import os
import socket
import threading

import pytest

from agentls.lsp.framing import header_of
from agentls.lsp.wire import LOW_WATER, Reader, Writer


def read_all(fd: int) -> bytes:
    with open(fd, "rb") as stream:
        return stream.read()


def frame(body: bytes) -> bytes:
    return header_of(body) + body


async def test_messages_are_written_in_the_order_sent() -> None:
    read_fd, write_fd = os.pipe()
    writer = Writer(write_fd)
    bodies = [b"%d" % number for number in range(1_000)]
    for body in bodies:
        writer.send(body)
    reading = asyncio.create_task(asyncio.to_thread(read_all, read_fd))
    assert await writer.close()
    assert await reading == b"".join(map(frame, bodies))
    assert writer.backlog == 0


async def test_messages_from_several_threads_are_each_whole() -> None:
    read_fd, write_fd = os.pipe()
    writer = Writer(write_fd)
    body = b"x" * 1_000
    threads = [
        threading.Thread(target=lambda: [writer.send(body) for _ in range(200)]) for _ in range(4)
    ]
    reading = asyncio.create_task(asyncio.to_thread(read_all, read_fd))
    for thread in threads:
        thread.start()
    await asyncio.gather(*(asyncio.to_thread(thread.join) for thread in threads))
    assert await writer.close()
    assert await reading == frame(body) * 800


async def test_sending_does_not_wait_for_a_client_that_does_not_read() -> None:
    read_fd, write_fd = os.pipe()
    writer = Writer(write_fd)
    for _ in range(100):
        writer.send(b"x" * 100_000)
    assert writer.backlog > 9_000_000
    drained = asyncio.create_task(writer.wait_drained())
    await asyncio.sleep(0.05)
    assert not drained.done()
    reading = asyncio.create_task(asyncio.to_thread(read_all, read_fd))
    await drained
    assert writer.backlog <= LOW_WATER
    assert await writer.close()
    assert len(await reading) == 100 * len(frame(b"x" * 100_000))


async def test_a_callback_for_the_drained_backlog_comes_once_and_not_at_once() -> None:
    read_fd, write_fd = os.pipe()
    writer = Writer(write_fd)
    calls: list[int] = []
    writer.when_drained(lambda: calls.append(writer.backlog))
    assert calls == []
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert calls == [0]
    await writer.close()
    assert calls == [0]
    os.close(read_fd)


async def test_a_client_that_never_reads_is_left_behind_after_a_while() -> None:
    read_fd, write_fd = os.pipe()
    writer = Writer(write_fd)
    writer.send(b"x" * 1_000_000)
    assert not await writer.close(within=0.1)
    assert writer.backlog > 0
    os.close(read_fd)


async def test_a_client_that_is_gone_is_told_of_once_and_nothing_is_kept_for_it() -> None:
    read_fd, write_fd = os.pipe()
    broken = asyncio.Event()
    writer = Writer(write_fd, on_broken=broken.set)
    os.close(read_fd)
    writer.send(b"x" * 1_000_000)
    async with asyncio.timeout(10):
        await broken.wait()
    writer.send(b"y" * 1_000_000)
    assert writer.broken
    assert writer.backlog == 0
    async with asyncio.timeout(10):
        await writer.wait_drained()
    assert not await writer.close()


async def test_frames_are_read_in_order_until_the_end() -> None:
    read_fd, write_fd = os.pipe()
    ended = threading.Event()
    reader = Reader(read_fd, ended.set)
    bodies = [b"%d" % number for number in range(500)]

    def write() -> None:
        os.write(write_fd, b"".join(map(frame, bodies)) + b"Content-Length: 9\r\n\r\ncut")
        os.close(write_fd)

    writing = asyncio.create_task(asyncio.to_thread(write))
    assert [body async for body in reader.frames()] == bodies
    await writing
    assert await asyncio.to_thread(ended.wait, 10)


async def test_a_reader_whose_frames_are_not_taken_stops_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agentls.lsp.wire._MAX_UNREAD", 100_000)
    here, there = socket.socketpair()
    there.setblocking(False)
    reader = Reader(here.detach())
    message = frame(b"x" * 10_000)
    accepted = pending = 0
    # Whole messages, until for a while no more is taken.
    buffer = b""
    for _ in range(400):
        buffer = buffer or message
        try:
            sent = there.send(buffer)
            buffer = buffer[sent:]
            accepted += sent
            pending = 0
        except BlockingIOError:
            pending += 1
            await asyncio.sleep(0.005)
            if pending > 20:
                break
    assert pending > 20
    assert accepted < 400 * len(message)

    async def finish() -> None:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(there, buffer)
        there.close()

    finishing = asyncio.create_task(finish())
    bodies = [body async for body in reader.frames()]
    await finishing
    assert bodies == [b"x" * 10_000] * ((accepted + len(buffer)) // len(message))


async def test_a_socket_carries_a_connection_as_pipes_do() -> None:
    here, there = socket.socketpair()
    writer, reader = Writer(os.dup(here.fileno())), Reader(there.detach())
    writer.send(b"over a socket")
    await writer.close()
    here.close()
    assert [body async for body in reader.frames()] == [b"over a socket"]
