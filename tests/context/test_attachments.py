import base64
import os
from pathlib import Path

import pytest

from agentls.context import attachments
from agentls.context.attachments import attachment
from agentls.errors import BadAttachment
from agentls.protocol.content import DocumentBlock, ImageBlock
from tests.support.attachments import blank_pdf

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)
GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")


async def refusal(cwd: Path, path: str | None = None, data: str | None = None) -> str:
    """Return what is said of an attachment that cannot be sent."""
    with pytest.raises(BadAttachment) as caught:
        await attachment(path, data, cwd=cwd)
    return str(caught.value)


async def refusal_of(cwd: Path, content: bytes) -> str:
    """Return the same for a file with this content."""
    (cwd / "file").write_bytes(content)
    return await refusal(cwd, "file")


@pytest.mark.parametrize(("content", "kind"), [(PNG, "image/png"), (GIF, "image/gif")])
async def test_picture_is_known_by_its_bytes_and_not_by_its_name(
    tmp_path: Path, content: bytes, kind: str
) -> None:
    (tmp_path / "plan.txt").write_bytes(content)
    for path in ("plan.txt", str(tmp_path / "plan.txt")):
        block = await attachment(path, cwd=tmp_path)
        assert isinstance(block, ImageBlock)
        assert (block.media_type, block.name) == (kind, "plan.txt")
        assert base64.b64decode(block.data) == content


async def test_name_that_is_given_counts(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(PNG)
    assert (await attachment("x", name="The plan", cwd=tmp_path)).name == "The plan"
    encoded = base64.b64encode(PNG).decode()
    assert (await attachment(data=encoded, name="Pasted", cwd=tmp_path)).name == "Pasted"
    assert (await attachment(data=encoded, cwd=tmp_path)).name is None


@pytest.mark.parametrize("form", ["{}", "data:image/png;base64,{}", "\n {}\n"])
async def test_base64_is_taken_as_it_is_met(tmp_path: Path, form: str) -> None:
    plain = base64.b64encode(PNG).decode()
    for encoded in (plain, plain.rstrip("="), base64.urlsafe_b64encode(PNG).decode()):
        block = await attachment(data=form.format(encoded), cwd=tmp_path)
        assert block.data == plain


async def test_pdf_tells_its_pages(tmp_path: Path) -> None:
    (tmp_path / "three.pdf").write_bytes(blank_pdf(3))
    block = await attachment("three.pdf", cwd=tmp_path)
    assert isinstance(block, DocumentBlock)
    assert (block.media_type, block.pages, block.name) == ("application/pdf", 3, "three.pdf")
    assert base64.b64decode(block.data) == blank_pdf(3)
    assert isinstance(await attachment(data=block.data, cwd=tmp_path), DocumentBlock)


async def test_path_and_data_cannot_both_be_given_nor_both_be_missing(tmp_path: Path) -> None:
    assert "not both" in await refusal(tmp_path, "a.png", "AAAA")
    assert "needs a path" in await refusal(tmp_path)


async def test_data_that_is_not_base64_is_refused(tmp_path: Path) -> None:
    for data in ("%%%", "A", "grün", "\ud800"):
        assert "not base64" in await refusal(tmp_path, data=data)
    for data in ("", " \n", "data:image/png;base64,"):
        assert "is empty" in await refusal(tmp_path, data=data)


async def test_missing_file_folder_empty_file_and_impossible_path_are_told_apart(
    tmp_path: Path,
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").touch()
    (tmp_path / "loop").symlink_to("loop")
    assert await refusal(tmp_path, "no.png") == "no.png does not exist; check its name and folder."
    assert "folder is a folder" in await refusal(tmp_path, "folder")
    assert "empty is empty" in await refusal(tmp_path, "empty")
    assert "is not a path" in await refusal(tmp_path, "a\0b")
    assert "is not a path" in await refusal(tmp_path, "\ud800")
    assert "cannot be read" in await refusal(tmp_path, "loop")
    assert "is a folder" in await refusal(tmp_path, "")


async def test_pipe_and_device_are_not_waited_for_also_behind_a_link(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link.png").symlink_to("pipe")
    for path in ("pipe", "link.png", "/dev/zero"):
        assert "no regular file" in await refusal(tmp_path, path)


async def test_file_over_32_mb_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "large.png").open("wb") as file:
        file.truncate(attachments.LARGEST + 1)
    assert "larger than 32 MB" in await refusal(tmp_path, "large.png")
    data = "A" * (attachments.LARGEST * 3 // 2 + 4)
    assert "larger than 32 MB" in await refusal(tmp_path, data=data)
    data = "A" * (attachments.LARGEST * 4 // 3 + 8)
    assert "larger than 32 MB" in await refusal(tmp_path, data=data)


async def test_pdf_that_no_request_has_room_for_is_refused(tmp_path: Path) -> None:
    large = b"%PDF-1.7\n" + b" " * attachments.LARGEST_PDF
    assert "larger than 20 MB" in await refusal_of(tmp_path, large)


async def test_text_is_no_attachment(tmp_path: Path) -> None:
    said = await refusal_of(tmp_path, b"A text that tells of %PDF-1.7\n")
    assert said.startswith("file is no PNG")
    assert "mention a text file with @" in said


@pytest.mark.parametrize("content", [PNG[:40], PNG[:-20] + b"\0" * 20, GIF[:12], b"\xff\xd8\xff"])
async def test_damaged_picture_is_refused(tmp_path: Path, content: bytes) -> None:
    assert "file is a damaged picture: its data" in await refusal_of(tmp_path, content)


@pytest.mark.parametrize(
    "content",
    [
        b"%PDF-1.7\n",
        b"%PDF-1.7\n" + bytes(range(256)) * 8,
        blank_pdf(2)[:200],
        blank_pdf(2).replace(b"/Pages", b"/Sages"),
        blank_pdf(0),
        blank_pdf(1).replace(b"/Kids [ 4 0 R ]", b"/Kids [ 2 0 R ]"),
    ],
)
async def test_damaged_pdf_is_refused_and_nothing_reaches_stderr(
    tmp_path: Path, content: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    assert "file is a damaged PDF" in await refusal_of(tmp_path, content)
    assert capfd.readouterr().err == ""


async def test_encrypted_pdf_is_refused_also_where_its_password_is_empty(tmp_path: Path) -> None:
    for password in ("", "secret"):
        assert "is encrypted" in await refusal_of(tmp_path, blank_pdf(2, password))


async def test_pdf_of_more_than_100_pages_is_refused(tmp_path: Path) -> None:
    (tmp_path / "most.pdf").write_bytes(blank_pdf(100))
    block = await attachment("most.pdf", cwd=tmp_path)
    assert isinstance(block, DocumentBlock)
    assert block.pages == 100
    assert "file has 101 pages, of at most 100" in await refusal_of(tmp_path, blank_pdf(101))


async def test_pdf_whose_pages_take_too_long_to_count_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attachments, "COUNTING_SECONDS", 0.0)
    assert "could not be counted" in await refusal_of(tmp_path, blank_pdf(1))
