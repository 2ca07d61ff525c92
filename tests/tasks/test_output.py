import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.tasks.output import BoundedOutput, CommandOutput
from agentls.tasks.output_file import OutputFile


def output_of(*chunks: bytes, most: int = 100) -> BoundedOutput:
    output = BoundedOutput(most)
    for chunk in chunks:
        output.append(chunk)
    return output


def test_short_output_is_whole() -> None:
    assert output_of(b"one\n", b"two").text() == "one\ntwo"
    assert output_of().text() == ""
    assert output_of(b"x" * 100).text() == "x" * 100


def test_long_output_keeps_both_ends_and_counts_the_rest() -> None:
    text = output_of(b"a" * 50, b"b" * 1_000, b"c" * 50).text()
    assert text == f"{'a' * 50}\n[... 1,000 bytes left out ...]\n{'c' * 50}"


@given(st.lists(st.binary(max_size=80), max_size=20))
def test_how_output_is_divided_makes_no_difference(chunks: list[bytes]) -> None:
    whole = b"".join(chunks)
    assert output_of(*chunks).text() == output_of(whole).text()
    assert output_of(*chunks).last_lines() == output_of(whole).last_lines()


@given(st.text(st.sampled_from("a\u00e9\u20ac\U0001f600"), min_size=101, max_size=300))
def test_characters_are_not_cut_in_two(text: str) -> None:
    shown = output_of(text.encode()).text()
    assert "\ufffd" not in shown
    head, mark, tail = shown.split("\n") if "\n" in shown else (shown, "", "")
    assert text.startswith(head)
    assert text.endswith(tail)
    if mark:
        left_out = len(text.encode()) - len(head.encode()) - len(tail.encode())
        assert mark == f"[... {left_out:,} bytes left out ...]"


@given(st.binary(max_size=400))
def test_any_bytes_become_text_that_can_be_sent(data: bytes) -> None:
    output = output_of(data)
    output.text().encode()
    output.last_lines().encode()


def test_last_lines_are_few_and_short() -> None:
    output = output_of(*(f"{n}\n".encode() for n in range(1_000)))
    assert output.last_lines() == "995\n996\n997\n998\n999"
    assert output_of(b"x" * 5_000, most=30_000).last_lines() == "x" * 1_000


def test_memory_is_bounded() -> None:
    output = BoundedOutput(1_000)
    for _ in range(1_000):
        output.append(b"x" * 10_000)
    assert len(output._head) + len(output._tail) <= 1_500


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "output"


def held(output: CommandOutput) -> bytes:
    assert output.file is not None
    return output.file.path.read_bytes()


def test_short_output_makes_no_file(folder: Path) -> None:
    output = CommandOutput(100, folder=folder, name="x")
    output.append(b"a" * 100)
    output.finish()
    assert output.file is None
    assert not output.is_cut
    assert not folder.exists()


def test_output_that_outgrows_memory_is_whole_in_its_file(folder: Path) -> None:
    output = CommandOutput(100, folder=folder, name="x")
    for n in range(50):
        output.append(f"{n:09}\n".encode())
    output.finish()
    assert output.is_cut
    assert output.size == 500
    assert held(output) == b"".join(f"{n:09}\n".encode() for n in range(50))
    assert output.file is not None
    assert output.file.path == folder / "x.output"


def test_output_of_what_becomes_a_task_goes_on_in_one_file_without_gap_or_repeat(
    folder: Path,
) -> None:
    output = CommandOutput(100)
    output.append(b"before\n")
    file = output.keep_whole(folder, "b1")
    assert not file.path.exists()
    output.spill()
    output.spill()
    assert held(output) == b"before\n"
    output.append(b"after\n")
    output.finish()
    assert held(output) == b"before\nafter\n"
    assert output.keep_whole(folder, "b2") is file


def test_output_that_is_on_disk_already_stays_in_its_file(folder: Path) -> None:
    output = CommandOutput(10, folder=folder, name="x")
    output.append(b"a" * 50)
    assert output.keep_whole(folder, "b1").path == folder / "x.output"
    output.append(b"b")
    output.finish()
    assert held(output) == b"a" * 50 + b"b"


def test_what_memory_has_lost_before_there_was_a_file_is_counted_in_it(folder: Path) -> None:
    output = CommandOutput(10)
    output.append(b"aaaaa" + b"x" * 20 + b"bbbbb")
    output.keep_whole(folder, "b1")
    output.append(b"c")
    output.finish()
    assert held(output) == b"aaaaa\n[... 20 bytes left out ...]\nbbbbbc"


def test_empty_output_of_a_task_is_an_empty_file(folder: Path) -> None:
    output = CommandOutput(10)
    output.keep_whole(folder, "b1")
    output.finish()
    assert held(output) == b""


def test_looking_does_not_wait_for_a_slow_disk(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = threading.Event()
    write = OutputFile.append

    def slow(self: OutputFile, data: bytes) -> None:
        assert goes_on.wait(30)
        write(self, data)

    monkeypatch.setattr(OutputFile, "append", slow)
    output = CommandOutput(1_000)
    output.keep_whole(folder, "b1")
    writer = threading.Thread(target=output.append, args=(b"x\n",))
    writer.start()
    assert output.text() == ""
    assert output.last_lines() == ""
    assert output.keep_whole(folder, "b2").path.name == "b1.output"
    goes_on.set()
    writer.join(30)
    assert output.text() == "x\n"


def test_output_that_is_spilled_while_it_grows_is_neither_doubled_nor_lost(folder: Path) -> None:
    output = CommandOutput(1_000_000)
    lines = [f"{n}\n".encode() for n in range(20_000)]

    def write() -> None:
        for line in lines:
            output.append(line)

    writer = threading.Thread(target=write)
    writer.start()
    output.keep_whole(folder, "b1")
    for _ in range(100):
        output.spill()
    writer.join(30)
    output.finish()
    assert held(output) == b"".join(lines)
