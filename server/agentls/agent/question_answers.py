"""Settles the questions of a call with the first answers that come."""

from collections.abc import Iterator

from agentls.agent.approval_answers import find_call
from agentls.agent.chat import Chat
from agentls.errors import InvalidRequest, QuestionAlreadyAnswered, UnknownCall
from agentls.protocol.events.envelope import Origin
from agentls.protocol.events.questions import QuestionsAnswered
from agentls.protocol.session_state import SessionState
from agentls.protocol.tool_calls import Question, QuestionAnswer, Questions, ToolCall


def answer_questions(
    chat: Chat,
    call_id: str,
    answers: tuple[QuestionAnswer, ...] | None,
    *,
    origin: Origin | None,
) -> None:
    """Settle a call's questions, all of them; None: the user would not answer.

    Raises `UnknownCall`, `QuestionAlreadyAnswered`, and `InvalidRequest`, which says what is wrong
    with the answers and leaves the questions open.
    """
    call, asked = _open_questions(chat.state, call_id)
    if answers is not None:
        _check(asked.questions, answers)
    chat.emit(
        QuestionsAnswered(
            parent=call.message_id,
            call_id=call_id,
            answers=answers,
            client_id=origin.client_id if origin else None,
        ),
        turn_id=chat.state.turn and chat.state.turn.id,
        origin=origin,
    )


def _open_questions(state: SessionState, call_id: str) -> tuple[ToolCall, Questions]:
    call = find_call(state, call_id)
    if call.questions is None:
        instead = "; it waits for an approval" if call.status == "waiting" else ""
        raise UnknownCall(f"tool call {call_id!r} asks no questions{instead}")
    if call.status == "waiting":
        return call, call.questions
    about = ", ".join(question.header for question in call.questions.questions)
    raise QuestionAlreadyAnswered(
        f"what was asked about {about} is settled already: {_how_it_was_settled(call)}"
    )


def _how_it_was_settled(call: ToolCall) -> str:
    if call.answers is not None:
        given = ((*answer.selected, answer.other) for answer in call.answers)
        return "; ".join(", ".join(words for words in answer if words) for answer in given)
    return "the turn was stopped" if call.outcome == "cancelled" else "the user would not answer"


def _check(questions: tuple[Question, ...], answers: tuple[QuestionAnswer, ...]) -> None:
    if len(answers) != len(questions):
        raise InvalidRequest(
            f"{len(answers)} of {len(questions)} answers came; give one for each question, in "
            "their order, or null in place of all to answer none"
        )
    for number, (question, answer) in enumerate(zip(questions, answers, strict=True), start=1):
        if mistake := next(_mistakes(question, answer), None):
            raise InvalidRequest(f"answer {number}, to “{question.question}”: {mistake}")


def _mistakes(question: Question, answer: QuestionAnswer) -> Iterator[str]:
    offered = [option.label for option in question.options]
    for label in answer.selected:
        if label not in offered:
            known = ", ".join(f"“{option}”" for option in offered)
            yield (
                f"“{label}” is none of the options; choose from {known}, or say it in the user's "
                "own words, in `other`"
            )
        if answer.selected.count(label) > 1:
            yield f"“{label}” is selected more than once; select it once"
    if len(answer.selected) > 1 and not question.multi_select:
        yield f"{len(answer.selected)} options are selected, and it takes one"
    if not answer.selected and not (answer.other or "").strip():
        yield (
            "nothing is selected, and there are no own words in `other`; give one of them, or "
            "null in place of all answers to answer none"
        )
