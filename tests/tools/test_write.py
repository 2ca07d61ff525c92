from pathlib import Path

from agentls.tools.disk_files import DiskFiles
from agentls.tools.files import FileChangedMeanwhile, FileContent
from agentls.tools.read import Read
from agentls.tools.write import PREVIEWED, Write
from tests.support.workbench import Workbench, told

tool = Write()


async def read(bench: Workbench, name: str) -> None:
    assert not (await bench.run(Read(), file_path=name)).is_error


async def test_new_file_is_created_with_its_folders(bench: Workbench) -> None:
    result = await bench.run(tool, file_path="src/new/a.py", content="one\ntwo\n")
    path = bench.cwd / "src/new/a.py"
    assert path.read_bytes() == b"one\ntwo\n"
    assert told(result) == "Created src/new/a.py (2 lines)."
    assert result.summary == "Created src/new/a.py"
    (change,) = result.changes
    assert change.path == path.relative_to(bench.cwd).as_posix()
    assert change.kind == "created"
    assert change.before_sha256 is None
    assert change.after_sha256 == FileContent.of(b"one\ntwo\n").sha256
    assert (change.added_lines, change.removed_lines) == (2, 0)


async def test_existing_file_must_have_been_read(bench: Workbench) -> None:
    path = bench.write("a.txt", "theirs\n")
    result = await bench.run(tool, file_path="a.txt", content="mine\n")
    assert result.is_error
    assert told(result) == "a.txt exists and has not been read. Read it before writing it."
    assert path.read_bytes() == b"theirs\n"


async def test_file_that_was_read_is_replaced(bench: Workbench) -> None:
    path = bench.write("a.txt", "a\nb\nc\n")
    await read(bench, "a.txt")
    result = await bench.run(tool, file_path="a.txt", content="a\nB\nc\nd\n")
    assert path.read_bytes() == b"a\nB\nc\nd\n"
    assert told(result) == "Replaced a.txt (+2 -1 lines)."
    (change,) = result.changes
    assert change.kind == "modified"
    assert change.before_sha256 == FileContent.of(b"a\nb\nc\n").sha256
    assert (change.added_lines, change.removed_lines) == (2, 1)


async def test_file_just_written_counts_as_read(bench: Workbench) -> None:
    await bench.run(tool, file_path="a.txt", content="one\n")
    result = await bench.run(tool, file_path="a.txt", content="two\n")
    assert not result.is_error
    assert (bench.cwd / "a.txt").read_bytes() == b"two\n"


async def test_file_changed_since_it_was_read_is_not_overwritten(bench: Workbench) -> None:
    path = bench.write("a.txt", "one\n")
    await read(bench, "a.txt")
    path.write_bytes(b"theirs\n")
    result = await bench.run(tool, file_path="a.txt", content="mine\n")
    assert result.is_error
    assert "has changed since it was read; nothing was written" in told(result)
    assert path.read_bytes() == b"theirs\n"


async def test_crlf_stays_where_every_line_had_it(bench: Workbench) -> None:
    path = bench.write("a.txt", b"one\r\ntwo\r\n")
    await read(bench, "a.txt")
    result = await bench.run(tool, file_path="a.txt", content="one\n2\nthree")
    assert path.read_bytes() == b"one\r\n2\r\nthree"
    assert told(result) == "Replaced a.txt (+2 -1 lines). Its line ends stay CRLF."


async def test_mixed_line_ends_and_explicit_ones_are_written_as_given(bench: Workbench) -> None:
    for before, content in ((b"one\r\ntwo\n", "1\n2\n"), (b"one\r\n", "1\r\n2\n")):
        path = bench.write("a.txt", before)
        await read(bench, "a.txt")
        await bench.run(tool, file_path="a.txt", content=content)
        assert path.read_bytes() == content.encode()


async def test_byte_order_mark_stays(bench: Workbench) -> None:
    path = bench.write("a.txt", b"\xef\xbb\xbfone\n")
    await read(bench, "a.txt")
    result = await bench.run(tool, file_path="a.txt", content="two\n")
    assert path.read_bytes() == b"\xef\xbb\xbftwo\n"
    assert "Its byte order mark stays." in told(result)


