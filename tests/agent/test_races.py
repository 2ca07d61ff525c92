"""What meets within one turn of the loop, or in the gap between two steps: nothing is lost."""

import asyncio

import pytest

from agentls.errors import (
    ApprovalAlreadyAnswered,
    QuestionAlreadyAnswered,
)
from agentls.protocol.events import conversation
from agentls.protocol.events.envelope import Origin
from agentls.protocol.events.tasks import TaskFinished, TaskProgressed
from agentls.protocol.history import UserMessage
from agentls.protocol.tasks import FINAL_STATUSES
from agentls.protocol.tool_calls import QuestionAnswer
from tests.support.agents import Story, open_agent, results, until
from tests.support.fake_time import FakeTime
from tests.support.gates import BrokenHost, FailingModel, GatedHost, GatedModel
from tests.support.racing import (
    QUESTION,
    SLEEPS,
    answered,
    check_loads,
    gated,
    goes_on_and_closes,
    rest,
    said,
    status,
    waiting,
)
from tests.support.scenarios import calls, fails, says


@pytest.mark.parametrize("cancel_first", [False, True])
async def test_a_cancel_with_the_end_of_the_answer_ends_the_turn_once(folder, cancel_first):
    model = GatedModel()
    workspace = gated(folder, model)
    session = await workspace.new_session("s1")
    story = Story(session)
    session.prompt("Begin.", turn_id="t1")
    await until(lambda: session.state.live and session.state.live.parts)
    for step in sorted(("cancel", "finish"), reverse=not cancel_first):
        if step == "cancel":
            assert session.cancel("t1")
        else:
            model.gate.set()
    await rest(session)
    assert status(session) == ("t1", "cancelled")
    assert story.lines == ["turn started", "text: Done.", "turn cancelled"]
    assert not session.cancel("t1")
    await goes_on_and_closes(workspace, session)


async def test_a_cancel_from_whoever_hears_the_answer_s_end_ends_the_turn_once(folder):
    workspace = open_agent(folder, says("Done."), says("Next."))
    session = await workspace.new_session("s1")
    story = Story(session)

    def hear(new, old):
        if new.envelope and isinstance(new.envelope.event, conversation.AnswerFinished):
            session.cancel("t1")

    leave = session.subscribe(hear)
    session.prompt("Begin.", turn_id="t1")
    await rest(session)
    leave()
    assert len([line for line in story.lines if line.startswith("turn")]) == 2
    await goes_on_and_closes(workspace, session)


async def test_a_cancel_from_whoever_hears_the_turn_start_stops_it(folder):
    workspace = open_agent(folder, says("Not to be said."))
    session = await workspace.new_session("s1")
    stopped = []

    def hear(new, old):
        if new.envelope and isinstance(new.envelope.event, conversation.TurnStarted):
            stopped.append(session.cancel("t1"))

    session.subscribe(hear)
    session.prompt("Begin.", turn_id="t1")
    await rest(session)
    assert stopped == [True]
    assert status(session) == ("t1", "cancelled")
    await workspace.aclose()


async def test_a_steer_from_whoever_hears_the_turn_finish_is_the_next_turn(folder):
    workspace = open_agent(folder, says("Done."), says("That too."))
    session = await workspace.new_session("s1")

    def hear(new, old):
        if new.envelope and isinstance(new.envelope.event, conversation.TurnFinished):
            leave()
            session.prompt("And the docs.", turn_id="t2", delivery="steer")

    leave = session.subscribe(hear)
    session.prompt("Begin.", turn_id="t1")
    await rest(session)
    assert status(session) == ("t2", "completed")
    assert said(session) == ["Begin.", "And the docs."]
    await workspace.aclose()
    check_loads(workspace, session)


async def test_a_prompt_from_whoever_hears_something_while_nothing_runs_is_answered(folder):
    workspace = open_agent(folder, says("Done."))
    session = await workspace.new_session("s1")

    def hear(new, old):
        if new.envelope and isinstance(new.envelope.event, conversation.TitleChanged):
            session.prompt("Say something.", turn_id="t1")

    session.subscribe(hear)
    session.rename("A title")
    await rest(session)
    assert said(session) == ["Say something."]
    assert status(session) == ("t1", "completed")
    await workspace.aclose()


