"""Scenario files: what a scripted model answers, one answer after the other.

The format is described in protocol-docs/scenarios.md.
"""

import difflib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from agentls.errors import BadScenario

Place = tuple[str | int, ...]
"""Where a value is in a JSON document: keys and indexes from its root."""

ErrorKind = Literal[
    "keyRefused",
    "requestRefused",
    "promptTooLong",
    "rateLimited",
    "overloaded",
    "serverFailed",
    "connectionLost",
    "unreachable",
    "streamBroken",
    "streamStalled",
]
"""The model errors of agentls/errors.py."""


class ScenarioModel(BaseModel):
    """A part of a scenario file; a field it does not know is a mistake."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, use_attribute_docstrings=True
    )


class ScriptedCall(ScenarioModel):
    """A tool call."""

    name: str = Field(min_length=1)
    input: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    raw_input: str | None = None
    """Streamed as it is in place of `input`: for what a model gets wrong."""


class ScriptedError(ScenarioModel):
    """How an answer fails, after whatever text, thinking and calls it has were streamed."""

    kind: ErrorKind
    message: str = "The scenario says so."
    retry_after: float | None = Field(default=None, ge=0)
    """Seconds; for the kinds that are worth a retry."""


class Expectation(ScenarioModel):
    """What the request must hold for the answer to be given; a check in tests and demos."""

    user: str | None = None
    """A text within the last message of the user that has text."""
    last_result: str | None = None
    """A text within the last tool result."""
    system: str | None = None
    """A text within the system prompt."""


class ScriptedAnswer(ScenarioModel):
    """One answer: thinking, then text, then calls, then its end or its failure."""

    thinking: str = ""
    signature: str = ""
    """Of the thinking, which is sent back later where it has one."""
    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    error: ScriptedError | None = None
    expect: Expectation | None = None
    chunk: int | None = Field(default=None, ge=1)
    """Characters in a delta; a few words where it is left out."""
    delay_ms: int = Field(default=0, ge=0, le=600_000)
    """The wait before each event of the stream."""
    stop_reason: (
        Literal[
            "end_turn",
            "tool_use",
            "max_tokens",
            "stop_sequence",
            "refusal",
            "pause_turn",
            "model_context_window_exceeded",
        ]
        | None
    ) = None
    """What follows from the calls where it is left out."""
    input_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)
    cache_read_tokens: int | None = Field(default=None, ge=0)
    cache_write_tokens: int | None = Field(default=None, ge=0)
    repeat: bool = False
    """Give this answer to every further request."""

    @model_validator(mode="after")
    def _holds_something(self) -> "ScriptedAnswer":
        if not self.model_fields_set & {"thinking", "text", "calls", "error"}:
            raise ValueError("an answer needs one of text, thinking, calls, error")
        if self.signature and not self.thinking:
            raise ValueError("a signature needs thinking that it signs")
        return self


class Scenario(ScenarioModel):
    """A scenario file."""

    version: Literal[1]
    answers: tuple[ScriptedAnswer, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _reaches_its_end(self) -> "Scenario":
        for number, answer in enumerate(self.answers[:-1]):
            if answer.repeat:
                raise ValueError(
                    f"answers[{number}] has `repeat`, so those after it are never given: only the "
                    "last one may have it"
                )
        return self


def load_scenario(path: Path) -> Scenario:
    """Read a scenario file. Raises BadScenario that names the file, the place and what to write."""
    try:
        source = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadScenario(
            f"The scenario file {path} cannot be read: {error.strerror}. Give the path of a JSON "
            "file as protocol-docs/scenarios.md describes it."
        ) from error
    except UnicodeDecodeError as error:
        raise BadScenario(f"The scenario file {path} is not UTF-8 text.") from error
    return parse_scenario(source, str(path))


def parse_scenario(source: str, name: str) -> Scenario:
    """Read the text of a scenario file; `name` is what errors call it."""
    try:
        document = json.loads(source)
    except json.JSONDecodeError as error:
        raise BadScenario(
            f"{name}, line {error.lineno}, column {error.colno}: not JSON: {error.msg}"
        ) from error
    except RecursionError as error:
        raise BadScenario(f"{name}: nested too deeply") from error
    try:
        return Scenario.model_validate(document)
    except ValidationError as error:
        mistakes = error.errors(include_url=False)
        # A list counts as too short also where its items are wrong.
        mistakes = [found for found in mistakes if found["type"] != "too_short"] or mistakes
        more = f" (and {len(mistakes) - 1} more)" if len(mistakes) > 1 else ""
        raise BadScenario(f"{name}, {_mistake(mistakes[0], source)}{more}") from None


def _mistake(error: ErrorDetails, source: str) -> str:
    place: Place = error["loc"]
    line = _line_of(place, source)
    return f"line {line}, {_written(place)}: {_what_is_allowed(error)}"


def _what_is_allowed(error: ErrorDetails) -> str:
    match error["type"]:
        case "extra_forbidden":
            name = str(error["loc"][-1])
            fields = _fields_at(error["loc"][:-1])
            close = difflib.get_close_matches(name, fields, n=1)
            guess = f" Did you mean {close[0]!r}?" if close else ""
            return f"there is no field {name!r} here.{guess} Allowed are {', '.join(fields)}."
        case "missing":
            return f"the field {str(error['loc'][-1])!r} is missing"
        case "value_error":
            return str(error["msg"]).removeprefix("Value error, ")
        case _:
            given = json.dumps(error["input"], ensure_ascii=False, default=str)
            return f"{error['msg']}, not {given[:80]}"


def _fields_at(place: Place) -> list[str]:
    """Return the fields of the model at `place`."""
    model: type[BaseModel] = Scenario
    for step in place:
        if isinstance(step, int):
            continue
        annotation = next(f.annotation for f in model.model_fields.values() if f.alias == step)
        model = next(_models_in(annotation), model)
    return [field.alias or name for name, field in model.model_fields.items()]


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _written(place: Place) -> str:
    """Write a place as one does: `answers[2].calls[0].name`."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return "".join(steps).removeprefix(".") or "the whole file"


TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


def _line_of(place: Place, source: str) -> int:
    """Return the line of the value at `place`, or of the nearest one around it that is there."""
    lines: dict[Place, int] = {}
    for found, offset in _values(source):
        lines.setdefault(found, source.count("\n", 0, offset) + 1)
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


def _values(source: str) -> Iterator[tuple[Place, int]]:
    """Yield the place and the offset of every value of a JSON document, which must be sound."""
    steps: list[str | int] = []
    expects_key = False
    for token in TOKEN.finditer(source):
        match token[0]:
            case "{" | "[" as bracket:
                yield tuple(steps), token.start()
                expects_key = bracket == "{"
                steps.append("" if expects_key else 0)
            case "}" | "]":
                steps.pop()
                expects_key = False
            case ",":
                last = steps[-1]
                expects_key = isinstance(last, str)
                if isinstance(last, int):
                    steps[-1] = last + 1
            case ":":
                expects_key = False
            case text if expects_key:
                steps[-1] = json.loads(text)
            case _:
                yield tuple(steps), token.start()
