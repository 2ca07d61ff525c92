"""Leaves no tool call without a result when a turn ends before its work is done."""

from agentls.agent.chat import Chat
from agentls.protocol.content import AnswerPart, TextBlock, TextPart, ThinkingPart, Usage
from agentls.protocol.events.compaction import CompactionFailed
from agentls.protocol.events.conversation import AnswerFinished, ErrorInfo, ToolCallFinished
from agentls.protocol.tool_calls import ToolCall

CANCELLED = "The user stopped the turn before this call was done."
FAILED = "The turn failed before this call was done."
INTERRUPTED = (
    "agentls ended while this call ran, so what came of it is not known. "
    "Check whether it took effect before trying again."
)
NOT_BEGUN = "agentls ended before this call ran; it has had no effect."


def unfinished(chat: Chat) -> tuple[ToolCall, ...]:
    """Return the calls that have no result yet."""
    return tuple(call for call in chat.state.calls.values() if call.status != "finished")


def settle_all(chat: Chat, turn_id: str, text: str) -> None:
    """Give every unfinished call `text` for a result."""
    for call in unfinished(chat):
        _settle(chat, turn_id, call, text)


def settle_cut_answer(chat: Chat, turn_id: str) -> None:
    """Keep as an answer, marked as cut, what of one was on disk when the server ended in it."""
    live = chat.state.live
    if live is None:
        return
    parts: list[AnswerPart] = []
    for part in live.parts:
        if part.type == "text" and part.text:
            parts.append(TextPart(id=part.id, text=part.text))
        elif part.type == "thinking" and part.text:
            parts.append(ThinkingPart(id=part.id, text=part.text))
    if not parts:
        return
    chat.emit(
        AnswerFinished(
            id=live.message_id,
            parent=chat.state.head,
            model=live.model,
            parts=tuple(parts),
            stop_reason="interrupted",
            response_id=None,
            usage=Usage(),
        ),
        turn_id=turn_id,
    )


def settle_compaction(chat: Chat) -> None:
    """End a compaction in which the server ended; the conversation is as it was."""
    if chat.state.compaction.running is None:
        return
    error = ErrorInfo(kind="Interrupted", message="agentls ended while a summary was written")
    chat.emit(CompactionFailed(error=error, counts=False))


def settle_interrupted(chat: Chat, turn_id: str) -> bool:
    """Settle what the end of the server interrupted; return whether a call is still to be done.

    A call that waits for a person, or has its answer, goes on, and with it those behind it.
    """
    left = unfinished(chat)
    waits = any(call.status == "waiting" or _is_answered(call) for call in left)
    for call in left:
        if call.status == "running" and not _is_answered(call):
            _settle(chat, turn_id, call, INTERRUPTED)
        elif not waits:
            _settle(chat, turn_id, call, NOT_BEGUN)
    return waits


def _is_answered(call: ToolCall) -> bool:
    """Whether a person has answered for the call, and it has had no effect yet.

    A question has none but its answer: one that was about to hand it on does so again.
    """
    if call.questions is not None:
        return call.status in ("ready", "running")
    return call.status == "ready" and call.approval is not None


def _settle(chat: Chat, turn_id: str, call: ToolCall, text: str) -> None:
    observed = chat.files.of_stopped(call.id)
    chat.finish_call(
        ToolCallFinished(
            parent=call.message_id,
            call_id=call.id,
            outcome="cancelled",
            summary="Cancelled" if text == CANCELLED else "Interrupted",
            content=(TextBlock(text=text),),
            changes=observed.changes,
            left_out=observed.left_out,
        ),
        turn_id=turn_id,
    )
