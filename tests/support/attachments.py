"""Documents and mentions made by hand, and prompts and results that hold them."""

import base64
from io import BytesIO
from typing import Any

from pypdf import PdfWriter

from agentls.protocol.content import Content, DocumentBlock, FileBlock, TextBlock
from agentls.protocol.history import CallResult, Entry, UserMessage
from agentls.protocol.tool_calls import CallOutcome
from tests.support.histories import result, user


def pdf(pages: int = 1, padding: int = 0, trailer: bytes = b"<< >>") -> bytes:
    """Return what passes for a PDF; `padding` bytes make it as large as one likes."""
    page = b"<< /Type /Page /Parent 2 0 R >>\n"
    return b"%%PDF-1.7\n%b%%%b\ntrailer %b\n%%%%EOF\n" % (page * pages, b"x" * padding, trailer)


def blank_pdf(pages: int = 1, password: str | None = None) -> bytes:
    """Return a PDF of so many blank pages that any reader opens."""
    writer, file = PdfWriter(), BytesIO()
    for _ in range(pages):
        writer.add_blank_page(72, 72)
    if password is not None:
        writer.encrypt(password, algorithm="RC4-128")
    writer.write(file)
    return file.getvalue()


def document(
    data: bytes | str,
    name: str | None = "paper.pdf",
    pages: int | None = None,
    media_type: str = "application/pdf",
) -> DocumentBlock:
    """Return a document as a prompt holds it; a text is taken as base64."""
    encoded = data if isinstance(data, str) else base64.b64encode(data).decode()
    return DocumentBlock(media_type=media_type, data=encoded, name=name, pages=pages)


def mention(path: str, text: str, **rest: Any) -> FileBlock:
    """Return what an @-mention of a file stands for."""
    return FileBlock.model_validate({"what": "file", "path": path, "text": text, **rest})


def told(*content: Content | str, **rest: Any) -> UserMessage:
    """Return a prompt that holds anything."""
    return user().model_copy(update={"content": _content(content), **rest})


def got(call_id: str, *content: Content | str, outcome: CallOutcome | None = "ok") -> CallResult:
    """Return a result that holds anything."""
    empty = result(call_id, outcome=outcome)
    return CallResult(call=empty.call.model_copy(update={"content": _content(content)}))


def numbered(entries: list[Entry]) -> list[Entry]:
    """Return the entries with an id each: `m0`, `m1` and so on."""
    return [
        entry if isinstance(entry, CallResult) else entry.model_copy(update={"id": f"m{number}"})
        for number, entry in enumerate(entries)
    ]


def _content(content: tuple[Content | str, ...]) -> tuple[Content, ...]:
    return tuple(TextBlock(text=item) if isinstance(item, str) else item for item in content)
