from collections.abc import Iterable, Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.llm.anthropic import request_body
from agentls.llm.model import ModelRequest
from agentls.llm.normalise import (
    BEGINNING,
    INTERRUPTED,
    NO_OUTPUT,
    Conversation,
    Entry,
    Messages,
    sendable_text,
)
from agentls.protocol.content import (
    AnswerPart,
    RedactedThinkingPart,
    StopReason,
    TextBlock,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    Usage,
)
from agentls.protocol.history import Answer, CallResult, History, UserMessage
from agentls.protocol.tool_calls import CallOutcome, ToolCall

AT = "2026-11-30T15:00:00.000Z"


def messages_from_history(history: Iterable[Entry]) -> Messages:
    """Convert a whole history at once."""
    return Conversation().messages(list(history))


def user(*texts: str) -> UserMessage:
    content = tuple(TextBlock(text=text) for text in texts)
    return UserMessage(id="u", at=AT, turn_id="t", content=content)


def answer(*parts: AnswerPart, stop_reason: StopReason = "endTurn") -> Answer:
    return Answer(
        id="a", at=AT, turn_id="t", model="m", parts=parts, stop_reason=stop_reason, usage=Usage()
    )


def text(words: str) -> TextPart:
    return TextPart(id="p", text=words)


def call(call_id: str, **arguments: Any) -> ToolCallPart:
    return ToolCallPart(id=call_id, name="Read", input=arguments)


def result(call_id: str, *texts: str, outcome: CallOutcome | None = "ok") -> CallResult:
    return CallResult(
        call=ToolCall(
            id=call_id,
            message_id="a",
            name="Read",
            invocation="Reading",
            input={},
            status="finished",
            outcome=outcome,
            content=tuple(TextBlock(text=words) for words in texts),
        )
    )


def told(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words} for words in texts]


def test_conversation_with_calls() -> None:
    history = [
        user("Read both."),
        answer(text("I read."), call("1", file_path="a"), call("2", file_path="b")),
        result("2", "b's text"),
        result("1", "No such file", outcome="error"),
        answer(text("Done.")),
    ]

    assert messages_from_history(history) == (
        {"role": "user", "content": told("Read both.")},
        {
            "role": "assistant",
            "content": [
                *told("I read."),
                {"type": "tool_use", "id": "1", "name": "Read", "input": {"file_path": "a"}},
                {"type": "tool_use", "id": "2", "name": "Read", "input": {"file_path": "b"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "1",
                    "content": told("No such file"),
                    "is_error": True,
                },
                {"type": "tool_result", "tool_use_id": "2", "content": told("b's text")},
            ],
        },
        {"role": "assistant", "content": told("Done.")},
    )


def test_call_without_a_result_is_an_interrupted_one_and_comes_before_the_users_words() -> None:
    *_, last = messages_from_history([user("Go."), answer(call("1")), user("Go on.")])

    assert last["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "1",
            "content": told(INTERRUPTED),
            "is_error": True,
        },
        *told("Go on."),
    ]


def test_result_that_is_not_finished_is_an_interrupted_one() -> None:
    *_, last = messages_from_history([user("Go."), answer(call("1")), result("1", outcome=None)])

    assert last["content"][0]["content"] == told(INTERRUPTED)


@pytest.mark.parametrize("outcome", ["error", "denied", "cancelled"])
def test_call_that_did_not_work_is_an_error(outcome: CallOutcome) -> None:
    history = [user("Go."), answer(call("1")), result("1", "Not allowed.", outcome=outcome)]
    block = messages_from_history(history)[-1]["content"][0]

    assert (block["is_error"], block["content"]) == (True, told("Not allowed."))


def test_result_without_text_says_so() -> None:
    *_, last = messages_from_history([user("Go."), answer(call("1")), result("1", " \n")])

    assert last["content"][0]["content"] == told(NO_OUTPUT)


def test_malformed_input_is_sent_as_an_empty_object() -> None:
    part = ToolCallPart(id="1", name="Read", malformed_input='{"file')
    _, sent, _ = messages_from_history([user("Go."), answer(part), result("1", "Not JSON")])

    assert sent["content"][0]["input"] == {}


