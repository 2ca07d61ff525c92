import asyncio
import errno
import os

import pytest

from agentls.errors import LogNotWritten
from agentls.sessions.writer import LogWriter


async def test_lines_are_written_together_and_in_order(tmp_path):
    writer = LogWriter(tmp_path / "sub" / "log")
    for number in range(1000):
        writer.append(b"%d\n" % number)
    await writer.flush()
    assert (tmp_path / "sub" / "log").read_bytes().split() == [b"%d" % n for n in range(1000)]
    writer.close()


async def test_lines_reach_the_file_without_being_flushed(tmp_path):
    writer = LogWriter(tmp_path / "log")
    writer.append(b"one\n")
    async with asyncio.timeout(10):
        while not (tmp_path / "log").exists() or not (tmp_path / "log").read_bytes():
            await asyncio.sleep(0.01)
    writer.close()


async def test_a_full_disk_is_told_and_nothing_is_lost_or_written_twice(tmp_path, monkeypatch):
    real_write, room = os.write, 10

    def full_disk(fd, data):
        nonlocal room
        if room == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = real_write(fd, bytes(data)[:room])
        room -= written
        return written

    writer = LogWriter(tmp_path / "log")
    lines = [b"line %d\n" % number for number in range(10)]
    for line in lines:
        writer.append(line)
    monkeypatch.setattr(os, "write", full_disk)
    with pytest.raises(LogNotWritten, match="No space left on device"):
        await writer.flush()
    assert (tmp_path / "log").stat().st_size == 10
    monkeypatch.undo()
    writer.append(b"after\n")
    await writer.flush()
    assert (tmp_path / "log").read_bytes() == b"".join([*lines, b"after\n"])
    writer.close()


async def test_two_flushes_at_once_never_mix_their_bytes(tmp_path, monkeypatch):
    real_write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real_write(fd, bytes(data)[:3]))
    writer = LogWriter(tmp_path / "log")

    async def one(number):
        writer.append(b"%04d\n" % number)
        await writer.flush()

    await asyncio.gather(*(one(number) for number in range(50)))
    assert sorted((tmp_path / "log").read_bytes().split()) == [b"%04d" % n for n in range(50)]
    writer.close()
