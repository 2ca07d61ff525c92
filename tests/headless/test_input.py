import os
import re
import socket
import threading
from itertools import pairwise

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.errors import InvalidRequest
from agentls.headless import input as reading
from agentls.headless.input import MessageLine, ScriptPrompt, message_lines, piped_text, prompt_of

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
messages = st.lists(st.dictionaries(st.text(), json_values, max_size=4), max_size=6)


def chunked(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in pairwise(places)]


def written(found: list[dict], ending: str, blanks: list[bool], last_ending: bool) -> bytes:
    lines: list[bytes] = []
    for index, message in enumerate(found):
        if blanks and blanks[index % len(blanks)]:
            lines.append(b"  ")
        lines.append(orjson.dumps(message))
    text = ending.encode().join(lines)
    return text + ending.encode() if last_ending else text


@given(
    messages,
    st.sampled_from(["\n", "\r\n"]),
    st.lists(st.booleans(), max_size=3),
    st.booleans(),
    st.lists(st.integers(0, 10_000), max_size=30),
)
def test_any_chunking_of_lines_gives_the_same_messages(found, ending, blanks, last, cuts) -> None:
    data = written(found, ending, blanks, last)
    lines = list(message_lines(chunked(data, cuts)))
    assert [line.message for line in lines] == found
    raw = data.split(b"\n")
    assert all(raw[line.number - 1].strip() for line in lines)
    assert lines == list(message_lines([data]))
    assert lines == list(message_lines([data[i : i + 1] for i in range(len(data))]))


@given(st.binary(max_size=200), st.lists(st.integers(0, 10_000), max_size=10))
def test_whatever_comes_is_a_message_or_a_named_line(data: bytes, cuts: list[int]) -> None:
    heard, error = heard_of([data])
    assert heard_of(chunked(data, cuts)) == (heard, error)
    assert error is None or re.match(r"stdin, line \d+: ", error)


def heard_of(chunks: list[bytes]) -> tuple[list[MessageLine], str | None]:
    """Return the messages, and what is said of the line that ends them early."""
    heard: list[MessageLine] = []
    try:
        heard.extend(message_lines(chunks))
    except InvalidRequest as error:
        return heard, str(error)
    return heard, None


def test_line_separators_of_unicode_do_not_end_a_line() -> None:
    data = '{"a":"x\u2028y\u2029z\x85"}\n'.encode()
    assert [line.message for line in message_lines([data])] == [{"a": "x\u2028y\u2029z\x85"}]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"a":1}\n\nnope\n', "stdin, line 3: not JSON: "),
        (b"[1]\n", "stdin, line 1: not a JSON object"),
        (b'{"a":1}\n{"a":', "stdin, line 2: not JSON: "),
        (b'\n\n{"a":"\xff"}', "stdin, line 3: not JSON: "),
        (b'{"a":' * 5000 + b"\n", "stdin, line 1: not JSON: "),
    ],
)
def test_bad_line_is_named_by_its_number(data: bytes, said: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        list(message_lines([data]))
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("ended", [True, False])
def test_line_that_is_too_long_is_refused_by_its_number(monkeypatch, ended: bool) -> None:
    monkeypatch.setattr(reading, "MAX_STDIN_BYTES", 100)
    data = b'{"a":1}\n{"a":"' + b"x" * 200 + (b'"}\n' if ended else b"")
    with pytest.raises(InvalidRequest, match="stdin, line 2: longer than"):
        list(message_lines([data]))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("hello", "hello"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\n\nb"),
    ],
)
def test_prompt_is_a_string_or_blocks_of_text(content, text: str) -> None:
    line = MessageLine(1, {"type": "user", "message": {"role": "user", "content": content}})
    assert prompt_of(line) == ScriptPrompt(text)


@pytest.mark.parametrize(
    "message",
    [None, "x", {}, {"content": None}, {"content": []}, {"content": [{"type": "image"}]},
     {"content": ["x"]}, {"content": [{"text": 1}]}, {"content": " \n"},
     {"content": [{"text": ""}]}],
)  # fmt: skip
def test_prompt_without_text_names_its_line(message) -> None:
    with pytest.raises(InvalidRequest, match="stdin, line 7: "):
        prompt_of(MessageLine(7, {"type": "user", "message": message}))


def test_more_than_ten_mebibytes_are_refused(tmp_path) -> None:
    path = tmp_path / "big"
    path.write_bytes(b"x" * ((10 << 20) + 1))
    fd = os.open(path, os.O_RDONLY)
    try:
        with pytest.raises(InvalidRequest, match="10 MiB"):
            list(piped_text(fd, wait=True))
    finally:
        os.close(fd)


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_pipe_or_socket_that_stays_silent_counts_as_empty(monkeypatch, kind: str) -> None:
    monkeypatch.setattr(reading, "FIRST_BYTE_SECONDS", 0.01)
    if kind == "pipe":
        ends = os.pipe()
    else:
        pair = socket.socketpair()
        ends = (pair[0].detach(), pair[1].detach())
    try:
        assert list(piped_text(ends[0], wait=False)) == []
        os.write(ends[1], b"\xffhello")
        os.close(ends[1])
        assert list(piped_text(ends[0], wait=False)) == ["\ufffdhello"]
    finally:
        os.close(ends[0])


def test_pipe_that_does_not_block_is_waited_for() -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)

    def write() -> None:
        os.write(write_end, b"late")
        os.close(write_end)

    timer = threading.Timer(0.1, write)
    timer.start()
    try:
        assert list(piped_text(read_end, wait=True)) == ["late"]
    finally:
        timer.join()
        os.close(read_end)


def test_what_cannot_be_read_is_said() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        with pytest.raises(InvalidRequest, match="stdin cannot be read: "):
            list(piped_text(write_end, wait=True))
    finally:
        os.close(write_end)


def test_a_picture_in_a_message_comes_along_as_it_is() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    blocks = [{"type": "text", "text": "What is this?"}, {"type": "image", "source": source}]
    prompt = prompt_of(MessageLine(1, {"type": "user", "message": {"content": blocks}}))
    assert prompt.text == "What is this?"
    assert [(found.data, found.path) for found in prompt.attachments] == [("aGk=", None)]
