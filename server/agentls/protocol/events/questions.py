"""Questions that the model puts to the user; the state they change is the tool call's."""

from typing import Literal

from agentls.protocol.events.kinds import AttachedEvent
from agentls.protocol.tool_calls import QuestionAnswer, Questions


class QuestionsAsked(AttachedEvent):
    """A call waits for the user's answers."""

    type: Literal["questionsAsked"] = "questionsAsked"
    questions: Questions


class QuestionsAnswered(AttachedEvent):
    """The first answer came; it settles the matter for every editor."""

    type: Literal["questionsAnswered"] = "questionsAnswered"
    call_id: str
    answers: tuple[QuestionAnswer, ...] | None
    """One for each question; null: the user would not answer."""
    client_id: str | None = None
