import os

from hypothesis import given
from hypothesis import strategies as st

from agentls.tools import read
from agentls.tools.files import FileContent
from agentls.tools.read import LONGEST_LINE, MOST_BYTES, MOST_LINES, Read
from tests.support.workbench import Workbench, told

tool = Read()


async def test_lines_come_with_their_numbers(bench: Workbench) -> None:
    bench.write("a.txt", "one\n\ttwo\n")
    result = await bench.run(tool, file_path="a.txt")
    assert told(result) == "     1\tone\n     2\t\ttwo"
    assert result.summary == "Read 2 lines of a.txt"
    assert not result.is_error


async def test_what_was_read_is_recorded_by_absolute_path(bench: Workbench) -> None:
    path = bench.write("a.txt", "one\n")
    result = await bench.run(tool, file_path="a.txt")
    assert result.variables == {f"Read:{path.name}": FileContent.of(b"one\n").sha256}


async def test_absolute_path_is_read(bench: Workbench) -> None:
    path = bench.write("a.txt", "one\n")
    assert told(await bench.run(tool, file_path=str(path))) == "     1\tone"


async def test_long_file_is_a_partial_view_that_says_where_to_read_on(bench: Workbench) -> None:
    bench.write("a.txt", "".join(f"{n}\n" for n in range(1, 5_322)))
    result = await bench.run(tool, file_path="a.txt")
    lines = told(result).split("\n")
    assert lines[MOST_LINES - 1] == "  2000\t2000"
    assert lines[MOST_LINES:] == [
        "[PARTIAL view: lines 1 to 2,000 of 5,321. Read on with offset=2001.]"
    ]
    rest = told(await bench.run(tool, file_path="a.txt", offset=4_001)).split("\n")
    assert rest[0] == "  4001\t4001"
    assert rest[-2:] == [
        "  5321\t5321",
        "[PARTIAL view: lines 4,001 to 5,321, the end of the file.]",
    ]


async def test_offset_and_limit_choose_lines(bench: Workbench) -> None:
    bench.write("a.txt", "a\nb\nc\nd\n")
    result = await bench.run(tool, file_path="a.txt", offset=2, limit=2)
    assert told(result) == (
        "     2\tb\n     3\tc\n[PARTIAL view: lines 2 to 3 of 4. Read on with offset=4.]"
    )


async def test_more_lines_than_the_limit_do_not_come(bench: Workbench) -> None:
    bench.write("a.txt", "x\n" * 3_000)
    result = await bench.run(tool, file_path="a.txt", limit=3_000)
    assert "lines 1 to 2,000 of 3,000" in told(result)


async def test_offset_beyond_the_end_is_an_error_with_the_count(bench: Workbench) -> None:
    bench.write("a.txt", "a\nb")
    result = await bench.run(tool, file_path="a.txt", offset=3)
    assert result.is_error
    assert told(result) == "a.txt has 2 lines; there is no line 3 to start at."
    assert result.variables == {}


async def test_no_more_than_100_kb_come_at_once(bench: Workbench) -> None:
    bench.write("a.txt", ("\u00e9" * 999 + "\n") * 200)
    text = told(await bench.run(tool, file_path="a.txt"))
    assert len(text.encode()) < MOST_BYTES + 200
    assert "PARTIAL view: lines 1 to 51 of 200. Read on with offset=52." in text


async def test_long_line_is_cut_with_a_mark(bench: Workbench) -> None:
    bench.write("a.txt", "x" * (LONGEST_LINE + 12_345) + "\nnext\n")
    lines = told(await bench.run(tool, file_path="a.txt")).split("\n")
    assert lines == [
        f"     1\t{'x' * LONGEST_LINE} [... 12,345 characters cut]",
        "     2\tnext",
    ]


async def test_only_a_newline_ends_a_line(bench: Workbench) -> None:
    bench.write("a.txt", "one\u2028still\u2029one\u0085\x0b\x0c\x1c\r more\ntwo\n")
    result = await bench.run(tool, file_path="a.txt")
    assert result.summary == "Read 2 lines of a.txt"
    assert "\n     2\ttwo" in told(result)


async def test_crlf_is_not_shown_but_said(bench: Workbench) -> None:
    bench.write("a.txt", b"one\r\ntwo\r\n")
    assert told(await bench.run(tool, file_path="a.txt")) == (
        "     1\tone\n     2\ttwo\n"
        "[Lines end in CRLF; Edit and Write keep that, so give \\n alone.]"
    )


async def test_byte_order_mark_is_not_shown_but_said(bench: Workbench) -> None:
    bench.write("a.txt", b"\xef\xbb\xbfone\n")
    text = told(await bench.run(tool, file_path="a.txt"))
    assert text.startswith("     1\tone\n")
    assert "begins with a byte order mark" in text


