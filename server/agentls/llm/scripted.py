"""A model that plays a scenario: for tests, demonstrations and runs recorded earlier."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

from agentls.errors import (
    ConnectionLost,
    KeyRefused,
    ModelError,
    Overloaded,
    PromptTooLong,
    RateLimited,
    RequestRefused,
    ServerFailed,
    StreamBroken,
    StreamStalled,
    TryAgainLater,
    Unreachable,
)
from agentls.llm.model import ModelRequest, StreamEvent
from agentls.llm.scenario import (
    ErrorKind,
    Expectation,
    Scenario,
    ScriptedAnswer,
    ScriptedError,
    load_scenario,
)
from agentls.llm.stream_events import (
    Block,
    WrittenAnswer,
    closing_events,
    estimated_usage,
    opening_events,
)
from agentls.llm.transcript import blocks_of, result_text

ERRORS: dict[ErrorKind, type[ModelError]] = {
    "keyRefused": KeyRefused,
    "requestRefused": RequestRefused,
    "promptTooLong": PromptTooLong,
    "rateLimited": RateLimited,
    "overloaded": Overloaded,
    "serverFailed": ServerFailed,
    "connectionLost": ConnectionLost,
    "unreachable": Unreachable,
    "streamBroken": StreamBroken,
    "streamStalled": StreamStalled,
}


class ScriptedModel:
    """Gives a scenario's answers in order, one to each request, whoever asks.

    A request takes its answer when it begins, so one that is cancelled or fails has used it up,
    unless it is one to be repeated.
    """

    def __init__(self, scenario: Scenario, name: str = "the scenario") -> None:
        self._scenario = scenario
        self._name = name
        self._next = 0
        self._responses = 0
        self._calls = 0

    @classmethod
    def from_file(cls, path: Path) -> "ScriptedModel":
        """Read a scenario file. Raises BadScenario."""
        return cls(load_scenario(path), str(path))

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Yield the next answer's events; see `Model.stream`.

        Raises RequestRefused where the scenario is at its end or expects another request.
        """
        number, answer = self._take()
        if answer.expect:
            self._check(answer.expect, request, number)
        written = self._write(answer, request)
        if answer.error and not written.blocks:
            raise _error(answer.error)
        for event in opening_events(written, chunk=answer.chunk):
            await asyncio.sleep(answer.delay_ms / 1000)
            yield event
        if answer.error:
            raise _error(answer.error)
        for event in closing_events(written):
            yield event

    def _take(self) -> tuple[int, ScriptedAnswer]:
        answers = self._scenario.answers
        if self._next == len(answers):
            raise RequestRefused(
                f"{self._name} is at its end: it has {len(answers)} answers, and the model was "
                "asked once more. Add an answer, or start a new session."
            )
        number, answer = self._next + 1, answers[self._next]
        if not answer.repeat:
            self._next = number
        return number, answer

    def _check(self, expectation: Expectation, request: ModelRequest, number: int) -> None:
        missing = list(_unmet(expectation, request))
        if missing:
            raise RequestRefused(
                f"{self._name}, answers[{number - 1}].expect: {'; '.join(missing)}"
            )

    def _write(self, answer: ScriptedAnswer, request: ModelRequest) -> WrittenAnswer:
        self._skip_ids_in(request)
        self._responses += 1
        blocks = tuple(self._blocks(answer))
        usage = estimated_usage(request, blocks)
        usage |= {name: tokens for name, tokens in _told(answer) if tokens is not None}
        stop_reason = answer.stop_reason or ("tool_use" if answer.calls else "end_turn")
        return WrittenAnswer(f"msg_{self._responses}", request.model, blocks, stop_reason, usage)

    def _skip_ids_in(self, request: ModelRequest) -> None:
        """Count on from a conversation that an earlier process began, as ids are unique in it."""
        answers = [message for message in request.messages if message["role"] == "assistant"]
        calls = sum(
            block["type"] == "tool_use" for answer in answers for block in blocks_of(answer)
        )
        self._responses = max(self._responses, len(answers))
        self._calls = max(self._calls, calls)

    def _blocks(self, answer: ScriptedAnswer) -> Iterator[Block]:
        if answer.thinking:
            yield {
                "type": "thinking",
                "thinking": answer.thinking,
                "signature": answer.signature,
            }
        if answer.text:
            yield {"type": "text", "text": answer.text}
        for call in answer.calls:
            self._calls += 1
            block: Block = {
                "type": "tool_use",
                "id": f"toolu_{self._calls}",
                "name": call.name,
                "input": call.input,
            }
            if call.raw_input is not None:
                block["partial_json"] = call.raw_input
            yield block


def _told(answer: ScriptedAnswer) -> Iterator[tuple[str, int | None]]:
    """Yield the parts of the usage by the API's names; None where it is to be estimated."""
    yield "input_tokens", answer.input_tokens
    yield "output_tokens", answer.output_tokens
    yield "cache_read_input_tokens", answer.cache_read_tokens
    yield "cache_creation_input_tokens", answer.cache_write_tokens


def _error(error: ScriptedError) -> ModelError:
    kind = ERRORS[error.kind]
    if issubclass(kind, TryAgainLater):
        return kind(error.message, retry_after=error.retry_after)
    return kind(error.message)


def _unmet(expectation: Expectation, request: ModelRequest) -> Iterator[str]:
    """Yield what the request lacks, a clause each."""
    blocks = [
        block
        for message in request.messages
        if message["role"] == "user"
        for block in blocks_of(message)
    ]
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    results = [result_text(block) for block in blocks if block["type"] == "tool_result"]
    for name, wanted, seen in (
        ("user", expectation.user, texts[-1] if texts else ""),
        ("lastResult", expectation.last_result, results[-1] if results else ""),
        ("system", expectation.system, request.system),
    ):
        if wanted is not None and wanted not in seen:
            yield f"{name} should hold {wanted!r} and is {seen[:200]!r}"
