import base64
import os
from pathlib import Path

import pytest

from agentls.context.mentions import MOST_MENTIONS
from agentls.protocol.content import DocumentBlock, FileBlock, ImageBlock
from agentls.state.measure import tokens_of_content
from agentls.tools.disk_files import DiskFiles
from agentls.tools.files import FileContent
from tests.support.attachments import blank_pdf
from tests.support.mentioned import Folder, said

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)


async def test_whole_file_comes_without_numbers(folder: Folder) -> None:
    folder.write("src/main.py", "one\ntwo\n")
    assert said(await folder.block("Look at @src/main.py.")) == {
        "what": "file",
        "path": "src/main.py",
        "text": "one\ntwo",
        "first_line": 1,
        "last_line": 2,
    }


async def test_what_does_not_exist_stays_text(folder: Folder) -> None:
    folder.write("example.py", "x")
    text = "@nobody, me@example.com, npm i @types/node, @pytest.mark, @dataclass, git@host @src/ "
    assert await folder.blocks(text + "@a\0b @~nobody/x @" + "x" * 5000 + ' @"\ud800"') == ()


async def test_at_sign_inside_of_a_word_counts_where_such_a_file_is(folder: Folder) -> None:
    folder.write("main.py", "x")
    assert (await folder.block("看看@main.py")).path == "main.py"
    folder.unreadable = lambda path: True
    assert await folder.blocks("me@main.py me@/etc/passwd me@#main me@~") == ()


@pytest.mark.parametrize(
    ("mention", "lines", "text"),
    [
        (":2", (2, 2), "two"),
        (":2-3", (2, 3), "two\nthree"),
        ("#L2-L3", (2, 3), "two\nthree"),
        (":3-1", (1, 3), "one\ntwo\nthree"),
    ],
)
async def test_range_is_exact(
    folder: Folder, mention: str, lines: tuple[int, int], text: str
) -> None:
    folder.write("a.txt", "\ufeffone\r\ntwo\r\nthree\r\n")
    block = await folder.block(f"@a.txt{mention}")
    assert (block.what, block.first_line, block.last_line) == ("range", *lines)
    assert (block.text, block.left_out) == (text, None)


async def test_range_is_clamped_and_says_so(folder: Folder) -> None:
    folder.write("a.txt", "one\ntwo")
    block = await folder.block("@a.txt:2-9")
    assert (block.text, block.first_line, block.last_line) == ("two", 2, 2)
    assert block.left_out == "The file has 2 lines, no more."
    block = await folder.block("@a.txt:7-9")
    assert (block.text, block.first_line, block.last_line) == ("", 7, 9)
    assert block.left_out == "It has 2 lines; there is no line 7."


async def test_file_whose_name_holds_a_colon_or_a_hash_is_found(folder: Folder) -> None:
    folder.write("a:10", "colon")
    folder.write("notes#todo", "hash")
    colon, hashed = await folder.blocks("@a:10 @notes#todo")
    assert isinstance(colon, FileBlock)
    assert isinstance(hashed, FileBlock)
    assert (colon.what, colon.text) == ("file", "colon")
    assert (hashed.what, hashed.text) == ("file", "hash")


async def test_each_thing_comes_once_and_in_order(folder: Folder) -> None:
    folder.write("a.txt", "a\nb")
    folder.write("b.txt", "b")
    (folder.cwd / "link.txt").symlink_to("a.txt")
    found = await folder.blocks("@b.txt @a.txt @./a.txt @link.txt @a.txt:1")
    assert [(block.what, block.path) for block in found if isinstance(block, FileBlock)] == [
        ("file", "b.txt"),
        ("file", "a.txt"),
        ("range", "a.txt"),
    ]


async def test_long_file_is_cut_and_says_where_to_read_on(folder: Folder) -> None:
    folder.write("long.txt", "".join(f"{number}\n" for number in range(1, 3_001)))
    block = await folder.block("@long.txt")
    assert (block.first_line, block.last_line) == (1, 2_000)
    assert block.text.endswith("\n2000")
    assert block.left_out is not None
    assert "Lines 2,001 to 3,000 are left out" in block.left_out
    assert "3,000 lines" in block.left_out
    assert "offset=2001" in block.left_out


