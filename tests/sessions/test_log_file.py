"""What others can do to a log that is being written, and what was in it before."""

import os
import shutil

import pytest

from agentls.errors import LogConflict, LogNotWritten
from tests.support.log_faults import HEADER, Log, SmallDisk, event, line, whole_lines


@pytest.fixture
def log(tmp_path):
    made = Log(tmp_path / "log", header=HEADER)
    yield made
    made.writer.close()


async def test_a_log_deleted_underneath_is_written_again_whole(log):
    await log.put(line(1), line(2))
    log.path.unlink()
    await log.put(line(3))
    assert log.path.read_bytes() == HEADER + line(1) + line(2) + line(3)
    assert [text.split(" was ")[1][:7] for text in log.told] == ["deleted"]
    await log.put(line(4))
    assert log.path.read_bytes().endswith(line(3) + line(4))
    assert len(log.told) == 1


async def test_a_log_deleted_with_its_folder_is_written_again_whole(tmp_path):
    folder = tmp_path / "a" / "b"
    log = Log(
        folder / "log", header=HEADER, prepare=lambda: folder.mkdir(parents=True, exist_ok=True)
    )
    await log.put(line(1))
    shutil.rmtree(tmp_path / "a")
    await log.put(line(2))
    assert log.path.read_bytes() == HEADER + line(1) + line(2)
    log.writer.close()


async def test_a_log_replaced_by_an_older_copy_of_it_gets_what_that_lacks(log):
    await log.put(line(1))
    copy = log.path.with_name("copy")
    shutil.copy(log.path, copy)
    await log.put(line(2), line(3))
    copy.replace(log.path)
    await log.put(line(4))
    assert log.path.read_bytes() == HEADER + b"".join(map(line, (1, 2, 3, 4)))
    assert "replaced by another file" in log.told[0]


async def test_a_log_replaced_by_rubbish_keeps_it_and_goes_on_on_a_fresh_line(log):
    await log.put(line(1))
    other = log.path.with_name("other")
    other.write_bytes(b"no newline at its end")
    other.replace(log.path)
    await log.put(line(2))
    assert log.path.read_bytes().startswith(b"no newline at its end\n")
    assert whole_lines(log.path)[-2:] == [line(1), line(2)]


async def test_a_log_replaced_by_one_with_later_events_is_not_written(log):
    await log.put(event(1), event(2))
    other = log.path.with_name("other")
    other.write_bytes(HEADER + event(1) + event(2) + event(3))
    other.replace(log.path)
    with pytest.raises(LogConflict, match="events up to number 3, and 2 was the last"):
        await log.put(event(3))
    assert log.path.read_bytes() == HEADER + event(1) + event(2) + event(3)


async def test_a_log_replaced_by_a_link_is_not_followed(log, tmp_path):
    await log.put(line(1))
    secret = tmp_path / "secret"
    secret.write_bytes(b"mine\n")
    log.path.unlink()
    log.path.symlink_to(secret)
    with pytest.raises(LogNotWritten, match="it is a link"):
        await log.put(line(2))
    log.path.unlink()
    await log.put(line(3))
    assert secret.read_bytes() == b"mine\n"
    assert log.path.read_bytes() == HEADER + line(1) + line(2) + line(3)


async def test_a_log_moved_away_is_written_where_it_lies_now(log):
    await log.put(line(1))
    moved = log.path.with_name("moved")
    log.path.rename(moved)
    await log.put(line(2))
    await log.put(line(3))
    assert moved.read_bytes() == HEADER + line(1) + line(2) + line(3)
    assert not log.path.exists()
    assert [str(moved) in text for text in log.told] == [True]


async def test_a_log_emptied_underneath_begins_again_with_a_header_and_says_what_is_gone(log):
    await log.put(line(1), line(2))
    size = log.path.stat().st_size
    os.truncate(log.path, 0)
    await log.put(line(3))
    assert log.path.read_bytes() == HEADER + line(3)
    assert f"its last {size} bytes are gone" in log.told[0]


async def test_a_log_cut_inside_of_a_line_goes_on_on_a_fresh_one(log):
    await log.put(line(1), line(2))
    os.truncate(log.path, log.path.stat().st_size - 4)
    await log.put(line(3))
    assert log.path.read_bytes() == HEADER + line(1) + line(2)[:-4] + b"\n" + line(3)
    assert "its last 4 bytes are gone" in log.told[0]


