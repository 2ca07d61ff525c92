"""What meets with a close, a restart or a rewind of the session: nothing is lost."""

import asyncio

import pytest

from agentls.errors import (
    LogNotWritten,
    SessionBusy,
)
from agentls.protocol.tool_calls import QuestionAnswer
from tests.support.agents import open_agent, results, until
from tests.support.commands import marked
from tests.support.fake_time import FakeTime
from tests.support.gates import GatedHost, GatedModel
from tests.support.racing import (
    QUESTION,
    SLEEPS,
    check_loads,
    gated,
    goes_on_and_closes,
    rest,
    said,
    status,
    waiting,
)
from tests.support.scenarios import calls, fails, says
from tests.support.stores import RefusingStore, agent_over


async def test_a_prompt_whose_session_closes_while_it_is_read_waits_for_the_next_opening(folder):
    host = GatedHost()
    workspace = open_agent(folder, says("Not now."), host=host)
    session = await workspace.new_session("s1")
    session.prompt("See @a.txt.", turn_id="t1")
    await until(lambda: host.gated.waiting)
    host.gated.gate.set()
    await workspace.aclose()
    assert session.state.turn is None
    again = open_agent(folder, says("It says alpha."))
    session = await again.load_session("s1")
    await rest(session)
    assert status(session) == ("t1", "completed")
    await again.aclose()


async def test_a_close_during_a_compaction_leaves_the_conversation_as_it_was(folder):
    model = GatedModel("A word. " * 2_000)
    workspace = gated(folder, model)
    session = await workspace.new_session("s1")
    model.gate.set()
    for number in range(4):
        session.prompt(f"Say much. {number}")
        await rest(session)
    model.gate.clear()
    before = session.state.history
    session.compact(turn_id="t1")
    await until(lambda: session.state.compaction.running and len(model.asked) == 5)
    await workspace.aclose()
    assert status(session) == ("t1", "interrupted")
    check_loads(workspace, session)
    again = gated(folder, model)
    session = await again.load_session("s1")
    assert session.state.compaction.running is None
    assert session.state.compaction.failures == 0
    assert session.state.history == before
    model.gate.set()
    session.prompt("Next.", turn_id="t2")
    await rest(session)
    assert status(session) == ("t2", "completed")
    await again.aclose()


async def test_a_close_during_a_wait_for_the_model_interrupts_the_turn(folder):
    time = FakeTime(held=True)
    workspace = open_agent(folder, fails("overloaded"), pace=time.pace)
    session = await workspace.new_session("s1")
    session.prompt("Begin.", turn_id="t1")
    await until(lambda: session.state.turn and session.state.turn.retry)
    await workspace.aclose()
    assert status(session) == ("t1", "interrupted")
    again = open_agent(folder, says("Next."), pace=time.pace)
    session = await again.load_session("s1")
    await goes_on_and_closes(again, session)


async def test_a_close_while_a_question_is_open_leaves_it_open(folder):
    workspace = open_agent(folder, calls("AskUserQuestion", questions=[QUESTION]))
    session = await workspace.new_session("s1")
    session.prompt("Begin.", turn_id="t1")
    await until(lambda: [c for c in session.state.calls.values() if c.status == "waiting"])
    await workspace.aclose()
    check_loads(workspace, session)
    again = open_agent(folder, says("This, then."))
    session = await again.load_session("s1")
    (call,) = session.state.calls.values()
    session.answer_questions(call.id, (QuestionAnswer(selected=("This",)),))
    await rest(session)
    assert status(session) == ("t1", "completed")
    assert '"This"' in results(session)[0]
    await again.aclose()
    check_loads(again, session)


async def test_what_is_sent_while_a_rewind_runs_is_refused_and_may_be_sent_again(folder):
    workspace = open_agent(folder, says("One."), says("Two."))
    session = await workspace.new_session("s1")
    session.prompt("First.")
    await rest(session)
    message = session.state.history[0]
    rewind = asyncio.create_task(session.rewind(message.id))
    await asyncio.sleep(0)
    with pytest.raises(SessionBusy):
        session.compact(turn_id="t1")
    with pytest.raises(SessionBusy):
        session.prompt("Second.", turn_id="t2")
    with pytest.raises(SessionBusy):
        await session.clear()
    await rewind
    session.prompt("Second.", turn_id="t2")
    await rest(session)
    assert said(session) == ["Second."]
    await workspace.aclose()
    check_loads(workspace, session)


