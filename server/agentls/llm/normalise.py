"""Our history as the Messages API takes it, whatever happened to it on the way.

What the API demands (documentation of the Messages API, "Tool use" and "Extended thinking") and
sessions break: roles alternate, the first message is the user's, every tool call is answered in the
next message, results first and in the order of the calls; no block is empty; call ids are unique;
thinking goes back whole or not at all and never ends a message.
"""

import json
import operator
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, assert_never, cast, overload

import orjson
from pydantic import JsonValue

from agentls.llm.model import EncodedPrefix
from agentls.protocol.content import (
    AnswerPart,
    RedactedThinkingPart,
    TextBlock,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from agentls.protocol.history import Answer, CallResult, History, UserMessage

Entry = UserMessage | Answer | CallResult
Message = dict[str, Any]
"""A `MessageParam` of the Messages API. Never changed once made: requests on their way share it."""

INTERRUPTED = "Interrupted: the outcome is unknown. Check whether it took effect."
NO_OUTPUT = "(no output)"
BEGINNING = "(The conversation before this point is not shown.)"


class Messages(Sequence[Message]):
    """What is sent: messages that can no longer change, as JSON, and the ones after them.

    A long conversation is kept in the form in which it is sent, and in no other: encoding it anew
    for each call costs more than all else in a call. It is decoded for who looks at it.
    """

    def __init__(self, encoded: EncodedPrefix, rest: tuple[Message, ...]) -> None:
        self.encoded = encoded
        self._rest = rest

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        if isinstance(index, slice) and index == slice(self.encoded.count, None):
            return self._rest
        return self._all[index]

    def __len__(self) -> int:
        return self.encoded.count + len(self._rest)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._all)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._all == tuple(cast(Sequence[Message], other))

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def _all(self) -> tuple[Message, ...]:
        # Not orjson, which makes a float of an integer of more than 64 bits.
        return (*json.loads(b"[%b]" % self.encoded.json), *self._rest)


class Conversation:
    """Converts one history again and again as it grows, and each part of it once.

    A history that does not continue the last one, after a rewind or a compaction, is converted
    whole.
    """

    def __init__(self) -> None:
        self._begin()

    def messages(self, history: Sequence[Entry]) -> Messages:
        """Return the messages to send. A history that ends in an answer ends in one here too."""
        if not self._continued_by(history):
            self._begin()
        self._latest = history if isinstance(history, History) else None
        rest = history[len(self._closed_entries) :]
        begins = [0, *(i for i, entry in enumerate(rest) if i and isinstance(entry, Answer))]
        for begin, end in pairwise(begins):
            _join(self._closed, _round_messages(rest[begin:end], self._call_ids))
        self._closed_entries.extend(rest[: begins[-1]])
        self._encode_closed()
        # The last round may still grow, so it is converted each time and not kept.
        messages = self._closed.copy()
        _join(messages, _round_messages(rest[begins[-1] :], self._call_ids.copy()))
        return Messages(EncodedPrefix(self._encoded_count, bytes(self._encoded)), tuple(messages))

    def _encode_closed(self) -> None:
        """Keep all closed messages as JSON but the last, which may be joined with what follows."""
        for message in self._closed[:-1]:
            self._encoded += (b"," if self._encoded else b"") + encode(message)
            self._encoded_count += 1
        del self._closed[:-1]

    def _begin(self) -> None:
        self._latest: History | None = None
        self._encoded = bytearray()
        self._encoded_count = 0
        self._closed_entries: list[Entry] = []
        """Everything before the last answer, which no later entry can change."""
        self._closed: list[Message] = []
        self._call_ids: set[str] = set()

    def _continued_by(self, history: Sequence[Entry]) -> bool:
        closed = self._closed_entries
        if not closed:
            return True
        # What closed the last round was the answer behind it; another branch may lack that.
        closed_here = len(history) > len(closed) and isinstance(history[len(closed)], Answer)
        if not closed_here:
            return False
        if self._latest is not None and isinstance(history, History):
            return history.extends(self._latest) or all(map(operator.is_, closed, history))
        return all(map(operator.is_, closed, history))