async def test_bytes_that_are_not_utf8_are_replaced_and_said(bench: Workbench) -> None:
    bench.write("a.txt", b"caf\xe9 \xed\xa0\x80\n")
    text = told(await bench.run(tool, file_path="a.txt"))
    assert text.startswith("     1\tcaf\ufffd \ufffd")
    assert "Bytes that are not UTF-8 are shown as \ufffd." in text


async def test_empty_file_is_said_to_be_empty_and_counts_as_read(bench: Workbench) -> None:
    path = bench.write("a.txt", "")
    result = await bench.run(tool, file_path="a.txt")
    assert told(result) == "a.txt is empty (0 bytes)."
    assert not result.is_error
    assert f"Read:{path.name}" in result.variables


async def test_file_of_a_byte_order_mark_alone_is_empty(bench: Workbench) -> None:
    bench.write("a.txt", b"\xef\xbb\xbf")
    assert told(await bench.run(tool, file_path="a.txt")) == "a.txt is empty (3 bytes)."


async def test_binary_file_is_refused_with_its_size(bench: Workbench) -> None:
    bench.write("a.png", b"\x89PNG\0\0")
    result = await bench.run(tool, file_path="a.png")
    assert result.is_error
    assert told(result).startswith("a.png is a binary file of 6 bytes")


async def test_utf16_text_is_refused_with_a_way_out(bench: Workbench) -> None:
    bench.write("a.txt", "text".encode("utf-16"))
    result = await bench.run(tool, file_path="a.txt")
    assert result.is_error
    assert "UTF-16" in told(result)
    assert "iconv" in told(result)


async def test_folder_is_refused_with_a_way_out(bench: Workbench) -> None:
    bench.write("src/a.txt", "")
    result = await bench.run(tool, file_path="src")
    assert result.is_error
    assert told(result) == "src is a folder. Use LS or Glob to see what is in it."


async def test_missing_file_names_its_nearest_siblings(bench: Workbench) -> None:
    bench.write("src/config.py", "")
    bench.write("src/other.md", "")
    result = await bench.run(tool, file_path="src/Confg.py")
    assert result.is_error
    assert told(result) == "src/Confg.py does not exist. Is it one of these? src/config.py"


async def test_missing_folder_is_said_to_be_missing(bench: Workbench) -> None:
    result = await bench.run(tool, file_path="nowhere/a.py")
    assert told(result) == "nowhere/a.py does not exist. Nor does the folder nowhere."


async def test_sibling_whose_name_is_not_unicode_can_be_named(bench: Workbench) -> None:
    bench.write(os.fsdecode(b"caf\xe9.txt"), "")
    result = await bench.run(tool, file_path="cafe.txt")
    assert told(result) == "cafe.txt does not exist. Is it one of these? caf\ufffd.txt"


async def test_impossible_path_is_an_error_and_not_a_crash(bench: Workbench) -> None:
    for path in ("a\0b", "x" * 5_000, "a.txt/b"):
        bench.write("a.txt", "")
        assert (await bench.run(tool, file_path=path)).is_error


async def test_file_that_may_not_be_read_says_so(bench: Workbench) -> None:
    class Refusing:
        async def read(self, path: object) -> FileContent:
            raise PermissionError(13, "Permission denied")

    other = Workbench(bench.cwd, Refusing())  # type: ignore[arg-type]
    result = await other.run(tool, file_path="a.txt")
    assert told(result) == "a.txt may not be read by this user: permission denied."


async def test_large_file_is_paged_in_a_thread_with_the_same_result(bench: Workbench) -> None:
    bench.write("a.txt", "0123456789\n" * 200_000)
    result = await bench.run(tool, file_path="a.txt", offset=199_999)
    assert told(result).startswith("199999\t0123456789\n200000\t0123456789\n[PARTIAL")


@given(st.binary(max_size=200), st.integers(1, 5), st.integers(1, 5))
def test_pages_put_together_are_the_whole_file(data: bytes, first: int, limit: int) -> None:
    whole = read._page(data, 1, MOST_LINES)
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    expected = text.split("\n")
    if not expected[-1]:
        expected.pop()
    assert whole.lines == [line.removesuffix("\r") for line in expected]
    assert read._page(data, first, limit).lines == whole.lines[first - 1 : first - 1 + limit]
    assert whole.total == len(expected)


def test_reading_is_announced_and_judged_by_its_path() -> None:
    arguments = tool.input_type(file_path="src/a.py")
    assert tool.invocation(arguments) == "Reading src/a.py"
    assert tool.read_paths(arguments) == ("src/a.py",)
    assert tool.written_paths(arguments) == ()
    assert tool.read_only
