"""The closed union of session events, and the envelope each of them travels and is kept in."""

from typing import Annotated, get_args

from pydantic import Field

from agentls.protocol.events.approvals import ApprovalAnswered, ApprovalRequested
from agentls.protocol.events.compaction import (
    CompactionFailed,
    CompactionStarted,
    ConversationCompacted,
    ToolOutputsCleared,
)
from agentls.protocol.events.conversation import (
    AnswerFinished,
    AnswerProgressed,
    AnswerStarted,
    HeadMoved,
    PartDelta,
    PartStarted,
    PromptDequeued,
    PromptQueued,
    SessionCreated,
    SidechainStarted,
    TagChanged,
    TitleChanged,
    TodosChanged,
    ToolCallFinished,
    ToolCallProgressed,
    ToolCallStarted,
    ToolResultIgnored,
    TurnFinished,
    TurnStarted,
    UsageRecorded,
    UserMessageReceived,
)
from agentls.protocol.events.questions import QuestionsAnswered, QuestionsAsked
from agentls.protocol.events.retries import AnswerStalled, CacheMissed, RetryEnded, RetryScheduled
from agentls.protocol.events.settings import (
    FastModeChanged,
    GatesChanged,
    ModeChanged,
    ModelChanged,
    RuleAdded,
)
from agentls.protocol.events.storage import (
    AccessChanged,
    LogDamaged,
    SessionResumed,
    StorageFailed,
    StorageRecovered,
)
from agentls.protocol.events.tasks import (
    TaskAdded,
    TaskFinished,
    TaskProgressed,
    TasksEvicted,
    TaskStarted,
)
from agentls.protocol.wire_model import Timestamp, WireModel

SessionEvents = (
    SessionCreated
    | PromptQueued
    | PromptDequeued
    | UserMessageReceived
    | TurnStarted
    | TurnFinished
    | RetryScheduled
    | RetryEnded
    | AnswerStarted
    | AnswerStalled
    | PartStarted
    | PartDelta
    | AnswerProgressed
    | AnswerFinished
    | UsageRecorded
    | CacheMissed
    | ApprovalRequested
    | ApprovalAnswered
    | QuestionsAsked
    | QuestionsAnswered
    | ToolCallStarted
    | ToolCallProgressed
    | ToolCallFinished
    | ToolResultIgnored
    | TodosChanged
    | TaskAdded
    | TaskStarted
    | TaskProgressed
    | TaskFinished
    | TasksEvicted
    | ToolOutputsCleared
    | CompactionStarted
    | ConversationCompacted
    | CompactionFailed
    | HeadMoved
    | TitleChanged
    | TagChanged
    | SidechainStarted
    | ModelChanged
    | FastModeChanged
    | GatesChanged
    | ModeChanged
    | RuleAdded
    | SessionResumed
    | LogDamaged
    | StorageFailed
    | StorageRecovered
    | AccessChanged
)

AnySessionEvent = Annotated[SessionEvents, Field(discriminator="type")]

EVENT_TYPES = frozenset(
    event_class.model_fields["type"].default for event_class in get_args(SessionEvents)
)
"""The `type` of every event this version knows."""

MAIN_CHAT = "main"


class Origin(WireModel):
    """The client whose request caused an event, and that client's own number for it."""

    client_id: str
    client_seq: int | str | None = None


class Envelope(WireModel):
    """An event with its place: one line of the log, one notification to editors."""

    seq: int
    """Counts what is kept, from 1. A passing event bears the number of the last kept one."""
    session_id: str
    chat_id: str = MAIN_CHAT
    """`main`, or the chat of a subagent."""
    turn_id: str | None
    origin: Origin | None
    at: Timestamp
    event: AnySessionEvent
