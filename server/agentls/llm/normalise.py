"""Our history as the Messages API takes it, whatever happened to it on the way.

What the API demands of a conversation and sessions break: roles alternate, the first message and
the last are the user's, every tool call is answered in the next message, results first and in the
order of the calls. `blocks.py` has what it demands of a block, `images.py` of a picture,
`documents.py` of a document and `fitting.py` of all of them together. And what was sent is sent
again as it was: newer models check that nothing changed before their thoughts, and every model's
cache needs it. `clearing.py` has the one exception that is made on purpose.
"""

import asyncio
import json
import operator
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, assert_never, cast, overload

from agentls.llm.blocks import (
    Block,
    CallIds,
    answer_blocks,
    content_blocks,
    encode,
    text_block,
)
from agentls.llm.clearing import Clearing, clearing_before
from agentls.llm.documents import documents_of, prepare_documents
from agentls.llm.fitting import Fitting, Rewritten
from agentls.llm.images import images_of, prepare_images
from agentls.llm.model import EncodedPrefix
from agentls.protocol.content import Content, text_of
from agentls.protocol.history import (
    Answer,
    CallResult,
    Entry,
    Gap,
    History,
    Summary,
    UserMessage,
)

Message = dict[str, Any]
"""A `MessageParam` of the Messages API. Never changed once made: requests on their way share it."""

