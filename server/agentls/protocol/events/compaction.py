"""What happens when a conversation outgrows the model's window."""

from typing import Literal

from agentls.protocol.events.conversation import ErrorInfo
from agentls.protocol.events.kinds import AttachedEvent, MessageEvent, SessionEvent
from agentls.protocol.wire_model import JsonObject, WireModel

CompactionReason = Literal["automatic", "requested", "tooLong"]
"""`automatic`: the window was nearly full. `tooLong`: the model's side refused the conversation."""


class SeenFile(WireModel):
    """A file that the agent has read or changed."""

    path: str
    sha256: str | None
    """Of its content when it was read or changed last; null: it is gone."""
    changed: bool
    """By the agent."""


class FailedAttempt(WireModel):
    """A tool call that did not succeed, so that it is not tried again blindly."""

    call: str
    """In one line: "Running pytest -q"."""
    outcome: str
    """What came of it, with the lines of its output that say why."""


class Carried(WireModel):
    """What is carried past a compaction word for word, whatever its summary says or leaves out."""

    goal: str | None = None
    """The prompt that the conversation began with."""
    constraints: tuple[str, ...] = ()
    """Sentences of the user that say what must, or must not, be done; oldest first."""
    prompts: tuple[str, ...] = ()
    """What the user has said, oldest first, as far as there is room."""
    files: tuple[SeenFile, ...] = ()
    """The latest last."""
    failures: tuple[FailedAttempt, ...] = ()
    """Oldest first."""


class ToolOutputsCleared(AttachedEvent):
    """The model is sent placeholders for old tool output and pictures; the session keeps them."""

    type: Literal["toolOutputsCleared"] = "toolOutputsCleared"
    before: str
    """The first message whose results are sent in full."""
    tokens: int
    """About how many that saves."""


class CompactionStarted(SessionEvent):
    """A summary of the conversation is being written."""

    type: Literal["compactionStarted"] = "compactionStarted"
    reason: CompactionReason


class ConversationCompacted(MessageEvent):
    """A summary takes the place of what came before it, and a new chain begins (`parent` is null).

    The log keeps all of it: `logical_parent` is the message before, and the messages from
    `kept_from` to that one stay in the conversation word for word. `state` is the session as it
    was, without its history and what the reducer makes anew: a reader of the log can begin here.
    """

    type: Literal["conversationCompacted"] = "conversationCompacted"
    logical_parent: str | None
    kept_from: str | None
    """The first message that stays; null: none does."""
    kept_from_seq: int | None
    """The number of that message's event: how far back a reader must go."""
    summary: str
    message_count: int
    """Entries of the conversation that the summary stands for."""
    state: JsonObject
    reason: CompactionReason = "automatic"
    carried: Carried = Carried()
    turn_ids: tuple[str, ...] = ()
    """Of the turns so far: a prompt that is sent again is known without what came before."""
    put_back: str = ""
    """What the model is told behind the summary: what was carried, the plan, the mode, files."""
    tokens_before: int = 0
    """About how many the conversation took."""
    tokens_after: int = 0


class CompactionFailed(SessionEvent):
    """No summary took the place of anything; the conversation is as it was."""

    type: Literal["compactionFailed"] = "compactionFailed"
    error: ErrorInfo
    counts: bool = True
    """It brings the circuit breaker closer; a cancel does not."""