@pytest.mark.parametrize("delivery", ["queue", "steer"])
async def test_a_prompt_that_is_taken_out_while_it_is_read_is_not_said(folder, delivery):
    host, model = GatedHost(), GatedModel()
    workspace = gated(folder, model, host=host)
    session = await workspace.new_session("s1")
    if delivery == "steer":
        session.prompt("Begin.", turn_id="t1")
        await until(lambda: session.state.live)
    session.prompt("See @a.txt.", turn_id="t2", delivery=delivery)
    model.gate.set()
    await until(lambda: host.gated.waiting)
    session.remove_queued("t2")
    host.gated.gate.set()
    await rest(session)
    assert "See @a.txt." not in said(session)
    assert session.state.turn is None
    await goes_on_and_closes(workspace, session)


async def test_a_cancel_while_a_prompt_is_read_takes_it_out(folder):
    host = GatedHost()
    workspace = open_agent(folder, says("Next."), host=host)
    session = await workspace.new_session("s1")
    session.prompt("See @a.txt.", turn_id="t1")
    await until(lambda: host.gated.waiting)
    assert session.cancel("t1")
    host.gated.gate.set()
    await rest(session)
    assert said(session) == []
    await workspace.aclose()


async def test_of_two_clients_that_answer_at_once_the_second_is_told_so(folder):
    workspace = open_agent(
        folder,
        calls("Write", file_path="c.txt", content="c\n"),
        calls("AskUserQuestion", questions=[QUESTION]),
        says("Done."),
    )
    session = await workspace.new_session("s1")
    session.prompt("Begin.")
    one, other = (Origin(client_id=name) for name in ("one", "other"))
    call = await waiting(session)
    session.answer_approval(call.id, "allow", origin=one)
    with pytest.raises(ApprovalAlreadyAnswered):
        session.answer_approval(call.id, "deny", origin=other)
    call = await waiting(session, "AskUserQuestion")
    session.answer_questions(call.id, None, origin=one)
    with pytest.raises(QuestionAlreadyAnswered):
        session.answer_questions(call.id, (QuestionAnswer(selected=("This",)),), origin=other)
    await rest(session)
    assert (folder / "c.txt").read_text() == "c\n"
    assert "would not answer" in results(session)[1]
    await workspace.aclose()
    check_loads(workspace, session)


async def test_an_answer_and_a_cancel_at_once_leave_no_call_without_a_result(folder):
    workspace = open_agent(folder, calls("Write", file_path="c.txt", content="c\n"), says("Next."))
    session = await workspace.new_session("s1")
    session.prompt("Begin.", turn_id="t1")
    call = await waiting(session)
    session.answer_approval(call.id, "allow")
    assert session.cancel("t1")
    await rest(session)
    assert status(session) == ("t1", "cancelled")
    assert not (folder / "c.txt").exists()
    assert len(results(session)) == 1
    await goes_on_and_closes(workspace, session)


async def test_a_task_that_ends_while_its_turn_is_cancelled_is_told_in_the_next(folder):
    workspace = open_agent(
        folder,
        calls("Bash", command="echo soon", run_in_background=True),
        says("A long story.", delayMs=60),
        says("It has ended.", expect={"user": "Next."}),
        allowed=SLEEPS,
    )
    session = await workspace.new_session("s1")

    def hear(new, old):
        if any(task.status in FINAL_STATUSES for task in new.state.tasks):
            session.cancel("t1")

    leave = session.subscribe(hear)
    session.prompt("Begin.", turn_id="t1")
    await rest(session)
    await until(lambda: session.state.tasks[0].status in FINAL_STATUSES)
    leave()
    session.prompt("Next.", turn_id="t2")
    await rest(session)
    assert status(session)[0] == "t2"
    assert session.state.tasks == ()
    told = [text for text in said(session) if text.startswith("Task ")]
    assert len(told) == 1
    assert "has completed" in told[0]
    await workspace.aclose()
    check_loads(workspace, session)


async def test_the_next_try_goes_to_the_model_that_was_chosen_meanwhile(folder):
    time = FakeTime(held=True)
    workspace = open_agent(folder, fails("overloaded"), pace=time.pace)
    other = GatedModel("Said by another.")
    other.gate.set()
    session = await workspace.new_session("s1")
    resolve = workspace.surroundings.catalog.resolve
    workspace.surroundings.catalog.resolve = (  # type: ignore[method-assign]
        lambda name: other if name == "other" else resolve(name)
    )
    session.prompt("Begin.", turn_id="t1")
    await until(lambda: session.state.turn and session.state.turn.retry)
    session.set_model("other", "session")
    time.advance(2)
    await rest(session)
    assert status(session) == ("t1", "completed")
    assert [request.model for request in other.asked] == ["other"]
    assert session.state.usage.by_model.keys() == {"other"}
    await workspace.aclose()
    check_loads(workspace, session)


