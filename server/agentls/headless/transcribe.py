"""From our events to the field's lines."""

from typing import Any, assert_never

from agentls.headless.lines import (
    ApiRetryLine,
    ApiUsage,
    AssistantLine,
    AssistantMessage,
    CompactBoundaryLine,
    CompactMetadata,
    Line,
    PermissionDeniedLine,
    TaskNotificationLine,
    TaskStartedLine,
    ToolResultMessage,
    UserLine,
)
from agentls.protocol.content import (
    API_STOP_REASONS,
    AnswerPart,
    Content,
    FileBlock,
    RedactedThinkingPart,
    TextBlock,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    Usage,
)
from agentls.protocol.events.compaction import ConversationCompacted
from agentls.protocol.events.conversation import AnswerFinished, ToolCallFinished
from agentls.protocol.events.retries import RetryScheduled, RetryWait
from agentls.protocol.events.tasks import TaskFinished, TaskStarted
from agentls.protocol.session_state import SessionState
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
        case RetryScheduled() as scheduled:
            return [_retry_line(envelope.session_id, scheduled.retry)]
        case ConversationCompacted() as compacted:
            return [_compact_line(envelope.session_id, compacted)]
        case TaskStarted() as started:
            return _task_lines(envelope.session_id, moment.state, started.task_id)
        case TaskFinished() as finished:
            return _task_lines(envelope.session_id, moment.state, finished.task_id)
        case _:
            return []


def _retry_line(session_id: str, retry: RetryWait) -> ApiRetryLine:
    return ApiRetryLine(
        attempt=retry.attempt,
        max_retries=retry.max_attempts - 1,
        retry_delay_ms=retry.delay_ms,
        error=retry.cause,
        message=retry.error.message,
        session_id=session_id,
    )


def _compact_line(session_id: str, compacted: ConversationCompacted) -> CompactBoundaryLine:
    return CompactBoundaryLine(
        compact_metadata=CompactMetadata(
            trigger="manual" if compacted.reason == "requested" else "auto",
            pre_tokens=compacted.tokens_before,
            post_tokens=compacted.tokens_after,
        ),
        session_id=session_id,
    )


def _task_lines(session_id: str, state: SessionState, task_id: str) -> list[Line]:
    task = next((task for task in state.tasks if task.id == task_id), None)
    if task is None:
        return []
    if task.status in ("completed", "failed", "killed"):
        ended = TaskNotificationLine(
            task_id=task.id,
            status=task.status,
            output_file=task.output_path,
            summary=f"{task.description}: {task.reason or f'exit code {task.exit_code}'}",
            session_id=session_id,
        )
        return [ended]
    begun = TaskStartedLine(
        task_id=task.id,
        description=task.description,
        tool_use_id=task.call_id,
        session_id=session_id,
    )
    return [begun]


def cost_usd(usage: Usage) -> float | None:
    """Return what the responses cost by list prices; None where one has no price."""
    return None if usage.unpriced_responses else usage.cost_nano_usd / 1e9


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


def _content_block(block: Content) -> dict[str, Any]:
    if isinstance(block, TextBlock | FileBlock):
        return {"type": "text", "text": block.text}
    source = {"type": "base64", "media_type": block.media_type, "data": block.data}
    return {"type": block.type, "source": source}


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
