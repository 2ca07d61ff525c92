"""What a picture's bytes say it is: its type and size, and whether they end too early.

Nothing is decoded, so this costs little for any picture and needs no library. What is cut off or
no picture at all is told here; a fault inside the compressed data is not.
"""

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

_PNG_BEGINNING = b"\x89PNG\r\n\x1a\n"
_JPEG_SIZE_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE_MARKERS = frozenset({0x01, *range(0xD0, 0xD8)})
"""Markers that no length follows."""


class DamagedImage(Exception):
    """The bytes are not a whole picture; the text says what is wrong, after "its data "."""


@dataclass(frozen=True, slots=True)
class ImageHeader:
    """Type and size in pixels."""

    media_type: str
    width: int
    height: int


def read_image_header(data: bytes) -> ImageHeader | None:
    """Return what `data` is; None for what is no PNG, JPEG, GIF or WebP.

    Raises `DamagedImage` where it begins as one of them and is not whole.
    """
    for media_type, begins, read_size in _FORMATS:
        if not begins(data):
            continue
        try:
            width, height = read_size(data)
        except (struct.error, IndexError):
            raise DamagedImage("ends too early") from None
        if not width or not height:
            raise DamagedImage("says that it has no pixels")
        return ImageHeader(media_type, width, height)
    return None


def _png_size(data: bytes) -> tuple[int, int]:
    """Walk the chunks, each of which has a checksum, to the last. Source: PNG, third edition, 5."""
    at, has_pixels = len(_PNG_BEGINNING), False
    size = (0, 0)
    while True:
        length, kind = struct.unpack_from(">I4s", data, at)
        body = memoryview(data)[at + 4 : at + 8 + length]
        (checksum,) = struct.unpack_from(">I", data, at + 8 + length)
        if zlib.crc32(body) != checksum:
            raise DamagedImage(f"has a wrong checksum, in its part {kind.decode('latin-1')!r}")
        if kind == b"IHDR":
            size = struct.unpack_from(">II", data, at + 8)
        elif kind == b"IDAT":
            has_pixels = True
        elif kind == b"IEND":
            if not has_pixels:
                raise DamagedImage("holds no pixels")
            return size
        at += 12 + length


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """Walk the segments to the pixels, which an end marker must follow. Source: T.81, annex B."""
    at = 2
    size = (0, 0)
    while True:
        if data[at] != 0xFF:
            raise DamagedImage("is not made of JPEG segments")
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        if marker in _JPEG_BARE_MARKERS:
            at += 2
            continue
        if marker == 0xD9:
            raise DamagedImage("holds no pixels")
        (length,) = struct.unpack_from(">H", data, at + 2)
        if marker in _JPEG_SIZE_MARKERS:
            height, width = struct.unpack_from(">HH", data, at + 5)
            size = (width, height)
        elif marker == 0xDA:
            if data.rfind(b"\xff\xd9") < at:
                raise DamagedImage("ends too early")
            return size
        at += 2 + length


def _gif_size(data: bytes) -> tuple[int, int]:
    size = struct.unpack_from("<HH", data, 6)
    # Some programs write a few bytes more behind the end mark.
    if b"\x3b" not in data[-16:] or b"\x2c" not in data[13:]:
        raise DamagedImage("ends too early")
    return size


def _webp_size(data: bytes) -> tuple[int, int]:
    """Read the first chunk. Source: the WebP container's specification, RFC 9649."""
    (length,) = struct.unpack_from("<I", data, 4)
    if length + 8 > len(data):
        raise DamagedImage("ends too early")
    kind = data[12:16]
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X":
        sides = data[24:30]
        if len(sides) < 6:
            raise DamagedImage("ends too early")
        return (
            int.from_bytes(sides[:3], "little") + 1,
            int.from_bytes(sides[3:], "little") + 1,
        )
    raise DamagedImage("is not made of WebP chunks")


_FORMATS: tuple[tuple[str, Callable[[bytes], bool], Callable[[bytes], tuple[int, int]]], ...] = (
    ("image/png", lambda data: data.startswith(_PNG_BEGINNING), _png_size),
    ("image/jpeg", lambda data: data.startswith(b"\xff\xd8\xff"), _jpeg_size),
    ("image/gif", lambda data: data.startswith((b"GIF87a", b"GIF89a")), _gif_size),
    ("image/webp", lambda data: data[:4] == b"RIFF" and data[8:12] == b"WEBP", _webp_size),
)
