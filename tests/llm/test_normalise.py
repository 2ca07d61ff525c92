from collections.abc import Iterable
from typing import Any

import pytest

from agentls.llm.blocks import sendable_text
from agentls.llm.normalise import (
    BEGINNING,
    GO_ON,
    INTERRUPTED,
    MISSING,
    NO_OUTPUT,
    SUMMARY,
    Conversation,
    Messages,
)
from agentls.protocol.content import RedactedThinkingPart, ThinkingPart, ToolCallPart
from agentls.protocol.history import Entry, History
from agentls.protocol.tool_calls import CallOutcome
from tests.support.api_rules import violations
from tests.support.histories import (
    answer,
    call,
    gap,
    image,
    opened,
    picture,
    result,
    summary,
    text,
    user,
)

GO_ON_MESSAGE = {"role": "user", "content": [{"type": "text", "text": GO_ON}]}


def messages_from_history(history: Iterable[Entry]) -> Messages:
    """Convert a whole history at once."""
    return Conversation().messages(list(history))


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
        GO_ON_MESSAGE,
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


SIGNED = ThinkingPart(id="1", text="Signed.", signature="s")
HIDDEN = ThinkingPart(id="1", text="", signature="s")
UNSIGNED = ThinkingPart(id="2", text="Unsigned.")
REDACTED = RedactedThinkingPart(id="3", data="d")


