"""From our events to the field's lines."""

from typing import Any, assert_never

from agentls.headless.lines import (
    ApiUsage,
    AssistantLine,
    AssistantMessage,
    Line,
    PermissionDeniedLine,
    ToolResultMessage,
    UserLine,
)
from agentls.protocol.content import (
    API_STOP_REASONS,
    AnswerPart,
    ImageBlock,
    RedactedThinkingPart,
    TextBlock,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    Usage,
)
from agentls.protocol.events.conversation import AnswerFinished, ToolCallFinished
from agentls.state.event_store import Moment

_STOP_REASONS = {ours: theirs for theirs, ours in API_STOP_REASONS.items()}


def lines_of(moment: Moment) -> list[Line]:
    """Return the lines that an event makes: none, one, or two."""
    envelope = moment.envelope
    if envelope is None:
        return []
    match envelope.event:
        case AnswerFinished() as answer:
            return [_assistant_line(envelope.session_id, answer)]
        case ToolCallFinished() as finished:
            line = _result_line(envelope.session_id, finished)
            if finished.outcome != "denied":
                return [line]
            call = moment.state.calls[finished.call_id]
            denied = PermissionDeniedLine(
                tool_name=call.name,
                tool_use_id=call.id,
                reason=call.decision.reason if call.decision else finished.summary,
                session_id=envelope.session_id,
            )
            return [denied, line]
        case _:
            return []


def api_usage(usage: Usage) -> ApiUsage:
    """Return token counts under the API's names."""
    return ApiUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_input_tokens=usage.cache_read_tokens,
        cache_creation_input_tokens=usage.cache_write_tokens,
    )


def _assistant_line(session_id: str, answer: AnswerFinished) -> AssistantLine:
    message = AssistantMessage(
        id=answer.response_id or answer.id,
        model=answer.model,
        content=tuple(_block(part) for part in answer.parts),
        stop_reason=_STOP_REASONS.get(answer.stop_reason),
        usage=api_usage(answer.usage),
    )
    return AssistantLine(message=message, session_id=session_id)


def _result_line(session_id: str, finished: ToolCallFinished) -> UserLine:
    block: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": finished.call_id,
        "content": [_content_block(block) for block in finished.content],
        "is_error": finished.outcome != "ok",
    }
    return UserLine(message=ToolResultMessage(content=(block,)), session_id=session_id)


def _content_block(block: TextBlock | ImageBlock) -> dict[str, Any]:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    source = {"type": "base64", "media_type": block.media_type, "data": block.data}
    return {"type": "image", "source": source}


def _block(part: AnswerPart) -> dict[str, Any]:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case ThinkingPart():
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case RedactedThinkingPart():
            return {"type": "redacted_thinking", "data": part.data}
        case ToolCallPart():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.input}
        case _ as never:
            assert_never(never)
