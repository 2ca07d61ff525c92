import asyncio
import os

import pytest

from agentls.headless.lines import ControlResponseLine, InitLine
from agentls.headless.output import Output, OutputClosed, json_line


def line(text: str) -> ControlResponseLine:
    return ControlResponseLine(response={"text": text})


async def test_lines_come_out_whole_and_in_order_through_a_full_pipe() -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    output = Output(write_end, "stream-json")
    output.start(lambda: None)
    lines = [line(f"{n}" * 40_000) for n in range(10)]
    for each in lines:
        output.write_line(each)
    expected = b"".join(map(json_line, lines))
    got = b""
    while len(got) < len(expected):
        got += await asyncio.to_thread(os.read, read_end, 1000 if len(got) < 5000 else 1 << 16)
    await output.written()
    assert await output.finish()
    os.close(read_end)
    os.close(write_end)
    assert got == expected


async def test_reader_that_leaves_is_noticed_without_a_line() -> None:
    read_end, write_end = os.pipe()
    output = Output(write_end, "stream-json")
    left = asyncio.Event()
    output.start(left.set)
    os.close(read_end)
    await asyncio.wait_for(left.wait(), 20)
    await output.written()
    output.write_line(line("into the void"))
    with pytest.raises(OutputClosed):
        await output.written()
    assert not await output.finish()
    os.close(write_end)


async def test_reader_that_leaves_after_the_last_line_has_missed_nothing() -> None:
    read_end, write_end = os.pipe()
    output = Output(write_end, "stream-json")
    left = asyncio.Event()
    output.start(left.set)
    output.write_line(line("all there is"))
    assert await asyncio.to_thread(os.read, read_end, 1000) == json_line(line("all there is"))
    os.close(read_end)
    await asyncio.wait_for(left.wait(), 20)
    assert await output.finish()
    os.close(write_end)


async def test_pipe_that_is_open_both_ways_is_not_taken_for_closed(tmp_path) -> None:
    os.mkfifo(tmp_path / "fifo")
    fd = os.open(tmp_path / "fifo", os.O_RDWR)
    output = Output(fd, "stream-json")
    output.start(lambda: None)
    output.write_line(line("a"))
    await output.written()
    await asyncio.sleep(0)
    assert not output.closed
    assert await output.finish()
    os.close(fd)


def test_line_that_utf8_cannot_carry_is_written_all_the_same() -> None:
    init = InitLine(
        session_id="s1", cwd="/caf\udce9", model=None, tools=(), permissionMode="default",
        agentls_version="1",
    )  # fmt: skip
    assert b'"/caf?"' in json_line(init)
    assert json_line(init).endswith(b"}\n")
