import os

from agentls.tools.edit import SNIPPET_LINES, Edit
from agentls.tools.files import FileContent
from agentls.tools.read import Read
from agentls.tools.tool import ToolResult
from agentls.tools.write import Write
from tests.support.workbench import Workbench, told

tool = Edit()


async def edit(bench: Workbench, name: str, old: str, new: str, **rest: bool) -> ToolResult:
    return await bench.run(tool, file_path=name, old_string=old, new_string=new, **rest)


async def prepared(bench: Workbench, data: bytes | str, name: str = "a.txt") -> None:
    bench.write(name, data)
    await bench.run(Read(), file_path=name)


async def test_edit_changes_the_text_and_shows_where(bench: Workbench) -> None:
    await prepared(bench, "".join(f"line {n}\n" for n in range(1, 21)))
    result = await edit(bench, "a.txt", "line 10\n", "ten\nand a half\n")
    assert told(result) == (
        "Edited a.txt in 1 place (+2 -1 lines).\n"
        "     6\tline 6\n     7\tline 7\n     8\tline 8\n     9\tline 9\n"
        "    10\tten\n    11\tand a half\n"
        "    12\tline 11\n    13\tline 12\n    14\tline 13\n    15\tline 14"
    )
    assert (bench.cwd / "a.txt").read_bytes().startswith(b"line 1\n")
    assert result.summary == "Edited a.txt (+2 -1 lines)"


async def test_change_says_what_happened_to_the_file(bench: Workbench) -> None:
    await prepared(bench, "a\nb\nc")
    result = await edit(bench, "a.txt", "b\n", "")
    (change,) = result.changes
    assert change.path == "a.txt"
    assert change.kind == "modified"
    assert change.before_sha256 == FileContent.of(b"a\nb\nc").sha256
    assert change.after_sha256 == FileContent.of(b"a\nc").sha256
    assert (change.added_lines, change.removed_lines) == (0, 1)


async def test_file_must_have_been_read(bench: Workbench) -> None:
    path = bench.write("a.txt", "one\n")
    result = await edit(bench, "a.txt", "one", "two")
    assert result.is_error
    assert told(result) == "a.txt has not been read. Read it before editing it."
    assert path.read_bytes() == b"one\n"


async def test_one_edit_after_another_needs_no_new_read(bench: Workbench) -> None:
    await prepared(bench, "one two\n")
    await edit(bench, "a.txt", "one", "1")
    result = await edit(bench, "a.txt", "two", "2")
    assert not result.is_error
    assert (bench.cwd / "a.txt").read_bytes() == b"1 2\n"


async def test_text_that_is_not_there_is_an_error_with_the_nearest_lines(
    bench: Workbench,
) -> None:
    await prepared(bench, "import os\n\ndef compute_total(items):\n    return sum(items)\n")
    result = await edit(bench, "a.txt", "def compute_totals(item):\n    return 0\n", "x")
    assert result.is_error
    assert told(result) == (
        "old_string was not found in a.txt; nothing was edited. These lines come nearest:\n"
        "     3\tdef compute_total(items):"
    )
    assert result.summary == "old_string was not found in a.txt"


async def test_text_that_differs_in_space_alone_is_located(bench: Workbench) -> None:
    await prepared(bench, "if x:\n\tfirst()\n\tsecond()\n")
    result = await edit(bench, "a.txt", "    first()\n    second()\n", "x")
    assert told(result) == (
        "old_string was not found in a.txt; nothing was edited. "
        "Lines 2 to 3 differ from it in white space alone:\n"
        "     2\t\tfirst()\n     3\t\tsecond()"
    )


async def test_line_numbers_copied_from_read_are_recognised(bench: Workbench) -> None:
    await prepared(bench, "one\ntwo\n")
    result = await edit(bench, "a.txt", "     1\tone\n     2\ttwo", "x")
    assert "It begins with line numbers, which Read adds" in told(result)


async def test_carriage_returns_given_for_a_plain_file_are_recognised(bench: Workbench) -> None:
    await prepared(bench, "one\ntwo\n")
    result = await edit(bench, "a.txt", "one\r\ntwo", "x")
    assert told(result).endswith("It matches when line ends are given as \\n.")