def encode(value: Any) -> bytes:
    """Return JSON for the API."""
    try:
        return orjson.dumps(value)
    except TypeError:
        # A number of more than 64 bits, which a tool's input may hold and orjson does not take.
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


def _join(messages: list[Message], more: Iterator[Message]) -> None:
    """Append `more`, merging neighbours of one role."""
    for message in more:
        if not messages and message["role"] == "assistant":
            messages.append({"role": "user", "content": [_text_block(BEGINNING)]})
        if messages and messages[-1]["role"] == message["role"]:
            content = [*messages[-1]["content"], *message["content"]]
            messages[-1] = {"role": message["role"], "content": content}
        else:
            messages.append(message)


def _round_messages(entries: Sequence[Entry], call_ids: set[str]) -> Iterator[Message]:
    """Yield an answer and what the user's side said to it; only the first entry may be an answer.

    A result whose call is not in the answer is left out: the API refuses it, and without the call
    it means nothing.
    """
    results: dict[str, list[CallResult]] = {}
    said: list[Message] = []
    for entry in entries:
        if isinstance(entry, CallResult):
            results.setdefault(entry.call.id, []).append(entry)
        elif isinstance(entry, UserMessage):
            said.extend(_text_blocks(entry.content))
    answered: list[Message] = []
    if entries and isinstance(entries[0], Answer):
        blocks: list[Message] = []
        for part in entries[0].parts:
            block = _answer_block(part)
            if block is None:
                continue
            if isinstance(part, ToolCallPart):
                block["id"] = _unique(part.id, call_ids)
                given = results.get(part.id)
                answered.append(_result_block(block["id"], given.pop(0) if given else None))
            blocks.append(block)
        if blocks := _without_last_thoughts(blocks):
            yield {"role": "assistant", "content": blocks}
    if answered or said:
        yield {"role": "user", "content": [*answered, *said]}


def _answer_block(part: AnswerPart) -> Message | None:
    match part:
        case TextPart():
            return _text_block(part.text) if part.text.strip() else None
        case ThinkingPart():
            if not part.signature:
                return None
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case RedactedThinkingPart():
            return {"type": "redacted_thinking", "data": part.data}
        case ToolCallPart():
            return {
                "type": "tool_use",
                "id": part.id,
                "name": _acceptable(part.name) or "unknown",
                "input": {} if part.malformed_input is not None else _sendable_json(part.input),
            }
        case _:
            assert_never(part)


def _without_last_thoughts(blocks: list[Message]) -> list[Message]:
    """Return `blocks` up to the last that is not a thought; of an answer cut off in one, often."""
    length = len(blocks)
    while length and blocks[length - 1]["type"] in ("thinking", "redacted_thinking"):
        length -= 1
    return blocks[:length]


def _result_block(call_id: str, result: CallResult | None) -> Message:
    block: Message = {"type": "tool_result", "tool_use_id": call_id}
    if result is None or result.call.outcome is None:
        return {**block, "content": [_text_block(INTERRUPTED)], "is_error": True}
    block["content"] = _text_blocks(result.call.content) or [_text_block(NO_OUTPUT)]
    if result.call.outcome != "ok":
        block["is_error"] = True
    return block


def _text_blocks(content: Iterable[TextBlock]) -> list[Message]:
    return [_text_block(block.text) for block in content if block.text.strip()]


def _text_block(text: str) -> Message:
    return {"type": "text", "text": sendable_text(text)}


def _sendable_json(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return sendable_text(value)
        case list():
            return [_sendable_json(item) for item in value]
        case dict():
            return {sendable_text(key): _sendable_json(item) for key, item in value.items()}
        case _:
            return value


def _unique(call_id: str, taken: set[str]) -> str:
    """Return an id that the API accepts and that came in no earlier answer; add it to `taken`.

    Some local servers count their calls anew in each answer, and so do replayed sessions.
    """
    wanted = _acceptable(call_id) or "call"
    unique, number = wanted, 2
    while unique in taken:
        unique, number = f"{wanted}_{number}", number + 1
    taken.add(unique)
    return unique


def _acceptable(name: str) -> str:
    """Return `name` in the letters that the API allows in the names and ids of calls."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:128]
