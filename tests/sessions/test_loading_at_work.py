"""What a log says of work that was under way, and what an older one lacks."""

from pathlib import Path

import pytest

from agentls.protocol.content import Usage
from agentls.protocol.session_state import CompactionState
from agentls.sessions.chain import replay
from agentls.sessions.loading import load
from agentls.sessions.rows import row_of_envelope
from tests.support.lives import Life, settled
from tests.support.logs import OneLog, log_of

EARLIER = Path(__file__).parent / "logs" / "version-2-before-tasks.jsonl"
"""Written by version 2 before there were tasks, questions, retries, costs and windows."""


def life_of(*actions: str) -> Life:
    life = Life(nested=True)
    for number, action in enumerate(actions):
        life.do(action, number)
    return life


@pytest.fixture
def opened(tmp_path):
    def open_life(life: Life, **options: object):
        return load(OneLog(tmp_path / "s1.jsonl", log_of(life.log)), "s1", **options)

    return open_life


def test_a_running_task_and_a_compaction_without_an_end_are_found_as_they_were(opened):
    life = Life()
    for action, seed in (
        ("prompt", 0), ("answer", 0), ("add_task", 1), ("start_task", 1), ("progress_task", 1),
        ("begin_compaction", 1),
    ):  # fmt: skip
        life.do(action, seed)
    loaded = opened(life)
    (task,) = loaded.state.tasks
    assert (task.status, task.last_lines, task.output_bytes) == ("running", "", 0)
    assert task.started_at is not None
    assert loaded.state.compaction == CompactionState(running="requested")
    assert loaded.state.turn is not None
    assert settled(loaded.state) == settled(life.state)
    assert (loaded.damage, loaded.message_count_difference) == ((), None)


def test_a_log_from_before_there_were_tasks_loads_with_defaults(tmp_path):
    log_id = "20261130-145635-9f2c41"
    lines = EARLIER.read_bytes().splitlines(keepends=True)
    log = OneLog(tmp_path / "old.jsonl", b"".join(lines[:14]))  # up to the rewind
    loaded = load(log, log_id)
    state = loaded.state
    assert (loaded.damage, loaded.message_count_difference, loaded.version) == ((), None, 2)
    assert (state.tasks, state.compaction, state.model.fast) == ((), CompactionState(), None)
    assert state.last_turn is not None
    assert state.last_turn.usage == Usage()
    assert (state.usage.window, state.usage.total.cost_nano_usd) == (None, 0)
    assert state.usage.last == Usage(input_tokens=20, output_tokens=9, cache_read_tokens=812)
    assert [entry.author for entry in state.history if entry.type == "user"] == ["user"]
    assert load(OneLog(EARLIER), log_id).damage == ()


def test_prompts_that_steered_and_compactions_are_known_as_turns(opened):
    life = Life()
    for action, seed in (
        ("prompt", 0), ("steer", 1), ("answer", 0), ("end", 0), ("queue", 0), ("unqueue", 0),
        ("compact_turn", 0), ("end", 0),
    ):  # fmt: skip
        life.do(action, seed)
    queued = [e.event.item_id for e in life.log if e.event.type == "promptQueued"]
    assert len(queued) == 4
    assert opened(life).turn_ids == set(queued)


def test_a_turn_goes_on_behind_the_compaction_in_it(opened):
    life = life_of("prompt", "answer", "compact", "steer", "answer", "notice", "end", "prompt")
    loaded = opened(life)
    assert loaded.state == life.state
    assert [entry.type for entry in loaded.state.history][-2:] == ["user", "user"]
    assert not loaded.complete, "the log is read from the compaction on"


def test_what_a_turn_counted_on_another_branch_is_no_loss(opened):
    """A compaction that came to nothing ends behind what a redo then brings back."""
    life = life_of("prompt", "answer", "end")
    life.do("rewind", 1)
    life.do("compact_turn", 0)
    life.do("end", 0)
    life.do("redo", 0)
    loaded = opened(life)
    assert [entry.type for entry in loaded.state.history] == ["user", "answer"]
    assert loaded.message_count_difference is None


@pytest.mark.parametrize("open_turns", [1, 2, 3])
def test_how_full_the_window_is_is_of_the_last_answer_alone(opened, open_turns):
    life = Life()
    for seed in (9, 10, 12):
        for action in ("prompt", "answer", "pay_subagent", "end"):
            life.do(action, seed)
    loaded = opened(life, open_turns=open_turns)
    assert loaded.state.usage == life.state.usage == replay(life.log).usage
    assert (loaded.state.usage.last.input_tokens, loaded.state.usage.window) == (12, 200_000)


@pytest.mark.parametrize("open_turns", [1, 2])
def test_outputs_cleared_since_leave_it_open_how_full_the_window_is(opened, open_turns):
    life = Life()
    for action in ("prompt", "answer", "clear_outputs", "end", "prompt", "end", "prompt", "end"):
        life.do(action, 9)
    usage = opened(life, open_turns=open_turns).state.usage
    assert (usage.last, usage.window) == (None, 200_000)


def test_a_usage_for_a_purpose_that_is_not_known_is_told_as_damage(tmp_path):
    life = life_of("prompt", "answer", "end")
    data = log_of(life.log).replace(b'"purpose":"answer"', b'"purpose":"fun"')
    loaded = load(OneLog(tmp_path / "s1.jsonl", data), "s1")
    assert [place.what for place in loaded.damage] == [
        "an event that is not as it should be: event.usageRecorded.purpose: Input should be "
        "'answer', 'compaction' or 'subagent'"
    ]


def test_a_row_knows_what_a_response_was_for():
    life = life_of("prompt", "answer", "pay_subagent")
    details = [row_of_envelope(e, 2).detail for e in life.log if e.event.type == "usageRecorded"]
    assert [detail.purpose for detail in details] == ["answer", "subagent"]
