"""What happens in a conversation: prompts, answers, turns, tool calls."""

from typing import Literal

from pydantic import Field, JsonValue

from agentls.protocol.content import (
    AnswerPart,
    Author,
    ContentBlock,
    FileChange,
    LivePart,
    StopReason,
    Todo,
    Usage,
)
from agentls.protocol.events.kinds import (
    AttachedEvent,
    EphemeralEvent,
    MessageEvent,
    RecordEvent,
    SessionEvent,
)
from agentls.protocol.tool_calls import CallOutcome, Decision
from agentls.protocol.wire_model import JsonObject, Timestamp, WireModel


class ForkOrigin(WireModel):
    """Where a forked session comes from."""

    session_id: str
    message_id: str | None
    """The last message they share; null: none."""


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
    forked_from: ForkOrigin | None = None
    imported_from: str | None = None
    """What it was imported from, for a person: "Claude Code, 2f1c….jsonl"."""


class SessionCreated(SessionEvent):
    """The session began. The first event of every log."""

    type: Literal["sessionCreated"] = "sessionCreated"
    session: SessionMeta
    model: str | None


Delivery = Literal["queue", "steer"]
"""`steer`: a running turn takes the prompt in before it asks the model next; where none runs, or it
ends before that, the prompt is a turn of its own like any other."""
QueuedKind = Literal["prompt", "compact"]


class PromptQueued(SessionEvent):
    """A prompt waits for its turn. The item's id becomes the turn's."""

    type: Literal["promptQueued"] = "promptQueued"
    item_id: str
    content: tuple[ContentBlock, ...]
    delivery: Delivery = "queue"
    kind: QueuedKind = "prompt"
    """`compact`: a compaction, and the content is what its summary should heed."""


class PromptDequeued(SessionEvent):
    """A queued prompt was taken up by a turn, its own or a running one, or the user removed it."""

    type: Literal["promptDequeued"] = "promptDequeued"
    item_id: str
    reason: Literal["started", "steered", "removed"]


class UserMessageReceived(MessageEvent):
    """The user's words entered the conversation, or a word of agentls about what has happened."""

    type: Literal["userMessageReceived"] = "userMessageReceived"
    content: tuple[ContentBlock, ...]
    author: Author = "user"


class TurnStarted(AttachedEvent):
    """The agent began to work on the message that is its parent; the envelope names the turn."""

    type: Literal["turnStarted"] = "turnStarted"
    model: str
    kind: QueuedKind = "prompt"
    instructions: str | None = None
    """What a compaction's summary should heed."""


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
    usage: Usage = Usage()
    """What its responses used, those of subagents and compactions included."""


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


class PartProgress(WireModel):
    """What a part of an answer has gained since it was last kept."""

    part_id: str
    type: Literal["text", "thinking", "redactedThinking", "toolCall"]
    name: str | None = None
    """The tool's name, for a tool call."""
    offset: int
    """Where `text` continues the part, in Unicode code points."""
    text: str


class AnswerProgressed(AttachedEvent):
    """The answer that streams, kept at most once a second, so that a crash leaves what was seen.

    Carries what came since the last one; `AnswerFinished` replaces them all.
    """

    type: Literal["answerProgressed"] = "answerProgressed"
    message_id: str
    model: str
    parts: tuple[PartProgress, ...]


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
    purpose: Literal["answer", "compaction", "subagent"] = "answer"
    """Only an answer's usage says how full the window is."""
    window: int | None = None
    """The model's context window, in tokens, as far as it is known."""


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
    content: tuple[ContentBlock, ...]
    changes: tuple[FileChange, ...] = ()
    left_out: str | None = None
    """What was not looked at for changes, where something was not, for a person."""
    variables: JsonObject = Field(default_factory=dict[str, JsonValue])
    """Variables the call set, `tool:key`; null removes one."""
    decision: Decision | None = None
    """Why it did not run, where it did not."""


class TodosChanged(AttachedEvent):
    """The agent's plan was written anew."""

    type: Literal["todosChanged"] = "todosChanged"
    todos: tuple[Todo, ...]


class ToolResultIgnored(RecordEvent):
    """A result came for a call that was not running: it is remembered, and has no effect."""

    type: Literal["toolResultIgnored"] = "toolResultIgnored"
    call_id: str
    why: Literal["duplicate", "late", "unknown"]
    """`duplicate`: the call has one. `late`: it is an earlier answer's. `unknown`: no such call."""
    outcome: CallOutcome
    summary: str
    content: tuple[ContentBlock, ...]
    changes: tuple[FileChange, ...] = ()


class RedoPoint(WireModel):
    """A rewind that can be undone."""

    head: str | None
    """The head before it."""
    changes: tuple[FileChange, ...] = ()
    """What it did to files."""


class HeadMoved(SessionEvent):
    """A rewind, its undoing, or a new beginning: the conversation goes on from elsewhere."""

    type: Literal["headMoved"] = "headMoved"
    head: str | None
    """The message it goes on from; null: from its start."""
    previous: str | None = None
    """The head before."""
    reason: Literal["rewind", "redo", "clear"] = "rewind"
    changes: tuple[FileChange, ...] = ()
    """What it did to files."""
    redo: tuple[RedoPoint, ...] = ()
    """What can be undone after it, the latest last."""


class TitleChanged(SessionEvent):
    """The session got a name."""

    type: Literal["titleChanged"] = "titleChanged"
    title: str


class TagChanged(SessionEvent):
    """The session got a tag, by which lists are filtered; null takes it away."""

    type: Literal["tagChanged"] = "tagChanged"
    tag: str | None


class SidechainStarted(AttachedEvent):
    """A subagent's conversation began; it has a log of its own, named by `chat_id`."""

    type: Literal["sidechainStarted"] = "sidechainStarted"
    chat_id: str
    call_id: str | None
    """The call that began it."""
    title: str
