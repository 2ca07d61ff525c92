import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.errors import ContentMissing
from agentls.protocol.content import (
    DocumentBlock,
    FileBlock,
    ImageBlock,
    TextBlock,
    ThinkingPart,
    ToolCallPart,
    Usage,
)
from agentls.protocol.events.conversation import (
    AnswerFinished,
    PromptQueued,
    ToolCallFinished,
    UserMessageReceived,
)
from agentls.protocol.events.envelope import Envelope, SessionEvents
from agentls.protocol.requests import SessionSummary
from agentls.sessions.records import (
    BLOB_BYTES,
    Header,
    envelope_line,
    envelope_of,
    header_line,
    header_of,
    summary_line,
    summary_of,
)
from tests.support.logs import OneLog

AT = "2026-11-30T12:00:00.000Z"
SUMMARY = SessionSummary(
    id="s1",
    title="A title",
    tag=None,
    last_prompt="hello",
    created_at=AT,
    updated_at=AT,
    message_count=3,
    model="m",
    git_branch=None,
    usage=Usage(input_tokens=7),
    forked_from=None,
    open=True,
)


def stamped(event: SessionEvents) -> Envelope:
    return Envelope(seq=1, session_id="s1", turn_id=None, origin=None, at=AT, event=event)


def queued(text: str) -> Envelope:
    return stamped(PromptQueued(item_id="t", content=(TextBlock(text=text),)))


def no_blob(sha256: str) -> bytes:
    raise ContentMissing(f"no blob {sha256[:12]}")


def answer(**part: object) -> Envelope:
    return stamped(
        AnswerFinished(
            id="a",
            parent=None,
            model="m",
            parts=(part,),
            stop_reason="endTurn",
            response_id="r",
            usage=Usage(),
        )
    )


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_any_text_goes_through_a_line_unchanged(text):
    line = envelope_line(queued(text))
    assert line.count(b"\n") == 1
    assert envelope_of(line, no_blob) == (queued(text), ())


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\u0085", "\r", "\x1e"])
def test_what_looks_like_the_end_of_a_line_is_data(character):
    line = envelope_line(queued(f"a{character}b"))
    assert line.endswith(b"\n")
    assert envelope_of(line, no_blob)[0].event.content[0].text == f"a{character}b"


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("half a \ud83d character", "half a \ufffd character"),
        ({"key \udc00": ["\ud800"]}, {"key \ufffd": ["\ufffd"]}),
        (10**30, 10**30),
        (float("nan"), None),
        (float("inf"), None),
        ([1, None, True, 2.5], [1, None, True, 2.5]),
    ],
)
def test_a_value_that_json_cannot_say_is_written_all_the_same(value, kept):
    written = stamped(
        ToolCallFinished(
            parent="a",
            call_id="c",
            outcome="ok",
            summary="s \ud800" if isinstance(value, str) else "s",
            content=(),
            variables={"Tool:v": value},
        )
    )
    read = envelope_of(envelope_line(written), no_blob)[0]
    assert read.event.variables == {"Tool:v": kept}


def test_an_object_that_is_no_json_at_all_does_not_stop_the_writing():
    odd = queued("x").model_copy(update={"later_field": object()})
    assert b"object object" in envelope_line(odd)


def test_a_field_of_a_newer_version_comes_back():
    line = envelope_line(queued("x"))
    newer = line.replace(b'"itemId"', b'"colour":{"deep":[1]},"itemId"').replace(
        b'{"seq"', b'{"future":true,"seq"'
    )
    assert json.loads(envelope_line(envelope_of(newer, no_blob)[0])) == json.loads(newer)


def test_a_text_of_up_to_64_kilobytes_stays_in_its_line():
    store = OneLog.without_file()
    text = "x" * BLOB_BYTES
    assert b"blobs" not in envelope_line(queued(text), store.keep_blob)
    assert store.blobs == {}


