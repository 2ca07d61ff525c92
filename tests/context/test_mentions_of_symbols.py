"""Mentions of symbols, in a file and anywhere."""

import pytest

from agentls.protocol.content import FileBlock
from tests.support.mentioned import Folder, said


async def test_symbol_of_a_file_comes_with_its_lines(folder: Folder) -> None:
    folder.write("a.py", "x = 1\n\nclass A:\n    def go(self):\n        return 1\n")
    assert said(await folder.block("@a.py#A.go")) == {
        "what": "symbol",
        "path": "a.py",
        "text": "    def go(self):\n        return 1",
        "symbol": "A.go",
        "first_line": 4,
        "last_line": 5,
    }
    block = await folder.block("@a.py#nothing")
    assert (block.text, block.left_out) == ("", "There is no definition of nothing in it.")


async def test_long_definition_is_cut_at_300_lines(folder: Folder) -> None:
    folder.write("a.py", "def f():\n" + "    x()\n" * 500)
    block = await folder.block("@a.py#f")
    assert (block.first_line, block.last_line) == (1, 300)
    assert "Lines 301 to 501 are left out" in (block.left_out or "")


async def test_symbol_is_found_anywhere_in_the_workspace(folder: Folder) -> None:
    folder.write("src/a.py", "def wanted(): pass\n")
    folder.write("src/b.ts", "wanted();\nexport function wanted() {\n  return 1;\n}\n")
    folder.write("build/c.py", "def wanted(): pass\n")
    folder.write("README.md", "function wanted is here\n")
    denied = folder.write("d.py", "def wanted(): pass\n")
    folder.write(".gitignore", "build\n")
    folder.unreadable = lambda path: path == denied
    found = [each for each in await folder.blocks("@#wanted") if isinstance(each, FileBlock)]
    assert [(each.path, each.first_line, each.last_line) for each in found] == [
        ("src/a.py", 1, 1),
        ("src/b.ts", 2, 4),
    ]
    assert await folder.blocks("@#nowhere") == ()
    assert (await folder.block("@build/#wanted")).path == "build/c.py"
    assert "No definition" in ((await folder.block("@build/#nowhere")).left_out or "")


async def test_no_more_than_five_definitions_come(folder: Folder) -> None:
    for number in range(8):
        folder.write(f"{number}.py", "def f(): pass\n\ndef f(): pass\n")
    found = await folder.blocks("@#f")
    assert len(found) == 5
    last = found[-1]
    assert isinstance(last, FileBlock)
    assert last.left_out == "There may be more definitions of it."


async def test_no_more_than_ten_symbols_are_looked_for(folder: Folder) -> None:
    folder.write("a.py", "".join(f"def f{number}(): pass\n" for number in range(12)))
    found = await folder.blocks(" ".join(f"@#f{number}" for number in range(12)))
    blocks = [each for each in found if isinstance(each, FileBlock)]
    assert [bool(each.text) for each in blocks] == [True] * 10 + [False] * 2
    assert blocks[-1].left_out == "f11 was not looked for: a prompt has at most 10 searches."


async def test_search_for_a_symbol_ends_after_so_many_files(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentls.context.workspace_symbols.MOST_FILES", 3)
    for number in range(5):
        folder.write(f"{number}.py", "")
    folder.write("9.py", "def f(): pass\n")
    block = await folder.block("@#f")
    assert block.text == ""
    assert block.left_out == "No definition of f was found. Only 3 files were searched."
    monkeypatch.setattr("agentls.context.workspace_symbols.MOST_SECONDS", -1.0)
    assert "The search ended" in ((await folder.block("@#f")).left_out or "")
