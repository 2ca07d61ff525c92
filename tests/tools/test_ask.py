from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.protocol.tool_calls import Question, QuestionAnswer, QuestionOption
from agentls.tools.ask import AskUserQuestion, AskUserQuestionInput
from agentls.tools.registry import parse_input
from agentls.tools.tool import ToolResult
from tests.support.workbench import Workbench, told

tool = AskUserQuestion()


def question(text: str, *labels: str, **rest: Any) -> dict[str, Any]:
    options = [{"label": label, "description": f"about {label}"} for label in labels]
    return {"question": text, "header": "Topic", "options": options, **rest}


def arguments(*questions: dict[str, Any]) -> AskUserQuestionInput:
    parsed = parse_input(tool, {"questions": questions})
    assert not isinstance(parsed, ToolResult), told(parsed)
    return parsed


def refusal(*questions: Any) -> str:
    parsed = parse_input(tool, {"questions": questions})
    assert isinstance(parsed, ToolResult)
    assert parsed.is_error
    return told(parsed)


DATABASE = question("Which database?", "PostgreSQL", "SQLite", header="Database")
EXTRAS = question("Which extras?", "Login", "Search", "Mail", multiSelect=True)


def test_questions_are_put_in_the_words_of_the_protocol() -> None:
    assert tool.questions(arguments(DATABASE, EXTRAS)) == (
        Question(
            question="Which database?",
            header="Database",
            options=(
                QuestionOption(label="PostgreSQL", description="about PostgreSQL"),
                QuestionOption(label="SQLite", description="about SQLite"),
            ),
        ),
        Question(
            question="Which extras?",
            header="Topic",
            options=tuple(
                QuestionOption(label=label, description=f"about {label}")
                for label in ("Login", "Search", "Mail")
            ),
            multi_select=True,
        ),
    )


@pytest.mark.parametrize(
    ("header", "shown"),
    [("Auth method!", "Auth method!"), ("Authentication", "Authenticat…"), (" Auth ", "Auth")],
)
def test_a_header_is_shown_with_twelve_characters_at_most(header: str, shown: str) -> None:
    (put,) = tool.questions(arguments(question("Which?", "A", "B", header=header)))
    assert put.header == shown


async def test_the_model_reads_what_was_chosen_and_the_users_own_words(bench: Workbench) -> None:
    result = await tool.execute(
        arguments(DATABASE, EXTRAS),
        replace(
            bench.context(),
            answers=(
                QuestionAnswer(selected=("SQLite",)),
                QuestionAnswer(selected=("Login", "Mail"), other="and  dark\nmode “now”"),
            ),
        ),
    )
    assert not result.is_error
    assert told(result) == (
        "The user answered:\n"
        '"Which database?" → "SQLite"\n'
        '"Which extras?" → "Login", "Mail"; in the user\'s own words: and  dark\nmode “now”'
    )
    assert result.summary == "Answered: SQLite; Login, Mail, and dark mode “now”"


async def test_own_words_alone_are_an_answer(bench: Workbench) -> None:
    context = replace(bench.context(), answers=(QuestionAnswer(other="DuckDB"),))
    result = await tool.execute(arguments(DATABASE), context)
    assert told(result).endswith('"Which database?" → DuckDB')


async def test_a_choice_with_blank_words_is_the_choice_alone(bench: Workbench) -> None:
    answer = QuestionAnswer(selected=("SQLite",), other=" ")
    result = await tool.execute(arguments(DATABASE), replace(bench.context(), answers=(answer,)))
    assert told(result).endswith('"Which database?" → "SQLite"')


async def test_an_unwilling_user_lets_the_model_go_on(bench: Workbench) -> None:
    result = await bench.run(tool, questions=[DATABASE])
    assert not result.is_error
    assert told(result) == (
        "The user would not answer; go on with what you know, and say what you assumed."
    )


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip))
async def test_whatever_the_user_writes_reaches_the_model_verbatim(words: str) -> None:
    context = replace(Workbench(Path("/nowhere")).context(), answers=(QuestionAnswer(other=words),))
    assert told(await tool.execute(arguments(DATABASE), context)).endswith(f"→ {words}")


def test_two_options_of_one_label_are_a_mistake_that_the_model_reads() -> None:
    text = refusal(DATABASE, question("Which?", "Yes", " Yes", "No"))
    assert 'questions[1].options: 2 of the options are "Yes"; each must differ' in text
    assert text.count("\n- ") == 1, "one mistake is told once"


def test_the_same_question_twice_is_a_mistake() -> None:
    assert '2 of the questions are "Which database?"' in refusal(DATABASE, DATABASE)


@pytest.mark.parametrize("count", [1, 5])
def test_a_question_has_two_to_four_options(count: int) -> None:
    text = refusal(question("Which?", *"ABCDE"[:count]))
    assert f"questions[0].options: there must be 2 to 4 options, not {count}" in text


@pytest.mark.parametrize("count", [0, 5])
def test_a_call_has_one_to_four_questions(count: int) -> None:
    text = refusal(*(question(f"{number}?", "A", "B") for number in range(count)))
    assert f"questions: there must be 1 to 4 questions, not {count}" in text


def test_blank_words_and_unknown_fields_are_mistakes() -> None:
    text = refusal(question(" ", "A", "B", header="", multi=True))
    assert "questions[0].question: string should have at least 1 character" in text
    assert "questions[0].header" in text
    assert "questions[0].multi: there is no such argument" in text


def test_the_schema_names_the_fields_as_models_know_them() -> None:
    asked = tool.input_schema()["properties"]["questions"]
    assert (asked["minItems"], asked["maxItems"]) == (1, 4)
    fields = asked["items"]["properties"]
    assert list(fields) == ["question", "header", "multiSelect", "options"]
    assert (fields["options"]["minItems"], fields["options"]["maxItems"]) == (2, 4)
    assert list(fields["options"]["items"]["properties"]) == ["label", "description"]


def test_a_call_is_told_by_what_it_asks_about() -> None:
    assert tool.invocation(arguments(DATABASE, EXTRAS)) == "Asking about Database, Topic"
