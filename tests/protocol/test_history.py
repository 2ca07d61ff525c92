import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from agentls.protocol.content import TextBlock, TextPart, ToolCallPart, Usage
from agentls.protocol.history import Answer, CallResult, History, Sealed, UserMessage
from agentls.protocol.session_state import SessionMeta, SessionState
from agentls.protocol.tool_calls import ToolCall

AT = "2026-11-30T14:56:35.123Z"
HISTORIES = TypeAdapter(History)


def message(text: str) -> UserMessage:
    return UserMessage(id=f"m-{text}", at=AT, turn_id=None, content=(TextBlock(text=text),))


ANSWER = Answer(
    id="a",
    at=AT,
    turn_id="t",
    model="m",
    parts=(TextPart(id="a.0", text="I look."), ToolCallPart(id="c", name="Read", input={"n": [1]})),
    stop_reason="toolUse",
    usage=Usage(input_tokens=3),
)
RESULT = CallResult(
    call=ToolCall(
        id="c", message_id="a", name="Read", invocation="Reading x", input={}, status="finished"
    )
)


def test_appending_to_the_newest_view_shares_the_list() -> None:
    short = History([message("1")])
    longer = short.append(message("2"))
    longest = longer.append(message("3"))

    assert longest._shared is short._shared
    assert (len(short), len(longer), len(longest)) == (1, 2, 3)


def test_older_views_do_not_see_what_was_appended() -> None:
    short = History([message("1")])
    short.append(message("2")).append(message("3"))

    assert list(short) == [message("1")]
    assert short[-1] == message("1")
    assert short[:] == [message("1")]
    assert message("2") not in short
    with pytest.raises(IndexError):
        short[1]


def test_appending_to_an_older_view_leaves_the_newer_one_alone() -> None:
    short = History([message("1")])
    newer = short.append(message("2"))
    other = short.append(message("other"))

    assert list(newer) == [message("1"), message("2")]
    assert list(other) == [message("1"), message("other")]
    assert list(short) == [message("1")]


def test_iterating_while_the_history_grows_stops_at_its_end() -> None:
    history = History([message("1"), message("2")])
    seen = []
    for entry in history:
        seen.append(entry)
        history.append(message("more"))

    assert seen == [message("1"), message("2")]


def test_equality_is_of_content() -> None:
    grown = History([message("1")]).append(message("2"))

    assert grown == History([message("1"), message("2")])
    assert grown != History([message("1")])
    assert grown != History([message("1"), message("3")])
    assert grown != [message("1"), message("2")]
    with pytest.raises(TypeError, match="unhashable"):
        hash(grown)


def test_list_given_to_a_history_stays_the_callers() -> None:
    entries = [message("1")]
    history = History(entries)
    entries.append(message("2"))
    history.append(message("3"))

    assert list(history) == [message("1")]
    assert entries == [message("1"), message("2")]


def test_json_round_trip_keeps_every_kind_of_entry() -> None:
    history = History([message("1"), ANSWER, RESULT])

    text = HISTORIES.dump_json(history)
    assert HISTORIES.validate_json(text) == history
    assert [entry["type"] for entry in json.loads(text)] == ["user", "answer", "callResult"]
    assert HISTORIES.validate_python(HISTORIES.dump_python(history, mode="json")) == history


def test_history_written_from_an_older_view_ends_where_the_view_ends() -> None:
    short = History([message("1")])
    short.append(message("2"))

    assert HISTORIES.validate_json(HISTORIES.dump_json(short)) == short


def test_history_passes_through_a_state_as_the_same_object() -> None:
    history = History([message("1")])
    meta = SessionMeta(id="s", created_at=AT, cwd=".", agentls_version="0")

    assert SessionState(meta=meta, history=history).history is history


def test_entry_of_no_known_type_is_refused_by_its_place() -> None:
    with pytest.raises(ValidationError, match=r"0\n.*expected tags"):
        HISTORIES.validate_python([{"type": "poem"}])


