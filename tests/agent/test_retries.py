"""What becomes of a turn when the model's side fails: how often it is tried again, and when."""

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from agentls.agent.session import Session
from agentls.protocol.events import conversation, retries
from agentls.protocol.history import Answer
from agentls.state.selectors import activity
from tests.support.agents import PersonHost, Story, open_agent, until
from tests.support.fake_time import FakeTime
from tests.support.scenarios import calls, fails, says

DO_IT = "Do it."


class Tried:
    """A session that ran one prompt against a script, on a clock of its own."""

    def __init__(self, session: Session, story: Story, time: FakeTime) -> None:
        self.session = session
        self.story = story
        self.time = time

    @property
    def waits(self) -> list[retries.RetryWait]:
        return [
            moment.envelope.event.retry
            for moment in self.story.moments
            if moment.envelope and isinstance(moment.envelope.event, retries.RetryScheduled)
        ]

    @property
    def delays(self) -> list[float]:
        return [wait.delay_ms / 1000 for wait in self.waits]

    @property
    def end(self) -> tuple[str, str | None]:
        last = self.session.state.last_turn
        assert last is not None
        return last.status, last.error and last.error.kind


async def tried(folder: Path, *script: dict[str, Any], **options: Any) -> Tried:
    time = FakeTime(jitter=options.pop("jitter", 0.0))
    workspace = open_agent(folder, *script, pace=time.pace, **options)
    session = await workspace.new_session()
    story = Story(session)
    session.prompt(DO_IT)
    async with asyncio.timeout(20):
        await session.idle()
    await workspace.aclose()
    return Tried(session, story, time)


@pytest.mark.parametrize(
    ("kind", "delays"),
    [
        ("rateLimited", [0.5, 1, 2, 4, 8, 16, 32, 32, 32]),
        ("overloaded", [1, 2]),
        ("connectionLost", [0]),
        ("unreachable", [1, 2, 4, 8]),
        ("serverFailed", [0.5, 1, 2, 4]),
        ("streamBroken", [0, 0.5, 1, 2]),
        ("streamStalled", [0, 0.5, 1, 2]),
        ("keyRefused", []),
        ("requestRefused", []),
    ],
)
async def test_each_cause_is_tried_as_often_and_as_late_as_it_should_be(folder, kind, delays):
    run = await tried(folder, {**fails(kind), "repeat": True})
    assert run.delays == delays
    assert sum(run.time.sleeps) == sum(delays)
    assert [wait.attempt for wait in run.waits] == list(range(1, len(delays) + 1))
    assert {wait.max_attempts for wait in run.waits} <= {len(delays) + 1}
    assert run.end == ("failed", kind[0].upper() + kind[1:])


async def test_what_passes_is_answered_and_the_count_begins_anew(folder):
    run = await tried(
        folder,
        fails("overloaded"),
        fails("overloaded"),
        calls("Read", file_path="a.txt"),
        fails("overloaded"),
        fails("overloaded"),
        says("There you are."),
    )
    assert run.delays == [1, 2, 1, 2]
    assert run.end == ("completed", None)
    assert run.session.state.turn is None


async def test_in_fast_mode_an_overloaded_model_is_not_asked_again(folder):
    time = FakeTime()
    workspace = open_agent(folder, fails("overloaded"), says("Slowly."), pace=time.pace)
    scripted = workspace.app.now.state.default_model
    session = await workspace.new_session(model="offline")
    session._chat.emit(_fast(workspace.surroundings.model or scripted))
    session.prompt(DO_IT)
    await session.idle()
    assert time.sleeps == []
    assert session.state.last_turn is not None
    assert session.state.last_turn.error is not None
    assert session.state.last_turn.error.kind == "Overloaded"
    await workspace.aclose()


def _fast(model: str | None) -> Any:
    from agentls.protocol.events.settings import FastModeChanged

    return FastModeChanged(model=model)


async def test_a_server_s_own_wait_is_kept_to_the_second(folder):
    run = await tried(folder, fails("rateLimited", retryAfter=47.5), says("Here."), jitter=1.0)
    assert run.delays == [47.5]
    assert run.end == ("completed", None)


async def test_each_wait_is_told_before_it_begins_and_when_it_is_over(folder):
    run = await tried(folder, fails("overloaded", "no room"), says("Here."))
    wait = run.waits[0]
    begun = datetime.fromisoformat("2026-11-30T12:00:00.000Z")
    assert (datetime.fromisoformat(wait.resumes_at) - begun).total_seconds() == 1
    assert (wait.error.kind, wait.error.message, wait.error.retryable) == (
        "Overloaded",
        "no room",
        True,
    )
    shown = [activity(moment.state) for moment in run.story.moments if moment.envelope]
    waiting = [view for view in shown if view.retry is not None]
    assert waiting
    assert {view.label for view in waiting} == {"Waiting: the model is overloaded"}
    kinds = [m.envelope.event.type for m in run.story.moments if m.envelope]
    assert kinds.index("retryScheduled") < kinds.index("retryEnded")


