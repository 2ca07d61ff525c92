"""A conversation's history: an immutable sequence that grows in O(1).

Successive histories are views, each of its own length, of one list that only grows. Appending to
the newest view extends the shared list; appending to an older one first copies what it sees.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal, overload

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from agentls.protocol.content import AnswerPart, StopReason, TextBlock, Usage
from agentls.protocol.tool_calls import ToolCall
from agentls.protocol.wire_model import Timestamp, WireModel


class UserMessage(WireModel):
    """The user's words."""

    type: Literal["user"] = "user"
    id: str
    at: Timestamp
    turn_id: str | None
    content: tuple[TextBlock, ...]


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


HistoryEntry = Annotated[UserMessage | Answer | CallResult, Field(discriminator="type")]


class History(Sequence[UserMessage | Answer | CallResult]):
    """What was said and done, oldest first."""

    __slots__ = ("_length", "_shared")

    def __init__(self, entries: Iterable[UserMessage | Answer | CallResult] = ()) -> None:
        self._shared = list(entries)
        self._length = len(self._shared)

    def append(self, entry: UserMessage | Answer | CallResult) -> "History":
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
    def __getitem__(self, index: int) -> UserMessage | Answer | CallResult: ...
    @overload
    def __getitem__(self, index: slice) -> list[UserMessage | Answer | CallResult]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self._shared[i] for i in range(*index.indices(self._length))]
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._shared[index if index >= 0 else self._length + index]

    def __iter__(self) -> Iterator[UserMessage | Answer | CallResult]:
        for index in range(self._length):
            yield self._shared[index]

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
