"""What the model asks of the user, answered over the server's pipes."""

from pathlib import Path

import pytest

from tests.support.scenarios import calls, says
from tests.support.servers import editor, scripted

QUESTIONS = [
    {
        "question": "Which database?",
        "header": "Database",
        "options": [{"label": "PostgreSQL"}, {"label": "SQLite"}],
    },
    {
        "question": "Which tests?",
        "header": "Tests",
        "multiSelect": True,
        "options": [{"label": "Unit"}, {"label": "Slow"}, {"label": "None"}],
    },
]
ASK = calls("AskUserQuestion", questions=QUESTIONS)
INVALID, NOT_FOUND, NOT_NOW = -32602, -32004, -32005


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return workspace


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ([{"selected": ["SQLite"]}], "1 of 2 answers"),
        ([{"selected": ["Oracle"]}, {"selected": ["Unit"]}], "choose from “PostgreSQL”, “SQLite”"),
        ([{"selected": ["PostgreSQL", "SQLite"]}, {"selected": ["Unit"]}], "it takes one"),
        ([{"selected": ["SQLite"]}, {}], "answer 2, to “Which tests?”"),
        ([{"selected": ["SQLite"]}, {"other": "  "}], "own words"),
        ([{"selected": ["SQLite"]}, {"selected": ["Unit", "Unit"]}], "more than once"),
        ([{"selected": "SQLite"}, {"selected": ["Unit"]}], "selected"),
        ("SQLite", "answers"),
    ],
)
async def test_wrong_answers_are_refused_with_what_would_be_right(folder, answers, told):
    script = scripted(folder, ASK, says("Good.", expect={"lastResult": "SQLite"}))
    async with editor(folder, *script) as it:
        await it.new_session()
        await it.prompt("Build it.")
        call_id = (await it.event("questionsAsked"))["questions"]["callId"]
        error = await it.refused("question/answer", callId=call_id, answers=answers)
        assert (error.code, told in error.message) == (INVALID, True), error.message
        assert not it.events("questionsAnswered"), "the questions stay open"
        right = [{"selected": ["SQLite"]}, {"selected": ["Unit"], "other": "and mine"}]
        await it.ask("question/answer", sessionId="s1", callId=call_id, answers=right)
        assert (await it.event("turnFinished"))["status"] == "completed"


async def test_questions_are_answered_by_whoever_is_first(folder):
    script = scripted(folder, ASK, says("Good.", expect={"lastResult": '"Unit", "Slow"'}))
    async with editor(folder, *script) as it:
        await it.new_session()
        await it.prompt("Build it.")
        [asked] = await it.changed("questions")
        assert [question["header"] for question in asked["questions"]] == ["Database", "Tests"]
        waiting = await it.changed("activity", lambda told: told["status"] == "waiting")
        assert waiting["label"] == "Waiting for an answer"
        answers = [{"selected": ["SQLite"]}, {"selected": ["Unit", "Slow"]}]
        params = {"callId": asked["callId"], "answers": answers}
        assert await it.ask("question/answer", sessionId="s1", **params) == {}
        error = await it.refused("question/answer", **params)
        assert (error.code, error.data["kind"]) == (NOT_NOW, "QuestionAlreadyAnswered")
        assert "SQLite; Unit, Slow" in error.message
        assert (await it.event("questionsAnswered"))["clientId"] == "test-editor-1"
        assert (await it.event("turnFinished"))["status"] == "completed"
        assert (await it.at_rest())["questions"] == []


async def test_questions_may_be_left_unanswered(folder):
    script = scripted(folder, ASK, says("As I like.", expect={"lastResult": "would not answer"}))
    async with editor(folder, *script) as it:
        await it.new_session()
        await it.prompt("Build it.")
        call_id = (await it.event("questionsAsked"))["questions"]["callId"]
        await it.ask("question/answer", sessionId="s1", callId=call_id, answers=None)
        assert (await it.event("turnFinished"))["status"] == "completed"


async def test_only_questions_are_answered(folder):
    script = scripted(folder, calls("Bash", command="true"), says("Done."))
    async with editor(folder, *script) as it:
        await it.new_session()
        await it.prompt("Build it.")
        call_id = (await it.event("approvalRequested"))["approval"]["callId"]
        for wrong, told in ((call_id, "waits for an approval"), ("c9", "no tool call 'c9'")):
            error = await it.refused("question/answer", callId=wrong, answers=None)
            assert (error.code, error.data["kind"]) == (NOT_FOUND, "UnknownCall")
            assert told in error.message
        await it.answer("allow")
        await it.event("turnFinished")
