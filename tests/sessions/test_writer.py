import asyncio
import errno
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agentls.errors import LeaseLost, LogNotWritten
from agentls.sessions import writer as writer_module
from agentls.sessions.log_file import CHUNK_BYTES, LogFile
from agentls.sessions.writer import LogWriter, write_all_now, write_now


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log"


@pytest.fixture
def open_log():
    """Make writers; each is closed in the end."""
    made = []

    def open_at(path, **options):
        made.append(LogWriter(LogFile(path, **options)))
        return made[-1]

    yield open_at
    for writer in made:
        writer.close()


async def test_lines_are_written_together_and_in_order(path, open_log, monkeypatch):
    writes = count_calls(monkeypatch, "write")
    writer = open_log(path)
    for number in range(1000):
        writer.append(b"%d\n" % number)
    await writer.flush()
    assert path.read_bytes().split() == [b"%d" % n for n in range(1000)]
    assert len(writes) == 1
    assert writer.unsaved == 0


async def test_lines_reach_the_file_without_being_flushed(path, open_log):
    open_log(path).append(b"one\n")
    async with asyncio.timeout(10):
        while not path.exists() or not path.read_bytes():
            await asyncio.sleep(0.01)


async def test_a_chunk_holds_whole_lines_and_at_most_a_mebibyte(path, open_log, monkeypatch):
    writes = count_calls(monkeypatch, "write")
    writer = open_log(path, header=b'{"log":"agentls","version":2}\n')
    lines = [b"%07d" % n + b"x" * 99_992 + b"\n" for n in range(25)]
    for line in lines:
        writer.append(line)
    await writer.flush()
    assert path.read_bytes() == b'{"log":"agentls","version":2}\n' + b"".join(lines)
    assert len(writes) == 3
    assert all(len(data) <= CHUNK_BYTES and bytes(data[-1:]) == b"\n" for _, data in writes)


async def test_a_line_longer_than_a_chunk_is_written_whole(path, open_log):
    writer = open_log(path)
    line = b"y" * (3 * CHUNK_BYTES) + b"\n"
    writer.append(line)
    writer.append(b"after\n")
    await writer.flush()
    assert path.read_bytes() == line + b"after\n"


async def test_two_flushes_at_once_never_mix_their_bytes(path, open_log, monkeypatch):
    real_write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real_write(fd, bytes(data)[:3]))
    writer = open_log(path)

    async def one(number):
        writer.append(b"%04d\n" % number)
        await writer.flush()

    await asyncio.gather(*(one(number) for number in range(50)))
    assert sorted(path.read_bytes().split()) == [b"%04d" % n for n in range(50)]


async def test_a_durable_flush_syncs_once_and_the_folder_when_the_file_is_made(
    path, open_log, monkeypatch
):
    data_syncs, folder_syncs = (
        count_calls(monkeypatch, "fdatasync"),
        count_calls(monkeypatch, "fsync"),
    )
    writer = open_log(path)
    writer.append(b"one\n")
    await writer.flush()
    assert data_syncs == []
    writer.append(b"two\n")
    await asyncio.gather(writer.flush(durable=True), writer.flush(durable=True))
    assert len(data_syncs) == 1
    made = len(folder_syncs)
    assert made
    await writer.flush(durable=True)
    writer.append(b"three\n")
    await writer.flush(durable=True)
    assert len(data_syncs) == 2
    assert len(folder_syncs) == made


async def test_a_flush_that_is_cancelled_harms_no_other(path, open_log, monkeypatch):
    disk = HangingDisk(monkeypatch, path)
    writer = open_log(path)
    writer.append(b"one\n")
    first = asyncio.create_task(writer.flush())
    await asyncio.to_thread(disk.hangs.wait, 10)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    writer.append(b"two\n")
    second = asyncio.create_task(writer.flush())
    disk.go_on.set()
    await second
    assert path.read_bytes() == b"one\ntwo\n"


async def test_a_disk_that_hangs_holds_up_no_other_file_and_not_the_loop(
    tmp_path, open_log, monkeypatch
):
    disk = HangingDisk(monkeypatch, tmp_path / "hangs")
    monkeypatch.setattr(writer_module, "PATIENCE_SECONDS", 0.05)
    stuck, fine = open_log(tmp_path / "hangs"), open_log(tmp_path / "fine")
    stuck.append(b"one\n")
    waiting = asyncio.create_task(stuck.flush())
    await asyncio.to_thread(disk.hangs.wait, 10)
    for number in range(5):
        fine.append(b"%d\n" % number)
        await fine.flush(durable=number == 3)
    fine.append(b"5\n")
    write_now([stuck, fine])
    assert (tmp_path / "fine").read_bytes().split() == [b"%d" % n for n in range(6)]
    assert not waiting.done()
    assert stuck.unsaved == 4
    disk.go_on.set()
    await waiting
    assert (tmp_path / "hangs").read_bytes() == b"one\n"


def test_lines_are_taken_without_an_event_loop(path, open_log):
    writer = open_log(path)
    writer.append(b"one\n")
    writer.append(b"two\n")
    assert writer.unsaved == 8
    writer.write_now()
    assert path.read_bytes() == b"one\ntwo\n"


def test_what_waits_in_any_log_is_written_at_once(tmp_path, open_log):
    for name in ("a", "b"):
        open_log(tmp_path / name).append(name.encode() + b"\n")
    write_all_now()
    assert (tmp_path / "a").read_bytes() + (tmp_path / "b").read_bytes() == b"a\nb\n"