def test_thinking_goes_back_as_it_came() -> None:
    sent = messages_from_history([user("Hi."), answer(SIGNED, REDACTED, text("Hello."))])[1]

    assert sent["content"] == [
        {"type": "thinking", "thinking": "Signed.", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
        *told("Hello."),
    ]


@pytest.mark.parametrize(
    "spoiled",
    [
        UNSIGNED,
        ThinkingPart(id="2", text="Half \ud800", signature="s"),
        ThinkingPart(id="2", text="Hm.", signature=" "),
        RedactedThinkingPart(id="2", data=""),
    ],
)
def test_thinking_that_is_not_whole_does_not_go_back_at_all(spoiled: Any) -> None:
    parts = (SIGNED, spoiled, text("Hello."), REDACTED, text("Yes."))
    sent = messages_from_history([user("Hi."), answer(*parts)])[1]

    assert sent["content"] == told("Hello.", "Yes.")


def test_thinking_that_its_model_keeps_to_itself_goes_back_with_no_text() -> None:
    history = [user("Go."), answer(HIDDEN, call("1"), call("2")), result("1"), result("2")]
    sent = messages_from_history(history)[1]

    assert sent["content"][0] == {"type": "thinking", "thinking": "", "signature": "s"}


def test_thinking_between_calls_stays_where_it_was() -> None:
    parts = (HIDDEN, call("1"), SIGNED, call("2"), REDACTED, text("And?"), SIGNED)
    sent = messages_from_history([user("Go."), answer(*parts)])[1]

    kinds = [block["type"] for block in sent["content"]]
    assert kinds == ["thinking", "tool_use", "thinking", "tool_use", "redacted_thinking", "text"]


def test_answer_cut_off_in_thought_ends_before_the_thought() -> None:
    cut = answer(text("First."), SIGNED, UNSIGNED, stop_reason="interrupted")
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


def test_summary_stands_for_what_came_before_it() -> None:
    messages = messages_from_history([summary("Two files were read."), user("Go on.")])

    said = told(f"{SUMMARY}\n\nTwo files were read.", "Go on.")
    assert messages == ({"role": "user", "content": said},)


def test_gap_is_named_and_breaks_no_pair() -> None:
    history = [user("Go."), answer(call("1")), gap(), result("1", "x"), answer(text("Yes."))]
    messages = messages_from_history(history)

    assert [block["type"] for block in messages[2]["content"]] == ["tool_result", "text"]
    assert messages[2]["content"][0]["content"] == told("x")
    assert messages[2]["content"][1]["text"] == MISSING
    assert not violations(messages)


def test_thoughts_after_missing_messages_are_left_out_as_their_server_would_refuse_them() -> None:
    thinking = answer(SIGNED, text("Yes."))
    messages = messages_from_history([user("Go."), thinking, gap(), user("And?"), thinking])

    assert [len(message["content"]) for message in messages] == [1, 2, 2, 1, 1]


def test_thoughts_older_than_the_summary_before_them_are_left_out() -> None:
    before = answer(SIGNED, text("Old."), at="2026-11-30T14:59:59.999Z")
    after = answer(SIGNED, text("New."), at="2026-11-30T15:00:00.001Z")
    messages = messages_from_history([summary("So."), before, user("And?"), after])

    assert [block["type"] for block in messages[1]["content"]] == ["text"]
    assert [block["type"] for block in messages[3]["content"]] == ["thinking", "text"]


def test_thoughts_before_a_summary_stay() -> None:
    messages = messages_from_history([user("Hi."), answer(SIGNED, text("Old.")), summary("So.")])

    assert [block["type"] for block in messages[1]["content"]] == ["thinking", "text"]


def test_answers_that_follow_each_other_stay_apart() -> None:
    history = [user("Hi."), answer(text("One ")), answer(SIGNED, text("Two"))]

    assert [message["role"] for message in messages_from_history(history)] == [
        "user", "assistant", "user", "assistant", "user",
    ]  # fmt: skip
    assert messages_from_history(history)[2] == GO_ON_MESSAGE


@pytest.mark.parametrize(
    "history", [[], [user()], [user("", " \n\t")], [answer(text(" "))], [result("1", "x")]]
)
def test_history_with_nothing_to_send_is_one_word(history: list[Entry]) -> None:
    assert messages_from_history(history) == (GO_ON_MESSAGE,)


def test_result_after_the_wrong_answer_is_left_out_and_its_call_has_one() -> None:
    history = [user("Go."), answer(call("1")), answer(call("2")), result("1", "x"), result("2")]
    messages = messages_from_history(history)

    assert messages[2]["content"][0]["content"] == told(INTERRUPTED)
    assert [block["tool_use_id"] for block in messages[4]["content"]] == ["2"]


def test_second_result_of_a_call_is_left_out() -> None:
    history = [user("Go."), answer(call("1")), result("1", "first"), result("1", "second")]

    assert messages_from_history(history)[-1]["content"] == [
        {"type": "tool_result", "tool_use_id": "1", "content": told("first")}
    ]


def test_same_id_twice_in_an_answer_gets_a_result_each() -> None:
    history = [user("Go."), answer(call("1"), call("1")), result("1", "a"), result("1", "b")]
    *_, sent, results = messages_from_history(history)

    assert [block["id"] for block in sent["content"]] == ["1", "1_2"]
    assert [block["content"] for block in results["content"]] == [told("a"), told("b")]


def test_ids_and_names_of_any_length_and_letters_are_made_acceptable() -> None:
    part = ToolCallPart(id="é" * 200, name="mcp tool/é" * 20)
    messages = messages_from_history([user("Go."), answer(part, part)])

    assert not violations(messages)


def test_input_that_json_cannot_say_is_mended() -> None:
    deep: Any = "end"
    for _ in range(248):
        deep = [deep]
    part = call("1", big=2**70, nan=float("nan"), deep=deep)
    messages = messages_from_history([user("Go."), answer(part), answer(text("So."))])

    assert not violations(messages)
    assert messages[1]["content"][0]["input"]["big"] == 2**70
    assert messages[1]["content"][0]["input"]["nan"] is None


def test_images_are_sent_in_prompts_and_in_results() -> None:
    shot = image(picture(5, 4))
    history = [user("See:", shot), answer(call("1")), result("1", "Here.", shot)]
    messages = messages_from_history(history)

    assert opened(messages[0]["content"][1]).size == (5, 4)
    assert opened(messages[2]["content"][0]["content"][1]).size == (5, 4)
    assert not violations(messages)


def test_image_that_cannot_be_sent_is_a_note_that_names_it_and_says_why() -> None:
    history = [user(image(b"BM" + bytes(50), "a\n\ud800b.bmp", "image/bmp"))]

    assert messages_from_history(history)[0]["content"] == told(
        "[Image a \ufffdb.bmp (image/bmp) is not shown: it is no PNG, JPEG, GIF or WebP picture, "
        "and the model takes no other]"
    )


def test_image_in_the_result_of_a_failed_call_is_a_note() -> None:
    history = [user("Go."), answer(call("1")), result("1", image(picture()), outcome="error")]
    messages = messages_from_history(history)

    assert "failed may hold text only" in messages[-1]["content"][0]["content"][0]["text"]
    assert not violations(messages)


async def test_preparing_images_takes_the_work_off_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conversation = Conversation()
    history = History([user("See:", image(picture(2017, 3)))])
    await conversation.prepare(history)
    monkeypatch.setattr("agentls.llm.images._looked_at", lambda _: pytest.fail("on the loop"))

    assert opened(conversation.messages(history)[0]["content"][1]).size[0] == 2000
