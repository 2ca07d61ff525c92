"""About how many tokens parts of a conversation take, where no server has counted them.

Good for deciding when to make room, and for nothing finer: tokenizers differ, and are not public.
"""

from collections.abc import Iterable, Sequence

import orjson

from agentls.protocol.content import (
    AnswerPart,
    Content,
    DocumentBlock,
    FileBlock,
    ImageBlock,
    RedactedThinkingPart,
    TextBlock,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from agentls.protocol.history import Answer, CallResult, Entry, Gap, Summary, UserMessage

BYTES_PER_TOKEN = 3.5
"""Of UTF-8, in English and code. Other scripts take more bytes for a letter, and more tokens."""
IMAGE_TOKENS = 1_600
"""The most that a picture of the largest useful size takes."""
PAGE_TOKENS = 2_500
"""A page of a PDF, its text and its picture together."""
BYTES_PER_PAGE = 50_000
"""Of a PDF whose pages were not counted."""
CLEARED_TOKENS = 40
"""Of the placeholder of a result."""
BLOCK_TOKENS = 12
"""Of a block or a message besides its text: its role, its id, a name."""


def tokens_of_text(text: str) -> int:
    """Return about how many tokens a text takes."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return round(size / BYTES_PER_TOKEN)


def tokens_of_content(content: Iterable[Content]) -> int:
    """Return about how many tokens the blocks of a prompt or a result take."""
    return sum(_block_tokens(block) + BLOCK_TOKENS for block in content)


def tokens_of_entry(entry: Entry) -> int:
    """Return about how many tokens an entry of the history takes in a request."""
    match entry:
        case UserMessage():
            return tokens_of_content(entry.content)
        case Answer():
            return sum(_part_tokens(part) + BLOCK_TOKENS for part in entry.parts)
        case CallResult():
            return tokens_of_content(entry.call.content) + BLOCK_TOKENS
        case Summary():
            return tokens_of_text(entry.text) + tokens_of_text(entry.put_back) + BLOCK_TOKENS
        case Gap():
            return 2 * BLOCK_TOKENS


def tokens_of(entries: Iterable[Entry]) -> int:
    """Return about how many tokens entries of the history take together."""
    return sum(map(tokens_of_entry, entries))


def tokens_of_history(history: Sequence[Entry], cleared_before: str | None) -> int:
    """Return about how many tokens a history takes, old tool output being cleared up to a message.

    One that is not in the history clears nothing.
    """
    whole = cleared = 0
    for entry in history:
        if not isinstance(entry, CallResult) and entry.id == cleared_before:
            whole = cleared
        tokens = tokens_of_entry(entry)
        whole += tokens
        cleared += min(tokens, CLEARED_TOKENS) if isinstance(entry, CallResult) else tokens
    return whole


def _block_tokens(block: Content) -> int:
    match block:
        case TextBlock() | FileBlock():
            return tokens_of_text(block.text)
        case ImageBlock():
            return IMAGE_TOKENS
        case DocumentBlock():
            return (block.pages or -(-len(block.data) // BYTES_PER_PAGE)) * PAGE_TOKENS


def _part_tokens(part: AnswerPart) -> int:
    match part:
        case TextPart():
            return tokens_of_text(part.text)
        case ThinkingPart():
            return tokens_of_text(part.text) + tokens_of_text(part.signature)
        case RedactedThinkingPart():
            return tokens_of_text(part.data)
        case ToolCallPart():
            written = part.malformed_input or orjson.dumps(part.input, default=str).decode()
            return tokens_of_text(written) + tokens_of_text(part.name)