def test_a_bigger_text_lies_beside_the_log_and_comes_back():
    store = OneLog.without_file()
    text = "\u00e9" * (BLOB_BYTES // 2) + "\u2028"
    line = envelope_line(queued(text), store.keep_blob)
    record = orjson.loads(line)
    (reference,) = record["blobs"]
    assert len(line) < 1000
    assert record["event"]["content"][0]["text"] is None
    assert reference["at"] == ["event", "content", 0, "text"]
    assert reference["size"] == len(text.encode())
    assert reference["mime"] == "text/plain; charset=utf-8"
    assert reference["uri"] == f"agentls-blob:{reference['sha256']}"
    assert store.blobs[reference["sha256"]] == text.encode()
    assert envelope_of(line, store.blob_of_session) == (queued(text), ())


def test_a_text_whose_blob_cannot_be_kept_stays_in_its_line():
    def full(data: bytes) -> str:
        raise OSError(28, "No space left on device")

    text = "x" * (BLOB_BYTES + 1)
    assert envelope_of(envelope_line(queued(text), full), no_blob) == (queued(text), ())


def test_names_are_never_put_beside_the_log():
    store = OneLog.without_file()
    long_id = "c" * (BLOB_BYTES + 1)
    line = envelope_line(answer(type="toolCall", id=long_id, name="Read"), store.keep_blob)
    assert orjson.loads(line)["event"]["parts"][0]["id"] == long_id


def test_a_missing_blob_becomes_a_text_that_says_so():
    store = OneLog.without_file()
    line = envelope_line(queued("x" * (BLOB_BYTES + 1)), store.keep_blob)
    envelope, missing = envelope_of(line, no_blob)
    assert envelope.event.content[0].text.startswith("[missing from the log: a text of blob ")
    assert missing == (
        f"a value kept beside the log is missing: no blob {next(iter(store.blobs))[:12]}",
    )


def test_a_missing_picture_becomes_a_text_that_can_be_sent():
    store = OneLog.without_file()
    picture = ImageBlock(media_type="image/png", data="A" * (BLOB_BYTES + 4))
    message = stamped(UserMessageReceived(id="m", parent=None, content=(picture,)))
    read = envelope_of(envelope_line(message, store.keep_blob), no_blob)[0]
    assert isinstance(read.event.content[0], TextBlock)


def test_a_missing_document_becomes_a_text_that_can_be_sent():
    store = OneLog.without_file()
    plan = DocumentBlock(media_type="application/pdf", data="A" * (BLOB_BYTES + 4), name="p.pdf")
    message = stamped(UserMessageReceived(id="m", parent=None, content=(plan,)))
    line = envelope_line(message, store.keep_blob)
    assert envelope_of(line, store.blob_of_session) == (message, ())
    read = envelope_of(line, no_blob)[0]
    assert isinstance(read.event.content[0], TextBlock)


def test_a_mentioned_file_whose_text_is_missing_becomes_a_text_that_names_it():
    store = OneLog.without_file()
    file = FileBlock(what="file", path="src/a.py", text="x" * (BLOB_BYTES + 1))
    message = stamped(UserMessageReceived(id="m", parent=None, content=(file,)))
    line = envelope_line(message, store.keep_blob)
    assert envelope_of(line, store.blob_of_session) == (message, ())
    (block,) = envelope_of(line, no_blob)[0].event.content
    assert isinstance(block, TextBlock)
    assert block.text.startswith("src/a.py: [missing from the log: ")


def test_a_thought_that_is_missing_loses_its_signature_too():
    store = OneLog.without_file()
    thought = answer(type="thinking", id="a.0", text="t" * (BLOB_BYTES + 1), signature="sig")
    read = envelope_of(envelope_line(thought, store.keep_blob), no_blob)[0]
    assert isinstance(read.event.parts[0], ThinkingPart)
    assert read.event.parts[0].signature == ""


def test_a_blob_without_a_place_is_told():
    line = envelope_line(answer(type="toolCall", id="c", name="Read", input={"a": 1}))
    reference = b'{"at":["event","parts",7,"text"],"sha256":"00"}'
    soiled = line.replace(b'{"seq"', b'{"blobs":[' + reference + b',5],"seq"')
    envelope, missing = envelope_of(soiled, no_blob)
    assert isinstance(envelope.event.parts[0], ToolCallPart)
    assert missing == ("a value kept beside the log has no place in its line",) * 2


def test_a_header_says_whose_log_it_is():
    header = header_of(orjson.loads(header_line("s1", "chat2", "sub/folder")))
    assert header == Header(2, "s1", "chat2", "sub/folder")
    assert header_of({"log": "agentls", "version": 1, "sessionId": "s1"}) == Header(1, "s1")
    assert header_of({"log": "other", "version": 1}) is None
    assert header_of({"log": "agentls", "version": "1"}) is None


def test_a_summary_comes_back_as_a_session_that_is_not_open():
    line = summary_line(SUMMARY, AT)
    assert b'"open"' not in line
    assert summary_of(orjson.loads(line)) == (SUMMARY.model_copy(update={"open": False}), AT)
    broken = SUMMARY.model_copy(update={"title": "half \ud83d"})
    assert summary_of(orjson.loads(summary_line(broken, AT)))[0].title == "half \ufffd"
    assert summary_of({"summary": {"id": 5}, "at": AT}) is None
    assert summary_of({"seq": 1}) is None
