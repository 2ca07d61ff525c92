"""Wherever a history is cleared, it can be sent, stays as it is, and keeps to its thoughts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.llm.normalise import Conversation
from agentls.protocol.content import ThinkingPart
from agentls.protocol.history import Answer, CallResult, Entry, History
from tests.support.any_histories import GOOD_MEDIA, HISTORIES, LONG_TEXTS, TIMES, few_media
from tests.support.api_rules import violations
from tests.support.attachments import got, numbered, told
from tests.support.histories import answer, call
from tests.support.sdk_types import sdk_refusals


@pytest.fixture(autouse=True, scope="module")
def _few_media() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        few_media(patch)
        yield


BEFORE = st.integers(0, 12).map(lambda number: f"m{number}")


@given(HISTORIES, BEFORE, st.none() | TIMES)
def test_any_history_can_be_sent_wherever_it_is_cleared(
    entries: list[Entry], before: str, at: str | None
) -> None:
    messages = Conversation().messages(numbered(entries), before, at)

    assert violations(messages) == []
    assert sdk_refusals(messages) == []


@given(HISTORIES, st.data())
def test_clearing_as_it_grows_is_clearing_at_once(
    entries: list[Entry], data: st.DataObject
) -> None:
    entries = numbered(entries)
    conversation, history = Conversation(), History()
    before, at = None, None
    for entry in entries:
        history = history.append(entry)
        if data.draw(st.booleans()):
            before, at = data.draw(st.none() | BEFORE), data.draw(st.none() | TIMES)
        messages = conversation.messages(history, before, at)
        assert messages == Conversation().messages(list(history), before, at)


@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from(GOOD_MEDIA) | LONG_TEXTS, max_size=2), st.booleans()),
        max_size=12,
    ),
    st.data(),
)
def test_no_thought_is_sent_behind_anything_else_than_it_was_thought_behind(
    steps: list[tuple[list[Any], bool]], data: st.DataObject
) -> None:
    """Where ever more is cleared, and it is told when. The API's check: "Preserved thinking"."""
    conversation, history = Conversation(), History()
    thought_behind: dict[str, list[dict[str, Any]]] = {}
    before, at, cleared = None, None, 0
    for number, (content, clears) in enumerate(steps):
        if clears and len(history):
            later = [e.id for e in history[cleared:] if not isinstance(e, CallResult)]
            before = data.draw(st.sampled_from(later))
            cleared = int(before[1:])
            at = _moment(number, 0)
        prompt = told("Go on.", *content, id=f"m{len(history)}") if number % 3 == 0 else None
        history = history.append(prompt) if prompt else history
        messages = list(conversation.messages(history, before, at))
        _check_thoughts(messages, thought_behind)
        thought = ThinkingPart(id="t", text=f"thought {number}", signature="s")
        thought_behind[thought.text] = messages
        said: Answer = answer(thought, call(f"c{number}"), at=_moment(number, 1))
        history = history.append(said.model_copy(update={"id": f"m{len(history)}"}))
        history = history.append(got(f"c{number}", *content))


def _check_thoughts(messages: list[Any], thought_behind: dict[str, list[Any]]) -> None:
    for place, message in enumerate(messages):
        for block in message["content"]:
            if block["type"] == "thinking":
                assert messages[:place] == thought_behind[block["thinking"]]


def _moment(number: int, second: int) -> str:
    return f"2026-11-30T15:{number:02}:{second:02}.000Z"
