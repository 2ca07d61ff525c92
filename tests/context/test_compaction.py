import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.context.compaction import (
    LARGEST_ROUND,
    after_tokens,
    clear_point,
    kept_from,
    last_round,
    shortened,
    shrinks,
    summary_prompt,
    written,
)
from agentls.context.room import Room
from agentls.llm.normalise import Conversation
from agentls.protocol.content import ImageBlock, RedactedThinkingPart, TextBlock, ThinkingPart
from agentls.protocol.events.compaction import Carried
from agentls.protocol.history import Answer, CallResult, Entry, Gap, Summary, UserMessage
from agentls.state.measure import tokens_of, tokens_of_entry
from tests.support.compactable import (
    AT,
    answer,
    histories,
    one_round,
    prompt,
    rooms,
    summary,
    tool_call,
)

WINDOW = Room(window=100_000, overhead=5_000, answer=8_000)
PICTURE = ImageBlock(media_type="image/png", data="aGk=", name="plan.png")


def output(tokens: int) -> str:
    return "x " * (tokens * 7 // 4)


def rounds(*sizes: int) -> list[Entry]:
    """Make one round after another, each with a result of about so many tokens."""
    return [entry for size in sizes for entry in one_round(tool_call(output=output(size)))]


def id_at(history: list[Entry], place: int) -> str:
    entry = history[place]
    assert not isinstance(entry, CallResult)
    return entry.id


def test_old_output_is_cleared_and_the_latest_third_of_the_room_stays() -> None:
    history = [prompt("Go."), *rounds(*[5_000] * 10)]
    point = clear_point(history, WINDOW, None)
    assert point is not None
    stays = [entry.id for entry in history if not isinstance(entry, CallResult)].index(point.before)
    assert stays == 6  # the prompt and five rounds are before; five of 5,000 fit into 27,333
    assert 24_000 < point.tokens < 26_000


def test_last_round_is_never_cleared_whatever_its_size() -> None:
    history = [prompt("Go."), *rounds(10_000, 60_000)]
    point = clear_point(history, WINDOW, None)
    assert point is not None
    assert point.before == id_at(history, 3)


def test_nothing_is_cleared_that_saves_too_little() -> None:
    assert clear_point([prompt("Go."), *rounds(4_000, 60_000)], WINDOW, None) is None
    assert clear_point([prompt("Go."), *rounds(100, 100, 100)], WINDOW, None) is None
    assert clear_point([], WINDOW, None) is None


def test_what_is_cleared_already_is_not_counted_again() -> None:
    history = [prompt("Go."), *rounds(*[5_000] * 10)]
    point = clear_point(history, WINDOW, None)
    assert point is not None
    assert clear_point(history, WINDOW, point.before) is None
    longer = [*history, *rounds(*[5_000] * 3)]
    further = clear_point(longer, WINDOW, point.before)
    assert further is not None
    assert 14_000 < further.tokens < 16_000


def test_pictures_of_old_prompts_are_cleared_too() -> None:
    history = [*(prompt("See.", PICTURE) for _ in range(10)), *rounds(26_000)]
    point = clear_point(history, WINDOW, None)
    assert point is not None
    assert point.tokens > 10_000


@given(histories, rooms)
def test_clear_point_is_a_message_after_which_the_recent_output_is_whole(
    history: list[Entry], room: Room
) -> None:
    point = clear_point(history, room, None)
    if point is None:
        return
    place = next(
        at for at in range(len(history)) if getattr(history[at], "id", None) == point.before
    )
    assert isinstance(history[place], UserMessage | Answer)
    assert point.tokens >= room.window * 0.05
    answers = [at for at, entry in enumerate(history) if isinstance(entry, Answer)]
    assert not answers or place <= answers[-1]
    assert clear_point(history, room, point.before) is None


def test_as_many_messages_stay_as_fit() -> None:
    history = [prompt("Go."), *rounds(*[1_000] * 40)]
    assert kept_from(history, 5_000) == len(history) - 2 * 4


def test_a_quarter_of_a_short_conversation_stays_at_most() -> None:
    history = [prompt("Go."), *rounds(*[1_000] * 8)]
    assert kept_from(history, 50_000) == len(history) - 2 * 2


def test_answer_with_its_results_stays_even_beyond_the_budget() -> None:
    history = [prompt("Go."), *rounds(5_000, 1_400)]
    assert kept_from(history, 1_000) == 3


def test_message_alone_stays_where_the_round_before_it_is_too_large() -> None:
    history = [prompt("Go."), *rounds(5_000), prompt("And now?")]
    assert kept_from(history, 1_000) == 3


def test_nothing_stays_of_a_round_too_large_for_the_room() -> None:
    history = [prompt("Go."), *rounds(5_000)]
    assert kept_from(history, 1_000) == len(history)
    assert kept_from([], 1_000) == 0


def test_message_between_a_call_and_its_result_is_no_boundary() -> None:
    call, result = one_round(tool_call(output=output(900)))
    history = [prompt("x " * 900), *rounds(2_000), call, prompt("Wait."), result]
    assert kept_from(history, 4_000) == 3
    assert kept_from(history, 100) == len(history)


@given(histories, st.integers(0, 5_000))
def test_what_stays_begins_at_a_message_and_holds_calls_with_their_results(
    history: list[Entry], budget: int
) -> None:
    place = kept_from(history, budget)
    kept = history[place:]
    assert tokens_of(kept) <= max(budget, int(budget * LARGEST_ROUND))
    if kept:
        assert isinstance(kept[0], UserMessage | Answer)
    called = {part.id for entry in kept if isinstance(entry, Answer) for part in entry.parts}
    assert all(entry.call.id in called for entry in kept if isinstance(entry, CallResult))


def test_last_round_that_cannot_stay_is_told_in_short() -> None:
    history = [prompt("Go."), *rounds(100), *one_round(tool_call(output="begin " + output(5_000)))]
    text = last_round(history, 200)
    assert text.startswith("I look.\n\n[Bashing ]\nbegin")
    assert "characters left out" in text
    assert tokens_of([prompt(text)]) < 220
    assert last_round([prompt("Go.")], 200) == ""


def test_summary_is_asked_for_with_what_it_must_hold_and_a_limit() -> None:
    asked = summary_prompt(None, Carried(), 1_234)
    for heading in ("Done", "Files", "Errors", "Decisions", "Open work", "Next step"):
        assert f"## {heading}" in asked
    assert "1,234 tokens" in asked
    assert "Do not call tools" in asked
    assert "Finished work stays finished" in asked
    assert "word for word" not in asked


def test_summary_is_not_to_repeat_what_is_carried() -> None:
    asked = summary_prompt(None, Carried(goal="Go.", constraints=("Never.",)))
    assert "the user's first message, the user's constraints. Refer to them; do not" in asked
    assert "the calls that failed" not in asked


def test_summary_heeds_what_the_user_asks_for() -> None:
    assert summary_prompt("Mind the tests. ", Carried()).endswith("heed this:\nMind the tests.")
    assert summary_prompt("  ", Carried()) == summary_prompt(None, Carried())


def test_entries_that_fit_stay_the_same_objects() -> None:
    history = [prompt("Go."), *rounds(100)]
    assert all(old is new for old, new in zip(history, shortened(history, 9_000), strict=True))


def test_results_are_cut_to_their_ends_before_anything_is_left_out() -> None:
    long = "begin " + output(9_000) + " end"
    history = [prompt("Go."), *one_round(tool_call(output=long)), *rounds(50)]
    short = shortened(history, 3_000)
    assert len(short) == len(history)
    cut = short[2]
    assert isinstance(cut, CallResult)
    block = cut.call.content[0]
    assert isinstance(block, TextBlock)
    assert block.text.startswith("begin")
    assert block.text.endswith("end")
    assert short[0] is history[0]


def test_pictures_and_thoughts_are_not_in_what_must_fit() -> None:
    thoughts = (
        ThinkingPart(id="p", text="hm " * 900, signature="s"),
        RedactedThinkingPart(id="q", data="x" * 900),
    )
    thinking = answer("So.").model_copy(update={"parts": (*thoughts, *answer("So.").parts)})
    first, second, *_ = shortened([prompt("See.", PICTURE), thinking, *rounds(9_000)], 3_000)
    assert isinstance(first, UserMessage)
    assert first.content[1] == TextBlock(text="[image: plan.png]")
    assert isinstance(second, Answer)
    assert [part.type for part in second.parts] == ["text"]


def test_large_input_of_a_call_is_cut() -> None:
    call = tool_call("Write", file_path="a.py", content=output(9_000), edits=[{"new": "y" * 9_000}])
    written_at = shortened([prompt("Go."), *one_round(call)], 2_000)[1]
    assert isinstance(written_at, Answer)
    assert tokens_of_entry(written_at) < 1_500


def test_oldest_entries_are_left_out_behind_a_note_and_an_earlier_summary() -> None:
    history = [summary("Before this."), prompt("Go."), *rounds(*[300] * 100)]
    first, note, third, *_ = shortened(history, 4_000)
    assert first == history[0]
    assert isinstance(note, UserMessage)
    assert note.author == "agentls"
    assert "earlier messages of the conversation do not fit" in str(note.content)
    assert isinstance(third, Answer)


def test_last_round_that_does_not_fit_is_told_in_short() -> None:
    calls = [tool_call(output=output(500)) for _ in range(90)]
    note = shortened([prompt("Go."), *one_round(*calls)], 500)[-1]
    assert isinstance(note, UserMessage)
    assert "I look." in str(note.content)


@given(histories, st.integers(150, 4_000), st.booleans())
def test_shortened_entries_fit_and_can_be_sent(
    history: list[Entry], budget: int, with_summary: bool
) -> None:
    before = [summary("word " * 900, "more " * 900)] if with_summary else []
    short = shortened([*before, *history], budget)
    assert tokens_of(short) <= budget
    assert short == shortened([*before, *history], budget)
    kept = [entry for entry in short if not isinstance(entry, Summary | Gap)]
    assert not kept or isinstance(kept[0], UserMessage | Answer)
    messages = list(Conversation().messages(short))
    assert messages[0]["role"] == "user"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## Done\nx", "## Done\nx"),
        ("<summary>\nx\n</summary>", "x"),
        ("<analysis>hm\n</analysis>\n\n<summary>\nx\n</summary>\n", "x"),
        ("<ANALYSIS>hm</ANALYSIS>\nx", "x"),
        ("Here it is:\n<summary>x</summary>", "x"),
        ("<summary>\nx, cut off", "x, cut off"),
        ("<analysis>hm\n<summary>\nx</summary>", "x"),
        ("We parse `<summary>` tags", "We parse `<summary>` tags"),
        ("x\n</summary>", "x"),
        ("<analysis>only thoughts, cut", None),
        ("<analysis>a</analysis>\n", None),
        ("<summary>\n</summary>", None),
        (" \n", None),
        ("", None),
    ],
)
def test_summary_is_taken_out_of_an_answer(text: str, expected: str | None) -> None:
    assert written(text) == expected


def test_summary_must_shrink_by_a_tenth() -> None:
    assert shrinks(1_000, 900)
    assert not shrinks(1_000, 901)
    assert not shrinks(0, 1)


def test_size_after_is_that_of_summary_what_is_put_back_and_what_stays() -> None:
    kept = [prompt("Go."), Gap(id="g", at=AT, missing="m")]
    assert after_tokens("x" * 350, "y" * 700, kept) == 100 + 200 + tokens_of(kept)
