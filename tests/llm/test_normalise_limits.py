"""What of many and large images is sent, and that it stays so."""

from typing import Any

import pytest

from agentls.llm import fitting, images
from agentls.llm.normalise import Conversation, Messages
from agentls.protocol.content import ThinkingPart
from agentls.protocol.history import Entry, History
from tests.support.api_rules import violations
from tests.support.histories import answer, call, image, noise, picture, result, text, user

THOUGHT = ThinkingPart(id="t", text="Hm.", signature="s")


def converted(entries: list[Entry]) -> Messages:
    return Conversation().messages(entries)


def notes(messages: Messages) -> list[str]:
    """Return the notes that stand for images."""
    found: list[str] = []
    for message in messages:
        for block in message["content"]:
            inner = block["content"] if block["type"] == "tool_result" else [block]
            found += [b["text"] for b in inner if b["type"] == "text" and "not shown" in b["text"]]
    return found


def shown(messages: Messages) -> int:
    return str(list(messages)).count("'type': 'image'")


def screenshots(count: int, data: bytes = picture()) -> list[Entry]:
    """Return turns in which the model looks at a picture each."""
    entries: list[Entry] = []
    for number in range(count):
        name = f"{number}.png"
        entries += [
            user(f"Look at {name}"),
            answer(THOUGHT, call(f"c{number}")),
            result(f"c{number}", image(data, name)),
            answer(THOUGHT, text("I see.")),
        ]
    return entries


def test_hundred_images_are_sent() -> None:
    messages = converted(screenshots(100))

    assert (shown(messages), notes(messages)) == (100, [])


def test_one_image_more_leaves_out_the_oldest_and_some_room_for_the_next() -> None:
    messages = converted(screenshots(101))

    assert shown(messages) == fitting.FEWER_IMAGES
    assert len(notes(messages)) == 101 - fitting.FEWER_IMAGES
    assert notes(messages)[0] == (
        "[Image 0.png (image/png) is not shown: a request holds 100 images at most, and this is "
        "one of the oldest]"
    )
    assert not violations(messages)


def test_images_that_were_left_out_stay_out_and_what_is_encoded_only_grows() -> None:
    entries = screenshots(130)
    conversation, history = Conversation(), History()
    encoded, rewritings = b"", 0
    for entry in entries:
        history = history.append(entry)
        messages = conversation.messages(history)
        rewritings += not messages.encoded.json.startswith(encoded)
        encoded = messages.encoded.json

    assert rewritings == 2
    assert messages == converted(entries)
    assert not violations(messages)


def test_thoughts_had_over_images_that_are_left_out_now_are_left_out_too() -> None:
    messages = converted([*screenshots(101), *screenshots(2)])

    thoughts = [any(b["type"] == "thinking" for b in m["content"]) for m in messages[1::2]]
    # The first was had before the first image; those after the hundred-and-first follow the notes.
    assert thoughts == [True, *[False] * 200, *[True] * 5]


def test_request_stays_below_its_limit_in_bytes() -> None:
    heavy = noise(1100, 1000)
    entries = screenshots(9, heavy)
    messages = converted(entries)

    assert 0 < len(notes(messages)) < 9
    assert "32 MB" in notes(messages)[0]
    assert "0.png" in notes(messages)[0]
    assert len(messages.encoded.json) < 32_000_000
    assert not violations(messages)


def test_text_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "MAX_BYTES", 100_000)
    monkeypatch.setattr(fitting, "FEWER_BYTES", 50_000)
    early: list[Entry] = [user("x" * 40_000), *screenshots(2, picture(400, 300))]
    more: list[Entry] = [user("\x00" * 9_000), answer(text("y"))]

    assert notes(converted(early)) == []
    assert len(notes(converted([*early, *more]))) == 2


def test_text_that_was_closed_before_the_first_image_counts() -> None:
    conversation = Conversation()
    early: list[Entry] = [user("x" * 30_000_000), answer(text("Long."))]
    conversation.messages(early)

    assert notes(conversation.messages([*early, user(image(picture()))])) != []


@pytest.mark.parametrize(("characters", "images_shown"), [(19_000_000, 2), (30_000_000, 0)])
def test_room_that_text_takes_is_not_given_to_images(characters: int, images_shown: int) -> None:
    entries: list[Entry] = [user("x" * characters), *screenshots(4, noise(1100, 1000))]

    messages = converted(entries)
    assert (shown(messages), len(notes(messages))) == (images_shown, 4 - images_shown)


@pytest.fixture
def _no_pillow(monkeypatch: pytest.MonkeyPatch) -> Any:
    images._cache.clear()
    monkeypatch.setattr(images, "_pillow", lambda: None)
    yield
    images._cache.clear()


@pytest.mark.usefixtures("_no_pillow")
def test_without_pillow_large_images_are_left_out_once_there_are_many() -> None:
    large = screenshots(1, picture(3000, 20))
    few = converted([*large, *screenshots(19)])
    many = converted([*large, *screenshots(20)])

    assert (shown(few), notes(few)) == (20, [])
    assert shown(many) == 20
    assert "none may have more than 2000 pixels a side" in notes(many)[0]
    assert not violations(few) + violations(many)


def test_with_pillow_large_images_are_scaled_from_the_first_on() -> None:
    large = screenshots(1, picture(3000, 20))
    few, many = converted([*large, *screenshots(3)]), converted([*large, *screenshots(30)])

    assert list(many)[:10] == list(few)[:10]
    assert not violations(many)
