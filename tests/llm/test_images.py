import base64
import io
import struct
import subprocess
import sys
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from agentls.llm import images
from agentls.llm.image_header import DamagedImage, ImageHeader, read_image_header
from agentls.llm.images import MAX_ENCODED, Refused, SendableImage, sendable_image
from agentls.protocol.content import ImageBlock
from tests.support.histories import encoded, image, noise, picture

KINDS = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}


@pytest.fixture(autouse=True)
def fresh_cache() -> None:
    images._cache.clear()


@pytest.fixture
def no_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "_pillow", lambda: None)


def sent(block: ImageBlock) -> SendableImage:
    found = sendable_image(block)
    assert isinstance(found, SendableImage), found
    return found


def refused(block: ImageBlock) -> str:
    found = sendable_image(block)
    assert isinstance(found, Refused), (found.media_type, found.width)
    return found.reason


def reopened(found: SendableImage) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(found.data)))


@pytest.mark.parametrize("kind", KINDS)
def test_picture_within_the_limits_goes_as_it_is(kind: str) -> None:
    block = image(picture(40, 30, kind), media_type=KINDS[kind])

    assert sent(block) == SendableImage(KINDS[kind], block.data, 40, 30)
    assert sent(block).data is block.data


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [(1, 1), (300, 7), (1999, 1234)])
def test_size_is_read_without_decoding(kind: str, size: tuple[int, int]) -> None:
    assert read_image_header(picture(*size, kind)) == ImageHeader(KINDS[kind], *size)


def test_size_of_every_form_of_webp_is_read() -> None:
    lossless = encoded(Image.new("RGB", (33, 44)), "WEBP", lossless=True)
    with_alpha = encoded(Image.new("RGBA", (33, 44), "#12345678"), "WEBP", quality=50)

    assert read_image_header(lossless) == ImageHeader("image/webp", 33, 44)
    assert read_image_header(with_alpha) == ImageHeader("image/webp", 33, 44)


def test_type_is_what_the_bytes_say_and_not_what_was_declared() -> None:
    assert sent(image(picture(8, 8, "JPEG"), media_type="image/png")).media_type == "image/jpeg"


@pytest.mark.parametrize(
    "written",
    [
        lambda data: "data:image/png;base64," + data,
        lambda data: "\n".join(data[at : at + 60] for at in range(0, len(data), 60)),
        lambda data: data.rstrip("="),
        lambda data: data.replace("+", "-").replace("/", "_"),
    ],
)
def test_base64_in_another_writing_is_understood(written) -> None:
    data = base64.b64encode(picture(50, 41)).decode()

    assert sent(ImageBlock(media_type="image/png", data=written(data))).data == data


@pytest.mark.parametrize("size", [(2001, 10), (10, 2001), (8001, 40), (3000, 4000)])
def test_large_picture_is_scaled_down_and_keeps_its_shape(size: tuple[int, int]) -> None:
    found = sent(image(picture(*size)))

    assert max(found.width, found.height) == 2000
    assert reopened(found).size == (found.width, found.height)
    assert found.width / found.height == pytest.approx(size[0] / size[1], rel=0.15)
    assert not found.is_large


def test_picture_of_too_many_bytes_is_made_smaller_ones() -> None:
    block = image(noise(1500, 1400))
    assert len(block.data) > MAX_ENCODED

    found = sent(block)
    assert len(found.data) <= MAX_ENCODED
    assert (found.media_type, found.width, found.height) == ("image/jpeg", 1500, 1400)


def test_large_photo_stays_a_jpeg_and_is_turned_as_the_camera_was() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    photo = Image.new("RGB", (3000, 2000), "red")
    photo.paste("blue", (0, 0, 3000, 1000))
    found = sent(image(encoded(photo, "JPEG", exif=exif)))

    assert (found.media_type, found.width, found.height) == ("image/jpeg", 1333, 2000)
    turned = reopened(found).convert("RGB")
    # The upper half, which was blue, is on the right now.
    assert turned.getpixel((1200, 1000))[2] > 200
    assert turned.getpixel((100, 1000))[0] > 200


def test_of_a_large_film_the_first_frame_is_sent() -> None:
    frames = [Image.new("RGB", (2400, 100), colour) for colour in ("red", "blue")]
    film = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    found = sent(image(film, media_type="image/gif"))

    shown = reopened(found)
    assert (found.media_type, getattr(shown, "n_frames", 1)) == ("image/png", 1)
    assert shown.convert("RGB").getpixel((5, 5)) == (255, 0, 0)


def test_transparent_becomes_white_where_it_must_become_a_jpeg() -> None:
    with Image.open(io.BytesIO(noise(2100, 2100))) as opened:
        half_clear = opened.convert("RGBA")
    half_clear.paste((0, 0, 0, 0), (1050, 0, 2100, 2100))
    found = sent(image(encoded(half_clear, "PNG")))

    assert found.media_type == "image/jpeg"
    assert reopened(found).getpixel((1900, 1000)) == (255, 255, 255)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16", "CMYK", "I"])
