"""Old output is sent as a placeholder: what of it, and what stays."""

from typing import Any

import pytest

from agentls.llm.clearing import SHORT
from agentls.llm.normalise import Conversation, Messages
from agentls.protocol.content import ThinkingPart
from agentls.protocol.history import Entry, History
from tests.support.attachments import document, got, mention, numbered, pdf, told
from tests.support.histories import answer, call, image, picture, text

PLACEHOLDER = (
    "[Old output of Read cleared to save room; call again if it is needed, or look it up with "
    "Recall]"
)
LONG = "x" * SHORT
NOW, LATER = "2026-11-30T15:00:00.000Z", "2026-11-30T16:00:00.000Z"


def cleared(entries: list[Entry], before: str | None = None, at: str | None = None) -> Messages:
    """Convert a history at once, with everything cleared but its last message."""
    return Conversation().messages(numbered(entries), before or f"m{len(entries) - 1}", at)


def result_of(content: Any, outcome: Any = "ok") -> dict[str, Any]:
    """Return how the only result in a history is sent once it is cleared."""
    history = [told("Go."), answer(call("1")), got("1", *content, outcome=outcome)]
    return cleared([*history, answer(text("Yes."))])[2]["content"][0]


def texts(content: list[dict[str, Any]]) -> list[str]:
    return [block["text"] for block in content]


def test_long_output_is_a_placeholder_that_names_the_tool() -> None:
    assert result_of([LONG]) == {
        "type": "tool_result",
        "tool_use_id": "1",
        "content": [{"type": "text", "text": PLACEHOLDER}],
    }
    assert texts(result_of(["x" * 150, "y" * 50])["content"]) == [PLACEHOLDER]


def test_short_output_stays() -> None:
    assert texts(result_of([LONG[1:]])["content"]) == [LONG[1:]]


def test_output_of_a_call_that_failed_is_still_that() -> None:
    block = result_of([LONG, image(picture())], "error")

    assert block["is_error"] is True
    assert texts(block["content"]) == [
        PLACEHOLDER,
        "[Image shot.png (image/png) is not shown: it was cleared to save room]",
    ]


def test_pictures_and_documents_are_notes_with_their_names() -> None:
    block = result_of(["Two:", image(picture(), "a.png"), document(pdf(), "b.pdf")])

    assert texts(block["content"]) == [
        "Two:",
        "[Image a.png (image/png) is not shown: it was cleared to save room]",
        "[Document b.pdf (application/pdf) is not shown: it was cleared to save room]",
    ]


def test_of_a_prompt_the_media_are_cleared_and_nothing_that_was_written() -> None:
    prompt = told(LONG, image(picture(), "a.png"), mention("a.py", LONG), document(pdf()))
    messages = cleared([prompt, answer(text("Yes."))])

    assert [block["type"] for block in messages[0]["content"]] == ["text"] * 4
    assert messages[0]["content"][0]["text"] == LONG
    assert messages[0]["content"][2]["text"].endswith(LONG)


def test_result_that_is_not_finished_is_an_interrupted_one_all_the_same() -> None:
    assert "Interrupted" in str(result_of([LONG], None)["content"])


def test_what_comes_after_is_sent_in_full() -> None:
    round_of = [answer(call("1")), got("1", LONG, image(picture()))]
    messages = cleared([told("Go."), *round_of, told("More."), *round_of], "m3")

    assert texts(messages[2]["content"][0]["content"])[0] == PLACEHOLDER
    assert messages[4]["content"][0]["content"][0]["text"] == LONG
    assert messages[4]["content"][0]["content"][1]["type"] == "image"


@pytest.mark.parametrize("before", [None, "gone", "m0"])
def test_message_that_is_not_there_clears_nothing(before: str | None) -> None:
    entries = numbered([told("Go."), answer(call("1")), got("1", LONG), answer(text("Yes."))])

    assert Conversation().messages(entries, before) == Conversation().messages(entries)


THOUGHT = ThinkingPart(id="t", text="Hm.", signature="s")


def thinking(messages: Messages) -> list[bool]:
    answers = [message for message in messages if message["role"] == "assistant"]
    return [any(block["type"] == "thinking" for block in a["content"]) for a in answers]


def rounds(*outputs: str, at: str = NOW) -> list[Entry]:
    entries: list[Entry] = [told("Go.")]
    for number, output in enumerate(outputs):
        entries += [answer(THOUGHT, call(f"c{number}"), at=at), got(f"c{number}", output)]
    return entries


def test_thoughts_behind_what_is_cleared_are_left_out_up_to_the_message_it_ends_at() -> None:
    entries = rounds("short", LONG, "short", LONG, "short")

    assert thinking(cleared(entries, "m7")) == [True, True, False, True, True]


def test_thoughts_up_to_the_moment_of_clearing_are_left_out() -> None:
    entries = [*rounds("short", LONG, "short"), *rounds(LONG, at=LATER)]

    assert thinking(cleared(entries, "m5", NOW)) == [True, True, False, True]
    assert thinking(cleared(entries, "m5", LATER)) == [True, True, False, False]


def test_clearing_of_nothing_leaves_all_thoughts() -> None:
    assert thinking(cleared(rounds("short", "short", "short"), "m5", LATER)) == [True] * 3


def test_what_is_encoded_is_encoded_anew_once_and_only_grows_then() -> None:
    entries = numbered(rounds(*[LONG] * 12))
    conversation, history = Conversation(), History()
    encoded, rewritings = b"", 0
    for number, entry in enumerate(entries):
        history = history.append(entry)
        messages = conversation.messages(history, "m11" if number >= 15 else None)
        rewritings += not messages.encoded.json.startswith(encoded)
        encoded = messages.encoded.json

    assert rewritings == 1
    assert encoded.count(PLACEHOLDER.encode()) == 5


def test_cleared_pictures_make_room_for_others() -> None:
    shot: list[Entry] = [told(image(picture())), answer(text("Yes."))]
    entries = [*shot * 90, told("And?"), *shot * 90]
    sent = str(list(cleared(entries, "m180")))

    assert sent.count("'type': 'image'") == 90
    assert "of the oldest" not in sent
