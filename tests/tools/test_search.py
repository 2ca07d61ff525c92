import asyncio
import os
import shutil
from collections.abc import Callable

import psutil
import pytest

from agentls.tools import grep_engine, search
from agentls.tools.search import MOST_FILES, Glob, Grep
from agentls.tools.tool import ToolResult
from tests.support.workbench import Workbench, told

ENGINES = ["ours", *(["ripgrep"] if shutil.which("rg") else [])]
"""Both must say the same, so each test runs with ours and, where it is installed, with ripgrep."""


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "ours":
        monkeypatch.setattr(grep_engine.shutil, "which", lambda program: None)
    return request.param


async def grep(bench: Workbench, pattern: str, **rest: object) -> ToolResult:
    return await bench.run(Grep(), pattern=pattern, **rest)


async def lines(bench: Workbench, pattern: str, **rest: object) -> list[str]:
    return told(await grep(bench, pattern, output_mode="content", **rest)).split("\n")


def aged(bench: Workbench, name: str, data: bytes | str, age: int) -> None:
    path = bench.write(name, data)
    os.utime(path, (2_000_000_000 - age, 2_000_000_000 - age))


class TestGlob:
    async def test_newest_files_come_first(self, bench: Workbench) -> None:
        aged(bench, "src/old.py", "", 30)
        aged(bench, "src/new.py", "", 10)
        aged(bench, "middle.py", "", 20)
        aged(bench, "a.txt", "", 0)
        result = await bench.run(Glob(), pattern="**/*.py")
        assert told(result) == "src/new.py\nmiddle.py\nsrc/old.py"
        assert result.summary == "Found 3 files for **/*.py"

    async def test_no_more_than_100_come_and_the_rest_is_counted(self, bench: Workbench) -> None:
        for number in range(130):
            aged(bench, f"f{number}", "", number)
        found = told(await bench.run(Glob(), pattern="f*")).split("\n")
        assert found[:MOST_FILES] == [f"f{number}" for number in range(100)]
        assert found[MOST_FILES:] == ["[The latest changed 100 of 130 files.]"]

    async def test_path_narrows_the_search(self, bench: Workbench) -> None:
        bench.write("src/a.py", "")
        bench.write("lib/b.py", "")
        assert told(await bench.run(Glob(), pattern="*.py", path="lib")) == "lib/b.py"

    async def test_pattern_may_lead_out_of_the_folder(self, bench: Workbench) -> None:
        bench.write("../other/x/a.py", "")
        other = bench.cwd.parent / "other" / "x" / "a.py"
        for pattern in (f"{bench.cwd.parent}/other/**/*.py", "../other/*/a.py", str(other)):
            assert told(await bench.run(Glob(), pattern=pattern)) == str(other)
            (folder,) = Glob().read_paths(Glob.input_type(pattern=pattern))
            assert (bench.cwd / folder).resolve().is_relative_to(other.parents[1])

    async def test_ignored_files_come_only_where_nothing_else_matches(
        self, bench: Workbench
    ) -> None:
        bench.write(".gitignore", "dist/\n")
        bench.write("dist/a.js", "")
        bench.write("dist/b.css", "")
        bench.write("src/a.js", "")
        assert told(await bench.run(Glob(), pattern="*.js")) == "src/a.js"
        assert told(await bench.run(Glob(), pattern="*.css")) == (
            "dist/b.css\n[All of these are left out by .gitignore.]"
        )

    async def test_nothing_found_is_no_error(self, bench: Workbench) -> None:
        result = await bench.run(Glob(), pattern="*.py")
        assert told(result) == "No files match *.py."
        assert not result.is_error

    async def test_missing_folder_is_an_error(self, bench: Workbench) -> None:
        (bench.cwd / "source").mkdir()
        result = await bench.run(Glob(), pattern="*", path="sources")
        assert result.is_error
        assert told(result) == "sources does not exist. Is it one of these? source"
        assert (await bench.run(Glob(), pattern="*", path="a\0b")).is_error

    async def test_search_that_takes_too_long_is_partial(
        self, bench: Workbench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bench.write("a.py", "")
        monkeypatch.setattr(search, "TIME_LIMIT", -1)
        assert "PARTIAL: stopped after" in told(await bench.run(Glob(), pattern="*"))


@pytest.mark.usefixtures("engine")
class TestGrep:
    async def test_files_with_matches_come_newest_first(self, bench: Workbench) -> None:
        aged(bench, "old.py", "needle\n", 30)
        aged(bench, "src/new.py", "a needle\nneedle\n", 10)
        aged(bench, "none.py", "hay\n", 0)
        result = await grep(bench, "needle")
        assert told(result) == "src/new.py\nold.py"
        assert result.summary == "Found 'needle' in 2 files"

    async def test_content_shows_path_number_and_line(self, bench: Workbench) -> None:
        bench.write("b.py", "one\ntwo needle\n")
        bench.write("a.py", "needle 1\nx\nneedle 2")
        assert await lines(bench, "needle") == [
            "a.py:1:needle 1",
            "a.py:3:needle 2",
            "b.py:2:two needle",
        ]
        assert await lines(bench, "needle", **{"-n": False}) == [
            "a.py:needle 1",
            "a.py:needle 2",
            "b.py:two needle",
        ]

    async def test_count_counts_matching_lines(self, bench: Workbench) -> None:
        bench.write("a.py", "x x\nx\ny\n")
        bench.write("b.py", "x")
        assert told(await grep(bench, "x", output_mode="count")) == "a.py:2\nb.py:1"

    async def test_context_is_shown_with_gaps_marked(self, bench: Workbench) -> None:
        bench.write("a.py", "1\n2\nhit\n4\n5\n6\n7\nhit\nhit\n10\n")
        assert await lines(bench, "hit", **{"-B": 1, "-A": 1}) == [
            "a.py-2-2",
            "a.py:3:hit",
            "a.py-4-4",
            "--",
            "a.py-7-7",
            "a.py:8:hit",
            "a.py:9:hit",
            "a.py-10-10",
        ]
        around = await lines(bench, "hit", **{"-C": 2})
        texts = ["1", "2", "hit", "4", "5", "6", "7", "hit", "hit", "10"]
        assert around == [
            f"a.py{':' if text == 'hit' else '-'}{number}{':' if text == 'hit' else '-'}{text}"
            for number, text in enumerate(texts, 1)
        ]

    async def test_context_without_matches_does_not_come(self, bench: Workbench) -> None:
        bench.write("a.py", "1\nhit\n3\n")
        assert await lines(bench, "hit", **{"-A": 1}) == ["a.py:2:hit", "a.py-3-3"]
        assert told(await grep(bench, "hit", **{"-A": 1})) == "a.py"

    async def test_case_counts_unless_told_otherwise(self, bench: Workbench) -> None:
        bench.write("a.py", "Needle\n")
        assert told(await grep(bench, "needle")) == "No matches for 'needle'."
        assert told(await grep(bench, "needle", **{"-i": True})) == "a.py"

    async def test_globs_and_types_choose_files(self, bench: Workbench) -> None:
        for name in ("a.py", "src/b.py", "src/deep/c.ts", "d.tsx", "e.md", "src/f.pyi"):
            bench.write(name, "x\n")

        async def found(**rest: object) -> set[str]:
            return set(told(await grep(bench, "x", **rest)).split("\n"))

        assert await found(glob="*.py") == {"a.py", "src/b.py"}
        assert await found(glob="src/*.py") == {"src/b.py"}
        assert await found(glob="src/**") == {"src/b.py", "src/deep/c.ts", "src/f.pyi"}
        assert await found(glob="**/*.{ts,tsx}") == {"src/deep/c.ts", "d.tsx"}
        assert await found(glob="!*.py") == {"src/deep/c.ts", "d.tsx", "e.md", "src/f.pyi"}
        assert await found(type="py") == {"a.py", "src/b.py", "src/f.pyi"}
        assert await found(type="py", glob="src/*") == {"src/b.py", "src/f.pyi"}

    async def test_unknown_type_names_those_there_are(self, bench: Workbench) -> None:
        result = await grep(bench, "x", type="cobol")
        assert result.is_error
        assert told(result).startswith("'cobol' is no type known here. Use glob, or one of: c, ")

    async def test_ignored_hidden_and_binary_files(self, bench: Workbench) -> None:
        bench.write(".gitignore", "dist/\n*.log\n")
        bench.write("dist/a.js", "needle\n")
        bench.write("a.log", "needle\n")
        bench.write(".git/config", "needle\n")
        bench.write(".hidden/a", "needle\n")
        bench.write("early.bin", b"\0needle\n")
        bench.write("late.bin", b"needle\n" * 50_000 + b"\0")
        bench.write("a.txt", "needle\n")
        found = set(told(await grep(bench, "needle")).split("\n"))
        assert found - {"late.bin"} == {".hidden/a", "a.txt"}
        assert await lines(bench, "needle", glob="*.log") == ["No matches for 'needle'."]
        assert told(await grep(bench, "needle", path="dist")) == "dist/a.js"
        assert await lines(bench, "needle", glob="*.txt") == ["a.txt:1:needle"]

    async def test_binary_file_is_not_shown_though_it_begins_as_text(
        self, bench: Workbench
    ) -> None:
        bench.write("late.bin", b"needle\n" * 500 + b"x" * 200_000 + b"\0")
        assert await lines(bench, "needle") == ["No matches for 'needle'."]

    async def test_links_are_not_followed(self, bench: Workbench) -> None:
        bench.write("real/a", "needle\n")
        (bench.cwd / "loop").symlink_to(".")
        (bench.cwd / "link").symlink_to("real/a")
        assert told(await grep(bench, "needle")) == "real/a"

    async def test_one_file_can_be_searched_whatever_the_rules(self, bench: Workbench) -> None:
        bench.write(".gitignore", "*.log\n")
        bench.write("a.log", "x\nneedle\n")
        assert await lines(bench, "needle", path="a.log", glob="*.py") == ["a.log:2:needle"]

    async def test_line_ends_of_all_kinds(self, bench: Workbench) -> None:
        bench.write("crlf", b"one\r\ntwo\r\n")
        bench.write("odd", "one\u2028two\x0b\n")
        assert await lines(bench, "(one|two)$") == ["crlf:1:one", "crlf:2:two"]
        assert await lines(bench, "^two") == ["crlf:2:two"]

    async def test_text_in_other_encodings(self, bench: Workbench) -> None:
        bench.write("latin", b"caf\xe9 needle\n")
        bench.write("utf16", "needle \u00e9\n".encode("utf-16"))
        bench.write("marked", b"\xef\xbb\xbfneedle\n")
        assert await lines(bench, "needle") == [
            "latin:1:caf\ufffd needle",
            "marked:1:needle",
            "utf16:1:needle \u00e9",
        ]
        assert await lines(bench, "^needle$") == ["marked:1:needle"]

    async def test_file_whose_name_is_not_unicode(self, bench: Workbench) -> None:
        bench.write(os.fsdecode(b"caf\xe9.txt"), "needle\n")
        assert await lines(bench, "needle") == ["caf\ufffd.txt:1:needle"]

    async def test_pattern_that_is_none_is_a_clear_error(self, bench: Workbench) -> None:
        result = await grep(bench, "a(b")
        assert result.is_error
        assert told(result).startswith("'a(b' is not a pattern that can be searched for: ")
        assert result.summary == "'a(b' is not a valid pattern"
        for spanning in ("a\nb", "a\\nb"):
            assert (await grep(bench, spanning)).is_error
        assert not (await grep(bench, r"a\\nb")).is_error

    async def test_pattern_may_begin_with_a_dash(self, bench: Workbench) -> None:
        bench.write("a", "--needle\n")
        assert await lines(bench, "--needle") == ["a:1:--needle"]

    async def test_head_limit_cuts_and_says_so(self, bench: Workbench) -> None:
        bench.write("a.py", "x\n" * 10)
        assert await lines(bench, "x", head_limit=2) == [
            "a.py:1:x",
            "a.py:2:x",
            "[The first 2 of 10 lines; narrow it down.]",
        ]

    async def test_result_is_bounded(self, bench: Workbench) -> None:
        bench.write("a.py", ("x" * 5_000 + "\n") * 300)
        text = told(await grep(bench, "x", output_mode="content", head_limit=300))
        assert len(text) < 31_000
        assert "x" * 500 + " [... " in text
        assert "x" * 501 not in text

    async def test_search_with_too_many_results_is_ended(
        self, bench: Workbench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(grep_engine, "MOST_LINES", 50)
        bench.write("a.py", "x\n" * 1_000)
        text = told(await grep(bench, "x", output_mode="content"))
        assert "[PARTIAL: the search was stopped at 50 results; narrow it down.]" in text

    async def test_missing_folder_is_an_error(self, bench: Workbench) -> None:
        bench.write("src/a", "")
        result = await grep(bench, "x", path="scr")
        assert result.is_error
        assert told(result) == "scr does not exist. Is it one of these? src"
        assert (await grep(bench, "x", path="a\0b")).is_error

    async def test_modules_of_the_project_are_not_run(self, bench: Workbench) -> None:
        for name in ("re.py", "json.py", "pathspec.py", "agentls/__init__.py"):
            bench.write(name, "raise SystemExit(7)  # needle\n")
        found = await grep(bench, "needle", path=str(bench.cwd))
        assert len(told(found).split("\n")) == 4

    async def test_very_long_line_does_not_fill_the_memory(
        self, bench: Workbench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(grep_engine, "LONGEST_MESSAGE", 100_000)
        bench.write("a.min.js", "needle" + "x" * 3_000_000 + "\nneedle\n")
        assert (await lines(bench, "needle"))[-1] == "a.min.js:2:needle"
        assert told(await grep(bench, "needle")) == "a.min.js"


async def test_pattern_that_takes_forever_is_stopped_and_blocks_nothing(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grep_engine.shutil, "which", lambda program: None)
    monkeypatch.setattr(grep_engine, "TIME_LIMIT", 1)
    bench.write("a.txt", "needle\n")
    bench.write("b.txt", "a" * 60 + "!\n")
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    result = await grep(bench, "needle|(a+)+$")
    ticking.cancel()
    assert told(result) == "a.txt\n[PARTIAL: the search was stopped after 1 s; narrow it down.]"
    assert ticks > 10
    assert searchers() == []


async def test_cancelled_search_leaves_no_process(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grep_engine.shutil, "which", lambda program: None)
    bench.write("b.txt", "a" * 60 + "!\n")
    searching = asyncio.create_task(grep(bench, "(a+)+$"))
    await until(searchers)
    searching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await searching
    assert searchers() == []


async def test_program_that_cannot_be_started_is_an_error(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grep_engine.shutil, "which", lambda program: "/nowhere/rg")
    result = await grep(bench, "x")
    assert result.is_error
    assert told(result).startswith("The search could not be started: ")


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


def searchers() -> list[psutil.Process]:
    found: list[psutil.Process] = []
    for process in psutil.Process().children():
        try:
            if "agentls.tools.grep_worker" in process.cmdline():
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_searching_is_announced_and_judged_by_its_path() -> None:
    arguments = Grep.input_type(pattern="x", path="src")
    assert Grep().invocation(arguments) == "Searching for 'x' in src"
    assert Grep().read_paths(arguments) == ("src",)
    assert Grep().read_paths(Grep.input_type(pattern="x")) == (".",)
    assert Glob().invocation(Glob.input_type(pattern="*.py")) == "Finding *.py"
    assert Glob().read_paths(Glob.input_type(pattern="*.py", path="src")) == ("src",)
    assert Grep().read_only
    assert Glob().read_only


def test_names_of_parameters_are_those_of_grep() -> None:
    names = set(Grep().input_schema()["properties"])
    assert {"-i", "-n", "-A", "-B", "-C", "glob", "type", "head_limit"} <= names
