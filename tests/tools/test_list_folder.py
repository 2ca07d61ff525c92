import os

from agentls.tools.list_folder import ListFolder
from tests.support.workbench import Workbench, told

tool = ListFolder()


async def test_folders_come_first_and_end_in_a_slash(bench: Workbench) -> None:
    for name in ("b.txt", ".hidden", "src/deep/a.py", "a/x"):
        bench.write(name, "")
    (bench.cwd / "link").symlink_to("src")
    result = await bench.run(tool, path=".")
    assert told(result) == f"{bench.cwd}/\n  a/\n  link/\n  src/\n  .hidden\n  b.txt"
    assert result.summary == f"Listed 5 entries of {bench.cwd}"


async def test_globs_leave_names_out(bench: Workbench) -> None:
    for name in ("a.py", "a.pyc", "node_modules/x"):
        bench.write(name, "")
    result = await bench.run(tool, path=str(bench.cwd), ignore=["*.pyc", "node_modules"])
    assert told(result) == f"{bench.cwd}/\n  a.py"


async def test_no_more_than_1000_entries_come(bench: Workbench) -> None:
    for number in range(1_005):
        bench.write(f"many/{number:04}", "")
    lines = told(await bench.run(tool, path="many")).split("\n")
    assert len(lines) == 1_002
    assert lines[-1] == "[The first 1,000 of 1,005 entries; use Glob.]"


async def test_empty_folder_is_said_to_be_empty(bench: Workbench) -> None:
    assert "[The folder is empty" in told(await bench.run(tool, path="."))


async def test_missing_folder_file_and_impossible_path_are_errors(bench: Workbench) -> None:
    bench.write("src", "")
    missing = await bench.run(tool, path="scr")
    file = await bench.run(tool, path="src")
    impossible = await bench.run(tool, path="a\0b")
    assert missing.is_error
    assert told(missing) == "scr does not exist. Is it one of these? src"
    assert file.is_error
    assert told(file) == "src is a file, not a folder. Use Read to see it."
    assert impossible.is_error


async def test_name_that_is_not_unicode_is_listed(bench: Workbench) -> None:
    bench.write(os.fsdecode(b"caf\xe9"), "")
    assert told(await bench.run(tool, path=".")).endswith("\n  caf\ufffd")


def test_listing_is_announced_and_judged_by_its_path() -> None:
    arguments = tool.input_type(path="src")
    assert tool.invocation(arguments) == "Listing src"
    assert tool.read_paths(arguments) == ("src",)
    assert tool.read_only
