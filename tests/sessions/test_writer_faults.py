"""What a disk can do to a log that is being written."""

import asyncio
import errno
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentls.errors import LogNotWritten
from tests.support.log_faults import HEADER, Log, SmallDisk, line, whole_lines


@pytest.fixture
def log(tmp_path):
    made = Log(tmp_path / "log", header=HEADER)
    yield made
    made.writer.close()


async def test_a_full_disk_is_told_and_nothing_is_lost_or_written_twice(log, monkeypatch):
    lines = [line(number) for number in range(10)]
    for each in lines:
        log.writer.append(each)
    disk = SmallDisk(monkeypatch, room=len(HEADER) + 50)
    with pytest.raises(LogNotWritten, match="no room on the disk") as told:
        await log.writer.flush()
    waiting = len(b"".join(lines)) - 50
    assert log.writer.unsaved == waiting
    assert f"{log.path}: there is no room on the disk. {waiting} bytes wait" in str(told.value)
    assert "Make room" in str(told.value)
    with pytest.raises(LogNotWritten):
        await log.put(b"{}\n")
    disk.room = 10_000
    await log.put(b'{"after":1}\n')
    assert log.path.read_bytes() == HEADER + b"".join([*lines, b"{}\n", b'{"after":1}\n'])
    assert log.told == []


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EDQUOT, "quota"),
        (errno.EIO, "input/output error"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permission is denied"),
        (errno.ENODEV, "No such device"),
    ],
)
async def test_every_refusal_of_the_disk_is_explained_and_survived(log, monkeypatch, number, words):
    await log.put(line(1))

    def refuse(*arguments):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", refuse)
        with pytest.raises(LogNotWritten, match=words):
            await log.put(line(2))
    await log.put(line(3))
    assert log.path.read_bytes() == HEADER + line(1) + line(2) + line(3)


async def test_a_sync_that_fails_is_told_to_whom_it_matters_and_tried_again(log, monkeypatch):
    def refuse(descriptor):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", refuse)
        log.writer.append(line(1))
        with pytest.raises(LogNotWritten, match="input/output error"):
            await log.writer.flush(durable=True)
        await log.put(line(2))
        with pytest.raises(LogNotWritten, match="input/output error"):
            await log.writer.flush(durable=True)
    await log.writer.flush(durable=True)
    assert log.path.read_bytes() == HEADER + line(1) + line(2)


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 3)),
        st.tuples(st.just("flush"), st.booleans()),
        st.tuples(st.just("room"), st.integers(0, 120)),
        st.tuples(st.just("write now"), st.none()),
        st.tuples(st.just("delete"), st.none()),
        st.tuples(st.just("copy"), st.none()),
        st.tuples(st.just("restore the copy"), st.none()),
        st.tuples(st.just("foreign"), st.sampled_from([b"rubbish\n", b"torn", b"\n"])),
    ),
    max_size=25,
)


@settings(max_examples=150, deadline=None)
@given(OPERATIONS)
def test_no_order_of_appends_flushes_and_faults_loses_or_doubles_a_line(operations):
    async def run(folder, patch):
        log, disk, count = Log(folder / "log", header=HEADER), SmallDisk(patch), 0
        copy = folder / "copy"
        for name, value in operations:
            match name:
                case "append":
                    for _ in range(value):
                        count += 1
                        log.writer.append(line(count))
                case "flush":
                    try:
                        await log.writer.flush(durable=value)
                        assert log.writer.unsaved == 0
                    except LogNotWritten:
                        assert log.writer.unsaved
                case "room":
                    disk.room = value
                case "write now":
                    log.writer.write_now()
                case "delete":
                    log.path.unlink(missing_ok=True)
                case "copy" if log.path.exists():
                    shutil.copy(log.path, copy)
                case "restore the copy" if copy.exists():
                    copy.replace(log.path)
                case "foreign" if log.path.exists():
                    with log.path.open("ab") as file:
                        file.write(value)
                case _:
                    pass
        disk.room = 1 << 30
        count += 1
        log.writer.append(line(count))
        await log.writer.flush()
        log.writer.close()
        kept = [data for data in whole_lines(log.path) if data.startswith(b'{"n"')]
        assert kept == [line(number) for number in range(1, count + 1)]

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        asyncio.run(run(Path(folder), patch))
