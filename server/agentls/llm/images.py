"""Pictures as the Messages API takes them: its types, and no larger than it allows.

A picture over the limits is scaled down with pillow, where that is installed; pillow is imported
when the first such picture comes. Limits: the API's documentation, "Images and vision".
"""

import base64
import binascii
import hashlib
import importlib
import io
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

from agentls.llm.image_header import DamagedImage, ImageHeader, read_image_header
from agentls.protocol.content import Content, ImageBlock

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_ENCODED = 5 * 1024 * 1024
"""Characters of base64. Newer models take twice that; Amazon's and Google's servers do not."""
MAX_SIDE = 8000
"""Pixels."""
MANY_IMAGES = 20
"""With more images than that in a request, none may be larger than `SIDE_AMONG_MANY`."""
SIDE_AMONG_MANY = 2000
"""Pixels; what is scaled is made no larger, so that a later image does not change an earlier."""
MAX_PIXELS = MAX_SIDE * MAX_SIDE
"""What is worth decoding: 256 MB in memory. A few kilobytes can claim far more."""

LOSSLESS_UP_TO = 2_000_000
"""Characters of base64 up to which a scaled picture that was no JPEG stays lossless."""
KEPT_BYTES = 64 * 1024 * 1024
"""What the cache of scaled pictures may hold."""

NO_PILLOW = "the package pillow, which could scale it down, is not installed"


@dataclass(frozen=True, slots=True)
class SendableImage:
    """A picture that the API takes."""

    media_type: str
    data: str
    """Base64."""
    width: int
    height: int

    @property
    def is_large(self) -> bool:
        """Whether it is too large among many; only without pillow."""
        return max(self.width, self.height) > SIDE_AMONG_MANY


@dataclass(frozen=True, slots=True)
class Refused:
    """A picture that the API would not take."""

    reason: str
    """Goes on after "not shown, because "."""


@dataclass(frozen=True, slots=True)
class _AsItIs:
    """A picture of which only the declared type may be wrong."""

    header: ImageHeader


def sendable_image(block: ImageBlock) -> SendableImage | Refused:
    """Return the picture as it can be sent, or why it cannot; may take 200 ms the first time."""
    known = _cache.get(_key(block))
    if known is None:
        # One at a time: a large picture takes a quarter of a gigabyte while it is scaled.
        with _scaling:
            known = _cache.get(_key(block))
            if known is None:
                known = _looked_at(block)
                _cache.put(_key(block), known)
    if isinstance(known, _AsItIs):
        header = known.header
        return SendableImage(header.media_type, block.data, header.width, header.height)
    return known


def prepare_images(blocks: Iterable[ImageBlock]) -> None:
    """Do the work for these pictures, so that `sendable_image` answers at once; for a thread."""
    for block in blocks:
        sendable_image(block)


def images_of(content: Iterable[Content]) -> Iterator[tuple[int, ImageBlock]]:
    """Yield the pictures of a prompt or result with their places in it."""
    for place, block in enumerate(content):
        if isinstance(block, ImageBlock):
            yield place, block


def _key(block: ImageBlock) -> str:
    return hashlib.sha256(block.data.encode(errors="replace")).hexdigest()


def _looked_at(block: ImageBlock) -> "SendableImage | _AsItIs | Refused":
    data = _decoded(block.data)
    if not data:
        return Refused("its data is not base64" if block.data.strip() else "it is empty")
    try:
        header = read_image_header(data)
    except DamagedImage as error:
        return Refused(f"it is damaged: its data {error}")
    if header is None:
        return Refused("it is no PNG, JPEG, GIF or WebP picture, and the model takes no other")
    encoded = base64.b64encode(data).decode()
    image = SendableImage(header.media_type, encoded, header.width, header.height)
    excess = _excess(image)
    if excess is None and not (image.is_large and _pillow()):
        return _AsItIs(header) if encoded == block.data else image
    if header.width * header.height > MAX_PIXELS:
        return Refused(f"{excess}, more than can be scaled down")
    if _pillow() is None:
        return Refused(f"{excess}, and {NO_PILLOW}")
    return _scaled(data, header)


