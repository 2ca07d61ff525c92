"""Questions and plans through the whole agent, with a scripted model and a person who answers."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentls.agent.session import Session
from agentls.agent.workspace import Workspace
from agentls.errors import InvalidRequest, QuestionAlreadyAnswered
from agentls.protocol.events.envelope import Origin
from agentls.protocol.events.questions import QuestionsAnswered
from agentls.protocol.events.settings import ModeChanged
from agentls.protocol.history import CallResult
from agentls.protocol.tool_calls import QuestionAnswer, ToolCall
from agentls.state.selectors import activity, pending_approvals, pending_questions
from tests.support.agents import WAIT_SECONDS, PersonHost, Story, open_agent, results, until
from tests.support.scenarios import calls, calls_together, says

DATABASE = {
    "question": "Which database?",
    "header": "Database",
    "multiSelect": False,
    "options": [
        {"label": "PostgreSQL", "description": "A server"},
        {"label": "SQLite", "description": "A file"},
    ],
}
ASK = calls("AskUserQuestion", questions=[DATABASE])
PLAN = calls("ExitPlanMode", plan="1. Change `a.txt`")
EDIT = calls("Edit", file_path="a.txt", old_string="beta", new_string="delta")
READ_A = calls("Read", file_path="a.txt")
SQLITE = (QuestionAnswer(selected=("SQLite",)),)
DECLINED = "The user would not answer; go on with what you know, and say what you assumed."


async def waiting(session: Session) -> ToolCall:
    """Return the call that a person is asked about, when there is one."""
    await until(lambda: pending_questions(session.state) or pending_approvals(session.state))
    return next(call for call in session.state.calls.values() if call.status == "waiting")


async def settled(session: Session) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        await session.idle()


async def asked(folder: Path, *script: dict[str, Any], **options: Any) -> tuple[Workspace, Session]:
    """Return a session that has been given a prompt, under way."""
    workspace = open_agent(folder, *script, **options)
    session = await workspace.new_session("s1")
    session.prompt("Do it.")
    return workspace, session


def finished_calls(session: Session) -> list[ToolCall]:
    return [entry.call for entry in session.state.history if isinstance(entry, CallResult)]


def ended(session: Session) -> str:
    """Return how the last turn ended."""
    turn = session.state.last_turn
    assert turn is not None
    return turn.status


# --- questions


async def test_the_model_reads_what_the_user_answered(folder: Path) -> None:
    workspace, session = await asked(folder, ASK, says("SQLite it is."))
    call = await waiting(session)
    assert activity(session.state).label == "Waiting for an answer"
    (put,) = pending_questions(session.state)
    assert put.questions[0].question == "Which database?"

    answer = QuestionAnswer(selected=("SQLite",), other="in memory")
    session.answer_questions(call.id, (answer,), origin=Origin(client_id="code"))
    await settled(session)

    assert results(session) == [
        'The user answered:\n"Which database?" → "SQLite"; in the user\'s own words: in memory'
    ]
    (done,) = finished_calls(session)
    assert (done.outcome, done.answers) == ("ok", (answer,))
    assert pending_questions(session.state) == ()
    assert ended(session) == "completed"
    await workspace.aclose()


async def test_a_user_who_declines_lets_the_turn_go_on(folder: Path) -> None:
    workspace, session = await asked(folder, ASK, says("I take SQLite."))
    call = await waiting(session)

    session.answer_questions(call.id, None)
    await settled(session)

    assert results(session) == [DECLINED]
    assert ended(session) == "completed"
    await workspace.aclose()


async def test_of_two_editors_the_first_answer_wins(folder: Path) -> None:
    workspace, session = await asked(folder, ASK, says("Done."))
    call = await waiting(session)
    story = Story(session)

    session.answer_questions(call.id, SQLITE, origin=Origin(client_id="code"))
    other = (QuestionAnswer(selected=("PostgreSQL",)),)
    with pytest.raises(QuestionAlreadyAnswered, match="settled already: SQLite"):
        session.answer_questions(call.id, other, origin=Origin(client_id="nvim"))
    await settled(session)
    with pytest.raises(QuestionAlreadyAnswered):
        session.answer_questions(call.id, None)

    answered = [
        moment.envelope
        for moment in story.moments
        if moment.envelope and isinstance(moment.envelope.event, QuestionsAnswered)
    ]
    assert [envelope.origin for envelope in answered] == [Origin(client_id="code")]
    assert '"SQLite"' in results(session)[0]
    await workspace.aclose()


async def test_a_wrong_answer_leaves_the_question_to_be_answered(folder: Path) -> None:
    workspace, session = await asked(folder, ASK, says("Done."))
    call = await waiting(session)

    with pytest.raises(InvalidRequest, match="none of the options"):
        session.answer_questions(call.id, (QuestionAnswer(selected=("Oracle",)),))
    assert await waiting(session) == call
    session.answer_questions(call.id, SQLITE)
    await settled(session)

    assert ended(session) == "completed"
    await workspace.aclose()


async def test_a_turn_is_cancelled_while_its_question_is_open(folder: Path) -> None:
    workspace, session = await asked(folder, ASK, says("Fine."))
    call = await waiting(session)

    turn = session.state.turn
    assert turn is not None
    assert session.cancel(turn.id)
    await settled(session)

    assert ended(session) == "cancelled"
    assert pending_questions(session.state) == ()
    with pytest.raises(QuestionAlreadyAnswered, match="the turn was stopped"):
        session.answer_questions(call.id, SQLITE)
    session.prompt("Go on.")
    await settled(session)
    assert ended(session) == "completed"
    await workspace.aclose()


async def test_a_question_survives_the_end_of_the_server(folder: Path) -> None:
    workspace, session = await asked(folder, ASK)
    call = await waiting(session)
    await workspace.aclose()

    again = open_agent(folder, says("SQLite it is."))
    loaded = await again.load_session("s1")
    assert (await waiting(loaded)).questions == call.questions
    loaded.answer_questions(call.id, SQLITE)
    await settled(loaded)

    assert results(loaded) == ['The user answered:\n"Which database?" → "SQLite"']
    assert ended(loaded) == "completed"
    await again.aclose()


async def test_where_nobody_is_there_the_model_is_told_so(folder: Path) -> None:
    script = (ASK, says("I take SQLite."))
    workspace, session = await asked(folder, *script, host=PersonHost(False))
    await settled(session)

    (text,) = results(session)
    assert "obody is there" in text
    assert "say what you assumed" in text
    assert finished_calls(session)[0].questions is None
    assert ended(session) == "completed"
    await workspace.aclose()


async def test_a_question_whose_reader_has_gone_is_declined(folder: Path) -> None:
    workspace, session = await asked(folder, ASK)
    await waiting(session)
    await workspace.aclose()

    again = open_agent(folder, says("I take SQLite."), host=PersonHost(False))
    loaded = await again.load_session("s1")
    await settled(loaded)

    assert results(loaded) == [DECLINED]
    assert ended(loaded) == "completed"
    await again.aclose()


async def test_in_the_mode_that_never_asks_no_question_is_put(folder: Path) -> None:
    workspace, session = await asked(folder, ASK, says("I take SQLite."), mode="dontAsk")
    await settled(session)

    assert "dontAsk" in results(session)[0]
    assert finished_calls(session)[0].outcome == "denied"
    await workspace.aclose()


async def test_what_is_read_beside_a_question_does_not_hide_it(folder: Path) -> None:
    together = calls_together(READ_A, ASK, READ_A)
    workspace, session = await asked(folder, together, says("Done."))
    call = await waiting(session)

    assert call.name == "AskUserQuestion"
    assert activity(session.state).label == "Waiting for an answer"
    session.answer_questions(call.id, SQLITE)
    await settled(session)

    assert sorted(done.name for done in finished_calls(session)) == [
        "AskUserQuestion",
        "Read",
        "Read",
    ]
    assert all(done.outcome == "ok" for done in finished_calls(session))
    await workspace.aclose()


async def test_what_changes_files_waits_for_the_answer_before_it(folder: Path) -> None:
    together = calls_together(ASK, EDIT)
    workspace, session = await asked(folder, READ_A, together, says("Done."), mode="acceptEdits")
    call = await waiting(session)

    assert (folder / "a.txt").read_text() == "alpha\nbeta\n"
    session.answer_questions(call.id, SQLITE)
    await settled(session)

    assert (folder / "a.txt").read_text() == "alpha\ndelta\n"
    await workspace.aclose()


async def test_a_call_with_a_mistake_asks_nobody(folder: Path) -> None:
    twice = {**DATABASE, "options": [{"label": "A"}, {"label": "A"}]}
    script = (calls("AskUserQuestion", questions=[twice]), says("Sorry."))
    workspace, session = await asked(folder, *script)
    await settled(session)

    assert '2 of the options are "A"' in results(session)[0]
    assert finished_calls(session)[0].outcome == "error"
    await workspace.aclose()


# --- plans


@pytest.mark.parametrize(
    ("option", "mode"), [("acceptEdits", "acceptEdits"), ("askForEdits", "default")]
)
async def test_an_approved_plan_is_carried_out_in_the_mode_that_was_chosen(
    folder: Path, option: str, mode: str
) -> None:
    script = (calls("EnterPlanMode"), READ_A, PLAN, EDIT, says("Done."))
    workspace, session = await asked(folder, *script)
    call = await waiting(session)
    assert session.state.permissions.mode == "plan"
    assert call.approval is not None
    assert call.approval.detail == "1. Change `a.txt`"

    session.answer_approval(call.id, option)
    if mode == "default":
        await until(lambda: session.state.permissions.mode == "default")
        edit = await waiting(session)
        assert edit.name == "Edit"
        session.answer_approval(edit.id, "allow")
    await settled(session)

    assert results(session)[2].startswith(f"The user approved the plan. The mode is {mode}")
    assert session.state.permissions.mode == mode
    assert (folder / "a.txt").read_text() == "alpha\ndelta\n"
    assert [done.outcome for done in finished_calls(session)] == ["ok"] * 4
    await workspace.aclose()


async def test_a_refused_plan_stays_in_plan_mode_and_the_model_reads_why(folder: Path) -> None:
    script = (PLAN, EDIT, PLAN, says("Done."))
    workspace, session = await asked(folder, *script, mode="plan")
    call = await waiting(session)

    session.answer_approval(call.id, "deny", reason="Start with the tests")
    await until(lambda: len(results(session)) == 2)
    again = await waiting(session)
    assert session.state.permissions.mode == "plan"
    assert "“Keep planning”: Start with the tests" in results(session)[0]
    assert "Stay in plan mode" in results(session)[1], "the edit was denied"
    session.answer_approval(again.id, "acceptEdits")
    await settled(session)

    assert [done.outcome for done in finished_calls(session)] == ["denied", "denied", "ok"]
    assert (folder / "a.txt").read_text() == "alpha\nbeta\n"
    await workspace.aclose()


async def test_the_model_reads_the_plan_as_the_user_changed_it(folder: Path) -> None:
    workspace, session = await asked(folder, PLAN, says("Done."), mode="plan")
    call = await waiting(session)

    session.answer_approval(call.id, "askForEdits", edited_input={"plan": "1. Nothing"})
    await settled(session)

    assert results(session)[0].endswith("The user has changed it; it reads now:\n\n1. Nothing")
    await workspace.aclose()


async def test_what_follows_in_one_answer_is_judged_under_the_new_mode(folder: Path) -> None:
    together = calls_together(calls("EnterPlanMode"), EDIT)
    workspace, session = await asked(folder, READ_A, together, says("Planned."), mode="acceptEdits")
    story = Story(session)
    await settled(session)

    assert [done.outcome for done in finished_calls(session)] == ["ok", "ok", "denied"]
    changes = [
        moment.envelope.event
        for moment in story.moments
        if moment.envelope and isinstance(moment.envelope.event, ModeChanged)
    ]
    assert changes == [ModeChanged(mode="plan")]
    assert (folder / "a.txt").read_text() == "alpha\nbeta\n"
    await workspace.aclose()


async def test_a_plan_survives_the_end_of_the_server(folder: Path) -> None:
    workspace, session = await asked(folder, PLAN, mode="plan")
    call = await waiting(session)
    await workspace.aclose()

    again = open_agent(folder, says("Done."))
    loaded = await again.load_session("s1")
    assert (await waiting(loaded)).approval == call.approval
    assert loaded.state.permissions.mode == "plan"
    loaded.answer_approval(call.id, "acceptEdits")
    await settled(loaded)

    assert results(loaded)[0].startswith("The user approved the plan. The mode is acceptEdits")
    await again.aclose()


async def test_where_nobody_is_there_plan_mode_is_neither_entered_nor_left(folder: Path) -> None:
    nobody = PersonHost(False)
    script = (calls("EnterPlanMode"), says("Without, then."))
    workspace, session = await asked(folder, *script, host=nobody)
    await settled(session)
    assert "Go on without plan mode" in results(session)[0]
    assert session.state.permissions.mode == "default"
    session.set_mode("plan")
    await workspace.aclose()

    again = open_agent(folder, PLAN, says("Here is the plan."), host=nobody)
    loaded = await again.load_session("s1")
    loaded.prompt("Plan it.")
    await settled(loaded)
    assert "nobody is there to give one" in results(loaded)[1]
    assert loaded.state.permissions.mode == "plan"
    await again.aclose()


# --- the server ends just after an answer


@pytest.mark.parametrize("last", ["questionsAnswered", "approvalAnswered"])
async def test_an_answer_that_was_taken_before_the_server_was_killed_counts(
    folder: Path, last: str
) -> None:
    script = (ASK, says("Done.")) if last == "questionsAnswered" else (PLAN, says("Done."))
    workspace, session = await asked(folder, *script, mode="plan")
    call = await waiting(session)
    if last == "questionsAnswered":
        session.answer_questions(call.id, SQLITE)
    else:
        session.answer_approval(call.id, "acceptEdits")
    await settled(session)
    before = results(session)
    await workspace.aclose()
    cut_after(folder / ".agentls/sessions/s1.jsonl", last)

    again = open_agent(folder, says("Done."))
    loaded = await again.load_session("s1")
    await settled(loaded)

    assert results(loaded) == before
    assert ended(loaded) == "completed"
    await again.aclose()


def cut_after(log: Path, event: str) -> None:
    """Leave of a log what was written when `event` was."""
    lines = log.read_bytes().splitlines(keepends=True)
    (place,) = [number for number, line in enumerate(lines) if f'"{event}"'.encode() in line]
    log.write_bytes(b"".join(lines[: place + 1]))