async def test_wide_file_is_cut_at_25000_tokens_and_a_long_line_at_2000_characters(
    folder: Folder,
) -> None:
    folder.write("wide.txt", f"{'x' * 999}\n" * 500)
    block = await folder.block("@wide.txt")
    assert 24_000 < tokens_of_content((block,)) <= 25_012
    assert block.last_line == 87
    folder.write("min.js", "y" * 10_000_000)
    block = await folder.block("@min.js")
    assert block.text == "y" * 2_000
    assert block.left_out == "1 line cut after 2,000 characters."


async def test_budget_is_kept_and_what_has_no_room_says_so(folder: Folder) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        folder.write(name, f"{'x' * 99}\n" * 100)
    folder.write("p.png", PNG)
    first, second, third, image = await folder.blocks("@a.txt @b.txt @c.txt @p.png", 4_000)
    assert isinstance(first, FileBlock)
    assert isinstance(second, FileBlock)
    assert isinstance(third, FileBlock)
    assert isinstance(image, FileBlock)
    assert (first.last_line, first.left_out) == (100, None)
    assert 0 < (second.last_line or 0) < 100
    assert third.text == ""
    assert "no room" in (third.left_out or "")
    assert "no room" in (image.left_out or "")
    assert tokens_of_content((first, second)) <= 4_012


async def test_no_more_than_100_mentions_come(folder: Folder) -> None:
    for number in range(MOST_MENTIONS + 3):
        folder.write(f"{number}.txt", "x")
    found = await folder.blocks(" ".join(f"@{n}.txt" for n in range(MOST_MENTIONS + 3)))
    assert len(found) == MOST_MENTIONS + 1
    last = found[-1]
    assert isinstance(last, FileBlock)
    assert (last.path, last.text) == ("100.txt", "")
    assert last.left_out is not None
    assert "2 mentions behind it" in last.left_out


async def test_empty_binary_and_undecodable_files_are_told_apart(folder: Folder) -> None:
    folder.write("empty", "")
    folder.write("binary", b"MZ\0\1")
    folder.write("latin", b"caf\xe9")
    assert (await folder.block("@empty")).left_out == "It is empty."
    block = await folder.block("@binary")
    assert block.text == ""
    assert "binary file of 4 bytes" in (block.left_out or "")
    assert (await folder.block("@latin")).text == "caf\ufffd"


async def test_picture_comes_as_an_image_and_a_damaged_one_is_told(folder: Folder) -> None:
    folder.write("plan.txt", PNG)
    [block] = await folder.blocks("@plan.txt")
    assert isinstance(block, ImageBlock)
    assert (block.media_type, block.name) == ("image/png", "plan.txt")
    assert base64.b64decode(block.data) == PNG
    folder.write("half.png", PNG[:40])
    assert "damaged" in ((await folder.block("@half.png")).left_out or "")


async def test_pdf_comes_as_a_document_and_a_damaged_one_is_told(folder: Folder) -> None:
    (folder.cwd / "one.pdf").write_bytes(blank_pdf())
    [block] = await folder.blocks("@one.pdf:3")
    assert isinstance(block, DocumentBlock)
    assert (block.pages, block.name) == (1, "one.pdf")
    folder.write("half.pdf", b"%PDF-1.7\n")
    assert "damaged" in ((await folder.block("@half.pdf")).left_out or "")


async def test_folder_shows_names_one_level_deep_and_heeds_gitignore(folder: Folder) -> None:
    for name in ("src/b.py", "src/a.py", "src/deep/x.py", "src/a.pyc", "src/t/x", ".git/HEAD"):
        folder.write(name, "")
    folder.write(".gitignore", "*.pyc\n")
    folder.write("src/.gitignore", "t/\n")
    block = await folder.block("@src/")
    assert said(block) == {
        "what": "folder",
        "path": "src",
        "text": "deep/\n.gitignore\na.py\nb.py",
    }
    assert (await folder.block("@src")).text == block.text
    assert (await folder.block("@./")).text == "src/\n.gitignore"


async def test_ignored_folder_that_is_named_is_shown(folder: Folder) -> None:
    folder.write("build/out.js", "")
    folder.write(".gitignore", "build/\n")
    assert (await folder.block("@build/")).text == "out.js"


