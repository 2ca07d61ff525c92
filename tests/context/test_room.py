import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.context.room import LEAST_USABLE, Room, cut_middle
from agentls.state.measure import tokens_of_text
from tests.support.compactable import rooms


def test_room_is_made_before_an_answer_would_not_fit() -> None:
    room = Room(window=200_000, overhead=10_000, answer=64_000)
    assert room.reserve == 20_000
    assert room.compact_at == 170_000
    assert room.usable == 160_000
    assert room.overhead < room.clear_at < room.compact_at


def test_small_window_keeps_a_quarter_for_the_answer() -> None:
    assert Room(window=8_000, overhead=1_000, answer=16_384).reserve == 2_000


def test_short_answers_need_no_more_than_they_can_take() -> None:
    assert Room(window=200_000, overhead=1_000, answer=4_096).reserve == 4_096


def test_setting_makes_room_earlier_and_never_later() -> None:
    usual = Room(window=200_000, overhead=10_000, answer=16_384)
    assert Room(200_000, 10_000, 16_384, at_tokens=100_000).compact_at == 100_000
    assert Room(200_000, 10_000, 16_384, at_tokens=900_000).compact_at == usual.compact_at


@given(rooms)
def test_all_budgets_at_their_fullest_leave_room_to_go_on(room: Room) -> None:
    carried = room.goal + room.constraints + room.prompts + room.files + room.failures
    assert room.fits()
    assert room.kept + room.summary + room.contents + carried < room.usable
    assert room.summary <= min(20_000, room.reserve)
    assert room.prompts <= 20_000


@pytest.mark.parametrize("overhead", [5_700, 8_000, 50_000])
def test_overhead_that_leaves_no_room_is_said_with_ways_out(overhead: int) -> None:
    room = Room(window=8_000, overhead=overhead, answer=4_096)
    assert not room.fits()
    assert room.usable >= 0
    assert f"{overhead:,} tokens" in room.shortage()
    assert "larger window" in room.shortage()
    assert "contextWindow" in room.shortage()


def test_setting_that_leaves_no_room_is_named_with_the_least_that_does() -> None:
    room = Room(window=200_000, overhead=10_000, answer=16_384, at_tokens=10_500)
    assert not room.fits()
    assert "compaction.atTokens at 10,500" in room.shortage()
    least = 10_000 + LEAST_USABLE
    assert f"{least:,} or more" in room.shortage()
    assert Room(200_000, 10_000, 16_384, at_tokens=least).fits()


def test_cut_text_keeps_both_ends_and_says_how_much_is_gone() -> None:
    text = "begin " + "middle " * 1_000 + "end"
    cut = cut_middle(text, 100)
    assert cut.startswith("begin middle")
    assert cut.endswith("middle end")
    gone = len(text) - len(cut.partition("\n[")[0]) - len(cut.partition("]\n")[2])
    assert f"[... {gone:,} characters left out ...]" in cut


def test_cut_does_not_go_through_a_path() -> None:
    text = " ".join(f"src/module_{number}.py" for number in range(500))
    cut = cut_middle(text, 200)
    kept = [word for word in cut.split() if word.startswith("src/")]
    assert set(kept) <= set(text.split())


@given(st.text(max_size=3_000) | st.text("é日\ud800 x", max_size=2_000), st.integers(0, 500))
def test_cut_text_takes_no_more_than_it_may_and_stays_as_it_is(text: str, tokens: int) -> None:
    cut = cut_middle(text, tokens)
    assert tokens_of_text(cut) <= tokens
    assert cut_middle(cut, tokens) == cut
    if tokens_of_text(text) < tokens:
        assert cut == text
