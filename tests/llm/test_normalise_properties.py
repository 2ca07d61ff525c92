"""Any history at all can be sent, and growing changes nothing of it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentls.llm import images
from agentls.llm.anthropic import request_body
from agentls.llm.model import ModelRequest
from agentls.llm.normalise import Conversation, Messages
from agentls.protocol.content import RedactedThinkingPart, TextBlock, TextPart, ThinkingPart
from agentls.protocol.history import Answer, Entry, History, UserMessage
from tests.support.any_histories import HISTORIES, few_media
from tests.support.api_rules import violations
from tests.support.histories import answer, gap
from tests.support.lives import actions, lived
from tests.support.sdk_types import sdk_refusals


@pytest.fixture(autouse=True, scope="module")
def _few_media() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        few_media(patch)
        yield


def converted(entries: list[Entry]) -> Messages:
    return Conversation().messages(entries)


def check(entries: list[Entry], messages: Messages) -> None:
    """Fail where the API would not take what is sent."""
    assert violations(messages, thoughts=_thoughts(entries)) == []
    assert sdk_refusals(messages) == []


def _thoughts(entries: list[Entry]) -> list[dict[str, Any]]:
    """Return the thoughts of a history as the API sent them."""
    return [
        {"type": "redacted_thinking", "data": part.data}
        if isinstance(part, RedactedThinkingPart)
        else {"type": "thinking", "thinking": part.text, "signature": part.signature}
        for entry in entries
        if isinstance(entry, Answer)
        for part in entry.parts
        if isinstance(part, RedactedThinkingPart | ThinkingPart)
    ]


def _damaged(entries: list[Entry], data: st.DataObject) -> list[Entry]:
    """Return the entries as a damaged log might give them."""
    entries = list(entries)
    for _ in range(data.draw(st.integers(0, 4))):
        if not entries:
            break
        at = data.draw(st.integers(0, len(entries) - 1))
        _DAMAGE[data.draw(st.sampled_from(sorted(_DAMAGE)))](entries, at)
    return entries


def _cut_in_two(entries: list[Entry], at: int) -> None:
    entry = entries[at]
    if isinstance(entry, Answer):
        parts = entry.parts[: len(entry.parts) // 2]
        entries[at] = entry.model_copy(update={"parts": parts, "stop_reason": "interrupted"})
    elif isinstance(entry, UserMessage):
        entries[at] = entry.model_copy(update={"content": (TextBlock(text=""),)})


_DAMAGE: dict[str, Callable[[list[Entry], int], Any]] = {
    "cut off": lambda entries, at: entries.__delitem__(slice(at, None)),
    "beheaded": lambda entries, at: entries.__delitem__(slice(0, at)),
    "one lost": lambda entries, at: entries.pop(at),
    "one twice": lambda entries, at: entries.insert(at, entries[at]),
    "one moved to the end": lambda entries, at: entries.append(entries.pop(at)),
    "turned round": lambda entries, at: entries.__setitem__(
        slice(at, at + 4), entries[at : at + 4][::-1]
    ),
    "gap": lambda entries, at: entries.insert(at, gap()),
    "cut in two": _cut_in_two,
}


@given(HISTORIES)
def test_any_history_can_be_sent(entries: list[Entry]) -> None:
    check(entries, converted(entries))


@given(actions, st.data())
def test_history_of_any_life_can_be_sent_whatever_its_log_suffered(
    steps: list[tuple[str, int]], data: st.DataObject
) -> None:
    life = lived(steps)
    moment = data.draw(st.sampled_from(life.moments))
    entries = _damaged(list(moment.state.history), data)

    check(entries, converted(entries))


@given(actions, actions, st.data())
def test_two_lives_in_one_log_can_be_sent(
    one: list[tuple[str, int]], other: list[tuple[str, int]], data: st.DataObject
) -> None:
    left, right = list(lived(one).state.history), list(lived(other).state.history)
    entries: list[Entry] = []
    while left or right:
        source = left if left and (not right or data.draw(st.booleans())) else right
        entries.append(source.pop(0))

    check(entries, converted(_damaged(entries, data)))


@given(HISTORIES)
def test_any_history_can_be_sent_without_pillow(entries: list[Entry]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(images, "_cache", images._Cache())
        patch.setattr(images, "_pillow", lambda: None)
        check(entries, converted(entries))


@given(HISTORIES, st.data())
def test_converting_as_it_grows_is_converting_at_once(
    entries: list[Entry], data: st.DataObject
) -> None:
    conversation = Conversation()
    history = History()
    for entry in entries:
        history = history.append(entry)
        if data.draw(st.booleans()):
            assert conversation.messages(history) == converted(list(history))
    assert conversation.messages(history) == converted(entries)


@given(HISTORIES, HISTORIES, HISTORIES)
def test_converting_another_branch_is_converting_at_once(
    shared: list[Entry], one: list[Entry], other: list[Entry]
) -> None:
    conversation = Conversation()
    conversation.messages([*shared, *one])

    assert conversation.messages([*shared, *other]) == converted([*shared, *other])


@given(HISTORIES, st.data())
def test_what_is_encoded_once_is_what_would_be_sent(
    entries: list[Entry], data: st.DataObject
) -> None:
    conversation, history, length = Conversation(), History(), 0
    while length < len(entries):
        step = data.draw(st.integers(1, len(entries) - length))
        for entry in entries[length : length + step]:
            history = history.append(entry)
        length += step
        messages = conversation.messages(history)
        known = messages.encoded
        assert len(json.loads(b"[" + known.json + b"]")) == known.count
        request = ModelRequest("m", "", messages, encoded=known)
        plain = ModelRequest("m", "", messages)
        assert _without_marks(request_body(request)) == _without_marks(request_body(plain))


def _without_marks(body: bytes) -> Any:
    """What is encoded already has lost its cache marks."""
    return json.loads(body.replace(b',"cache_control":{"type":"ephemeral"}', b""))


@settings(max_examples=50)
@given(HISTORIES, HISTORIES)
def test_what_was_sent_is_sent_again_unless_media_had_to_go(
    entries: list[Entry], more: list[Entry]
) -> None:
    """Where an answer follows, as it does on what was sent."""
    entries = [*entries, answer(TextPart(id="p", text="So."))]
    before, after = list(converted(entries)), list(converted([*entries, *more]))
    if any("is one of the oldest" in str(message) for message in after):
        return

    assert after[: len(before) - 1] == before[:-1]