async def test_text_that_resembles_nothing_says_so(bench: Workbench) -> None:
    await prepared(bench, "one\ntwo\n")
    result = await edit(bench, "a.txt", "completely different words", "x")
    assert told(result).endswith("No line resembles it; read the file again.")


async def test_text_that_occurs_twice_is_an_error_with_the_lines(bench: Workbench) -> None:
    await prepared(bench, "x = 1\ny = 2\nx = 1\n")
    result = await edit(bench, "a.txt", "x = 1", "x = 3")
    assert result.is_error
    assert told(result) == (
        "old_string occurs 2 times in a.txt; nothing was edited. Give more of the surrounding "
        "text, or set replace_all. It is on these lines:\n     1\tx = 1\n     3\tx = 1"
    )
    assert (bench.cwd / "a.txt").read_bytes() == b"x = 1\ny = 2\nx = 1\n"


async def test_many_places_are_counted_and_a_few_shown(bench: Workbench) -> None:
    await prepared(bench, "x\n" * 2_000)
    text = told(await edit(bench, "a.txt", "x", "y"))
    assert "old_string occurs at least 1,000 times" in text
    assert text.endswith("[... 990 more lines]")


async def test_matches_that_overlap_are_not_unique(bench: Workbench) -> None:
    await prepared(bench, "aaa\n")
    assert (await edit(bench, "a.txt", "aa", "b")).is_error


async def test_replace_all_replaces_every_place(bench: Workbench) -> None:
    await prepared(bench, "x = 1\ny = 2\nx = 1\n")
    result = await edit(bench, "a.txt", "x = 1", "x = 3", replace_all=True)
    assert (bench.cwd / "a.txt").read_bytes() == b"x = 3\ny = 2\nx = 3\n"
    assert told(result) == (
        "Edited a.txt in 2 places (+2 -2 lines). The first of them:\n"
        "     1\tx = 3\n     2\ty = 2\n     3\tx = 3"
    )


async def test_same_text_and_no_text_are_refused(bench: Workbench) -> None:
    await prepared(bench, "one\n")
    same = await edit(bench, "a.txt", "one", "one")
    empty = await edit(bench, "a.txt", "", "one")
    assert told(same) == "old_string and new_string are the same: nothing to do."
    assert told(empty).startswith("old_string is empty. Use Write")
    assert same.is_error
    assert empty.is_error


async def test_changed_file_is_edited_where_the_match_is_still_unique(bench: Workbench) -> None:
    await prepared(bench, "one\ntwo\n")
    path = bench.write("a.txt", "one\n2\nand more\n")
    result = await edit(bench, "a.txt", "one", "1")
    assert not result.is_error
    assert path.read_bytes() == b"1\n2\nand more\n"
    assert "The file had changed since it was read, but old_string still matched" in told(result)


async def test_after_an_edit_of_a_changed_file_write_still_refuses(bench: Workbench) -> None:
    await prepared(bench, "one\ntwo\n")
    path = bench.write("a.txt", "one\n2\n")
    await edit(bench, "a.txt", "one", "1")
    result = await bench.run(Write(), file_path="a.txt", content="mine\n")
    assert result.is_error
    assert path.read_bytes() == b"1\n2\n"


async def test_changed_file_is_not_edited_in_several_places(bench: Workbench) -> None:
    await prepared(bench, "x\nx\n")
    path = bench.write("a.txt", "x\nx\nx\n")
    result = await edit(bench, "a.txt", "x", "y", replace_all=True)
    assert result.is_error
    assert "occurs 3 times in it; nothing was edited. Read it again." in told(result)
    assert path.read_bytes() == b"x\nx\nx\n"


async def test_crlf_matches_and_is_kept(bench: Workbench) -> None:
    await prepared(bench, b"one\r\ntwo\r\nthree\r\n")
    result = await edit(bench, "a.txt", "one\ntwo\n", "1\n1.5\ntwo\n")
    assert (bench.cwd / "a.txt").read_bytes() == b"1\r\n1.5\r\ntwo\r\nthree\r\n"
    assert "Its line ends are CRLF, and the new text has been given the same." in told(result)
    assert "\r" not in told(result)


async def test_byte_order_mark_and_missing_final_newline_are_kept(bench: Workbench) -> None:
    await prepared(bench, b"\xef\xbb\xbfone\ntwo")
    await edit(bench, "a.txt", "one\ntwo", "1\n2")
    assert (bench.cwd / "a.txt").read_bytes() == b"\xef\xbb\xbf1\n2"