async def test_a_rewind_that_a_close_overtakes_is_on_record(folder):
    workspace = open_agent(
        folder, calls("Write", file_path="c.txt", content="c\n"), says("Done."), mode="acceptEdits"
    )
    session = await workspace.new_session("s1")
    session.prompt("First.")
    await rest(session)
    assert (folder / "c.txt").exists()
    rewind = asyncio.create_task(session.rewind(session.state.history[0].id))
    await asyncio.sleep(0)
    await workspace.close_session("s1")
    await asyncio.wait([rewind])
    again = open_agent(folder, says("Next."))
    session = await again.load_session("s1")
    assert (folder / "c.txt").exists() == (session.state.head is not None)
    await again.aclose()
    await workspace.aclose()


async def test_a_rewind_leaves_a_task_that_runs_alone(folder):
    workspace = open_agent(
        folder,
        calls("Bash", command="sleep 30", run_in_background=True),
        says("It runs."),
        says("Next."),
        allowed=SLEEPS,
    )
    session = await workspace.new_session("s1")
    session.prompt("Begin.")
    await rest(session)
    rewind = asyncio.create_task(session.rewind(session.state.history[0].id))
    await session.tasks.stop(session.state.tasks[0].id)
    await rewind
    assert session.state.head is None
    assert [task.status for task in session.state.tasks] == ["killed"]
    await goes_on_and_closes(workspace, session)
    assert not marked(folder)


async def test_a_parked_turn_whose_time_has_passed_goes_on_at_once(folder):
    time = FakeTime(held=True)
    first = open_agent(folder, fails("rateLimited", retryAfter=5400), pace=time.pace)
    session = await first.new_session("s1")
    session.prompt("Begin.", turn_id="t1")
    await until(lambda: session.state.turn and session.state.turn.retry)
    await first.aclose()
    check_loads(first, session)
    time.advance(90_000)
    slept = len(time.sleeps)
    second = open_agent(folder, says("Back again."), pace=time.pace)
    session = await second.load_session("s1")
    await rest(session)
    assert status(session) == ("t1", "completed")
    assert time.sleeps[slept:] == []
    await second.aclose()
    check_loads(second, session)


async def test_a_parked_turn_can_be_cancelled_as_soon_as_its_session_is_loaded(folder):
    time = FakeTime(held=True)
    first = open_agent(folder, fails("rateLimited", retryAfter=5400), pace=time.pace)
    session = await first.new_session("s1")
    session.prompt("Begin.", turn_id="t1")
    await until(lambda: session.state.turn and session.state.turn.retry)
    await first.aclose()
    second = open_agent(folder, says("Not to be said."), pace=time.pace)
    session = await second.load_session("s1")
    assert session.cancel("t1")
    await rest(session)
    assert status(session) == ("t1", "cancelled")
    await second.aclose()


async def test_a_turn_that_is_sent_again_after_a_compaction_and_a_restart_is_not_run_twice(folder):
    model = GatedModel("A word. " * 2_000)
    model.gate.set()
    workspace = gated(folder, model)
    session = await workspace.new_session("s1")
    for number in range(4):
        session.prompt(f"Say much. {number}", turn_id=f"t{number}")
        await rest(session)
    model._text = "## Done\nMuch was said."
    session.compact()
    await rest(session)
    assert session.state.last_turn.error is None
    await workspace.aclose()
    again = gated(folder, model)
    session = await again.load_session("s1")
    before = session.state.history
    for number in range(4):
        assert not session.prompt(f"Say much. {number}", turn_id=f"t{number}").queued
    await rest(session)
    assert session.state.history == before
    await again.aclose()


async def test_a_session_that_could_not_be_closed_goes_on_with_what_waited(folder):
    store = RefusingStore()
    workspace = agent_over(
        store,
        folder,
        calls("Write", file_path="c.txt", content="c\n"),
        calls("Bash", command="sleep 30", run_in_background=True),
        says("Done."),
    )
    session = await workspace.new_session("s1")
    session.prompt("Begin.", turn_id="t1")
    call = await waiting(session)
    store.refusal = LogNotWritten("the disk is full")
    with pytest.raises(LogNotWritten):
        await workspace.close_session("s1")
    store.refusal = None
    session.answer_approval(call.id, "allow")
    async with asyncio.timeout(5):
        call = await waiting(session, "Bash")
    session.answer_approval(call.id, "allow")
    await rest(session)
    assert status(session) == ("t1", "completed")
    assert (folder / "c.txt").exists()
    assert "Started in the background" in results(session)[1]
    await workspace.aclose()
    assert not marked(folder)