async def test_fast_mode_that_is_left_in_the_middle_leaves_the_rest_to_the_chosen_model(folder):
    config = folder.parent / "config"
    config.mkdir()
    (config / "settings.json").write_text('{"fastModel": "light"}')
    time, light = FakeTime(held=True), FailingModel()
    workspace = open_agent(folder, says("By the chosen one."), pace=time.pace)
    resolve = workspace.surroundings.catalog.resolve
    workspace.surroundings.catalog.resolve = (  # type: ignore[method-assign]
        lambda name: light if name == "light" else resolve(name)
    )
    session = await workspace.new_session("s1")
    session.set_fast_mode(True)
    session.prompt("Begin.", turn_id="t1")
    await until(lambda: session.state.turn and session.state.turn.retry)
    session.set_fast_mode(False)
    time.advance(2)
    await rest(session)
    assert status(session) == ("t1", "completed")
    assert light.asked == 1
    assert answered(session) == ["By the chosen one."]
    await workspace.aclose()
    check_loads(workspace, session)


async def test_a_steer_that_mentions_a_file_being_edited_brings_it_as_edited(folder):
    workspace = open_agent(
        folder,
        calls("Read", file_path="a.txt"),
        calls("Edit", file_path="a.txt", old_string="alpha", new_string="omega"),
        says("Right."),
    )
    session = await workspace.new_session("s1")
    session.prompt("Begin.", turn_id="t1")
    call = await waiting(session)
    session.prompt("See @a.txt.", turn_id="t2", delivery="steer")
    session.answer_approval(call.id, "allow")
    await rest(session)
    assert status(session) == ("t1", "completed")
    steered = [e for e in session.state.history if isinstance(e, UserMessage)][1]
    (_, mentioned) = steered.content
    assert mentioned.text == "omega\nbeta"
    await workspace.aclose()
    check_loads(workspace, session)


async def test_an_agent_that_is_stopped_while_its_job_is_read_does_not_begin(folder):
    host = GatedHost()
    workspace = open_agent(
        folder,
        calls("Task", description="a part", prompt="Look at @a.txt."),
        says("Not to be said."),
        says("Nor this."),
        host=host,
    )
    session = await workspace.new_session("s1")
    session.prompt("Begin.", turn_id="t1")
    await until(lambda: host.gated.waiting)
    assert session.cancel("t1")
    await asyncio.sleep(0.02)
    host.gated.gate.set()
    await rest(session)
    assert status(session) == ("t1", "cancelled")
    assert session.state.usage.responses == 1
    await workspace.aclose()


async def test_a_mode_chosen_while_an_agent_ends_harms_nobody(folder, caplog):
    workspace = open_agent(
        folder,
        calls("Task", description="a part", prompt="Do a part.", run_in_background=True),
        says("The report."),
        says("It works."),
        says("It has ended."),
    )
    session = await workspace.new_session("s1")

    def hear(new, old):
        event = new.envelope and new.envelope.event
        if isinstance(event, TaskFinished | TaskProgressed):
            session.set_mode("plan" if new.state.permissions.mode == "default" else "default")

    leave = session.subscribe(hear)
    session.prompt("Begin.")
    await rest(session)
    (task_id,) = [task.id for task in session.state.tasks] or [""]
    if task_id:
        await session.tasks.wait(task_id, 10)
    leave()
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
    await workspace.aclose()
    check_loads(workspace, session)


@pytest.mark.parametrize(
    "text",
    ["@a\0b", f"@{'x' * 5_000}", "@~nobody/x", "@//", "@[::]", "@a.txt:99999999999-1", "@#", "@\\"],
)
async def test_a_mention_of_what_cannot_be_a_path_is_a_prompt_like_any_other(folder, text):
    workspace = open_agent(folder, says("Done."))
    session = await workspace.new_session("s1")
    session.prompt(f"See {text} there.", turn_id="t1")
    await rest(session)
    assert status(session) == ("t1", "completed")
    await workspace.aclose()


async def test_a_prompt_whose_files_cannot_be_asked_for_does_not_stop_the_session(folder):
    workspace = open_agent(folder, says("Done."), says("Done."), host=BrokenHost())
    session = await workspace.new_session("s1")
    session.prompt("See @a.txt.", turn_id="t1")
    session.prompt("Next.", turn_id="t2")
    await rest(session)
    assert session.state.queue == ()
    assert status(session) == ("t2", "completed")
    await workspace.aclose()
