from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.lsp.framing import BadFrame, Framer, header_of

HEADER_NAMES = ["Content-Length", "content-length", "CONTENT-LENGTH", "Content-length"]
LINE_ENDS = [b"\r\n", b"\n"]
OTHER_HEADERS = [
    b"",
    b"Content-Type: application/vscode-jsonrpc; charset=utf-8",
    b"X-Anything: 1",
]


@st.composite
def frames(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Return a frame as some client may write it, and its body."""
    body = draw(st.binary(max_size=300))
    name = draw(st.sampled_from(HEADER_NAMES)).encode()
    space = draw(st.sampled_from([b"", b" ", b"  \t"]))
    length = name + b":" + space + str(len(body)).encode()
    other = draw(st.sampled_from(OTHER_HEADERS))
    lines = [line for line in draw(st.permutations([length, other])) if line]
    end = draw(st.sampled_from(LINE_ENDS))
    return b"".join(line + end for line in lines) + end + body, body


def feed_in_pieces(data: bytes, cuts: list[int], framer: Framer | None = None) -> list[object]:
    framer = framer or Framer()
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    pieces = [data[a:b] for a, b in pairwise(edges)]
    return [frame for piece in pieces for frame in framer.feed(piece)]


@given(st.lists(frames(), max_size=6), st.lists(st.integers(0, 10_000), max_size=20))
def test_any_split_of_any_frames_gives_the_same_bodies(
    sent: list[tuple[bytes, bytes]], cuts: list[int]
) -> None:
    data = b"".join(frame for frame, _ in sent)
    assert feed_in_pieces(data, cuts) == [body for _, body in sent]


@given(st.lists(frames(), min_size=1, max_size=3))
def test_bytes_that_come_one_by_one_give_the_same_bodies(sent: list[tuple[bytes, bytes]]) -> None:
    data = b"".join(frame for frame, _ in sent)
    assert feed_in_pieces(data, list(range(len(data)))) == [body for _, body in sent]


garbage = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=200).map(str.encode),
    st.integers(8_000, 20_000).map(lambda size: b"z" * size),
)


@given(st.lists(st.one_of(garbage, frames().map(lambda f: f[0])), max_size=6), st.data())
def test_garbage_means_the_same_however_it_is_split(
    pieces: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(pieces)
    cuts = data.draw(st.lists(st.integers(0, max(len(stream), 1)), max_size=20))
    assert feed_in_pieces(stream, cuts) == feed_in_pieces(stream, [])


@given(garbage)
def test_a_frame_after_a_line_of_garbage_is_found(noise: bytes) -> None:
    framer = Framer()
    line = noise.replace(b"\n", b" ") + b"\n"
    # A header of its own would rightly swallow what follows as its body.
    if b"content-length" in line.lower():
        return
    frames = framer.feed(line + header_of(b"{}") + b"{}")
    assert frames[-1] == b"{}"


def test_header_names_count_in_any_case() -> None:
    assert Framer().feed(b"content-length: 2\r\n\r\n{}") == [b"{}"]


def test_lines_may_end_in_a_bare_newline() -> None:
    assert Framer().feed(b"Content-Length: 2\nContent-Type: x\n\n{}") == [b"{}"]


def test_blank_lines_between_frames_are_nothing() -> None:
    frame = b"Content-Length: 2\r\n\r\n{}"
    assert Framer().feed(frame + b"\r\n\r\n" + frame) == [b"{}", b"{}"]


def test_an_empty_body_is_a_body() -> None:
    assert Framer().feed(b"Content-Length: 0\r\n\r\n") == [b""]


@pytest.mark.parametrize("value", [b"abc", b"-5", b"1.5", b"", b"0x10", b"1" * 25])
def test_a_length_that_is_no_number_is_reported_with_what_was_found(value: bytes) -> None:
    [problem] = Framer().feed(b"Content-Length: " + value + b"\r\n")
    assert isinstance(problem, BadFrame)
    assert "Content-Length: " + value[:5].decode() in problem.reason


def test_headers_without_a_length_are_reported_once_and_the_next_frame_is_read() -> None:
    frames = Framer().feed(b"X-A: 1\r\n\r\nX-B: 2\r\n\r\nContent-Length: 2\r\n\r\n{}")
    assert frames == [BadFrame("Headers without a 'Content-Length'."), b"{}"]


def test_a_frame_right_behind_garbage_on_the_same_line_is_read() -> None:
    problem, body = Framer().feed(b"left over}Content-Length: 2\r\n\r\n{}")
    assert isinstance(problem, BadFrame)
    assert body == b"{}"


def test_a_body_longer_than_announced_costs_no_later_frame() -> None:
    frames = Framer().feed(b'Content-Length: 2\r\n\r\n{"a":1}' + header_of(b"[1]") + b"[1]")
    assert frames[0] == b'{"'
    assert isinstance(frames[1], BadFrame)
    assert frames[2:] == [b"[1]"]


def test_a_frame_that_is_too_large_is_skipped_and_the_next_is_read() -> None:
    body = b'{"text":"' + b"x" * 50_000 + b'"}'
    framer = Framer(max_body=1_000)
    frames = feed_in_pieces(
        header_of(body) + body + header_of(b"{}") + b"{}", list(range(0, 50_000, 777)), framer
    )
    problem, found = frames
    assert isinstance(problem, BadFrame)
    assert "50011 bytes is too large; at most 1000" in problem.reason
    assert found == b"{}"


def test_an_absurd_length_leaves_the_stream_usable() -> None:
    problem, body = Framer().feed(
        b"Content-Length: 9999999999999999999\r\n\r\n{}\n" + b"Content-Length: 2\r\n\r\n{}"
    )
    assert isinstance(problem, BadFrame)
    assert body == b"{}"


def test_endless_garbage_takes_no_memory() -> None:
    framer = Framer()
    reports = [frame for _ in range(200) for frame in framer.feed(b"z" * 65_536)]
    assert len(reports) <= 1
    assert len(framer._buffer) < 10_000


def test_a_body_of_a_hundred_megabytes_comes_in_pieces() -> None:
    size, piece = 100 << 20, b"x" * (1 << 16)
    framer = Framer()
    framer.feed(b"Content-Length: %d\r\n\r\n" % size)
    frames = [frame for _ in range(size // len(piece)) for frame in framer.feed(piece)]
    assert [len(frame) for frame in frames if isinstance(frame, bytes)] == [size]
    assert not framer.unfinished


def test_a_stream_that_ends_inside_a_frame_is_known_to() -> None:
    framer = Framer()
    framer.feed(b"Content-Length: 5\r\n\r\n{}")
    assert framer.unfinished
    framer.feed(b"   ")
    assert not framer.unfinished
