"""Parts of our messages as content blocks of the Messages API, one by one.

What the API demands of a block alone is seen to here: no text without a word in it, no lone
surrogate, thinking as it came or not at all, inputs that are objects, names and ids in its letters.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, assert_never

import orjson
from pydantic import JsonValue

from agentls.llm.documents import MEDIA_TYPE, sendable_document
from agentls.llm.images import SendableImage, sendable_image
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

Block = dict[str, Any]
"""A content block of the Messages API."""

MAX_TITLE = 255
"""Characters of a document's title."""
MAX_NAME = 128
"""Characters of a tool's name, by the documentation's "Define tools"; ids are held to it too."""


def encode(value: Any) -> bytes:
    """Return JSON for the API."""
    try:
        return orjson.dumps(value)
    except TypeError:
        # A number of more than 64 bits or more than 250 levels, which a tool's input may hold and
        # orjson does not take.
        return json.dumps(value).encode()


def sendable_text(text: str) -> str:
    """Return `text` with a replacement character for each lone surrogate, which UTF-8 cannot say.

    They come from file names that are not UTF-8 and from models that break an escape in two.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def sendable_json(value: JsonValue) -> JsonValue:
    """Return a tool's input without what JSON or UTF-8 cannot say."""
    match value:
        case str():
            return sendable_text(value)
        case list():
            return [sendable_json(item) for item in value]
        case dict():
            return {sendable_text(key): sendable_json(item) for key, item in value.items()}
        case float():
            return value if math.isfinite(value) else None
        case _:
            return value


def text_block(text: str) -> Block:
    """Return a text block; the API refuses one without a word in it."""
    return {"type": "text", "text": sendable_text(text)}


def content_blocks(
    content: Iterable[Content], left_out: Mapping[int, str] | None = None
) -> list[Block]:
    """Return the blocks of a prompt or result, without blank texts.

    `left_out` has the places in `content` of the pictures and documents that are not to be sent,
    with the reasons. In their places, and in those of what cannot be sent, there is a note.
    """
    blocks: list[Block] = []
    for place, block in enumerate(content):
        match block:
            case ImageBlock():
                blocks.append(_image_block(block, (left_out or {}).get(place)))
            case DocumentBlock():
                blocks.append(_document_block(block, (left_out or {}).get(place)))
            case FileBlock():
                blocks.append(text_block(file_text(block)))
            case TextBlock():
                if block.text.strip():
                    blocks.append(text_block(block.text))
    return blocks


def answer_blocks(parts: Sequence[AnswerPart], *, with_thoughts: bool) -> list[Block]:
    """Return the blocks of an answer; the ids of its calls are the model's own."""
    for part in parts:
        if isinstance(part, _THOUGHTS):
            parts = _without_broken_thoughts(parts, with_thoughts=with_thoughts)
            break
    return [_answer_block(part) for part in parts if not _is_blank(part)]


_THOUGHTS = (ThinkingPart, RedactedThinkingPart)


def acceptable_name(name: str) -> str:
    """Return `name` in the letters that the API allows in the names and ids of calls."""
    return _UNACCEPTABLE.sub("_", name)[:MAX_NAME]


_UNACCEPTABLE = re.compile(r"[^a-zA-Z0-9_-]")


def left_out_note(block: ImageBlock | DocumentBlock, reason: str) -> str:
    """Return what the model reads in the place of a picture or a document."""
    name = " ".join((block.name or "without a name").split())[:100]
    kind = block.media_type.strip()[:40] or "unknown type"
    return f"[{block.type.capitalize()} {name} ({kind}) is not shown: {reason}]"


def file_text(file: FileBlock) -> str:
    """Return what a mention stands for, with where it is from."""
    of = f" {file.symbol} in" if file.symbol else ""
    lines = ""
    if file.first_line is not None:
        last = file.first_line if file.last_line is None else file.last_line
        lines = f", lines {file.first_line} to {last}"
    missing = f"\n[{file.left_out}]" if file.left_out else ""
    head = f"[The {file.what}{of} {file.path}{lines}, which the user mentioned:]"
    return f"{head}\n{file.text}{missing}"


