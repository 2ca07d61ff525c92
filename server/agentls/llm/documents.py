"""Documents as the Messages API takes them: PDFs that anybody may read.

Sources: the API's documentation, "PDF support", and of the format ISO 32000-1, sections 7.5 and
7.6.
"""

import base64
import binascii
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agentls.protocol.content import Content, DocumentBlock

MEDIA_TYPE = "application/pdf"
HEADER_WITHIN = 1024
"""Bytes among which a file says that it is a PDF; some programs put a few others first."""
KEPT = 256
"""Documents of which it is known what they are."""

_ENCRYPTED = re.compile(rb"/Encrypt\s*(?:\d+\s+\d+\s+R|<<)")
"""An entry of the trailer, or of the stream that may stand in its place."""


@dataclass(frozen=True, slots=True)
class SendableDocument:
    """A document that the API takes."""

    data: str
    """Base64."""
    pages: int
    """0 where that is not known."""


def sendable_document(block: DocumentBlock) -> SendableDocument | str:
    """Return the document as it can be sent, or why it cannot."""
    # A text's hash is worked out once, and keeps nothing of a document that is gone.
    key = (len(block.data), hash(block.data))
    known = _known.get(key)
    if known is None:
        known = _looked_at(block.data)
        _known.put(key, known)
    if known.fault:
        return known.fault
    data = block.data if known.is_as_sent else base64.b64encode(_decoded(block.data)).decode()
    return SendableDocument(data, block.pages or 0)


def prepare_documents(blocks: Iterable[DocumentBlock]) -> None:
    """Look at these documents, so that `sendable_document` answers at once; for a thread."""
    for block in blocks:
        sendable_document(block)


def documents_of(content: Iterable[Content]) -> Iterator[tuple[int, DocumentBlock]]:
    """Yield the documents of a prompt or result with their places in it."""
    for place, block in enumerate(content):
        if isinstance(block, DocumentBlock):
            yield place, block


@dataclass(frozen=True, slots=True)
class _Known:
    """What a document is, without its data."""

    fault: str = ""
    is_as_sent: bool = True


def _looked_at(text: str) -> _Known:
    data = _decoded(text)
    if not data:
        return _Known("its data is not base64" if text.strip() else "it is empty")
    if b"%PDF-" not in data[:HEADER_WITHIN]:
        return _Known("it is no PDF, and the model takes no other document")
    if _ENCRYPTED.search(data):
        return _Known("it is encrypted, and the model takes no such document")
    return _Known(is_as_sent=base64.b64encode(data) == text.encode(errors="replace"))


def _decoded(text: str) -> bytes:
    """Return the bytes of base64, also of a data URL or in lines; none where it is none."""
    if text.startswith("data:"):
        text = text.partition(",")[2]
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return b""


class _Verdicts:
    """What is known of the documents that were looked at last."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[int, int], _Known] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[int, int]) -> _Known | None:
        with self._lock:
            return self._known.get(key)

    def put(self, key: tuple[int, int], known: _Known) -> None:
        with self._lock:
            self._known[key] = known
            while len(self._known) > KEPT:
                self._known.popitem(last=False)


_known = _Verdicts()