def _decoded(text: str) -> bytes:
    """Return the bytes of base64 as it is met: in lines, as a data URL, in its URL alphabet."""
    if text.startswith("data:"):
        text = text.partition(",")[2]
    text = re.sub(r"\s", "", text).rstrip("=").translate(_URL_ALPHABET)
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


_URL_ALPHABET = str.maketrans("-_", "+/")


def _excess(image: SendableImage) -> str | None:
    if max(image.width, image.height) > MAX_SIDE:
        return f"it has {image.width} x {image.height} pixels, of at most {MAX_SIDE} a side"
    if len(image.data) > MAX_ENCODED:
        mebibytes = len(image.data) / 1024 / 1024
        return f"it takes {mebibytes:.1f} MB in base64, of at most {MAX_ENCODED >> 20} MB"
    return None


def _pillow() -> ModuleType | None:
    try:
        return importlib.import_module("PIL.Image")
    except ImportError:
        return None


def _scaled(data: bytes, header: ImageHeader) -> SendableImage | Refused:
    """Return the picture, upright, at most `SIDE_AMONG_MANY` a side; of a film, the first frame."""
    from PIL import Image, ImageOps

    try:
        with Image.open(io.BytesIO(data), formats=["PNG", "JPEG", "GIF", "WEBP"]) as opened:
            # For a JPEG this asks the decoder for a smaller picture (`draft`), which is most of
            # the time saved.
            opened.thumbnail((SIDE_AMONG_MANY, SIDE_AMONG_MANY), reducing_gap=2.0)
            image = _with_plain_colours(ImageOps.exif_transpose(opened))
        return _saved(image, lossless=header.media_type != "image/jpeg")
    # Decoders raise whatever their damaged data leads them to: OSError, SyntaxError, ValueError,
    # struct.error, IndexError, MemoryError and pillow's own for what claims to be enormous.
    except Exception as error:
        said = " ".join(str(error).split()) or type(error).__name__
        return Refused(f"it is damaged, and cannot be scaled down: {said[:200]}")


def _with_plain_colours(image: "Image") -> "Image":
    if image.mode.startswith("I;16"):
        # Of 16 bits of grey pillow would keep the lower 8.
        image = image.point(lambda grey: grey / 256)  # pyright: ignore[reportUnknownMemberType]
    has_alpha = image.mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in image.info
    return image.convert("RGBA" if has_alpha else "L" if image.mode in ("1", "L") else "RGB")


def _saved(image: "Image", *, lossless: bool) -> SendableImage | Refused:
    if lossless and len(png := _encoded(image, "PNG")) <= LOSSLESS_UP_TO:
        return SendableImage("image/png", png, *image.size)
    image = _on_white(image)
    for _ in range(6):
        jpeg = _encoded(image, "JPEG", quality=85)
        if len(jpeg) <= MAX_ENCODED:
            return SendableImage("image/jpeg", jpeg, *image.size)
        image.thumbnail((max(1, image.width * 3 // 4), max(1, image.height * 3 // 4)))
    return Refused(f"it could not be brought below {MAX_ENCODED >> 20} MB")


def _on_white(image: "Image") -> "Image":
    if image.mode != "RGBA":
        return image
    from PIL import Image

    page = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(page, image).convert("RGB")


def _encoded(image: "Image", kind: str, **options: int) -> str:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return base64.b64encode(file.getbuffer()).decode()


class _Cache:
    """What is known of the pictures that were looked at last, by the hash of their data."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, SendableImage | _AsItIs | Refused] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: str) -> SendableImage | _AsItIs | Refused | None:
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
            return known

    def put(self, key: str, known: SendableImage | _AsItIs | Refused) -> None:
        with self._lock:
            self._known[key] = known
            self._bytes += _weight(known)
            while self._bytes > KEPT_BYTES and len(self._known) > 1:
                _, forgotten = self._known.popitem(last=False)
                self._bytes -= _weight(forgotten)

    def clear(self) -> None:
        with self._lock:
            self._known.clear()
            self._bytes = 0


def _weight(known: SendableImage | _AsItIs | Refused) -> int:
    return 500 + (len(known.data) if isinstance(known, SendableImage) else 0)


_cache = _Cache()
_scaling = threading.Lock()
