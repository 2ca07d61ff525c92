"""Agents that a session sets to work: what they may do, what they report, what is kept of them."""

import asyncio
from pathlib import Path

from agentls.agent.session import Session
from agentls.agent.workspace import Workspace
from agentls.protocol.content import text_of
from agentls.sessions.loading import load
from tests.support.agents import Story, open_agent, results, until
from tests.support.scenarios import calls, says


def sets_to_work(prompt: str = "Find out.", **rest: object) -> dict:
    return calls("Task", description="Find out", prompt=prompt, **rest)


async def ran(
    folder: Path, *script: dict, mode: str = "default"
) -> tuple[Workspace, Session, Story]:
    workspace = open_agent(folder, *script)
    session = await workspace.new_session("s1", mode=mode)
    story = Story(session)
    session.prompt("Delegate it.")
    async with asyncio.timeout(20):
        await session.idle()
    return workspace, session, story


async def test_an_agent_works_in_a_conversation_of_its_own_and_reports(folder):
    workspace, session, story = await ran(
        folder,
        sets_to_work(),
        calls("Read", file_path="a.txt"),
        says("It says alpha and beta."),
        says("The agent found alpha."),
    )
    assert results(session) == ["It says alpha and beta."]
    assert story.lines == [
        "turn started",
        "Task: ok",
        "text: The agent found alpha.",
        "turn finished",
    ]
    store = workspace.surroundings.store
    await workspace.aclose()
    (chat_id,) = store.chats("s1")
    kept = load(store, "s1", chat_id).state
    assert [entry.type for entry in kept.history] == ["user", "answer", "callResult", "answer"]
    assert chat_id.startswith("a")


async def test_what_an_agent_used_counts_in_the_session_and_not_in_its_window(folder):
    workspace, session, _ = await ran(
        folder,
        sets_to_work(),
        {**says("Done."), "inputTokens": 9_000, "outputTokens": 7},
        {**says("So be it."), "inputTokens": 100, "outputTokens": 5},
    )
    usage = session.state.usage
    assert usage.responses == 3
    assert usage.last.input_tokens == 100
    assert usage.total.input_tokens > 9_100
    assert session.state.last_turn.usage == usage.total
    await workspace.aclose()


async def test_nobody_is_asked_for_an_agent_and_it_may_no_more_than_its_session(folder):
    workspace, session, story = await ran(
        folder,
        sets_to_work(),
        calls("Write", file_path="new.txt", content="x"),
        says("I was not let."),
        says("Then not."),
    )
    assert not (folder / "new.txt").exists()
    assert results(session) == ["I was not let."]
    assert all("asked" not in line for line in story.lines)
    await workspace.aclose()


async def test_what_an_agent_did_to_files_is_taken_back_with_the_prompt(folder):
    workspace, session, _ = await ran(
        folder,
        sets_to_work(),
        calls("Write", file_path="new.txt", content="x\n"),
        says("Written."),
        says("Good."),
        mode="acceptEdits",
    )
    assert (folder / "new.txt").read_text() == "x\n"
    prompt = session.state.history[0].id
    await session.rewind(prompt)
    assert not (folder / "new.txt").exists()
    await workspace.aclose()


async def test_an_agent_can_set_no_other_to_work(folder):
    workspace, _, _ = await ran(
        folder, sets_to_work(), sets_to_work("Do it for me."), says("There is none."), says("Well.")
    )
    chat_id = workspace.surroundings.store.chats("s1")[0]
    await workspace.aclose()
    kept = load(workspace.surroundings.store, "s1", chat_id).state
    refused = [entry.call for entry in kept.history if entry.type == "callResult"]
    assert "There is no tool 'Task'" in text_of(refused[0].content)


async def test_an_agent_that_fails_says_so_and_the_turn_goes_on(folder):
    workspace, session, story = await ran(
        folder,
        sets_to_work(),
        {"error": {"kind": "requestRefused", "message": "no such thing"}},
        says("Then I do it myself."),
    )
    assert "Task: error" in story.lines
    assert "no such thing" in results(session)[0]
    assert session.state.last_turn.status == "completed"
    await workspace.aclose()