class CallIds:
    """Ids for calls that the API accepts, none of which came before in the conversation.

    Some local servers count their calls anew in each answer, and so do replayed sessions.
    """

    def __init__(self, before: "CallIds | None" = None) -> None:
        """Go on from `before`, which stays as it is; it may not be used meanwhile."""
        self._taken: set[str] = set()
        self._before = before
        self._numbers: dict[str, int] = {}
        """The last number behind an id that came again, not to try all of them each time."""

    def unique(self, call_id: str) -> str:
        """Return `call_id`, or one made of it, and take it."""
        wanted = unique = acceptable_name(call_id) or "call"
        if self._is_taken(unique):
            number = self._number(wanted)
            while self._is_taken(unique):
                number += 1
                unique = f"{wanted[: MAX_NAME - 10]}_{number}"
            self._numbers[wanted] = number
        self._taken.add(unique)
        return unique

    def _is_taken(self, call_id: str) -> bool:
        if call_id in self._taken:
            return True
        return self._before is not None and self._before._is_taken(call_id)

    def _number(self, wanted: str) -> int:
        if wanted in self._numbers:
            return self._numbers[wanted]
        return self._before._number(wanted) if self._before is not None else 1


def _image_block(image: ImageBlock, left_out: str | None) -> Block:
    sent = sendable_image(image) if left_out is None else None
    if isinstance(sent, SendableImage):
        source = {"type": "base64", "media_type": sent.media_type, "data": sent.data}
        return {"type": "image", "source": source}
    return text_block(left_out_note(image, (left_out if sent is None else sent.reason) or ""))


def _document_block(document: DocumentBlock, left_out: str | None) -> Block:
    sent = sendable_document(document) if left_out is None else left_out
    if isinstance(sent, str):
        return text_block(left_out_note(document, sent))
    source = {"type": "base64", "media_type": MEDIA_TYPE, "data": sent.data}
    block: Block = {"type": "document", "source": source}
    if title := " ".join((document.name or "").split()):
        block["title"] = sendable_text(title)[:MAX_TITLE]
    return block


def _without_broken_thoughts(
    parts: Sequence[AnswerPart], *, with_thoughts: bool
) -> list[AnswerPart]:
    """Return the parts with all of their thoughts or none, and none at their end.

    The API tells a sequence of thoughts that lacks one from the one it signed. An answer that was
    cut off often ends in one, which it does not take.
    """
    kept = [part for part in parts if not _is_blank(part)]
    while kept and isinstance(kept[-1], _THOUGHTS):
        kept.pop()
    thoughts = [part for part in kept if isinstance(part, _THOUGHTS)]
    if with_thoughts and all(map(_is_whole, thoughts)):
        return kept
    return [part for part in kept if not isinstance(part, _THOUGHTS)]


def _is_blank(part: AnswerPart) -> bool:
    return isinstance(part, TextPart) and not part.text.strip()


def _is_whole(part: ThinkingPart | RedactedThinkingPart) -> bool:
    """Whether the API would know a thought again.

    Its text may be empty: that is how models that keep their thinking to themselves sign it
    (documentation, "Controlling thinking display"), and it goes back like that.
    """
    is_hidden = isinstance(part, RedactedThinkingPart)
    texts = (part.data,) if is_hidden else (part.signature, part.text)
    return bool(texts[0].strip()) and all(sendable_text(text) is text for text in texts)


def _answer_block(part: AnswerPart) -> Block:
    match part:
        case TextPart():
            return text_block(part.text)
        case ThinkingPart():
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case RedactedThinkingPart():
            return {"type": "redacted_thinking", "data": part.data}
        case ToolCallPart():
            return {
                "type": "tool_use",
                "id": part.id,
                "name": acceptable_name(part.name) or "unknown",
                "input": {} if part.malformed_input is not None else sendable_json(part.input),
            }
        case _:
            assert_never(part)
