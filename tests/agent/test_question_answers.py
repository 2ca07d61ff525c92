from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.agent.chat import Chat
from agentls.agent.question_answers import answer_questions
from agentls.errors import InvalidRequest, QuestionAlreadyAnswered, UnknownCall
from agentls.protocol.content import TextBlock
from agentls.protocol.events.conversation import ToolCallFinished
from agentls.protocol.events.envelope import Origin
from agentls.protocol.events.questions import QuestionsAnswered, QuestionsAsked
from agentls.protocol.tool_calls import Question, QuestionAnswer, QuestionOption, Questions
from tests.support.lives import Life, lived

ONE = Question(
    question="Which database?",
    header="Database",
    options=(QuestionOption(label="PostgreSQL"), QuestionOption(label="SQLite")),
)
MANY = Question(
    question="Which extras?",
    header="Extras",
    options=(QuestionOption(label="Login"), QuestionOption(label="Search")),
    multi_select=True,
)
CODE = Origin(client_id="code")


def asking(*questions: Question) -> tuple[Life, str]:
    """Return a life in which a call waits for answers, and the call's id."""
    life = lived([("prompt", 0), ("answer_with_calls", 0)])
    (call,) = life.state.calls.values()
    asked = Questions(call_id=call.id, questions=questions, asked_at="2026-11-30T12:00:00.000Z")
    life.store.emit(QuestionsAsked(parent=call.message_id, questions=asked), turn_id="turn1")
    return life, call.id


def answer(
    life: Life,
    call_id: str,
    *answers: QuestionAnswer | None,
    origin: Origin | None = CODE,
) -> None:
    """Answer as a session does; `None` alone declines."""
    given = None if answers == (None,) else cast(tuple[QuestionAnswer, ...], answers)
    # The store holds the state and lets events happen, which is all that is needed of a chat.
    answer_questions(cast(Chat, life.store), call_id, given, origin=origin)


def chosen(*labels: str, other: str | None = None) -> QuestionAnswer:
    return QuestionAnswer(selected=labels, other=other)


def test_answers_settle_the_call_and_say_whose_they_are() -> None:
    life, call_id = asking(ONE, MANY)
    turn = life.state.turn
    assert turn is not None
    given = (chosen("SQLite"), chosen("Login", "Search", other="and mail"))

    answer(life, call_id, *given)

    call = life.state.calls[call_id]
    assert (call.status, call.answers) == ("ready", given)
    told = life.told[-1]
    assert isinstance(told.event, QuestionsAnswered)
    assert (told.turn_id, told.origin) == (turn.id, CODE)
    assert (told.event.parent, told.event.client_id) == (call.message_id, "code")


def test_declining_settles_the_call_without_answers() -> None:
    life, call_id = asking(ONE)

    answer(life, call_id, None, origin=None)

    call = life.state.calls[call_id]
    assert (call.status, call.answers) == ("ready", None)
    assert life.told[-1].origin is None


@pytest.mark.parametrize(
    ("first", "how"),
    [
        (chosen("SQLite", other="for now"), "SQLite, for now"),
        (None, "the user would not answer"),
    ],
)
def test_the_first_answer_wins(first: QuestionAnswer | None, how: str) -> None:
    life, call_id = asking(ONE)
    answer(life, call_id, first)
    state = life.state

    with pytest.raises(QuestionAlreadyAnswered, match=f"about Database is settled already: {how}"):
        answer(life, call_id, chosen("PostgreSQL"), origin=Origin(client_id="nvim"))

    assert life.state is state


def test_an_answer_after_the_turn_was_stopped_comes_too_late() -> None:
    life, call_id = asking(ONE)
    life.store.emit(
        ToolCallFinished(
            parent=life.state.calls[call_id].message_id,
            call_id=call_id,
            outcome="cancelled",
            summary="Cancelled",
            content=(TextBlock(text="stopped"),),
        )
    )
    life.do("answer", 1)  # the call is only in the history now

    with pytest.raises(QuestionAlreadyAnswered, match="the turn was stopped"):
        answer(life, call_id, chosen("SQLite"))


def test_a_call_that_is_not_known_or_asks_nothing_cannot_be_answered() -> None:
    life, call_id = asking(ONE)
    with pytest.raises(UnknownCall, match="no tool call 'nonsense' in session s1"):
        answer(life, "nonsense", chosen("SQLite"))

    life = lived([("prompt", 0), ("answer_with_calls", 0)])
    (call_id,) = life.state.calls
    with pytest.raises(UnknownCall, match=r"asks no questions$"):
        answer(life, call_id, chosen("SQLite"))

    life.do("ask", 0)
    with pytest.raises(UnknownCall, match="asks no questions; it waits for an approval"):
        answer(life, call_id, chosen("SQLite"))


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ((chosen("SQLite"),), "1 of 2 answers came; give one for each"),
        ((), "0 of 2 answers came"),
        ((chosen("SQLite"), chosen("Login"), chosen("Login")), "3 of 2 answers came"),
        (
            (chosen("sqlite"), chosen("Login")),
            "answer 1, to “Which database?”: “sqlite” is none of the options; choose from "
            "“PostgreSQL”, “SQLite”, or say it in the user's own words, in `other`",
        ),
        (
            (chosen("SQLite", "PostgreSQL"), chosen("Login")),
            "answer 1, to “Which database?”: 2 options are selected, and it takes one",
        ),
        (
            (chosen("SQLite"), chosen("Login", "Login")),
            "answer 2, to “Which extras?”: “Login” is selected more than once",
        ),
        ((chosen("SQLite"), chosen()), "answer 2, to “Which extras?”: nothing is selected"),
        ((chosen(other=" \n"), chosen("Login")), "answer 1, to “Which database?”: nothing is"),
    ],
)
def test_a_wrong_answer_says_what_is_wrong_and_leaves_the_question_open(
    answers: tuple[QuestionAnswer, ...], message: str
) -> None:
    life, call_id = asking(ONE, MANY)
    state = life.state

    with pytest.raises(InvalidRequest) as refused:
        answer(life, call_id, *answers)

    assert message in str(refused.value)
    assert life.state is state
    answer(life, call_id, chosen("SQLite"), chosen("Login"))
    assert life.state.calls[call_id].status == "ready"


LABELS = st.sampled_from(["PostgreSQL", "SQLite", "Login", "Search", "x"])
ANSWERS = st.lists(
    st.builds(
        QuestionAnswer,
        selected=st.lists(LABELS, max_size=3).map(tuple),
        other=st.none() | st.text(max_size=3),
    ),
    max_size=3,
)


@given(ANSWERS)
def test_whatever_is_accepted_fits_the_questions(answers: list[QuestionAnswer]) -> None:
    life, call_id = asking(ONE, MANY)
    try:
        answer(life, call_id, *answers)
    except InvalidRequest:
        assert life.state.calls[call_id].status == "waiting"
        return
    accepted = life.state.calls[call_id].answers
    assert accepted is not None
    one, many = accepted
    assert len(one.selected) <= 1
    assert set(one.selected) <= {"PostgreSQL", "SQLite"}
    assert sorted(many.selected) in ([], ["Login"], ["Search"], ["Login", "Search"])
    assert all(given.selected or given.other for given in (one, many))
