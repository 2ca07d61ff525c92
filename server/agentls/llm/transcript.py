"""What a model that is no model reads out of a request: the prompt, and what came of its calls."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Message = dict[str, Any]
Block = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a tool call."""

    text: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """What has happened since the user last spoke."""

    prompt: str
    rounds: tuple[tuple[Outcome, ...], ...]
    """For each answer, the outcomes of its calls, in their order."""


def this_turn(messages: Sequence[Message]) -> Turn:
    """Return the turn that a request goes on with."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index]["role"] == "user" and (prompt := text_of(messages[index])):
            return Turn(prompt, _rounds(messages[index + 1 :]))
    return Turn("", _rounds(messages))


def text_of(message: Message) -> str:
    """Return the text of a message, its blocks a line apart."""
    return "\n".join(block["text"] for block in blocks_of(message) if block["type"] == "text")


def blocks_of(message: Message) -> list[Block]:
    """Return the content of a message as blocks, which the API also lets one write as a text."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def result_text(block: Block) -> str:
    """Return the text of a `tool_result` block."""
    return text_of({"content": block.get("content", "")})


def _rounds(messages: Sequence[Message]) -> tuple[tuple[Outcome, ...], ...]:
    results = {
        block["tool_use_id"]: Outcome(result_text(block), bool(block.get("is_error")))
        for message in messages
        if message["role"] == "user"
        for block in blocks_of(message)
        if block["type"] == "tool_result"
    }
    unknown = Outcome("there is no result", failed=True)
    return tuple(
        tuple(
            results.get(block["id"], unknown)
            for block in blocks_of(message)
            if block["type"] == "tool_use"
        )
        for message in messages
        if message["role"] == "assistant"
    )