@given(st.lists(st.tuples(st.integers(min_value=0), st.text(max_size=3)), max_size=30))
def test_any_order_of_appends_behaves_like_copied_lists(appends: list[tuple[int, str]]) -> None:
    views: list[tuple[History, list[UserMessage]]] = [(History(), [])]
    for choice, text in appends:
        history, expected = views[choice % len(views)]
        views.append((history.append(message(text)), [*expected, message(text)]))

    for history, expected in views:
        assert list(history) == expected
        assert len(history) == len(expected)
        assert list(reversed(history)) == expected[::-1]
        assert history[1:3] == expected[1:3]
        assert history == History(expected)
        assert HISTORIES.validate_json(HISTORIES.dump_json(history)) == history


class Maker:
    """Makes entries, and counts how often it is asked to."""

    def __init__(self, *texts: str) -> None:
        self.texts = texts
        self.asked = 0

    def __call__(self) -> list[UserMessage]:
        self.asked += 1
        return [message(text) for text in self.texts]

    def sealed(self) -> Sealed:
        return Sealed(len(self.texts), self)


def test_sealed_entries_are_made_when_one_is_looked_at() -> None:
    first, second = Maker("1", "2"), Maker("3")
    history = History.sealed([message("0")], [first.sealed(), second.sealed()])
    longer = history.append(message("4"))

    assert (len(history), len(longer), longer[-1]) == (4, 5, message("4"))
    assert longer.extends(history)
    assert (first.asked, second.asked) == (0, 0)
    assert longer[3] == message("3")
    assert (first.asked, second.asked) == (0, 1)
    assert longer[-4:-2] == [message("1"), message("2")]
    assert (first.asked, second.asked) == (1, 1)


def test_unsealed_entry_is_the_same_object_at_each_look() -> None:
    maker = Maker("1", "2")
    history = History.sealed([], [maker.sealed()])
    other = history.append(message("3"))
    branch = history.append(message("other"))

    assert history[0] is other[0] is branch[0] is next(iter(history))
    assert branch[1] is other[1]
    assert maker.asked == 1


def test_copy_that_ends_within_a_sealed_part_sees_its_own_length() -> None:
    history = History.sealed([], [Maker("1", "2", "3").sealed()])
    history.append(message("4"))
    shorter = History.__new__(History)
    shorter._shared, shorter._length = history._shared, 2
    other = shorter.append(message("other"))

    assert list(other) == [message("1"), message("2"), message("other")]
    assert list(history) == [message("1"), message("2"), message("3")]


def test_equality_and_serialisation_unseal() -> None:
    plain = History([message("0"), message("1"), message("2")])

    def sealed() -> History:
        return History.sealed([message("0")], [Maker("1", "2").sealed()])

    assert sealed() == plain
    assert plain == sealed()
    assert sealed() != History([message("0"), message("1"), message("x")])
    assert HISTORIES.dump_json(sealed()) == HISTORIES.dump_json(plain)
    assert list(reversed(sealed())) == list(reversed(plain))
    assert message("2") in sealed()


def test_part_that_makes_another_number_of_entries_is_refused() -> None:
    history = History.sealed([], [Sealed(3, Maker("1"))])

    with pytest.raises(ValueError, match="1 entries were made where 3 are to be"):
        history[0]


@given(st.lists(st.integers(0, 3), max_size=6), st.lists(st.integers(0, 20), max_size=10))
def test_any_order_of_looks_gives_what_an_unsealed_history_gives(
    counts: list[int], looks: list[int]
) -> None:
    texts = [[f"{part}.{number}" for number in range(count)] for part, count in enumerate(counts)]
    history = History.sealed([message("0")], [Maker(*part).sealed() for part in texts])
    plain = [message("0"), *(message(text) for part in texts for text in part)]

    assert len(history) == len(plain)
    for look in looks:
        assert history[look % len(plain)] == plain[look % len(plain)]
        assert history[look % len(plain) :] == plain[look % len(plain) :]
    assert list(history) == plain
