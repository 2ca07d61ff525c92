"""The port to a model. Whatever answers speaks the Messages API's stream events."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

StreamEvent = dict[str, Any]
"""One event of the Messages API's stream, as JSON: `message_start`, `content_block_start`,
`content_block_delta`, `content_block_stop`, `message_delta`, `message_stop`; others are passed
over. Source: the Messages API's documentation, "Streaming messages"."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it."""

    name: str
    description: str
    input_schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class EncodedPrefix:
    """The first `count` messages of a request, as the JSON items of an array."""

    count: int = 0
    json: bytes = b""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of the model."""

    model: str
    system: str
    messages: Sequence[dict[str, Any]]
    """`MessageParam`s of the Messages API."""
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 16_384
    """What the answer may have, its thoughts included."""
    thinking: bool = False
    """Let the model think as much as it sees fit; only for models that can."""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    encoded: EncodedPrefix = EncodedPrefix()
    """What of `messages` is encoded already, for a model that can use it."""


class Model(Protocol):
    """Something that answers."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Yield the answer's events in order, ending with `message_stop`.

        Closing the generator or cancelling the task that reads it ends the request. Raises a
        `ModelError` where the request is refused, fails or breaks off; a stream that ends without
        `message_stop` raises `StreamBroken`.
        """
        ...
