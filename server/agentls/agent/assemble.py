"""Folds the model's stream into one answer, and tells of it as it comes.

Text is told at once when a part begins, and then at most every 15 ms, joined: an editor cannot draw
faster, and every message costs each client something.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import orjson
from pydantic import ValidationError

from agentls.llm.blocks import sendable_text
from agentls.llm.model import StreamEvent
from agentls.protocol.content import (
    API_STOP_REASONS,
    AnswerPart,
    LivePart,
    RedactedThinkingPart,
    StopReason,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    Usage,
)
from agentls.protocol.events.conversation import (
    AnswerFinished,
    AnswerStarted,
    PartDelta,
    PartStarted,
)
from agentls.protocol.wire_model import JsonObject

JOIN_SECONDS = 0.015

Emit = Callable[[AnswerStarted | PartStarted | PartDelta], None]

_PART_TYPES = {"text": "text", "thinking": "thinking", "tool_use": "toolCall"}
_DELTA_FIELDS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
}


@dataclass(slots=True)
class _OpenPart:
    """A content block that is being streamed."""

    id: str
    type: str
    name: str = ""
    given_input: dict[str, Any] | None = None
    """A tool call's input, where the server sends it whole with the block's start."""
    pieces: list[str] = field(default_factory=list[str])
    half: str = ""
    """The first half of a character whose second the server has not sent yet."""
    signature: str = ""
    data: str = ""

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class AnswerAssembler:
    """Makes one `AnswerFinished` of the Messages API's stream events."""

    def __init__(
        self, message_id: str, model: str, emit: Emit, is_taken: Callable[[str], bool]
    ) -> None:
        self._message_id = message_id
        self.model = model
        self._emit = emit
        self._is_taken = is_taken
        self._parts: list[AnswerPart] = []
        self._open: _OpenPart | None = None
        self._count = 0
        self._response_id: str | None = None
        self._stop_reason: StopReason = "other"
        self._usage: dict[str, int] = {}
        self._unsent: list[str] = []
        self._sent_length = 0
        self._timer: asyncio.TimerHandle | None = None
        emit(AnswerStarted(message_id=message_id, model=model))

    def feed(self, event: StreamEvent) -> None:
        """Take one event of the stream; kinds that are not known are passed over."""
        match event.get("type"):
            case "content_block_delta":
                self._add(event["delta"])
            case "content_block_start":
                self._begin(event["content_block"])
            case "content_block_stop":
                self._end()
            case "message_start":
                message = event["message"]
                self._response_id = message.get("id")
                self._count_usage(message.get("usage"))
            case "message_delta":
                reason = event.get("delta", {}).get("stop_reason")
                self._stop_reason = API_STOP_REASONS.get(reason, "other")
                self._count_usage(event.get("usage"))
            case _:
                pass

    def finish(self, parent: str | None) -> AnswerFinished:
        """Return the whole answer."""
        self._end()
        return self._answer(parent, tuple(self._parts), self._stop_reason)

    def cut(self, parent: str | None, reason: Literal["cancelled", "cut"]) -> AnswerFinished | None:
        """Return what there is of an answer that ends here; None where nothing can be kept.

        Tool calls are left out: none of them has run, and an unfinished one cannot be told apart.
        """
        self._end()
        kept = tuple(part for part in self._parts if not isinstance(part, ToolCallPart))
        if not any(isinstance(part, TextPart) and part.text for part in kept):
            return None
        return self._answer(parent, kept, reason)

    def whole_parts(self, parent: str | None) -> AnswerFinished | None:
        """Return the parts that are complete of an answer that broke off, its tool calls too.

        None where there is no text and no call among them: the answer is then asked for anew.
        """
        self._stop_sending()
        self._open = None
        if not any(isinstance(part, TextPart | ToolCallPart) for part in self._parts):
            return None
        return self._answer(parent, tuple(self._parts), "cut")

    @property
    def response_id(self) -> str:
        """The response's id, by which its tokens are counted once."""
        return self._response_id or self._message_id

    @property
    def usage(self) -> Usage:
        """The tokens the response has cost so far."""
        return Usage(
            input_tokens=self._usage.get("input_tokens", 0),
            output_tokens=self._usage.get("output_tokens", 0),
            cache_read_tokens=self._usage.get("cache_read_input_tokens", 0),
            cache_write_tokens=self._usage.get("cache_creation_input_tokens", 0),
        )

    def _begin(self, block: dict[str, Any]) -> None:
        self._end()
        part_id = f"{self._message_id}.{self._count}"
        self._count += 1
        match block.get("type"):
            case "tool_use":
                part = _OpenPart(self._call_id(block.get("id") or part_id), "tool_use")
                part.name = block.get("name") or ""
                part.given_input = block.get("input") or None
            case "redacted_thinking":
                part = _OpenPart(part_id, "redacted_thinking", data=block.get("data", ""))
            case "text" | "thinking" as kind:
                part = _OpenPart(part_id, kind)
            case _:
                return
        self._open = part
        self._sent_length = 0
        if shown_as := _PART_TYPES.get(part.type):
            live = LivePart.model_validate(
                {"type": shown_as, "id": part.id, "name": part.name or None}
            )
            self._emit(PartStarted(message_id=self._message_id, part=live))
        if first := block.get("text") or block.get("thinking"):
            self._add_text(part, first)

    def _add(self, delta: dict[str, Any]) -> None:
        part = self._open
        if part is None:
            return
        if name := _DELTA_FIELDS.get(delta.get("type", "")):
            self._add_text(part, delta[name])
        elif delta.get("type") == "signature_delta":
            part.signature += delta.get("signature", "")

    def _add_text(self, part: _OpenPart, text: str) -> None:
        text, part.half = _whole(part.half + text)
        if not text:
            return
        is_first = not part.pieces
        part.pieces.append(text)
        self._unsent.append(text)
        if is_first:
            self._send()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(JOIN_SECONDS, self._send)

    def _stop_sending(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _send(self) -> None:
        self._stop_sending()
        if not self._unsent or self._open is None:
            return
        text = "".join(self._unsent)
        self._unsent.clear()
        offset, self._sent_length = self._sent_length, self._sent_length + len(text)
        self._emit(PartDelta(part_id=self._open.id, offset=offset, text=text))

    def _end(self) -> None:
        part = self._open
        if part is None:
            return
        if part.half:
            part.half = ""
            self._add_text(part, "\N{REPLACEMENT CHARACTER}")
        self._send()
        self._open = None
        match part.type:
            case "text":
                if part.text:
                    self._parts.append(TextPart(id=part.id, text=part.text))
            case "thinking":
                self._parts.append(
                    ThinkingPart(id=part.id, text=part.text, signature=part.signature)
                )
            case "redacted_thinking":
                self._parts.append(RedactedThinkingPart(id=part.id, data=part.data))
            case _:
                self._parts.append(_tool_call(part))

    def _answer(
        self, parent: str | None, parts: tuple[AnswerPart, ...], stop_reason: StopReason
    ) -> AnswerFinished:
        return AnswerFinished(
            id=self._message_id,
            parent=parent,
            model=self.model,
            parts=parts,
            stop_reason=stop_reason,
            response_id=self._response_id,
            usage=self.usage,
        )

    def _count_usage(self, usage: dict[str, Any] | None) -> None:
        for name, value in (usage or {}).items():
            if isinstance(value, int):
                self._usage[name] = value

    def _call_id(self, call_id: str) -> str:
        """Return the model's id for a call; some servers repeat theirs, which we cannot."""
        taken = {part.id for part in self._parts}
        candidate, number = call_id, 2
        while candidate in taken or self._is_taken(candidate):
            candidate, number = f"{call_id}-{number}", number + 1
        return candidate


def _whole(text: str) -> tuple[str, str]:
    """Return `text` without halves of characters, and the half that a later piece may complete."""
    if text.isascii():
        return text, ""
    half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
    return sendable_text(text.removesuffix(half)), half


def _tool_call(part: _OpenPart) -> ToolCallPart:
    if not part.text:
        return ToolCallPart(id=part.id, name=part.name, input=part.given_input or {})
    try:
        arguments = orjson.loads(part.text)
    except orjson.JSONDecodeError:
        arguments = None
    if isinstance(arguments, dict):
        # Nested too deep, it is refused.
        with suppress(ValidationError):
            return ToolCallPart(id=part.id, name=part.name, input=cast(JsonObject, arguments))
    return ToolCallPart(id=part.id, name=part.name, input={}, malformed_input=part.text)