INTERRUPTED = "Interrupted: the outcome is unknown. Check whether it took effect."
NO_OUTPUT = "(no output)"
BEGINNING = "(The conversation before this point is not shown.)"
GO_ON = "(Go on.)"
"""What the user says where an answer would follow an answer, or be the last message."""
MISSING = "(Messages are missing here: they could not be read from the saved session.)"
TEXT_ONLY = "the result of a call that failed may hold text only"
NOTICE = "[A notice of agentls, not of the user:]"
SUMMARY = "This is a summary of the conversation so far, which is not shown itself:"


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
    whole, and so is one of which more is cleared than before.
    """

    def __init__(self) -> None:
        self._begin(Clearing())

    async def prepare(self, history: Sequence[Entry]) -> None:
        """Do in a thread what `messages` would take long for: looking at media it has not seen."""
        known = len(self._closed_entries) if self._continued_by(history) else 0
        contents = tuple(_contents(history[known:]))
        if images := tuple(block for content in contents for _, block in images_of(content)):
            await asyncio.to_thread(prepare_images, images)
        if documents := tuple(block for content in contents for _, block in documents_of(content)):
            await asyncio.to_thread(prepare_documents, documents)

    def messages(
        self,
        history: Sequence[Entry],
        cleared_before: str | None = None,
        cleared_at: str | None = None,
    ) -> Messages:
        """Return the messages to send, of which there is at least one.

        Tool output, pictures and documents before the message of the id `cleared_before` are sent
        as placeholders; where it is not in the history, all is sent. `cleared_at` is the moment of
        that decision: thoughts up to then came of what is cleared now, and are not sent either.
        Where it is not given, that goes for the thoughts before that message alone.
        """
        continued = self._continued_by(history)
        known_clearing = self._clearing if continued else Clearing()
        clearing = clearing_before(cleared_before, cleared_at, history, known_clearing)
        if not continued or clearing != self._clearing:
            self._begin(clearing)
        self._latest = history if isinstance(history, History) else None
        known = len(self._closed_entries)
        rest = history[known:]
        begins = [0, *(i for i, entry in enumerate(rest) if i and isinstance(entry, Answer))]
        closing, open_round = rest[: begins[-1]], rest[begins[-1] :]
        self._closed_entries.extend(closing)
        self._fitting.add(closing)
        fitting = self._fitting.after(open_round)
        if fitting.rewritten == self._encoded_with:
            self._close(closing, begins, known, fitting)
        else:
            self._close_anew(fitting)
        # The last round may still grow, so it is converted each time and not kept.
        messages = self._closed.copy()
        number = len(self._closed_entries)
        _join(messages, _round_messages(open_round, number, CallIds(self._call_ids), fitting))
        _end_with_the_user(messages)
        encoded = bytes(memoryview(self._encoded)[:-1])
        return Messages(EncodedPrefix(self._encoded_count, encoded), tuple(messages))

    def _close(
        self, entries: Sequence[Entry], begins: Sequence[int], number: int, fitting: Fitting
    ) -> None:
        """Convert rounds that can no longer change, which begin at `begins` and end with the next.

        `number` is the first entry's in the history.
        """
        for begin, end in pairwise(begins):
            in_round = entries[begin:end]
            _join(self._closed, _round_messages(in_round, number + begin, self._call_ids, fitting))
            # The last message may be joined with what follows.
            while len(self._closed) > 1:
                self._encoded += encode(self._closed.pop(0))
                self._encoded += b","
                self._encoded_count += 1

    def _close_anew(self, fitting: Fitting) -> None:
        self._begin_encoding()
        self._encoded_with = fitting.rewritten
        entries = self._closed_entries
        begins = [i for i, entry in enumerate(entries) if i == 0 or isinstance(entry, Answer)]
        self._close(entries, [*begins, len(entries)], 0, fitting)

    def _begin(self, clearing: Clearing) -> None:
        self._clearing = clearing
        self._latest: History | None = None
        self._closed_entries: list[Entry] = []
        """Everything before the last answer, which no later entry can change."""
        self._fitting = Fitting(clearing)
        self._encoded_with = Rewritten()
        self._begin_encoding()

    def _begin_encoding(self) -> None:
        self._encoded = bytearray()
        """Messages with a comma after each."""
        self._encoded_count = 0
        self._closed: list[Message] = []
        """The last closed message, which is not encoded yet."""
        self._call_ids = CallIds()

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


def _contents(entries: Iterable[Entry]) -> Iterator[tuple[Content, ...]]:
    for entry in entries:
        if isinstance(entry, UserMessage):
            yield entry.content
        elif isinstance(entry, CallResult):
            yield entry.call.content


def _join(messages: list[Message], more: Iterator[Message]) -> None:
    """Append `more`, so that roles alternate: what the user says is merged, what the model is not.

    Answers stay apart because each must be sent as it came.
    """
    for message in more:
        if not messages and message["role"] == "assistant":
            messages.append(_said_by_user(BEGINNING))
        if not messages or messages[-1]["role"] != message["role"]:
            messages.append(message)
        elif message["role"] == "assistant":
            messages += (_said_by_user(GO_ON), message)
        else:
            content = [*messages[-1]["content"], *message["content"]]
            messages[-1] = {"role": "user", "content": content}


def _end_with_the_user(messages: list[Message]) -> None:
    """Add a word where an answer would be last, which newer models refuse to go on from.

    Source: the Messages API's errors, "Prefill not supported".
    """
    if not messages or messages[-1]["role"] == "assistant":
        messages.append(_said_by_user(GO_ON))


def _said_by_user(text: str) -> Message:
    return {"role": "user", "content": [text_block(text)]}


def _round_messages(
    entries: Sequence[Entry], number: int, call_ids: CallIds, fitting: Fitting
) -> Iterator[Message]:
    """Yield an answer and what the user's side said to it; only the first entry may be an answer.

    `number` is the first entry's in the history. A result whose call is not in the answer is left
    out: the API refuses it, and without the call it means nothing.
    """
    results: dict[str, list[tuple[int, CallResult]]] = {}
    said: list[Block] = []
    for at, whole in enumerate(entries, number):
        entry = fitting.sent(at, whole)
        if isinstance(entry, CallResult):
            results.setdefault(entry.call.id, []).append((at, entry))
        elif not isinstance(entry, Answer):
            said += _said(entry, fitting.left_out_of(at))
    answered: list[Block] = []
    if entries and isinstance(answer := entries[0], Answer):
        content: list[Block] = []
        with_thoughts = fitting.takes_thoughts_of(number, answer)
        for block in answer_blocks(answer.parts, with_thoughts=with_thoughts):
            if block["type"] == "tool_use":
                given = results.get(block["id"])
                block["id"] = call_ids.unique(block["id"])
                answered.append(
                    _result_block(block["id"], given.pop(0) if given else None, fitting)
                )
            content.append(block)
        if content:
            yield {"role": "assistant", "content": content}
    if answered or said:
        yield {"role": "user", "content": [*answered, *said]}


def _said(entry: UserMessage | Summary | Gap, left_out: dict[int, str]) -> list[Block]:
    match entry:
        case UserMessage(author="agentls"):
            return [text_block(f"{NOTICE}\n{text_of(entry.content)}")]
        case UserMessage():
            return content_blocks(entry.content, left_out)
        case Summary():
            texts = [f"{SUMMARY}\n\n{entry.text}", entry.put_back]
            return [text_block(text) for text in texts if text.strip()]
        case Gap():
            return [text_block(MISSING)]
        case _:
            assert_never(entry)


def _result_block(call_id: str, given: tuple[int, CallResult] | None, fitting: Fitting) -> Block:
    block: Block = {"type": "tool_result", "tool_use_id": call_id}
    if given is None or given[1].call.outcome is None:
        return {**block, "content": [text_block(INTERRUPTED)], "is_error": True}
    number, result = given
    left_out = fitting.left_out_of(number)
    if result.call.outcome != "ok":
        block["is_error"] = True
        # "all content must be type `text` if `is_error` is true"
        left_out = dict.fromkeys(range(len(result.call.content)), TEXT_ONLY)
    content = content_blocks(result.call.content, left_out)
    return {**block, "content": content or [text_block(NO_OUTPUT)]}
