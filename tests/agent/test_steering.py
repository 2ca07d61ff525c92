"""Prompts that are sent while a turn runs: they wait, they steer, and none is lost."""

import asyncio
from pathlib import Path
from typing import Any

from agentls.agent.session import Session
from agentls.agent.workspace import Workspace
from agentls.protocol.content import text_of
from agentls.protocol.history import UserMessage
from tests.support.agents import open_agent, until
from tests.support.scenarios import calls, says

SLOW = {"delayMs": 40}


def said(session: Session) -> list[str]:
    """Return what the user said, in the order in which the model was told."""
    history = session.state.history
    return [text_of(entry.content) for entry in history if isinstance(entry, UserMessage)]


async def begun(folder: Path, *script: dict[str, Any]) -> tuple[Workspace, Session]:
    workspace = open_agent(folder, *script)
    session = await workspace.new_session("s1")
    session.prompt("Begin.", turn_id="t1")
    await until(lambda: session.state.live is not None)
    return workspace, session


async def at_rest(workspace: Workspace, session: Session) -> None:
    async with asyncio.timeout(20):
        await session.idle()
    await workspace.aclose()


async def test_a_steering_prompt_reaches_the_next_model_call_of_the_running_turn(folder):
    workspace, session = await begun(
        folder,
        {**calls("Read", file_path="a.txt"), **SLOW},
        says("Right.", expect={"user": "Mind the tests."}),
    )
    taken = session.prompt("Mind the tests.", turn_id="t2", delivery="steer")
    assert taken.queued
    assert [item.delivery for item in session.state.queue] == ["steer"]
    await at_rest(workspace, session)
    assert said(session) == ["Begin.", "Mind the tests."]
    assert session.state.last_turn.id == "t1"
    assert {entry.turn_id for entry in session.state.history if entry.type == "user"} == {"t1"}
    assert session.state.queue == ()


async def test_a_steering_prompt_that_comes_with_the_last_answer_is_answered_in_the_same_turn(
    folder,
):
    workspace, session = await begun(folder, says("Done.", **SLOW), says("And that too."))
    session.prompt("And the docs.", delivery="steer")
    await at_rest(workspace, session)
    assert session.state.history[-1].parts[0].text == "And that too."
    assert session.state.last_turn.id == "t1"


async def test_a_queued_prompt_waits_for_a_turn_of_its_own(folder):
    workspace, session = await begun(folder, says("One.", **SLOW), says("Two."))
    session.prompt("Next.", turn_id="t2")
    session.prompt("Now this.", turn_id="t3", delivery="steer")
    workspace_done = at_rest(workspace, session)
    await workspace_done
    assert session.state.last_turn.id in ("t2", "t1")
    assert sorted(said(session)) == ["Begin.", "Next.", "Now this."]


async def test_where_nothing_runs_steering_is_prompting(folder):
    workspace = open_agent(folder, says("Hello."))
    session = await workspace.new_session()
    session.prompt("Hi.", turn_id="t1", delivery="steer")
    await at_rest(workspace, session)
    assert session.state.last_turn.id == "t1"


async def test_a_steering_prompt_can_be_taken_out_before_it_is_delivered(folder):
    workspace, session = await begun(folder, says("Done.", **SLOW))
    session.prompt("Never mind.", turn_id="t2", delivery="steer")
    session.remove_queued("t2")
    await at_rest(workspace, session)
    assert said(session) == ["Begin."]


async def test_a_cancel_leaves_a_steering_prompt_to_be_the_next_turn(folder):
    workspace, session = await begun(folder, says("Long story.", **SLOW), says("Short."))
    session.prompt("Be brief.", turn_id="t2", delivery="steer")
    assert session.cancel("t1")
    await at_rest(workspace, session)
    assert session.state.last_turn.id == "t2"
    assert said(session) == ["Begin.", "Be brief."]


async def test_a_steering_prompt_sent_twice_is_delivered_once(folder):
    workspace, session = await begun(
        folder, {**calls("Read", file_path="a.txt"), **SLOW}, says("Right.", **SLOW)
    )
    session.prompt("Mind the tests.", turn_id="t2", delivery="steer")
    session.prompt("Mind the tests.", turn_id="t2", delivery="steer")
    await until(lambda: len(said(session)) == 2)
    session.prompt("Mind the tests.", turn_id="t2", delivery="steer")
    await at_rest(workspace, session)
    assert said(session) == ["Begin.", "Mind the tests."]


async def test_what_waited_when_the_server_ended_waits_when_the_session_is_opened_again(folder):
    workspace, session = await begun(folder, says("Long story.", **SLOW))
    session.prompt("One more.", turn_id="t2", delivery="steer")
    session.prompt("And another.", turn_id="t3")
    await workspace.aclose()
    again = open_agent(folder, says("Yes."), says("Yes."), says("Yes."))
    session = await again.load_session("s1")
    await at_rest(again, session)
    assert said(session)[-2:] == ["One more.", "And another."]
    assert session.state.queue == ()