async def test_folder_of_many_names_shows_200_of_them(folder: Folder) -> None:
    for number in range(205):
        folder.write(f"many/{number:03}", "")
    block = await folder.block("@many")
    assert len(block.text.split("\n")) == 200
    assert block.left_out == "These are the first 200 of 205 names; LS shows more."
    folder.write("none/x", "").unlink()
    assert "empty" in ((await folder.block("@none")).left_out or "")
    assert (await folder.block("@./")).path == "."


async def test_link_to_itself_and_broken_links_harm_nothing(folder: Folder) -> None:
    folder.write("d/a", "")
    (folder.cwd / "d/loop").symlink_to("loop")
    (folder.cwd / "d/gone").symlink_to("nowhere")
    assert (await folder.block("@d")).text == "a\ngone\nloop"
    assert await folder.blocks("@d/loop @d/gone") == ()


async def test_denied_file_is_left_out_also_behind_a_link(folder: Folder) -> None:
    secret = folder.write("secret.env", "KEY=1")
    (folder.cwd / "open.env").symlink_to("secret.env")
    folder.unreadable = lambda path: path == secret
    for text in ("@secret.env", "@open.env", f"@{secret}", "@secret.env:1", "@secret.env#KEY"):
        block = await folder.block(text)
        assert block.text == ""
        assert "permission rule" in (block.left_out or "")


async def test_outside_of_the_workspace_only_an_absolute_path_leads(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = folder.cwd.parent / "notes.txt"
    outside.write_text("mine")
    monkeypatch.setenv("HOME", str(folder.cwd.parent))
    (folder.cwd / "link.txt").symlink_to(outside)
    (folder.cwd / "up").symlink_to("..")
    for text in (f"@{outside}", "@~/notes.txt"):
        block = await folder.block(text)
        assert (block.text, block.path) == ("mine", str(outside))
    for text in ("@../notes.txt", "@link.txt", "@up/notes.txt", "@up", f"@{folder.cwd}/link.txt"):
        block = await folder.block(text)
        assert block.text == ""
        assert "out of the workspace" in (block.left_out or "")
    folder.unreadable = lambda path: path == outside
    assert "permission rule" in ((await folder.block("@~/notes.txt")).left_out or "")


async def test_workspace_behind_a_link_is_the_workspace(folder: Folder) -> None:
    folder.write("a.txt", "x")
    link = folder.cwd.parent / "link"
    link.symlink_to("work")
    folder.cwd, folder.roots = link, (link,)
    assert (await folder.block("@a.txt")).text == "x"


async def test_file_of_another_root_is_found_by_its_name(folder: Folder) -> None:
    other = folder.cwd.parent / "other"
    other.mkdir()
    (other / "b.txt").write_text("b")
    folder.roots = (folder.cwd, other)
    block = await folder.block("@b.txt")
    assert (block.path, block.text) == (str(other / "b.txt"), "b")
    assert (await folder.block("@../other/b.txt")).text == "b"


async def test_pipe_and_unreadable_file_are_told_and_not_waited_for(folder: Folder) -> None:
    os.mkfifo(folder.cwd / "pipe")
    block = await folder.block("@pipe")
    assert "cannot be read" in (block.left_out or "")


async def test_text_comes_as_the_user_sees_it(folder: Folder) -> None:
    path = folder.write("a.py", "def old(): pass\n")

    class Buffer(DiskFiles):
        async def read(self, path: Path) -> FileContent:
            del path
            return FileContent.of(b"# unsaved\ndef old(): return 1\n")

    folder.files = Buffer()
    assert (await folder.block("@a.py")).text.startswith("# unsaved")
    block = await folder.block("@#old")
    assert (block.text, block.first_line) == ("def old(): return 1", 2)
    assert path.read_text().startswith("def old")


async def test_file_that_is_gone_when_it_is_read_is_told(folder: Folder) -> None:
    folder.write("a.py", "x")

    class Gone(DiskFiles):
        async def read(self, path: Path) -> FileContent:
            raise FileNotFoundError(path)

    folder.files = Gone()
    assert "does not exist" in ((await folder.block("@a.py")).left_out or "")
