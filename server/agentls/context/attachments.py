"""Makes blocks of the pictures and PDFs that go with a prompt, and refuses what cannot be sent."""

import asyncio
import base64
import binascii
import errno
import logging
import os
import re
import stat
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

from agentls.errors import BadAttachment
from agentls.llm.image_header import DamagedImage, read_image_header
from agentls.protocol.content import DocumentBlock, ImageBlock
from agentls.protocol.requests import Attachment
from agentls.tools.paths import absolute, printable, shown

LARGEST = 32 * 1024 * 1024
"""Bytes. A picture that is larger than the API takes is scaled down when it is sent."""
LARGEST_PDF = 20 * 1024 * 1024
"""Bytes: in base64 a larger one leaves no room in a request of 32 MB."""
MOST_PAGES = 100
"""Of a PDF, with models of a 200,000-token window. Source: the API's "PDF support"."""
COUNTING_SECONDS = 20.0
_PDF = b"%PDF-"


async def all_attached(
    given: Iterable[Attachment], *, cwd: Path
) -> tuple[ImageBlock | DocumentBlock, ...]:
    """Return what goes with a prompt, in order. Raises BadAttachment."""
    return tuple([await attachment(one.path, one.data, one.name, cwd=cwd) for one in given])


async def attachment(
    path: str | None = None, data: str | None = None, name: str | None = None, *, cwd: Path
) -> ImageBlock | DocumentBlock:
    """Return the picture or PDF at `path`, which may be relative to `cwd`, or in base64 `data`.

    Raises BadAttachment.
    """
    if path is not None and data is not None:
        raise BadAttachment("An attachment has a path or data, not both; leave one of them out.")
    if path is not None:
        file, where = _located(path, cwd)
        content = await asyncio.to_thread(_read, file, where)
        return await attached(content, name or printable(file.name), where)
    if data is not None:
        content = await asyncio.to_thread(_decoded, data, name or "An attachment")
        return await attached(content, name)
    raise BadAttachment("An attachment needs a path, or its bytes as data in base64.")


async def attached(
    data: bytes, name: str | None, where: str | None = None
) -> ImageBlock | DocumentBlock:
    """Return the block of a picture or PDF with these bytes; `where` is how it is spoken of.

    Raises BadAttachment.
    """
    where = where or name or "An attachment"
    if len(data) > LARGEST:
        raise BadAttachment(_too_large(where, LARGEST))
    if _is_pdf(data):
        return await _document(data, name, where)
    return await asyncio.to_thread(_image, data, name, where)


def is_attachable(data: bytes) -> bool:
    """Whether the bytes begin as a picture or a PDF does."""
    if _is_pdf(data):
        return True
    try:
        return read_image_header(data[:1024]) is not None
    except DamagedImage:
        return True


def _located(path: str, cwd: Path) -> tuple[Path, str]:
    try:
        file = absolute(path, cwd)
        return file, shown(file, cwd)
    except (OSError, ValueError) as error:
        raise BadAttachment(f"{path!r} is not a path: {error}.") from None


def _read(path: Path, where: str) -> bytes:
    try:
        return _bytes_of(path, where)
    except FileNotFoundError:
        raise BadAttachment(f"{where} does not exist; check its name and folder.") from None
    except IsADirectoryError:
        raise BadAttachment(f"{where} is a folder; attach a picture or PDF in it.") from None
    except OSError as error:
        raise BadAttachment(f"{where} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise BadAttachment(f"{where!r} is not a path: {error}.") from None


def _bytes_of(path: Path, where: str) -> bytes:
    # A pipe would be waited for, and to open a device may set it going.
    _check_regular(path.stat())
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        _check_regular(status)
        content = file.read(LARGEST + 1) if status.st_size <= LARGEST else None
    if content is None or len(content) > LARGEST:
        raise BadAttachment(_too_large(where, LARGEST))
    if not content:
        raise BadAttachment(f"{where} is empty; attach another file.")
    return content


def _check_regular(status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")


def _decoded(data: str, where: str) -> bytes:
    """Return the bytes of base64: plain, in lines, as a data URL, in its URL alphabet."""
    if len(data) > LARGEST * 3 // 2:
        raise BadAttachment(_too_large(where, LARGEST))
    encoded = data.partition(",")[2] if data.startswith("data:") else data
    encoded = re.sub(r"\s", "", encoded).rstrip("=").translate(_URL_ALPHABET)
    try:
        content = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise BadAttachment(f"{where}: its data is not base64; encode the file's bytes.") from None
    if not content:
        raise BadAttachment(f"{where} is empty; its data holds no bytes.")
    return content


_URL_ALPHABET = str.maketrans("-_", "+/")


def _is_pdf(data: bytes) -> bool:
    return data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n\0").startswith(_PDF)


def _image(data: bytes, name: str | None, where: str) -> ImageBlock:
    try:
        header = read_image_header(data)
    except DamagedImage as error:
        raise BadAttachment(
            f"{where} is a damaged picture: its data {error}. Save it anew and attach it again."
        ) from None
    if header is None:
        raise BadAttachment(
            f"{where} is no PNG, JPEG, GIF or WebP picture and no PDF, and the model takes nothing "
            "else. Convert it, or mention a text file with @."
        )
    encoded = base64.b64encode(data).decode()
    return ImageBlock(media_type=header.media_type, data=encoded, name=name)


async def _document(data: bytes, name: str | None, where: str) -> DocumentBlock:
    if len(data) > LARGEST_PDF:
        raise BadAttachment(_too_large(where, LARGEST_PDF))
    try:
        async with asyncio.timeout(COUNTING_SECONDS):
            pages = await asyncio.to_thread(_pages, data, where)
    except TimeoutError:
        raise BadAttachment(
            f"{where}: its pages could not be counted in {COUNTING_SECONDS:.0f} s. "
            "Print it to a new PDF and attach that."
        ) from None
    if pages > MOST_PAGES:
        raise BadAttachment(
            f"{where} has {pages:,} pages, of at most {MOST_PAGES}. "
            "Attach a PDF of the pages that matter."
        )
    encoded = await asyncio.to_thread(base64.b64encode, data)
    return DocumentBlock(
        media_type="application/pdf", data=encoded.decode(), name=name, pages=pages
    )


def _pages(data: bytes, where: str) -> int:
    # Imported when the first PDF comes: it takes a while.
    from pypdf import PdfReader

    # It tells of each oddity in a file, on stderr where nobody listens.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(BytesIO(data))
        encrypted = reader.is_encrypted
        pages = 0 if encrypted else len(reader.pages)
    # A damaged file leads the reader to any error there is, RecursionError included.
    except Exception as error:
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise BadAttachment(
            f"{where} is a damaged PDF: {said}. Print it to a new PDF and attach that."
        ) from None
    if encrypted:
        raise BadAttachment(
            f"{where} is encrypted, and the model cannot open it. Save it without a password."
        )
    if not pages:
        raise BadAttachment(f"{where} is a damaged PDF: it has no pages.")
    return pages


def _too_large(where: str, limit: int) -> str:
    return f"{where} is larger than {limit >> 20} MB; attach a smaller one, or a part of it."
