import asyncio
import os
import sys
import threading
from contextlib import aclosing
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.errors import LogUnreadable
from agentls.sessions import tail as tail_module
from agentls.sessions.tail import FileReplaced, Tail

SECONDS = 60


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log"


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


# Reading


def test_lines_that_are_appended_come_once_and_in_order(path):
    append(path, b"one\ntwo\n")
    with Tail(path) as tail:
        assert tail.read_new() == [b"one", b"two"]
        assert tail.read_new() == []
        append(path, b"\nthree\r\n")
        assert tail.read_new() == [b"", b"three\r"]
        assert tail.offset == path.stat().st_size


def test_half_a_line_waits_for_the_rest_of_it(path):
    append(path, b"one\nhal")
    with Tail(path) as tail:
        assert tail.read_new() == [b"one"]
        append(path, b"f")
        assert tail.read_new() == []
        append(path, b"\ntwo")
        assert tail.read_new() == [b"half"]
        append(path, b"\n")
        assert tail.read_new() == [b"two"]


def test_only_what_is_behind_the_offset_comes(path):
    append(path, b"one\ntwo\n")
    with Tail(path, 4) as tail:
        assert tail.read_new() == [b"two"]


def test_tail_goes_on_where_another_one_was(path):
    append(path, b"one\ntwo")
    with Tail(path) as tail:
        tail.read_new()
    append(path, b"\n")
    with Tail(path, tail.offset) as other:
        assert other.read_new() == [b"two"]


def test_file_that_is_not_there_yet_has_no_lines(path):
    with Tail(path) as tail:
        assert tail.read_new() == []
        append(path, b"one\n")
        assert tail.read_new() == [b"one"]


def test_what_lies_before_the_offset_costs_nothing(path, monkeypatch):
    read, starts = tail_module._read, list[int]()

    def counted(file, start, length):
        starts.append(start)
        return read(file, start, length)

    monkeypatch.setattr(tail_module, "_read", counted)
    path.touch()
    os.truncate(path, (4 << 30) - 1)
    append(path, b"\nnew\n")
    with Tail(path, 4 << 30) as tail:
        assert tail.read_new() == [b"new"]
    assert min(starts) == (4 << 30) - 64


@given(
    lines=st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b""))),
    cuts=st.lists(st.integers(0, 60)),
    reads=st.lists(st.booleans()),
    batch=st.integers(1, 50),
)
def test_nothing_is_missed_or_doubled_however_it_is_appended(
    lines, cuts, reads, batch, tmp_path_factory
):
    path = tmp_path_factory.mktemp("tail") / "log"
    data = b"".join(line + b"\n" for line in lines)
    found: list[bytes] = []
    with pytest.MonkeyPatch.context() as patch, Tail(path) as tail:
        patch.setattr(tail_module, "BATCH_BYTES", batch)
        for number, cut in enumerate(cuts):
            append(path, data[:cut])
            data = data[cut:]
            if reads[number % len(reads)] if reads else True:
                found += tail.read_new()
        append(path, data)
        found += tail.read_new()
    assert found == lines


def test_line_without_an_end_is_told_before_it_fills_the_memory(path, monkeypatch):
    monkeypatch.setattr(tail_module, "BATCH_BYTES", 1 << 10)
    monkeypatch.setattr(tail_module, "LONGEST_LINE", 1 << 20)
    append(path, b"good\n" + b"\0" * (1 << 20))
    with Tail(path) as tail:
        assert tail.read_new() == [b"good"]
        append(path, b"\0" * (2 << 10))
        with pytest.raises(LogUnreadable, match=r"log holds a line of more than 1 MiB at byte 5"):
            tail.read_new()


# A file that is not what it was


def test_file_that_shrank_is_told(path):
    append(path, b"one\ntwo\n")
    with Tail(path) as tail:
        tail.read_new()
        os.truncate(path, 4)
        with pytest.raises(FileReplaced, match="log is shorter than it was"):
            tail.read_new()


def test_file_that_lost_half_a_line_is_told(path):
    append(path, b"one\ntw")
    with Tail(path) as tail:
        tail.read_new()
        os.truncate(path, 4)
        with pytest.raises(FileReplaced):
            tail.read_new()


def test_file_that_is_shorter_than_the_offset_is_told(path):
    append(path, b"one\n")
    with Tail(path, 10) as tail, pytest.raises(FileReplaced):
        tail.read_new()


def test_file_that_was_replaced_is_told(path, tmp_path):
    append(path, b"one\n")
    with Tail(path) as tail:
        tail.read_new()
        append(tmp_path / "new", b"one\ntwo\n")
        (tmp_path / "new").replace(path)
        with pytest.raises(FileReplaced, match="log is another file"):
            tail.read_new()