def test_every_kind_of_colour_can_be_scaled(mode: str) -> None:
    kind = "JPEG" if mode == "CMYK" else "PNG"
    if mode in ("I;16", "I"):
        grey = Image.new("I;16", (2100, 3), 40_000)
        data = encoded(grey, "PNG")
    else:
        data = encoded(Image.new("RGB", (2100, 3), "white").convert(mode), kind)
    found = sent(image(data))

    assert found.width == 2000
    if mode in ("I;16", "I"):
        assert reopened(found).convert("L").getpixel((5, 1)) == pytest.approx(156, abs=2)


@pytest.mark.parametrize("kind", KINDS)
def test_picture_that_is_cut_off_is_refused(kind: str) -> None:
    whole = picture(200, 150, kind)

    for length in (len(whole) - 20, len(whole) // 2, 14):
        assert "damaged" in refused(image(whole[:length])), length


def test_picture_with_a_wrong_byte_is_refused() -> None:
    data = bytearray(picture(200, 150))
    data[len(data) // 2] ^= 0xFF

    assert refused(image(bytes(data))) == (
        "it is damaged: its data has a wrong checksum, in its part 'IDAT'"
    )


def test_large_picture_whose_pixels_are_damaged_is_refused() -> None:
    data = picture(2500, 10)
    body = data.index(b"IDAT") + 4
    (length,) = struct.unpack_from(">I", data, body - 8)
    wrong = bytes(length)
    checksum = struct.pack(">I", zlib.crc32(b"IDAT" + wrong))
    broken = data[:body] + wrong + checksum + data[body + length + 4 :]

    assert refused(image(broken)).startswith("it is damaged, and cannot be scaled down:")


def test_few_bytes_that_claim_an_enormous_picture_are_not_decoded() -> None:
    bomb = picture(10, 10)
    size = struct.pack(">II", 50_000, 50_000)
    checksum = struct.pack(">I", zlib.crc32(b"IHDR" + size + bomb[24:29]))
    bomb = bomb[:16] + size + bomb[24:29] + checksum + bomb[33:]

    assert "50000 x 50000 pixels" in refused(image(bomb))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"BM" + bytes(60), "it is no PNG, JPEG, GIF or WebP picture"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "it is no PNG"),
        (b"", "it is empty"),
    ],
)
def test_what_the_api_does_not_take_is_refused(data: bytes, reason: str) -> None:
    assert reason in refused(image(data))


@pytest.mark.parametrize("data", ["!!!", "\ud800", "é"])
def test_what_is_no_base64_is_refused(data: str) -> None:
    assert refused(ImageBlock(media_type="image/png", data=data)) == "its data is not base64"


@pytest.mark.usefixtures("no_pillow")
def test_without_pillow_what_is_over_the_limits_is_refused_and_the_reason_named() -> None:
    too_large, too_heavy = image(picture(8001, 2)), image(noise(1500, 1400))

    assert "8001 x 2 pixels" in refused(too_large)
    assert "pillow" in refused(too_large)
    assert "MB" in refused(too_heavy)
    assert "pillow" in refused(too_heavy)


@pytest.mark.usefixtures("no_pillow")
def test_without_pillow_a_picture_that_is_large_only_among_many_goes_as_it_is() -> None:
    block = image(picture(2500, 10))

    assert sent(block).data == block.data
    assert sent(block).is_large


def test_same_picture_is_scaled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = sent(image(picture(2500, 10)))
    monkeypatch.setattr(images, "_scaled", lambda *_: pytest.fail("scaled again"))

    assert sent(image(picture(2500, 10), name="the same")) is first


def test_cache_forgets_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "KEPT_BYTES", 2000)
    for width in range(2001, 2020):
        sent(image(picture(width, 2)))

    assert images._cache._bytes <= 2000
    assert 1 <= len(images._cache._known) < 19


def test_pillow_is_imported_only_where_a_picture_is_too_large() -> None:
    small = base64.b64encode(picture(10, 10)).decode()
    large = base64.b64encode(picture(2001, 2)).decode()
    program = f"""
import sys
import agentls.llm.normalise
from agentls.llm.images import sendable_image
from agentls.protocol.content import ImageBlock
sendable_image(ImageBlock(media_type="image/png", data={small!r}))
assert "PIL" not in sys.modules
sendable_image(ImageBlock(media_type="image/png", data={large!r}))
assert "PIL" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@given(st.sampled_from(list(KINDS)), st.data())
def test_no_damage_to_a_picture_raises(kind: str, data: st.DataObject) -> None:
    broken = bytearray(picture(20, 10, kind))
    for _ in range(data.draw(st.integers(1, 6))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(broken)))

    assert isinstance(sendable_image(image(bytes(broken[:end]))), SendableImage | Refused)


@given(st.binary(max_size=80))
def test_no_bytes_raise(data: bytes) -> None:
    for begin in (b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF\0\0\0\0WEBPVP8X"):
        try:
            header = read_image_header(begin + data)
        except DamagedImage:
            continue
        assert header is None or header.width * header.height > 0