async def test_half_a_line_is_written_again_whole_where_the_file_changed_meanwhile(
    log, monkeypatch
):
    await log.put(line(1))
    with monkeypatch.context() as patch:
        SmallDisk(patch, room=8)
        with pytest.raises(LogNotWritten):
            await log.put(line(30), line(31))
    with log.path.open("ab") as file:
        file.write(b"\nsomebody's\n")
    await log.put(line(32))
    expected = line(1) + line(30)[:8] + b"\nsomebody's\n" + line(30) + line(31) + line(32)
    assert log.path.read_bytes() == HEADER + expected


async def test_a_log_deleted_with_half_a_line_in_it_is_written_again_without_that(log, monkeypatch):
    await log.put(line(1))
    with monkeypatch.context() as patch:
        SmallDisk(patch, room=8)
        with pytest.raises(LogNotWritten):
            await log.put(line(30))
    log.path.unlink()
    await log.put(line(31))
    assert log.path.read_bytes() == HEADER + line(1) + line(30) + line(31)


async def test_events_of_another_process_stop_this_one(log):
    await log.put(event(1))
    with log.path.open("ab") as file:
        file.write(event(2))
    for _ in range(2):
        with pytest.raises(LogConflict, match="another process has written"):
            await log.put(event(2))
    assert log.path.read_bytes() == HEADER + event(1) + event(2)
    assert log.writer.unsaved


async def test_lines_of_another_process_that_are_no_events_are_let_be(log):
    await log.put(event(1))
    with log.path.open("ab") as file:
        file.write(b'{"summary":{}}\n')
    await log.put(event(2))
    assert log.path.read_bytes() == HEADER + event(1) + b'{"summary":{}}\n' + event(2)
    assert log.told == []


@pytest.mark.parametrize(
    ("there", "after", "conflict"),
    [
        (HEADER + event(1) + event(2), 2, None),
        (HEADER + event(1) + event(2), 1, "events up to number 2, and 1 was"),
        (HEADER + event(1), None, "is there already"),
        (b"", None, None),
        (HEADER + event(1) + b'{"seq":2,"ev', 1, None),
    ],
)
async def test_what_a_log_holds_is_compared_with_what_was_read(tmp_path, there, after, conflict):
    path = tmp_path / "log"
    path.write_bytes(there)
    log = Log(path, header=HEADER, after=after)
    if conflict is None:
        await log.put(event(3))
        assert whole_lines(path)[-1] == event(3)
        assert path.read_bytes().startswith(there or HEADER)
    else:
        with pytest.raises(LogConflict, match=conflict):
            await log.put(event(3))
        assert path.read_bytes() == there
    log.writer.close()


async def test_the_number_of_the_last_event_is_found_behind_lines_of_any_length(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(HEADER + event(7) + b'{"summary":"%s"}\n' % (b"x" * 3_000_000))
    log = Log(path, header=HEADER, after=6)
    with pytest.raises(LogConflict, match="up to number 7"):
        await log.put(event(8))
    log.writer.close()


async def test_a_log_cut_between_reading_and_writing_is_told_of(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(HEADER + event(1) + event(2))
    log = Log(path, header=HEADER, after=2)
    os.truncate(path, len(HEADER + event(1)))
    await log.put(event(3))
    assert f"its last {len(event(2))} bytes are gone" in log.told[0]
    log.writer.close()


@pytest.mark.parametrize(
    ("there", "between"),
    [
        (b'{"log":"agentls","version":1,"sessionId":"s"}\n' + event(1), HEADER),
        (b'{"log":"agentls","version":1}\n' + event(1) + HEADER + event(2), b""),
        (HEADER + event(1), b""),
        (event(1), HEADER),
        (HEADER + event(1)[:-1], b"\n"),
        (b'{"log":"agentls","version":1}\n' + event(1) + b"{", b"\n" + HEADER),
        (
            b'{"log":"agentls","version":1}\n%s%s%s' % (event(1), HEADER, line(35) * 70_000),
            b"",
        ),
    ],
    ids=["older", "mended", "this version", "none", "torn", "older and torn", "far back"],
)
async def test_a_header_comes_before_the_first_line_in_an_older_log(tmp_path, there, between):
    path = tmp_path / "log"
    path.write_bytes(there)
    log = Log(path, header=HEADER, after=9)
    await log.put(event(10))
    await log.put(event(11))
    assert path.read_bytes() == there + between + event(10) + event(11)
    log.writer.close()


async def test_what_is_no_file_is_not_written_to(tmp_path):
    os.mkfifo(tmp_path / "log")
    log = Log(tmp_path / "log")
    with pytest.raises(LogNotWritten, match="not a file"):
        await log.put(line(1))
    (tmp_path / "log").unlink()
    await log.put(line(2))
    assert log.path.read_bytes() == line(1) + line(2)
    log.writer.close()
