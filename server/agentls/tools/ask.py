"""The AskUserQuestion tool: what the model wants to know of the user before it goes on."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints, field_validator
from pydantic_core import PydanticCustomError

from agentls.protocol.tool_calls import Question, QuestionAnswer, QuestionOption
from agentls.tools.tool import Tool, ToolContext, ToolInput, ToolResult

LONGEST_HEADER = 12
"""Characters of a header that are shown."""
MOST_QUESTIONS = 4
FEWEST_OPTIONS, MOST_OPTIONS = 2, 4

_Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class AskedOption(ToolInput):
    """An answer that is offered."""

    label: _Words
    """What the user chooses, in one to five words."""
    description: str = ""
    """What choosing it means, and what follows from it."""


class AskedQuestion(ToolInput):
    """One thing to know."""

    question: _Words
    """The whole question, with a question mark: "Which database should the tests use?"."""
    header: _Words
    """What it is about, in at most 12 characters: "Database"."""
    multi_select: bool = Field(default=False, alias="multiSelect")
    """Whether several of the options can be chosen together."""
    options: tuple[AskedOption, ...] = Field(
        json_schema_extra={"minItems": FEWEST_OPTIONS, "maxItems": MOST_OPTIONS}
    )
    """What to choose from, each with a label of its own; what you would advise comes first."""

    @field_validator("options")
    @classmethod
    def _can_be_chosen_from(cls, options: tuple[AskedOption, ...]) -> tuple[AskedOption, ...]:
        _check("options", [option.label for option in options], FEWEST_OPTIONS, MOST_OPTIONS)
        return options


class AskUserQuestionInput(ToolInput):
    """What AskUserQuestion takes."""

    questions: tuple[AskedQuestion, ...] = Field(
        json_schema_extra={"minItems": 1, "maxItems": MOST_QUESTIONS}
    )
    """The questions; the user answers them together."""

    @field_validator("questions")
    @classmethod
    def _can_be_told_apart(cls, questions: tuple[AskedQuestion, ...]) -> tuple[AskedQuestion, ...]:
        _check("questions", [asked.question for asked in questions], 1, MOST_QUESTIONS)
        return questions


class AskUserQuestion(Tool[AskUserQuestionInput]):
    """Puts questions to the user and returns the answers."""

    name: ClassVar[str] = "AskUserQuestion"
    description: ClassVar[str] = (
        "Asks the user up to four questions, each with two to four answers to choose from, and "
        "returns what was answered. The user can always answer in other words than those offered, "
        'so offer no "Other". Use it where the work depends on a choice that is the user\'s to '
        "make and that neither the request nor the code settles; find out yourself what can be "
        "found out. To have a plan agreed to, use ExitPlanMode instead."
    )
    input_type = AskUserQuestionInput
    verbs: ClassVar[tuple[str, str]] = ("Ask about", "Asking about")
    read_only: ClassVar[bool] = True

    async def execute(self, arguments: AskUserQuestionInput, context: ToolContext) -> ToolResult:
        """Return what the user has answered."""
        if context.answers is None:
            return ToolResult.ok(
                "The user would not answer; go on with what you know, and say what you assumed.",
                "The user would not answer",
            )
        answered = tuple(zip(arguments.questions, context.answers, strict=True))
        lines = [f'"{asked.question}" → {_in_words(answer)}' for asked, answer in answered]
        chosen = "; ".join(_in_short(answer) for _, answer in answered)
        return ToolResult.ok("\n".join(["The user answered:", *lines]), f"Answered: {chosen}")

    def subject(self, arguments: AskUserQuestionInput) -> str:
        """Name what the questions are about."""
        return ", ".join(asked.header for asked in arguments.questions)

    def questions(self, arguments: AskUserQuestionInput) -> tuple[Question, ...]:
        """Return the questions as the user sees them."""
        return tuple(
            Question(
                question=asked.question,
                header=_shown(asked.header),
                options=tuple(
                    QuestionOption(label=option.label, description=option.description)
                    for option in asked.options
                ),
                multi_select=asked.multi_select,
            )
            for asked in arguments.questions
        )


def _check(what: str, texts: Sequence[str], fewest: int, most: int) -> None:
    """Raise, for pydantic to report, where there are too few, too many, or two of the same text.

    Answers are told apart by these texts. pydantic's own check of the length would also complain
    where one of the items is wrong.
    """
    if not fewest <= len(texts) <= most:
        raise PydanticCustomError(
            "wrong_count",
            "there must be {fewest} to {most} {what}, not {count}",
            {"fewest": fewest, "most": most, "what": what, "count": len(texts)},
        )
    text, times = Counter(texts).most_common(1)[0]
    if times > 1:
        raise PydanticCustomError(
            "not_distinct",
            "{times} of the {what} are {text}; each must differ from the others",
            {"times": times, "what": what, "text": f'"{text}"'},
        )


def _in_words(answer: QuestionAnswer) -> str:
    chosen = ", ".join(f'"{label}"' for label in answer.selected)
    if not answer.other or not answer.other.strip():
        return chosen
    return f"{chosen}; in the user's own words: {answer.other}" if chosen else answer.other


def _in_short(answer: QuestionAnswer) -> str:
    words = " ".join((answer.other or "").split())
    return ", ".join(part for part in (*answer.selected, words) if part)


def _shown(header: str) -> str:
    return header if len(header) <= LONGEST_HEADER else f"{header[: LONGEST_HEADER - 1]}…"
