"""Old output that is sent as a placeholder, so that a conversation has room to go on.

The session keeps all of it. What is cleared depends on the entry alone and on where the clearing
ends, so it is sent alike ever after.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agentls.llm.blocks import left_out_note
from agentls.protocol.content import Content, DocumentBlock, FileBlock, ImageBlock, TextBlock
from agentls.protocol.history import Answer, CallResult, Entry, UserMessage

SHORT = 200
"""Characters of output below which a placeholder would save nothing."""
CLEARED = "it was cleared to save room"


@dataclass(frozen=True, slots=True)
class Clearing:
    """Which entries of a history are sent without their output."""

    before: int = 0
    """The number of the first that is sent in full."""
    at: str = ""
    """When that was decided, a timestamp; empty where it is not known."""

    def sent(self, number: int, entry: Entry) -> Entry:
        """Return entry `number` as it is sent: the same object where nothing of it is cleared."""
        return cleared(entry) if number < self.before else entry

    def was_thought_before(self, number: int, answer: Answer) -> bool:
        """Whether answer `number` was given while what is cleared was still sent."""
        return number < self.before or (bool(self.at) and answer.at <= self.at)


def clearing_before(
    message_id: str | None, at: str | None, history: Sequence[Entry], known: Clearing
) -> Clearing:
    """Return the clearing of all before that message; of nothing where it is not in `history`.

    `known` is the clearing found last in an earlier state of `history`, and spares the search.
    """
    if message_id is None:
        return Clearing()
    if 0 < known.before < len(history) and _id(history[known.before]) == message_id:
        return Clearing(known.before, at or "")
    number = next((i for i, entry in enumerate(history) if _id(entry) == message_id), 0)
    return Clearing(number, at or "") if number else Clearing()


def cleared(entry: Entry) -> Entry:
    """Return an entry without its output; the same object where it has none worth clearing."""
    if isinstance(entry, UserMessage):
        content = _without_media(entry.content)
        if entry.author != "user" or content == entry.content:
            return entry
        return entry.model_copy(update={"content": content})
    if not isinstance(entry, CallResult) or entry.call.outcome is None:
        return entry
    content = _without_media(_without_text(entry.call.name, entry.call.content))
    if content == entry.call.content:
        return entry
    return entry.model_copy(update={"call": entry.call.model_copy(update={"content": content})})


def _id(entry: Entry) -> str | None:
    return None if isinstance(entry, CallResult) else entry.id


def _without_text(tool: str, content: tuple[Content, ...]) -> tuple[Content, ...]:
    written = sum(len(b.text) for b in content if isinstance(b, TextBlock | FileBlock))
    if written < SHORT:
        return content
    name = " ".join(tool.split())[:100] or "a tool"
    placeholder = TextBlock(
        text=f"[Old output of {name} cleared to save room; call again if it is needed, or look it "
        "up with Recall]"
    )
    media = (block for block in content if not isinstance(block, TextBlock | FileBlock))
    return (placeholder, *media)


def _without_media(content: tuple[Content, ...]) -> tuple[Content, ...]:
    if not any(isinstance(block, ImageBlock | DocumentBlock) for block in content):
        return content
    return tuple(
        TextBlock(text=left_out_note(block, CLEARED))
        if isinstance(block, ImageBlock | DocumentBlock)
        else block
        for block in content
    )
