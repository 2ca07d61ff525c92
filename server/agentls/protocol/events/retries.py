"""What happens when the model's side fails: what is tried again, when, and why."""

from typing import Literal

from agentls.protocol.events.conversation import ErrorInfo
from agentls.protocol.events.kinds import AttachedEvent, EphemeralEvent, RecordEvent
from agentls.protocol.wire_model import Timestamp, WireModel

RetryCause = Literal[
    "rateLimited",
    "overloaded",
    "serverFailed",
    "connectionLost",
    "unreachable",
    "streamBroken",
]


class RetryWait(WireModel):
    """A wait before the model is asked again. It can be cut short by a cancel."""

    cause: RetryCause
    error: ErrorInfo
    attempt: int
    """How many tries have failed for this cause."""
    max_attempts: int
    """How many tries there are, the first one included."""
    delay_ms: int
    resumes_at: Timestamp
    parked: bool = False
    """The server asked for more time than a turn waits for in a row: the turn is put aside until
    then, also over a restart, and goes on by itself."""


class RetryScheduled(AttachedEvent):
    """The model will be asked again, after a wait."""

    type: Literal["retryScheduled"] = "retryScheduled"
    retry: RetryWait


class RetryEnded(AttachedEvent):
    """The wait is over, and the model is asked again."""

    type: Literal["retryEnded"] = "retryEnded"


class AnswerStalled(EphemeralEvent):
    """The model has said nothing for a while; it is waited for all the same, up to a limit."""

    type: Literal["answerStalled"] = "answerStalled"
    message_id: str
    silent_since: Timestamp
    """When its last word came, or the request went out."""


class CacheMissed(RecordEvent):
    """The server had to read anew what its prompt cache should have held."""

    type: Literal["cacheMissed"] = "cacheMissed"
    response_id: str
    cause: Literal["model", "tools", "system", "thinking", "history", "expired", "unknown"]
    """What changed since the request before; `expired`: nothing, but it was too long ago."""
    expected_tokens: int
    """What the request before had left in the cache."""
    read_tokens: int