def test_thinking_goes_back_whole_or_not_at_all() -> None:
    parts = (
        ThinkingPart(id="1", text="Signed.", signature="s"),
        ThinkingPart(id="2", text="Cut off."),
        RedactedThinkingPart(id="3", data="d"),
        text("Hello."),
    )
    _, sent = messages_from_history([user("Hi."), answer(*parts)])

    assert sent["content"] == [
        {"type": "thinking", "thinking": "Signed.", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
        *told("Hello."),
    ]


def test_answer_cut_off_in_thought_ends_before_the_thought() -> None:
    thought = ThinkingPart(id="2", text="Then", signature="s")
    cut = answer(text("First."), thought, stop_reason="cancelled")
    _, sent, _ = messages_from_history([user("Hi."), cut, user("Go on.")])

    assert sent["content"] == told("First.")


def test_answer_with_nothing_to_send_is_skipped_and_the_users_words_join() -> None:
    nothing = answer(text(" "), ThinkingPart(id="1", text="Hm."), stop_reason="cancelled")

    assert messages_from_history([user("One."), nothing, user("Two.")]) == (
        {"role": "user", "content": told("One.", "Two.")},
    )


def test_history_without_its_beginning_starts_with_the_user() -> None:
    messages = messages_from_history([answer(text("Hello.")), user("Hi.")])

    assert messages[0] == {"role": "user", "content": told(BEGINNING)}


def test_result_without_its_call_is_left_out() -> None:
    assert messages_from_history([user("Hi."), result("gone", "text")]) == (
        {"role": "user", "content": told("Hi.")},
    )


def test_ids_that_a_server_used_before_are_made_unique() -> None:
    round_of_two = [answer(call("0"), call("a/b")), result("0", "x"), result("a/b", "y")]
    messages = messages_from_history([user("Hi."), *round_of_two, *round_of_two])

    uses = [block["id"] for message in messages[1::2] for block in message["content"]]
    answered = [block["tool_use_id"] for message in messages[2::2] for block in message["content"]]
    assert uses == answered == ["0", "a_b", "0_2", "a_b_2"]


def test_lone_surrogates_are_replaced_and_pairs_are_joined() -> None:
    assert sendable_text("a\ud800b\udc00") == "a\ufffdb\ufffd"
    assert sendable_text("\ud83d\ude00") == "\U0001f600"


def test_surrogates_in_an_input_are_replaced() -> None:
    part = call("1", paths=["a\ud800", {"b\udfff": 1}])
    _, sent, _ = messages_from_history([user("Hi."), answer(part)])

    assert sent["content"][0]["input"] == {"paths": ["a\ufffd", {"b\ufffd": 1}]}


def test_history_that_grows_is_converted_once() -> None:
    history = History([user("Hi."), answer(call("1")), result("1", "x"), answer(text("Yes."))])
    conversation = Conversation()
    before = conversation.messages(history)
    after = conversation.messages(history.append(user("And?")).append(answer(text("No."))))

    assert before.encoded.count < after.encoded.count
    assert after.encoded.json.startswith(before.encoded.json)
    assert list(before)[:-1] == list(after)[: len(before) - 1]
    assert after == messages_from_history(history.append(user("And?")).append(answer(text("No."))))


def test_messages_on_their_way_do_not_change() -> None:
    conversation = Conversation()
    history = History([user("One.")])
    sent = conversation.messages(history)
    history = history.append(answer(text(""))).append(user("Two.")).append(answer(text("Yes.")))
    conversation.messages(history)

    assert sent == ({"role": "user", "content": told("One.")},)


def test_rewound_history_is_converted_anew() -> None:
    first = History([user("Hi."), answer(text("One.")), user("And?"), answer(text("Two."))])
    conversation = Conversation()
    conversation.messages(first)
    rewound = History(first[:2]).append(user("Or?")).append(answer(text("Three.")))

    assert conversation.messages(rewound) == messages_from_history(rewound)


def test_branch_that_ends_before_the_answer_still_takes_results() -> None:
    asked = [user("Hi."), answer(call("1"))]
    conversation = Conversation()
    conversation.messages([*asked, answer(text("Cut."))])

    assert conversation.messages([*asked, result("1", "x")]) == messages_from_history(
        [*asked, result("1", "x")]
    )


TEXTS = st.text(st.characters(exclude_categories=()), max_size=5)
CALL_IDS = st.sampled_from(["1", "2", "1_2", "a/b", ""])
PARTS = st.one_of(
    st.builds(TextPart, id=st.just("p"), text=TEXTS),
    st.builds(ThinkingPart, id=st.just("p"), text=TEXTS, signature=st.sampled_from(["", "s"])),
    st.builds(RedactedThinkingPart, id=st.just("p"), data=st.just("d")),
    st.builds(
        ToolCallPart,
        id=CALL_IDS,
        name=st.sampled_from(["Read", "no such/tool", ""]),
        input=st.dictionaries(TEXTS, TEXTS | st.lists(TEXTS, max_size=2), max_size=2),
        malformed_input=st.none() | TEXTS,
    ),
)
ENTRIES = st.one_of(
    st.builds(user, TEXTS) | st.builds(user, TEXTS, TEXTS),
    st.lists(PARTS, max_size=4).map(lambda parts: answer(*parts)),
    st.builds(result, CALL_IDS, TEXTS, outcome=st.sampled_from(["ok", "error", "denied", None])),
)
HISTORIES = st.lists(ENTRIES, max_size=12)


@given(HISTORIES)
def test_any_history_can_be_sent(entries: list[Entry]) -> None:
    messages = messages_from_history(entries)

    orjson.dumps(list(messages))
    assert [message["role"] for message in messages] == [
        ("user", "assistant")[index % 2] for index in range(len(messages))
    ]
    ids: list[str] = []
    waiting: list[str] = []
    for message in messages:
        assert message["content"]
        kinds = [block["type"] for block in message["content"]]
        if message["role"] == "user":
            answered = [b["tool_use_id"] for b in message["content"] if b["type"] == "tool_result"]
            assert kinds == sorted(kinds, key="tool_result text".index)
            assert answered == waiting
        else:
            assert not waiting or message is messages[-1]
            assert kinds[-1] not in ("thinking", "redacted_thinking")
        waiting = [b["id"] for b in message["content"] if b["type"] == "tool_use"]
        ids += waiting
        for said in _texts(message["content"]):
            assert said.strip()
    assert not waiting
    assert len(set(ids)) == len(ids)
    assert all(ids)


def _texts(blocks: list[dict[str, Any]]) -> Iterator[str]:
    for block in blocks:
        if block["type"] == "text":
            yield block["text"]
        if block["type"] == "tool_result":
            yield from _texts(block["content"])


@given(HISTORIES, st.data())
def test_converting_as_it_grows_is_converting_at_once(
    entries: list[Entry], data: st.DataObject
) -> None:
    conversation = Conversation()
    history = History()
    for entry in entries:
        history = history.append(entry)
        if data.draw(st.booleans()):
            assert conversation.messages(history) == messages_from_history(history)
    assert conversation.messages(history) == messages_from_history(entries)


@given(HISTORIES, HISTORIES, HISTORIES)
def test_converting_another_branch_is_converting_at_once(
    shared: list[Entry], one: list[Entry], other: list[Entry]
) -> None:
    conversation = Conversation()
    conversation.messages([*shared, *one])

    assert conversation.messages([*shared, *other]) == messages_from_history([*shared, *other])


@given(HISTORIES, st.data())
def test_what_is_encoded_once_is_what_would_be_sent(entries: list[Entry], data: st.DataObject):
    conversation, history, length = Conversation(), History(), 0
    while length < len(entries):
        step = data.draw(st.integers(1, len(entries) - length))
        for entry in entries[length : length + step]:
            history = history.append(entry)
        length += step
        messages = conversation.messages(history)
        known = messages.encoded
        assert orjson.loads(b"[" + known.json + b"]") == list(messages[: known.count])
        request = ModelRequest("m", "", messages, encoded=known)
        plain = ModelRequest("m", "", messages)
        assert orjson.loads(request_body(request)) == orjson.loads(request_body(plain))
