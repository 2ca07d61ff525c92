"""A conversation's history: an immutable sequence that grows in O(1).

Successive histories are views, each of its own length, of one list that only grows. Appending to
the newest view extends the shared list; appending to an older one first copies what it sees.

Entries that were loaded may be sealed: how many there are is known, and they are made when one of
them is looked at.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal, overload

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from agentls.protocol.content import AnswerPart, Author, ContentBlock, StopReason, Usage
from agentls.protocol.tool_calls import ToolCall
from agentls.protocol.wire_model import Timestamp, WireModel


class UserMessage(WireModel):
    """The user's words, or a notice of agentls for the model."""

    type: Literal["user"] = "user"
    id: str
    at: Timestamp
    turn_id: str | None
    content: tuple[ContentBlock, ...]
    author: Author = "user"


class Answer(WireModel):
    """One answer of the model, whole."""

    type: Literal["answer"] = "answer"
    id: str
    at: Timestamp
    turn_id: str | None
    model: str
    parts: tuple[AnswerPart, ...]
    stop_reason: StopReason
    usage: Usage


class CallResult(WireModel):
    """A tool call that has finished, as the model is told of it."""

    type: Literal["callResult"] = "callResult"
    call: ToolCall


class Summary(WireModel):
    """What stands for the conversation before it, where that was compacted."""

    type: Literal["summary"] = "summary"
    id: str
    at: Timestamp
    text: str
    message_count: int
    """Entries it stands for."""
    put_back: str = ""
    """What the model is told behind it: what was carried, the plan, the mode, files."""


class Gap(WireModel):
    """A place where messages are missing, because the log was damaged."""

    type: Literal["gap"] = "gap"
    id: str
    at: Timestamp
    missing: str
    """The message that should come before the next one, and is not there."""


Entry = UserMessage | Answer | CallResult | Summary | Gap
HistoryEntry = Annotated[Entry, Field(discriminator="type")]


class Sealed:
    """Neighbouring entries of a history that are not made yet."""

    __slots__ = ("_entries", "_make", "count", "start")

    def __init__(self, count: int, make: Callable[[], Sequence[Entry]]) -> None:
        """Stand for the `count` entries that `make` returns; it is called once, if at all."""
        self.count = count
        self.start = 0
        """The place of the first in the history."""
        self._make: Callable[[], Sequence[Entry]] | None = make
        self._entries: Sequence[Entry] = ()

    def entries(self) -> Sequence[Entry]:
        """Return the entries: the same objects each time."""
        if self._make is not None:
            made = self._make()
            if len(made) != self.count:
                raise ValueError(f"{len(made)} entries were made where {self.count} are to be")
            self._entries, self._make = made, None
        return self._entries


class History(Sequence[Entry]):
    """What was said and done, oldest first."""

    __slots__ = ("_length", "_shared")

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._shared: list[Entry | Sealed] = list(entries)
        self._length = len(self._shared)

    @classmethod
    def sealed(cls, begin: Iterable[Entry], parts: Iterable[Sealed]) -> "History":
        """Return the history of the entries `begin` and those that `parts` stand for."""
        history = cls(begin)
        for part in parts:
            part.start = len(history._shared)
            history._shared += [part] * part.count
        history._length = len(history._shared)
        return history

    def append(self, entry: Entry) -> "History":
        """Return the history with `entry` at its end; this one stays as it is."""
        longer = History.__new__(History)
        longer._shared = self._shared
        if len(self._shared) != self._length:
            longer._shared = self._shared[: self._length]
        longer._shared.append(entry)
        longer._length = self._length + 1
        return longer

    def extends(self, earlier: "History") -> bool:
        """Whether this history begins with all of `earlier`, as known without comparing."""
        return self._shared is earlier._shared and self._length >= earlier._length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self._entry(i) for i in range(*index.indices(self._length))]
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._entry(index if index >= 0 else self._length + index)

    def __iter__(self) -> Iterator[Entry]:
        for index in range(self._length):
            yield self._entry(index)

    def _entry(self, index: int) -> Entry:
        entry = self._shared[index]
        if not isinstance(entry, Sealed):
            return entry
        entries = entry.entries()
        here = self._shared[entry.start : entry.start + entry.count]
        # A copy that ended within the part may have other entries after that.
        self._shared[entry.start : entry.start + entry.count] = [
            made if old is entry else old for made, old in zip(entries, here, strict=False)
        ]
        return entries[index - entry.start]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, History):
            return NotImplemented
        return self._length == other._length and all(
            mine is theirs or mine == theirs for mine, theirs in zip(self, other, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"History({self._length} entries)"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        entries = handler.generate_schema(list[HistoryEntry])
        return core_schema.json_or_python_schema(
            json_schema=core_schema.no_info_after_validator_function(cls, entries),
            python_schema=core_schema.union_schema(
                [
                    core_schema.is_instance_schema(cls),
                    core_schema.no_info_after_validator_function(cls, entries),
                ]
            ),
            serialization=core_schema.plain_serializer_function_ser_schema(
                list, return_schema=entries
            ),
        )