async def test_bytes_that_are_not_utf8_are_kept(bench: Workbench) -> None:
    await prepared(bench, b"caf\xe9 = 1\n\xff\xfe = 2\n")
    result = await edit(bench, "a.txt", "= 1", "= 3")
    assert (bench.cwd / "a.txt").read_bytes() == b"caf\xe9 = 3\n\xff\xfe = 2\n"
    assert "caf\ufffd = 3" in told(result)


async def test_mode_and_link_are_kept(bench: Workbench) -> None:
    path = bench.write("bin/run.sh", "old\n")
    path.chmod(0o755)
    (bench.cwd / "link").symlink_to("bin/run.sh")
    await bench.run(Read(), file_path="link")
    await edit(bench, "link", "old", "new")
    assert (bench.cwd / "link").is_symlink()
    assert path.read_bytes() == b"new\n"
    assert path.stat().st_mode & 0o777 == 0o755


async def test_file_with_two_names_is_edited_under_both(bench: Workbench) -> None:
    await prepared(bench, "old\n")
    os.link(bench.cwd / "a.txt", bench.cwd / "b.txt")
    await edit(bench, "a.txt", "old", "new")
    assert (bench.cwd / "b.txt").read_bytes() == b"new\n"


async def test_missing_file_and_folder_are_errors(bench: Workbench) -> None:
    assert "does not exist" in told(await edit(bench, "none.txt", "a", "b"))
    (bench.cwd / "src").mkdir()
    assert "is a folder" in told(await edit(bench, "src", "a", "b"))
    assert (await edit(bench, "a\0b", "a", "b")).is_error


async def test_binary_file_is_said_to_be_binary(bench: Workbench) -> None:
    path = bench.write("a.bin", b"\0\1\2")
    bench.variables[f"Read:{path.name}"] = FileContent.of(b"\0\1\2").sha256
    assert "is a binary file" in told(await edit(bench, "a.bin", "text", "b"))


async def test_snippet_of_a_long_edit_is_cut_in_the_middle(bench: Workbench) -> None:
    await prepared(bench, "start\nend\n")
    result = await edit(bench, "a.txt", "start\n", "new\n" * 500)
    lines = told(result).split("\n")
    assert len(lines) == SNIPPET_LINES + 2
    assert lines[SNIPPET_LINES // 2 + 1] == "[... 461 lines]"
    assert lines[-1] == "   501\tend"


async def test_emptying_a_file_is_shown_without_a_crash(bench: Workbench) -> None:
    await prepared(bench, "all of it")
    result = await edit(bench, "a.txt", "all of it", "")
    assert not result.is_error
    assert (bench.cwd / "a.txt").read_bytes() == b""


async def preview(bench: Workbench, name: str, old: str, new: str, **rest: bool) -> str:
    arguments = tool.input_type(file_path=name, old_string=old, new_string=new, **rest)
    return await tool.preview(arguments, bench.context())


async def test_preview_is_a_diff_of_the_file(bench: Workbench) -> None:
    bench.write("a.txt", "one\ntwo\nthree\n")
    assert await preview(bench, "a.txt", "two", "2") == (
        "--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    )


async def test_preview_of_an_edit_that_cannot_work_says_so(bench: Workbench) -> None:
    bench.write("a.txt", "one\none\n")
    assert "will fail: old_string matches nowhere" in await preview(bench, "a.txt", "two", "2")
    assert "will fail: old_string matches in 2 places" in await preview(bench, "a.txt", "one", "1")
    assert await preview(bench, "none.txt", "one", "1") == (
        "--- none.txt\n+++ none.txt\n@@ -1,1 +1,1 @@\n-one\n\\ No newline at end of file\n"
        "+1\n\\ No newline at end of file\n"
    )


async def test_preview_is_cut(bench: Workbench) -> None:
    bench.write("a.txt", "one\n")
    assert len(await preview(bench, "a.txt", "one", "two\n" * 100_000)) < 21_000


def test_editing_is_announced_and_judged_by_its_path() -> None:
    arguments = tool.input_type(file_path="src/a.py", old_string="a", new_string="b")
    assert tool.invocation(arguments) == "Editing src/a.py"
    assert tool.written_paths(arguments) == ("src/a.py",)
    assert not tool.read_only