async def test_mode_stays(bench: Workbench) -> None:
    path = bench.write("run.sh", "old\n")
    path.chmod(0o755)
    await read(bench, "run.sh")
    await bench.run(tool, file_path="run.sh", content="new\n")
    assert path.stat().st_mode & 0o777 == 0o755


async def test_same_content_is_not_written_again(bench: Workbench) -> None:
    path = bench.write("a.txt", "one\n")
    before = path.stat()
    await read(bench, "a.txt")
    result = await bench.run(tool, file_path="a.txt", content="one\n")
    assert told(result) == "a.txt holds exactly this already."
    assert result.changes == ()
    assert path.stat().st_mtime_ns == before.st_mtime_ns


async def test_empty_file_can_be_created(bench: Workbench) -> None:
    result = await bench.run(tool, file_path="empty", content="")
    assert told(result) == "Created empty (0 lines)."
    assert (bench.cwd / "empty").read_bytes() == b""


async def test_folder_is_not_written(bench: Workbench) -> None:
    (bench.cwd / "src").mkdir()
    result = await bench.run(tool, file_path="src", content="x")
    assert result.is_error
    assert "is a folder" in told(result)


async def test_path_below_a_file_is_an_error(bench: Workbench) -> None:
    bench.write("a.txt", "one\n")
    result = await bench.run(tool, file_path="a.txt/b.txt", content="x")
    assert result.is_error
    assert "Not a directory" in told(result)


async def test_impossible_path_is_an_error(bench: Workbench) -> None:
    assert (await bench.run(tool, file_path="a\0b", content="x")).is_error
    assert (await bench.run(tool, file_path="x" * 300, content="x")).is_error


class Refusing(DiskFiles):
    """Files whose disk says no."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def write(self, path: Path, data: bytes, *, expected_sha256: str | None) -> FileContent:
        raise self._error


async def test_what_the_disk_says_reaches_the_model(bench: Workbench) -> None:
    for error, text in (
        (FileChangedMeanwhile("x"), "a.txt was changed by something else at the same moment"),
        (PermissionError(13, "no"), "a.txt may not be written by this user: permission denied."),
        (OSError(28, "No space left on device"), "a.txt cannot be written: No space left"),
    ):
        other = Workbench(bench.cwd, Refusing(error))
        result = await other.run(tool, file_path="a.txt", content="x")
        assert result.is_error
        assert told(result).startswith(text)
        assert result.changes == ()


async def preview(bench: Workbench, name: str, content: str) -> str:
    return await tool.preview(tool.input_type(file_path=name, content=content), bench.context())


async def test_preview_is_a_diff_that_keeps_the_style(bench: Workbench) -> None:
    bench.write("a.txt", b"one\r\ntwo\r\n")
    assert await preview(bench, "a.txt", "one\n2\n") == (
        "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\r\n-two\r\n+2\r\n"
    )


async def test_preview_of_a_new_file_adds_all_lines(bench: Workbench) -> None:
    assert await preview(bench, "new.txt", "one\n") == (
        "--- new.txt\n+++ new.txt\n@@ -0,0 +1,1 @@\n+one\n"
    )


async def test_preview_does_not_grow_without_bounds(bench: Workbench) -> None:
    assert len(await preview(bench, "new.txt", "x\n" * 100_000)) < 21_000
    bench.write("big.txt", b"x" * (PREVIEWED + 1))
    assert "too large or not readable" in await preview(bench, "big.txt", "new")
    assert "+new" in await preview(bench, "a\0b", "new")


def test_writing_is_announced_and_judged_by_its_path() -> None:
    arguments = tool.input_type(file_path="src/a.py", content="")
    assert tool.invocation(arguments) == "Writing src/a.py"
    assert tool.written_paths(arguments) == ("src/a.py",)
    assert tool.read_paths(arguments) == ()
    assert not tool.read_only