def test_file_that_was_deleted_and_made_anew_is_told(path):
    """Its number may be that of the old one, unless that one is kept open."""
    append(path, b"one\n")
    with Tail(path) as tail:
        tail.read_new()
        path.unlink()
        append(path, b"one\ntwo\n")
        with pytest.raises(FileReplaced, match="log is another file"):
            tail.read_new()


def test_file_that_is_gone_is_told(path):
    append(path, b"one\n")
    with Tail(path) as tail:
        tail.read_new()
        path.unlink()
        with pytest.raises(FileReplaced, match="log is gone"):
            tail.read_new()
    with Tail(path, 4) as tail, pytest.raises(FileReplaced, match="log is gone"):
        tail.read_new()


def test_file_that_was_written_over_is_told_although_it_grew(path):
    append(path, b"one\n")
    with Tail(path) as tail:
        tail.read_new()
        path.write_bytes(b"another\none\n")
        with pytest.raises(FileReplaced, match="log was written over"):
            tail.read_new()


def test_offset_inside_a_line_is_told(path):
    append(path, b"one\ntwo\n")
    with Tail(path, 5) as tail, pytest.raises(FileReplaced):
        tail.read_new()


def test_closed_tail_leaves_no_file_open(path):
    append(path, b"one\n")
    before = psutil.Process().open_files()
    tail = Tail(path)
    tail.read_new()
    assert len(psutil.Process().open_files()) == len(before) + 1
    tail.close()
    tail.close()
    assert psutil.Process().open_files() == before


# Following


async def collected(tail: Tail, count: int) -> list[bytes]:
    lines: list[bytes] = []
    async with asyncio.timeout(SECONDS), aclosing(tail.follow(0.01)) as batches:
        async for batch in batches:
            lines += batch
            if len(lines) >= count:
                break
    return lines


async def test_follower_sees_what_another_process_writes(path):
    """Lines of any length, in pieces of any length, up to more than a batch."""
    script = f"""
import os, random
chance = random.Random(1)
lines = [b"%d " % n + b"x" * chance.choice([0, 10, 1000, 100_000]) for n in range(300)]
lines.append(b"x" * (3 << 20))
data = b"".join(line + b"\\n" for line in lines)
log = os.open({str(path)!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
while data:
    size = chance.choice([1, 100, 5000, 300_000])
    os.write(log, data[:size])
    data = data[size:]
"""
    writer = await asyncio.create_subprocess_exec(sys.executable, "-c", script)
    with Tail(path) as tail:
        lines = await collected(tail, 301)
    async with asyncio.timeout(SECONDS):
        assert await writer.wait() == 0
    assert b"".join(line + b"\n" for line in lines) == path.read_bytes()


async def test_batches_are_bounded(path):
    append(path, b"".join(b"%06d" % number + b"x" * 1000 + b"\n" for number in range(5000)))
    sizes: list[int] = []
    with Tail(path) as tail:
        async with asyncio.timeout(SECONDS), aclosing(tail.follow()) as batches:
            async for batch in batches:
                sizes.append(sum(len(line) + 1 for line in batch))
                if tail.offset == path.stat().st_size:
                    break
    assert sum(sizes) == path.stat().st_size
    assert len(sizes) > 1
    assert max(sizes) <= tail_module.BATCH_BYTES


async def test_line_longer_than_a_batch_comes_whole(path):
    append(path, b"a\n" + b"x" * (3 << 20) + b"\nb\n")
    with Tail(path) as tail:
        assert await collected(tail, 3) == [b"a", b"x" * (3 << 20), b"b"]


async def test_cancelled_follower_loses_no_line(path, monkeypatch):
    append(path, b"one\n")
    entered, go_on = threading.Event(), threading.Event()
    look = Tail._look

    def slow_look(tail, place):
        result = look(tail, place)
        entered.set()
        assert go_on.wait(SECONDS)
        return result

    with Tail(path) as tail:
        monkeypatch.setattr(Tail, "_look", slow_look)
        following = asyncio.create_task(collected(tail, 1))
        assert await asyncio.to_thread(entered.wait, SECONDS)
        following.cancel()
        with pytest.raises(asyncio.CancelledError):
            await following
        go_on.set()
        monkeypatch.undo()
        append(path, b"two\n")
        assert await collected(tail, 2) == [b"one", b"two"]


async def test_follower_that_stops_and_comes_back_goes_on(path):
    append(path, b"one\n")
    with Tail(path) as tail:
        assert await collected(tail, 1) == [b"one"]
        append(path, b"two\n")
        assert await collected(tail, 1) == [b"two"]


async def test_follower_is_told_of_a_replaced_file(path):
    append(path, b"one\ntwo\n")
    with Tail(path) as tail:
        assert await collected(tail, 2) == [b"one", b"two"]
        os.truncate(path, 4)
        with pytest.raises(FileReplaced):
            await collected(tail, 1)
