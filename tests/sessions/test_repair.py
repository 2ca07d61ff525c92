import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.sessions.repair import repaired

ONE = b'{"seq":1,"event":{"type":"x","text":"caf\xc3\xa9"}}'
TWO = b'{"seq":2,"event":{"type":"x","input":{"seq":3,"text":"}{"}}}'


def records(line: bytes) -> list[bytes]:
    found = repaired(line)
    for data, record in found.records:
        assert json.loads(data) == record
    return [data for data, _ in found.records]


@pytest.mark.parametrize(
    ("line", "found", "what"),
    [
        (ONE + TWO, [ONE, TWO], "2 records on one line; the rest of the line is loaded"),
        (
            TWO[:30] + ONE,
            [ONE],
            "30 bytes that are no record; the rest of the line is loaded",
        ),
        (
            ONE + TWO[:20],
            [ONE],
            "20 bytes that are no record; the rest of the line is loaded",
        ),
        (ONE[:25], [], "a record that breaks off after 25 bytes; nothing in it can be read"),
        (b"#!@ rubbish", [], "11 bytes that are no record; nothing in it can be read"),
        (
            b"\0" * 4096,
            [],
            "4096 zero bytes, as a loss of power leaves them; nothing in it can be read",
        ),
        (
            b"\0" * 16 + ONE,
            [ONE],
            "16 zero bytes, as a loss of power leaves them; the rest of the line is loaded",
        ),
        (
            ONE[:25] + b"\0\0" + ONE[25:],
            [ONE],
            "2 zero bytes, as a loss of power leaves them; the rest of the line is loaded",
        ),
        (
            b"\xef\xbb\xbf" + ONE,
            [ONE],
            "a byte order mark; the rest of the line is loaded",
        ),
        (
            ONE[:-6] + b"\xff" + ONE[-5:],
            [ONE[:-6] + "\ufffd".encode() + ONE[-5:]],
            "bytes that are not UTF-8, replaced by \ufffd; the rest of the line is loaded",
        ),
    ],
)
def test_what_can_be_read_of_a_damaged_line_is_read_and_told(line, found, what):
    assert records(line) == found
    assert repaired(line).what == what


def test_half_a_character_as_an_escape_is_replaced():
    line = b'{"seq":1,"event":{"text":"a \\ud83d b","number":123456789012345678901234567890}}'
    (data,) = records(line)
    assert orjson.loads(data)["event"]["text"] == "a \ufffd b"
    assert b"123456789012345678901234567890" in data
    assert "that JSON does not have, replaced" in repaired(line).what


def test_a_number_that_is_none_becomes_null():
    (data,) = records(b'{"seq":1,"event":{"a":NaN,"b":-Infinity}}')
    assert orjson.loads(data)["event"] == {"a": None, "b": None}


def test_the_same_bytes_are_told_in_the_same_words_wherever_the_log_ends():
    assert repaired(ONE[:25]).what == repaired(ONE[:25] + b"\r").what


def test_a_line_nested_without_end_is_told_and_not_followed():
    assert records(b'{"seq":' * 5000) == []
    assert records(b'{"seq":' + b"[" * 100_000) == []


def test_a_line_of_a_hundred_megabytes_is_read_or_told():
    big = b'{"seq":1,"event":{"type":"x","text":"' + b"a" * 100_000_000
    assert records(big) == []
    assert records(big + b'"}}' + ONE)[1] == ONE


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_no_bytes_stop_the_reading(before, after):
    repaired(before)
    soiled = before.replace(b"{", b"") + ONE + after
    assert records(soiled)[:1] == [ONE]


@given(st.integers(1, len(TWO) - 1))
def test_a_torn_record_takes_nothing_from_the_one_after_it(cut):
    assert records(TWO[:cut] + ONE)[-1] == ONE