async def test_a_cancel_stops_the_agent_too(folder):
    slow = {**says("word " * 200), "delayMs": 50}
    workspace = open_agent(folder, sets_to_work(), slow, says("Next."))
    session = await workspace.new_session()
    session.prompt("Delegate it.", turn_id="t1")
    await until(lambda: any(call.status == "running" for call in session.state.calls.values()))
    await asyncio.sleep(0.1)
    session.cancel("t1")
    async with asyncio.timeout(5):
        await session.idle()
    assert session.state.last_turn.status == "cancelled"
    session.prompt("Next.")
    async with asyncio.timeout(5):
        await session.idle()
    assert session.state.history[-1].parts[0].text == "Next."
    await workspace.aclose()


async def test_an_agent_in_the_background_is_a_task_and_its_end_is_told(folder):
    workspace = open_agent(
        folder,
        sets_to_work(run_in_background=True),
        says("It is on its way.", delayMs=20),
        says("It says alpha.", delayMs=20),
        says("So it is alpha.", expect={"user": "has completed"}),
    )
    session = await workspace.new_session("s1")
    session.prompt("Delegate it.")
    async with asyncio.timeout(20):
        await session.idle()
    task = session.state.tasks[0]
    assert (task.kind, task.id[0], task.description) == ("localAgent", "a", "Find out")
    await until(lambda: session.state.tasks[0].status == "completed")
    piece = await session.tasks.output(task.id, 0, 10_000)
    assert piece.text.strip().endswith(("It says alpha.", "It is on its way."))
    session.prompt("And?")
    async with asyncio.timeout(20):
        await session.idle()
    assert session.state.tasks == ()
    notice = session.state.history[-2]
    assert (notice.type, notice.author) == ("user", "agentls")
    await workspace.aclose()


async def test_a_background_agent_is_stopped_like_any_task(folder):
    slow = {**says("word " * 400), "delayMs": 50}
    workspace = open_agent(folder, sets_to_work(run_in_background=True), slow, slow)
    session = await workspace.new_session("s1")
    session.prompt("Delegate it.", turn_id="t1")
    await until(lambda: session.state.tasks)
    await until(lambda: session.state.tasks[0].status == "running")
    stopped = await session.tasks.stop(session.state.tasks[0].id)
    assert (stopped.status, stopped.reason) == ("killed", "it was stopped")
    session.cancel("t1")
    async with asyncio.timeout(10):
        await session.idle()
    await workspace.aclose()


async def test_an_agent_that_ran_when_the_session_closed_is_marked(folder):
    slow = {**says("word " * 400), "delayMs": 50}
    workspace = open_agent(folder, sets_to_work(run_in_background=True), slow, slow)
    session = await workspace.new_session("s1")
    session.prompt("Delegate it.", turn_id="t1")
    await until(lambda: session.state.tasks and session.state.tasks[0].status == "running")
    await workspace.aclose()
    again = open_agent(folder, says("Hm."))
    session = await again.load_session("s1")
    assert [task.status for task in session.state.tasks] == ["killed"]
    await again.aclose()


async def test_plan_mode_binds_an_agent_that_is_at_work(folder):
    workspace = open_agent(
        folder,
        sets_to_work(run_in_background=True),
        says("Waiting.", delayMs=30),
        {**calls("Write", file_path="new.txt", content="x"), "delayMs": 60},
        says("Not let."),
        says("Not let."),
    )
    session = await workspace.new_session("s1", mode="acceptEdits")
    session.prompt("Delegate it.")
    await until(lambda: session.state.tasks)
    session.set_mode("plan")
    await until(lambda: session.state.tasks and session.state.tasks[0].status != "running")
    async with asyncio.timeout(20):
        await session.idle()
    assert not (folder / "new.txt").exists()
    await workspace.aclose()
