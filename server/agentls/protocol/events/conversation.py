"""What happens in a conversation: prompts, answers, turns, tool calls."""

from typing import Literal

from pydantic import Field, JsonValue

from agentls.protocol.content import (
    AnswerPart,
    FileChange,
    LivePart,
    StopReason,
    TextBlock,
    Todo,
    Usage,
)
from agentls.protocol.events.kinds import (
    AttachedEvent,
    EphemeralEvent,
    MessageEvent,
    SessionEvent,
)
from agentls.protocol.tool_calls import CallOutcome, Decision
from agentls.protocol.wire_model import JsonObject, Timestamp, WireModel


class SessionMeta(WireModel):
    """What a session is from birth."""

    id: str
    created_at: Timestamp
    cwd: str
    """The working folder, relative to the workspace, `.` for the workspace itself."""
    agentls_version: str
    git_branch: str | None = None
    platform: str = ""
    shell: str = ""


class SessionCreated(SessionEvent):
    """The session began. The first event of every log."""

    type: Literal["sessionCreated"] = "sessionCreated"
    session: SessionMeta
    model: str | None


class PromptQueued(SessionEvent):
    """A prompt waits for its turn. The item's id becomes the turn's."""

    type: Literal["promptQueued"] = "promptQueued"
    item_id: str
    content: tuple[TextBlock, ...]


class PromptDequeued(SessionEvent):
    """A queued prompt was taken up by a turn, or removed by the user."""

    type: Literal["promptDequeued"] = "promptDequeued"
    item_id: str
    reason: Literal["started", "removed"]


class UserMessageReceived(MessageEvent):
    """The user's words entered the conversation."""

    type: Literal["userMessageReceived"] = "userMessageReceived"
    content: tuple[TextBlock, ...]


class TurnStarted(AttachedEvent):
    """The agent began to work on the message that is its parent; the envelope names the turn."""

    type: Literal["turnStarted"] = "turnStarted"
    model: str


class ErrorInfo(WireModel):
    """A failure as a person reads it."""

    kind: str
    """The error's class in agentls/errors.py, or `Bug`."""
    message: str
    retryable: bool = False


TurnStatus = Literal["completed", "cancelled", "failed", "maxTurns", "interrupted"]


class TurnFinished(AttachedEvent):
    """The turn is over; the session takes the next prompt."""

    type: Literal["turnFinished"] = "turnFinished"
    status: TurnStatus
    """`interrupted`: the server ended while the turn ran, as found on the next load."""
    error: ErrorInfo | None = None
    message_count: int
    """Prompts, answers and tool results in the conversation at this point."""
    duration_ms: int


class AnswerStarted(EphemeralEvent):
    """The model began to answer. What was streamed before and not finished is void."""

    type: Literal["answerStarted"] = "answerStarted"
    message_id: str
    model: str


class PartStarted(EphemeralEvent):
    """A part of the answer began; its text comes in deltas."""

    type: Literal["partStarted"] = "partStarted"
    message_id: str
    part: LivePart


class PartDelta(EphemeralEvent):
    """Text to be added to a part at `offset`, counted in Unicode code points.

    For a tool call the text is its input, as JSON, piece by piece.
    """

    type: Literal["partDelta"] = "partDelta"
    part_id: str
    offset: int
    text: str


class AnswerFinished(MessageEvent):
    """The model's answer is complete and replaces what was streamed under the same ids."""

    type: Literal["answerFinished"] = "answerFinished"
    model: str
    parts: tuple[AnswerPart, ...]
    stop_reason: StopReason
    response_id: str | None
    usage: Usage


class UsageRecorded(SessionEvent):
    """A model response was paid for; it counts on whatever branch it was given."""

    type: Literal["usageRecorded"] = "usageRecorded"
    response_id: str
    model: str
    usage: Usage


class ToolCallStarted(AttachedEvent):
    """A call is about to run; written before it does, so that a crash in it is seen."""

    type: Literal["toolCallStarted"] = "toolCallStarted"
    call_id: str
    invocation: str
    decision: Decision


class ToolCallProgressed(EphemeralEvent):
    """A running call shows its latest output; it replaces what was shown before."""

    type: Literal["toolCallProgressed"] = "toolCallProgressed"
    call_id: str
    text: str


class ToolCallFinished(AttachedEvent):
    """A call has its result, whatever became of it."""

    type: Literal["toolCallFinished"] = "toolCallFinished"
    call_id: str
    outcome: CallOutcome
    summary: str
    content: tuple[TextBlock, ...]
    changes: tuple[FileChange, ...] = ()
    variables: JsonObject = Field(default_factory=dict[str, JsonValue])
    """Variables the call set, `tool:key`; null removes one."""
    decision: Decision | None = None
    """Why it did not run, where it did not."""


class TodosChanged(AttachedEvent):
    """The agent's plan was written anew."""

    type: Literal["todosChanged"] = "todosChanged"
    todos: tuple[Todo, ...]


class HeadMoved(SessionEvent):
    """The conversation goes on from another message; None: from its start."""

    type: Literal["headMoved"] = "headMoved"
    head: str | None


class TitleChanged(SessionEvent):
    """The user gave the session a name."""

    type: Literal["titleChanged"] = "titleChanged"
    title: str
