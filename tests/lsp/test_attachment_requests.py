"""Pictures and PDFs that go with a prompt, over the server's pipes."""

import base64
from pathlib import Path

import pytest

from tests.support.attachments import blank_pdf
from tests.support.histories import picture
from tests.support.scenarios import says
from tests.support.servers import editor, scripted

INVALID = -32602


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return workspace


async def test_pictures_and_pdfs_go_with_a_prompt(folder):
    (folder / "shot.png").write_bytes(picture())
    script = scripted(folder, says("Pretty.", expect={"user": "Look."}), says("And again."))
    attachments = [
        {"path": "shot.png"},
        {"path": str(folder / "shot.png"), "name": "The screen"},
        {"data": base64.b64encode(blank_pdf(pages=3)).decode(), "name": "paper.pdf"},
    ]
    async with editor(folder, *script) as it:
        await it.new_session()
        await it.prompt("Look.", attachments=attachments)
        assert (await it.event("turnFinished"))["status"] == "completed"
        text, *blocks = it.events("userMessageReceived")[0]["content"]
        assert text["text"] == "Look."
        told = [(block["type"], block["mediaType"], block["name"]) for block in blocks]
        assert told == [
            ("image", "image/png", "shot.png"),
            ("image", "image/png", "The screen"),
            ("document", "application/pdf", "paper.pdf"),
        ]
        assert base64.b64decode(blocks[0]["data"]) == picture()
        assert blocks[2]["pages"] == 3
        await it.prompt(" ", attachments=attachments[:1])
        assert (await it.event("turnFinished", 2))["status"] == "completed"
        [alone] = it.events("userMessageReceived")[1]["content"]
        assert alone["type"] == "image"


@pytest.mark.parametrize(
    ("attachment", "told"),
    [
        ({"path": "none.png"}, "none.png does not exist"),
        ({"path": "."}, "is a folder"),
        ({"path": "notes.txt"}, "mention a text file with @"),
        ({"path": "cut.png"}, "cut.png is a damaged picture"),
        ({"data": "%%%", "name": "Clip"}, "Clip: its data is not base64"),
        ({"data": base64.b64encode(blank_pdf(pages=101)).decode()}, "101 pages, of at most 100"),
        ({"path": "notes.txt", "data": "aGk="}, "not both"),
        ({"name": "Clip"}, "needs a path"),
    ],
)
async def test_what_cannot_be_attached_is_refused_with_its_prompt(folder, attachment, told):
    (folder / "notes.txt").write_text("Some notes.\n")
    (folder / "cut.png").write_bytes(picture()[:12])
    (folder / "fine.png").write_bytes(picture())
    async with editor(folder, *scripted(folder, says("Hi."))) as it:
        await it.new_session()
        attachments = [{"path": "fine.png"}, attachment]
        error = await it.refused("session/prompt", text="Look.", attachments=attachments)
        assert (error.code, error.data["kind"]) == (INVALID, "BadAttachment")
        assert told in error.message
        assert not it.events("promptQueued")