async def test_writing_from_many_threads_at_once_writes_each_line_once(path, open_log):
    writer = open_log(path)
    stop = threading.Event()

    def hammer():
        while not stop.is_set():
            writer.write_now()

    threads = [threading.Thread(target=hammer) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for number in range(300):
            writer.append(b"%d\n" % number)
            if number % 50 == 0:
                await writer.flush()
        await writer.flush()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert path.read_bytes().split() == [b"%d" % n for n in range(300)]


async def test_a_log_goes_on_in_another_event_loop(path, open_log):
    writer = open_log(path)

    def in_a_loop_of_its_own(line):
        async def write():
            writer.append(line)
            await writer.flush()

        asyncio.run(write())

    for line in (b"one\n", b"two\n"):
        await asyncio.to_thread(in_a_loop_of_its_own, line)
    writer.append(b"three\n")
    await writer.flush()
    assert path.read_bytes() == b"one\ntwo\nthree\n"


async def test_an_owner_that_was_replaced_writes_nothing(path, open_log):
    fence = ClosedFence()
    writer = open_log(path, fence=fence)
    writer.append(b"mine\n")
    await writer.flush()
    fence.closed = True
    writer.append(b"not mine\n", [RecordedContent([])])
    for _ in range(2):
        with pytest.raises(LeaseLost, match="another"):
            await writer.flush()
    writer.write_now()
    assert path.read_bytes() == b"mine\n"


async def test_a_fence_that_cannot_tell_is_asked_again(path, open_log):
    fence = ClosedFence(unsure=True)
    writer = open_log(path, fence=fence)
    writer.append(b"one\n")
    with pytest.raises(LogNotWritten, match="cannot be told"):
        await writer.flush()
    fence.unsure = False
    await writer.flush()
    assert path.read_bytes() == b"one\n"


async def test_a_content_is_kept_before_the_line_that_refers_to_it(path, open_log):
    order = []

    def size():
        return path.stat().st_size if path.exists() else 0

    writer = open_log(path)
    writer.append(b"first\n")
    writer.append(b"second\n", [RecordedContent(order, size), RecordedContent(order, size)])
    writer.append(b"third\n")
    assert writer.unsaved == 19 + 2 * RecordedContent.size
    await writer.flush()
    assert order == [6, 6]
    assert path.read_bytes() == b"first\nsecond\nthird\n"


async def test_a_content_that_cannot_be_kept_holds_its_line_back_and_none_before(path, open_log):
    order = []
    content = RecordedContent(order, fails=True)
    writer = open_log(path)
    writer.append(b"first\n")
    writer.append(b"second\n", [content])
    with pytest.raises(LogNotWritten, match="no room"):
        await writer.flush()
    assert path.read_bytes() == b"first\n"
    assert writer.unsaved == 7 + content.size
    content.fails = False
    await writer.flush()
    assert path.read_bytes() == b"first\nsecond\n"


async def test_trouble_that_nobody_waited_for_is_told_once(path, monkeypatch):
    told = []
    writer = LogWriter(LogFile(path), on_trouble=told.append)
    monkeypatch.setattr(os, "write", failing(errno.ENOSPC))
    writer.append(b"one\n")
    async with asyncio.timeout(10):
        while not told:
            await asyncio.sleep(0.01)
    await asyncio.to_thread(writer.write_now)
    await asyncio.sleep(0)
    assert len(told) == 1
    assert "no room" in told[0]
    monkeypatch.undo()
    await writer.flush()
    writer.close()
    assert path.read_bytes() == b"one\n"


async def test_a_log_that_is_closed_full_of_lines_is_written_when_there_is_room(path, monkeypatch):
    monkeypatch.setattr(writer_module, "RETRY_SECONDS", 0.01)
    writer = LogWriter(LogFile(path))
    monkeypatch.setattr(os, "write", failing(errno.ENOSPC))
    writer.append(b"one\n")
    with pytest.raises(LogNotWritten):
        await writer.flush()
    writer.close()
    monkeypatch.undo()
    async with asyncio.timeout(10):
        while not path.read_bytes():
            await asyncio.sleep(0.01)
    assert path.read_bytes() == b"one\n"


async def test_what_comes_after_a_log_is_closed_is_refused_and_not_waited_for(path):
    writer = LogWriter(LogFile(path))
    writer.append(b"one\n")
    await writer.flush()
    writer.close()
    async with asyncio.timeout(10):
        while any(str(path) in thread.name for thread in threading.enumerate()):
            await asyncio.sleep(0.01)
    await writer.flush()
    writer.append(b"two\n")
    for _ in range(2):
        with pytest.raises(LogNotWritten, match="is closed"):
            await writer.flush()
    writer.close()
    writer.write_now()
    assert path.read_bytes() == b"one\n"


@dataclass
class ClosedFence:
    closed: bool = False
    unsure: bool = False

    def still_mine(self):
        if self.unsure:
            raise LogNotWritten("whose it is cannot be told")
        return not self.closed

    def lost(self):
        return LeaseLost("another process has it")


@dataclass
class RecordedContent:
    order: list
    look: object = None
    fails: bool = False
    size: int = field(default=100, init=False)

    def write(self):
        if self.fails:
            raise OSError(errno.ENOSPC, "full")
        self.order.append(self.look() if self.look else None)


class HangingDisk:
    """Makes every write to one file wait."""

    def __init__(self, monkeypatch, path):
        self.hangs, self.go_on = threading.Event(), threading.Event()
        real_write = os.write

        def write(fd, data):
            if Path(f"/proc/self/fd/{fd}").readlink() == path:
                self.hangs.set()
                self.go_on.wait(30)
            return real_write(fd, data)

        monkeypatch.setattr(os, "write", write)


def count_calls(monkeypatch, name):
    real, calls = getattr(os, name), []

    def counted(*arguments):
        calls.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(os, name, counted)
    return calls


def failing(number):
    def fail(*arguments):
        raise OSError(number, os.strerror(number))

    return fail
