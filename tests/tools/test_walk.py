import os
import subprocess
from pathlib import Path

from agentls.tools.walk import is_left_out, walk
from tests.support.workbench import Workbench


def listed(root: Path, *, ignored_too: bool = False) -> list[str]:
    return [path for path, _ in walk(root, ignored_too=ignored_too)]


def test_files_come_in_order_and_git_never(bench: Workbench) -> None:
    for name in ("b.txt", "a/z", "a/.hidden", ".git/config", "sub/.git"):
        bench.write(name, "")
    assert listed(bench.cwd) == ["a/.hidden", "a/z", "b.txt"]


def test_ignore_files_are_honoured_as_git_does(bench: Workbench) -> None:
    bench.write(".gitignore", "*.log\n/build/\n!keep.log\n\n# a remark\ndocs/*\n!docs/a.md\n")
    bench.write("src/.gitignore", b"local\r\n!deep.log\r\n")
    for name in (
        "a.log",
        "keep.log",
        "build/out",
        "src/build/in",
        "src/local",
        "local",
        "src/deep.log",
        "src/other.log",
        "docs/a.md",
        "docs/b.md",
        "docs/sub/c.md",
    ):
        bench.write(name, "")
    subprocess.run(["git", "init", "-q"], cwd=bench.cwd, check=True)
    git = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard"],
        cwd=bench.cwd,
        check=True,
        capture_output=True,
        text=True,
    )
    assert sorted(listed(bench.cwd)) == git.stdout.split()
    assert "a.log" in listed(bench.cwd, ignored_too=True)


def test_rules_above_count_up_to_the_repository(bench: Workbench) -> None:
    bench.write(".gitignore", "outer\n")
    bench.write("repo/.git/config", "")
    bench.write("repo/.gitignore", "/sub/rooted\ninner\n")
    for name in ("outer", "inner", "rooted", "plain"):
        bench.write(f"repo/sub/{name}", "")
    assert listed(bench.cwd / "repo" / "sub") == ["outer", "plain"]


def test_ignored_folder_that_is_named_is_looked_into(bench: Workbench) -> None:
    bench.write(".gitignore", "vendor/\n*.tmp\n")
    bench.write("vendor/a.js", "")
    assert listed(bench.cwd) == [".gitignore"]
    assert listed(bench.cwd / "vendor") == ["a.js"]
    assert is_left_out(bench.cwd / "vendor")
    assert not is_left_out(bench.cwd)


def test_links_are_listed_and_not_followed(bench: Workbench) -> None:
    bench.write("real/a", "")
    (bench.cwd / "loop").symlink_to(".")
    (bench.cwd / "link").symlink_to("real/a")
    assert listed(bench.cwd) == ["link", "loop", "real/a"]


def test_lines_that_are_no_patterns_are_passed_over(bench: Workbench) -> None:
    bench.write(".gitignore", b"!\n/\n\xff\n*.log\n")
    bench.write("a.log", "")
    bench.write("b", "")
    assert listed(bench.cwd) == [".gitignore", "b"]


def test_folder_that_is_gone_lists_nothing(bench: Workbench) -> None:
    assert listed(bench.cwd / "nowhere") == []


def test_names_that_are_not_unicode_are_listed(bench: Workbench) -> None:
    bench.write(os.fsdecode(b"\xff"), "")
    bench.write(".gitignore", "other\n")
    assert [os.fsencode(path) for path in listed(bench.cwd)] == [b".gitignore", b"\xff"]
