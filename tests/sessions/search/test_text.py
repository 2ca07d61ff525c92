"""The index reads lines without the protocol's models; here it meets what those write."""

import orjson
from hypothesis import given
from hypothesis import strategies as st

from agentls.protocol.content import (
    DocumentBlock,
    FileBlock,
    TextBlock,
    TextPart,
    ToolCallPart,
    Usage,
)
from agentls.protocol.events.compaction import ConversationCompacted
from agentls.protocol.events.conversation import (
    AnswerFinished,
    TagChanged,
    TitleChanged,
    ToolCallFinished,
    TurnStarted,
    UserMessageReceived,
)
from agentls.protocol.events.envelope import EVENT_TYPES, Envelope
from agentls.sessions.search import text as index_text
from agentls.sessions.search.text import KINDS, passages_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)


def no_blob(sha256: str) -> bytes:
    raise FileNotFoundError(sha256)


def passages(event, **rest):
    envelope = Envelope(
        seq=7, session_id="s", turn_id="t", origin=None, at="2026-11-30T12:00:00.000Z", event=event
    )
    line = envelope.model_dump_json(by_alias=True).encode() + b"\n"
    return [
        (found.kind, found.message_id, found.tool, found.text)
        for found in passages_of(line, no_blob)
    ]


def test_each_event_of_the_protocol_gives_its_passages():
    words = (TextBlock(text="one"), TextBlock(text="two"))
    parts = (
        TextPart(id="p1", text="I look."),
        ToolCallPart(id="c1", name="Bash", input={"command": "ls\n-l", "timeout": 5, "no": None}),
        ToolCallPart(id="c2", name="Read", malformed_input='{"file'),
    )
    answered = AnswerFinished(
        id="m2",
        parent="m1",
        model="m",
        parts=parts,
        stop_reason="toolUse",
        response_id=None,
        usage=Usage(),
    )
    finished = ToolCallFinished(
        parent="m2", call_id="c1", outcome="ok", summary="Ran ls", content=words
    )
    compacted = ConversationCompacted(
        id="m3",
        parent=None,
        logical_parent="m2",
        kept_from=None,
        kept_from_seq=None,
        summary="All is well",
        message_count=2,
        state={"text": "not to be found"},
    )
    received = UserMessageReceived(id="m1", parent=None, content=words)
    assert passages(received) == [("prompt", "m1", None, "one\ntwo")]
    assert passages(answered) == [
        ("answer", "m2", None, "I look."),
        ("toolCall", "m2", "Bash", "Bash\ncommand: ls\n-l\ntimeout: 5"),
        ("toolCall", "m2", "Read", 'Read\n{"file'),
    ]
    assert passages(finished) == [("toolResult", "m2", None, "Ran ls\none\ntwo")]
    assert passages(compacted) == [("summary", "m3", None, "All is well")]
    assert passages(TitleChanged(title="A name")) == [("title", None, None, "A name")]
    assert passages(TagChanged(tag="later")) == [("tag", None, None, "later")]
    assert passages(TagChanged(tag=None)) == []
    assert passages(TurnStarted(parent="m1", model="m")) == []


def test_a_notice_is_not_found_as_what_the_user_said():
    words = (TextBlock(text="The task b3k9x0q2m has ended."),)
    notice = UserMessageReceived(id="m1", parent=None, content=words, author="agentls")
    assert passages(notice) == []


def test_what_went_with_a_prompt_is_found_by_its_name_and_not_by_what_it_holds():
    content = (
        TextBlock(text="Compare."),
        DocumentBlock(media_type="application/pdf", data="JVBERi0=", name="plan.pdf"),
        FileBlock(what="symbol", path="src/a.py", text="def slug(): ...", symbol="slug"),
        FileBlock(what="file", path="b.md", text="secret ingredients"),
    )
    received = UserMessageReceived(id="m1", parent=None, content=content)
    text = "Compare.\n[document: plan.pdf]\n[file: src/a.py#slug]\n[file: b.md]"
    assert passages(received) == [("prompt", "m1", None, text)]


def test_a_question_and_its_answer_are_found_in_the_call_and_its_result():
    asked = {"questions": [{"question": "Which way?", "options": [{"label": "Left"}]}]}
    call = ToolCallPart(id="c1", name="AskUserQuestion", input=asked)
    answered = AnswerFinished(
        id="m2", parent="m1", model="m", parts=(call,), stop_reason="toolUse", response_id=None,
        usage=Usage(),
    )  # fmt: skip
    result = ToolCallFinished(
        parent="m2", call_id="c1", outcome="ok", summary="Answered: Left",
        content=(TextBlock(text='The user answered:\n"Which way?" → "Left"'),),
    )  # fmt: skip
    assert passages(answered)[-1][3] == "AskUserQuestion\nquestion: Which way?\nlabel: Left"
    assert '"Which way?" → "Left"' in passages(result)[0][3]


def test_every_event_that_is_read_is_one_of_the_protocol():
    assert set(index_text._EXTRACTORS) <= EVENT_TYPES
    assert len(KINDS) == 7


@given(st.sampled_from(sorted(index_text._EXTRACTORS)), st.dictionaries(st.text(), JSON), st.data())
def test_any_json_in_the_place_of_a_field_harms_nothing(kind, extra, data):
    names = ["id", "parent", "content", "parts", "callId", "summary", "changes", "title", "tag"]
    event = {"type": kind, **extra, **{name: data.draw(JSON) for name in names}}
    record = {"seq": 1, "event": event, "blobs": data.draw(JSON), "at": data.draw(JSON)}
    try:
        line = orjson.dumps(record)
    except TypeError:  # an integer of more than 64 bits
        return
    for found in passages_of(line, no_blob):
        assert found.kind in KINDS
        assert found.text.strip()


def test_a_deeply_nested_input_is_read_without_recursion():
    nested = b'{"a":' * 900 + b'"bottom"' + b"}" * 900
    call = b'{"type":"toolCall","id":"c","name":"X","input":' + nested + b"}"
    line = b'{"seq":1,"event":{"type":"answerFinished","id":"m","parts":[' + call + b"]}}"
    (found,) = passages_of(line, no_blob)
    assert found.text == "X\na: bottom"
