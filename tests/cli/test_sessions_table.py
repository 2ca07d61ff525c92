from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.cli.sessions_table import age, cells_wide, fitted, table
from agentls.protocol.content import Usage
from agentls.protocol.requests import SessionSummary
from agentls.state.event_store import timestamp, utc_now

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def summary(session_id: str, **fields: Any) -> SessionSummary:
    usual: dict[str, Any] = {
        "title": None, "tag": None, "last_prompt": "Go.", "created_at": "",
        "updated_at": timestamp(utc_now() - timedelta(hours=3)), "message_count": 4, "model": None,
        "git_branch": "main", "usage": Usage(), "forked_from": None, "open": False,
    }  # fmt: skip
    return SessionSummary(id=session_id, **{**usual, **fields})


def test_columns_are_aligned_and_fit_the_terminal() -> None:
    shown = table(
        [
            summary("20261130-145635-9f2c41", title="The parser"),
            summary(
                "20261130-101010-aaaaaa",
                last_prompt="Fix the flaky test in tests/e2e so that it passes under load",
                message_count=1280,
                git_branch="feature/sessions-that-never-lose",
                tag="bugs",
            ),
        ],
        width=80,
    )
    assert shown.split("\n") == [
        "ID                      AGE  MSGS  TITLE                      BRANCH        TAG",
        "20261130-145635-9f2c41  3 h     4  The parser                 main",
        "20261130-101010-aaaaaa  3 h  1280  Fix the flaky test in te…  feature/ses…  bugs",
    ]


def test_columns_that_say_nothing_or_have_no_room_are_left_out() -> None:
    assert "TAG" not in table([summary("a")], width=80)
    assert "BRANCH" not in table([summary("20261130-145635-9f2c41", title="x" * 40)], width=50)


def test_costs_are_shown_where_there_is_room_and_something_was_paid() -> None:
    paid = summary("a", usage=Usage(cost_nano_usd=1_234_567_890))
    little = summary("b", usage=Usage(cost_nano_usd=4_000))
    free = summary("c")
    assert table([paid, little, free], width=100).split("\n") == [
        "ID  AGE  MSGS    COST  TITLE  BRANCH",
        "a   3 h     4   $1.23  Go.    main",
        "b   3 h     4  <$0.01  Go.    main",
        "c   3 h     4          Go.    main",
    ]
    assert "COST" not in table([paid], width=80)
    assert "COST" not in table([free], width=100)


def test_long_id_is_shown_as_far_as_it_tells_it_from_the_others() -> None:
    ids = ["5b0c7a52-3d1e-4a8e-9f42-6c1d20b7e9a1", "5b0c7a52-4d1e-4a8e-9f42-6c1d20b7e9a1"]
    shown = table([summary(own) for own in ids], width=80).split("\n")[1:]
    assert [row.split()[0] for row in shown] == ["5b0c7a52-3", "5b0c7a52-4"]


@pytest.mark.parametrize(
    ("passed", "word"),
    [
        (timedelta(seconds=-5), "now"),
        (timedelta(seconds=59), "59 s"),
        (timedelta(minutes=59), "59 min"),
        (timedelta(hours=23), "23 h"),
        (timedelta(days=13), "13 d"),
        (timedelta(days=15), "2 wk"),
        (timedelta(days=800), "2 y"),
    ],
)
def test_age_is_a_word(passed: timedelta, word: str) -> None:
    assert age(timestamp(NOW - passed), NOW) == word


def test_time_that_is_none_is_shown_as_it_is() -> None:
    assert (age("", NOW), age("yesterday, I think", NOW)) == ("", "yesterday,")


TITLES = st.text(st.sampled_from("ab \n\x1b日本é\u0301\u202e🙂"), max_size=60)


@given(TITLES, st.integers(1, 40))
def test_fitted_text_is_one_line_of_that_many_cells(text: str, width: int) -> None:
    shown = fitted(text, width)
    assert cells_wide(shown) <= width
    assert not set(shown) & {"\n", "\x1b"}


@given(st.lists(TITLES, min_size=1, max_size=4), st.integers(70, 140))
def test_no_row_is_wider_than_the_terminal(titles: list[str], width: int) -> None:
    rows = [
        summary(f"20261130-145635-00000{number}", title=title, tag=title[:9], git_branch=title)
        for number, title in enumerate(titles)
    ]
    assert all(cells_wide(row) <= width for row in table(rows, width=width).split("\n"))
