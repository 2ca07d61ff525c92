"""Events of the Messages API's stream, for models that write their answers themselves."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from agentls.llm.blocks import encode
from agentls.llm.model import ModelRequest, StreamEvent

CHARACTERS_PER_TOKEN = 3.5
"""What English text and code come to, roughly; good for an estimate only."""

Block = dict[str, Any]
"""A content block of the Messages API: `text`, `thinking` or `tool_use`. A `tool_use` block may
hold `partial_json`, which is then streamed as it is in place of `input`."""


@dataclass(frozen=True, slots=True)
class WrittenAnswer:
    """An answer that is known before it is streamed."""

    message_id: str
    model: str
    blocks: tuple[Block, ...]
    stop_reason: str
    usage: dict[str, int] = field(default_factory=dict[str, int])


def answer_events(answer: WrittenAnswer, *, chunk: int | None = None) -> Iterator[StreamEvent]:
    """Yield all events of `answer`; see `opening_events` for `chunk`."""
    yield from opening_events(answer, chunk=chunk)
    yield from closing_events(answer)


def opening_events(answer: WrittenAnswer, *, chunk: int | None = None) -> Iterator[StreamEvent]:
    """Yield the start and the blocks of `answer`, without its end.

    A delta holds `chunk` characters, or a few words where that is None.
    """
    yield _message_start(answer)
    for index, block in enumerate(answer.blocks):
        yield {
            "type": "content_block_start",
            "index": index,
            "content_block": _opened(block),
        }
        for delta in _deltas(block, chunk):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}


def closing_events(answer: WrittenAnswer) -> Iterator[StreamEvent]:
    """Yield the end of `answer`."""
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": answer.stop_reason, "stop_sequence": None},
        "usage": answer.usage,
    }
    yield {"type": "message_stop"}


def estimated_usage(request: ModelRequest, blocks: tuple[Block, ...]) -> dict[str, int]:
    """Return a guess at the tokens of a request and its answer, at least one of each."""
    tools = sum(len(tool.description) + len(str(tool.input_schema)) for tool in request.tools)
    known = request.encoded
    said = len(known.json) + len(encode(list(request.messages[known.count :])))
    sent = len(request.system) + said + tools
    answered = len(str(blocks)) if blocks else 0
    return {"input_tokens": _tokens(sent), "output_tokens": _tokens(answered)}


def _tokens(characters: int) -> int:
    return max(1, round(characters / CHARACTERS_PER_TOKEN))


def _message_start(answer: WrittenAnswer) -> StreamEvent:
    message: dict[str, Any] = {
        "id": answer.message_id,
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**answer.usage, "output_tokens": 1},
    }
    return {"type": "message_start", "message": message}


def _opened(block: Block) -> Block:
    match block["type"]:
        case "text":
            return {"type": "text", "text": ""}
        case "thinking":
            return {"type": "thinking", "thinking": "", "signature": ""}
        case _:
            return {"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}


def _deltas(block: Block, chunk: int | None) -> Iterator[dict[str, str]]:
    match block["type"]:
        case "text":
            for piece in _pieces(block["text"], chunk):
                yield {"type": "text_delta", "text": piece}
        case "thinking":
            for piece in _pieces(block["thinking"], chunk):
                yield {"type": "thinking_delta", "thinking": piece}
            if block["signature"]:
                yield {"type": "signature_delta", "signature": block["signature"]}
        case _:
            written = block.get("partial_json")
            if written is None:
                written = orjson.dumps(block["input"]).decode()
            for piece in _pieces(written, chunk):
                yield {"type": "input_json_delta", "partial_json": piece}


def _pieces(text: str, chunk: int | None) -> Iterator[str]:
    if chunk is None:
        yield from re.findall(r"(?:\s*\S+){1,4}\s*|\s+", text)
        return
    for at in range(0, len(text), chunk):
        yield text[at : at + chunk]