async def test_a_wait_longer_than_the_budget_parks_the_turn_which_goes_on_by_itself(folder):
    time = FakeTime(held=True)
    workspace = open_agent(
        folder, fails("rateLimited", retryAfter=5400), says("Back again."), pace=time.pace
    )
    session = await workspace.new_session()
    session.prompt(DO_IT)
    await until(lambda: session.state.turn and session.state.turn.retry)
    assert session.state.turn.retry.parked
    assert session.state.turn.retry.delay_ms == 5_400_000
    time.advance(5399)
    await asyncio.sleep(0.02)
    assert session.state.turn is not None
    time.advance(2)
    async with asyncio.timeout(20):
        await session.idle()
    assert session.state.last_turn.status == "completed"
    await workspace.aclose()


async def test_a_parked_turn_outlives_its_server_and_goes_on_by_itself(folder):
    time = FakeTime(held=True)
    first = open_agent(folder, fails("rateLimited", retryAfter=5400), pace=time.pace)
    session = await first.new_session("parked")
    session.prompt(DO_IT, turn_id="t1")
    await until(lambda: session.state.turn and session.state.turn.retry)
    await first.aclose()
    second = open_agent(folder, says("Back again."), pace=time.pace)
    session = await second.load_session("parked")
    assert session.state.turn.id == "t1"
    assert session.state.turn.retry.parked
    assert activity(session.state).retry is not None
    time.advance(5401)
    async with asyncio.timeout(20):
        await session.idle()
    assert (session.state.last_turn.id, session.state.last_turn.status) == ("t1", "completed")
    assert session.state.history[-1].parts[0].text == "Back again."
    await second.aclose()


async def test_a_parked_turn_can_be_cancelled_and_the_next_one_runs(folder):
    time = FakeTime(held=True)
    workspace = open_agent(
        folder, fails("rateLimited", retryAfter=5400), says("Next."), pace=time.pace
    )
    session = await workspace.new_session()
    session.prompt(DO_IT, turn_id="t1")
    await until(lambda: session.state.turn and session.state.turn.retry)
    assert session.cancel("t1")
    session.prompt("Something else.")
    async with asyncio.timeout(20):
        await session.idle()
    assert session.state.last_turn.status == "completed"
    assert session.state.history[-1].parts[0].text == "Next."
    await workspace.aclose()


async def test_where_nobody_waits_a_long_wait_is_an_error_that_may_be_tried_later(folder):
    run = await tried(
        folder, fails("rateLimited", retryAfter=5400), says("No."), host=PersonHost(False)
    )
    assert run.waits == []
    assert run.session.state.last_turn.error.retryable


async def test_a_break_after_whole_calls_runs_them_and_does_not_ask_for_them_again(folder):
    broken = {**calls("Read", file_path="a.txt"), "text": "I look.", **fails("streamBroken")}
    run = await tried(folder, broken, says("It says alpha."))
    answers = [entry for entry in run.session.state.history if isinstance(entry, Answer)]
    assert [answer.stop_reason for answer in answers] == ["cut", "endTurn"]
    assert [part.type for part in answers[0].parts] == ["text", "toolCall"]
    assert "Read: ok" in run.story.lines
    assert run.end == ("completed", None)


async def test_a_break_after_whole_text_keeps_it_and_the_model_goes_on(folder):
    run = await tried(folder, {**says("First half."), **fails("streamBroken")}, says("The rest."))
    assert run.story.lines == [
        "turn started",
        "text: First half.",
        "text: The rest.",
        "turn finished",
    ]


async def test_what_had_begun_when_the_answer_broke_is_void(folder):
    """The scenario's error comes before the end of the answer: nothing whole was there."""
    run = await tried(folder, fails("streamBroken"), says("Whole."))
    streamed = [
        moment.envelope.event
        for moment in run.story.moments
        if moment.envelope and isinstance(moment.envelope.event, conversation.AnswerFinished)
    ]
    assert [answer.parts[0].text for answer in streamed] == ["Whole."]


async def test_no_wait_is_left_when_the_turn_fails(folder):
    run = await tried(folder, {**fails("overloaded"), "repeat": True})
    state = run.session.state
    assert state.turn is None
    assert activity(state).retry is None
    assert state.live is None
