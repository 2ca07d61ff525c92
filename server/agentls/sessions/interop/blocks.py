"""From the Messages API's content blocks, as Claude Code keeps them, to ours."""

import re
from collections.abc import Iterable
from typing import Any

import orjson
from pydantic import JsonValue

from agentls.protocol.content import (
    API_STOP_REASONS,
    AnswerPart,
    ContentBlock,
    ImageBlock,
    RedactedThinkingPart,
    StopReason,
    TextBlock,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    Usage,
)
from agentls.protocol.wire_model import JsonObject
from agentls.sessions.interop.lines import Line, number_in, object_in, text_in
from agentls.sessions.interop.report import Tally

_COMMAND = re.compile(r"<command-name>\s*(.*?)\s*</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>\s*(.*?)\s*</command-args>", re.DOTALL)


def content_of(content: JsonValue, line: Line, tally: Tally) -> tuple[ContentBlock, ...]:
    """Return the content of a prompt or a result; a mark stands for what cannot be carried."""
    if isinstance(content, str):
        return (TextBlock(text=content),) if content.strip() else ()
    if not isinstance(content, list):
        return ()
    blocks = (_block(block, line, tally) for block in content if isinstance(block, dict))
    return tuple(block for block in blocks if block is not None)


def as_typed(text: str) -> str:
    """Return a prompt as its user typed it: a command is kept in tags."""
    command = _COMMAND.search(text)
    if command is None:
        return text
    arguments = _ARGUMENTS.search(text)
    return f"/{command[1].removeprefix('/')} {arguments[1] if arguments else ''}".strip()


def parts_of(lines: Iterable[Line], tally: Tally) -> tuple[AnswerPart, ...]:
    """Return the parts of an answer that is kept in several lines, a block or more in each."""
    parts: list[AnswerPart] = []
    seen: list[JsonObject] = []
    for line in lines:
        for block in line.blocks:
            if block in seen:
                continue
            seen.append(block)
            part = _part(block, f"{line.uuid}_{len(parts)}", line, tally)
            if part is not None:
                parts.append(part)
    return tuple(parts)


def stop_reason(lines: Iterable[Line], parts: Iterable[AnswerPart]) -> StopReason:
    """Return why an answer ended; where no line says so, what its parts tell of it."""
    reasons = [text_in(line.message, "stop_reason") for line in lines]
    said = next((reason for reason in reversed(reasons) if reason), None)
    if said is not None:
        return API_STOP_REASONS.get(said, "other")
    return "toolUse" if any(isinstance(part, ToolCallPart) for part in parts) else "endTurn"


def usage_of(lines: Iterable[Line]) -> Usage:
    """Return what an answer cost: each of its lines repeats it, the last one is complete."""
    kept = [object_in(line.message, "usage") for line in lines]
    last = next(filter(None, reversed(kept)), JsonObject())
    # The list price at the time is not in the records.
    return Usage(
        unpriced_responses=1,
        input_tokens=number_in(last, "input_tokens"),
        output_tokens=max((number_in(usage, "output_tokens") for usage in kept), default=0),
        cache_read_tokens=number_in(last, "cache_read_input_tokens"),
        cache_write_tokens=number_in(last, "cache_creation_input_tokens"),
    )


def _block(block: JsonObject, line: Line, tally: Tally) -> ContentBlock | None:
    kind = text_in(block, "type") or ""
    match kind:
        case "text":
            text = text_in(block, "text") or ""
            return TextBlock(text=text) if text.strip() else None
        case "image":
            return _image(block, line, tally)
        case "document":
            source = object_in(block, "source")
            name = text_in(block, "title") or text_in(source, "media_type") or "unnamed"
            tally.leave_out("documents; a mark stands in their place", line.number)
            return TextBlock(text=f"[document: {name}]")
        case "tool_reference":
            return TextBlock(text=f"[tool: {text_in(block, 'tool_name') or 'unnamed'}]")
        case "tool_result":
            return None
        case _:
            tally.leave_out(f"blocks of type {kind or 'unknown'!r}", line.number)
            return None


def _image(block: JsonObject, line: Line, tally: Tally) -> ContentBlock:
    source = object_in(block, "source")
    media_type, data = text_in(source, "media_type"), text_in(source, "data")
    if text_in(source, "type") == "base64" and media_type and data:
        return ImageBlock(media_type=media_type, data=data)
    tally.leave_out("pictures that are kept elsewhere; a mark stands in their place", line.number)
    return TextBlock(text=f"[image: {text_in(source, 'url') or 'unnamed'}]")


def _part(block: JsonObject, part_id: str, line: Line, tally: Tally) -> AnswerPart | None:
    kind = text_in(block, "type") or ""
    match kind:
        case "text":
            text = text_in(block, "text") or ""
            return TextPart(id=part_id, text=text) if text.strip() else None
        case "thinking":
            return ThinkingPart(
                id=part_id,
                text=text_in(block, "thinking") or "",
                signature=text_in(block, "signature") or "",
            )
        case "redacted_thinking":
            return RedactedThinkingPart(id=part_id, data=text_in(block, "data") or "")
        case "tool_use":
            return _call(block, part_id)
        case _:
            tally.leave_out(f"blocks of type {kind or 'unknown'!r}", line.number)
            return None


def _call(block: JsonObject, part_id: str) -> ToolCallPart:
    call_id, name = text_in(block, "id") or part_id, text_in(block, "name") or "unnamed"
    written: Any = block.get("input")
    if isinstance(written, dict):
        return ToolCallPart(id=call_id, name=name, input=object_in(block, "input"))
    text = written if isinstance(written, str) else orjson.dumps(written).decode()
    return ToolCallPart(id=call_id, name=name, malformed_input=text)
