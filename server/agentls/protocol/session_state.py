"""The whole of a conversation as one frozen value: what a snapshot holds and a log adds up to."""

from typing import Literal

from pydantic import Field, JsonValue

from agentls.protocol.content import ContentBlock, LivePart, Todo, Usage
from agentls.protocol.events.conversation import ErrorInfo, RedoPoint, SessionMeta, TurnStatus
from agentls.protocol.events.storage import Access, StorageTrouble
from agentls.protocol.history import History
from agentls.protocol.tool_calls import Approval, Mode, ToolCall
from agentls.protocol.wire_model import JsonObject, Timestamp, WireModel


class QueuedPrompt(WireModel):
    """A prompt that waits for its turn."""

    id: str
    """Becomes the turn's id."""
    content: tuple[ContentBlock, ...]
    queued_at: Timestamp


class LiveAnswer(WireModel):
    """The answer that is being streamed."""

    message_id: str
    model: str
    parts: tuple[LivePart, ...] = ()
    kept: int = 0
    """How much of it is on disk, in Unicode code points."""


class Turn(WireModel):
    """The turn that runs."""

    id: str
    message_id: str
    """The user's message it works on."""
    started_at: Timestamp
    model: str
    rounds: int = 0
    """How often the model has answered in it."""


class TurnResult(WireModel):
    """How the last turn ended."""

    id: str
    status: TurnStatus
    error: ErrorInfo | None
    finished_at: Timestamp
    duration_ms: int


class Rule(WireModel):
    """A permission rule and where it comes from."""

    behaviour: Literal["allow", "ask", "deny"]
    rule: str
    source: str


class Permissions(WireModel):
    """The mode, and the rules added in this session."""

    mode: Mode = "default"
    rules: tuple[Rule, ...] = ()


class ModelChoice(WireModel):
    """Which model answers: the session's own choice, else the user's default."""

    session: str | None = None
    default: str | None = None

    @property
    def effective(self) -> str | None:
        """The model that the next call goes to; None where none is chosen."""
        return self.session or self.default


class UsageTotals(WireModel):
    """What the session has used, in all and by model; every response counts once."""

    total: Usage = Usage()
    by_model: dict[str, Usage] = Field(default_factory=dict[str, Usage])
    responses: int = 0
    last: Usage | None = None
    """Of the latest response: what its request sent is the context in use."""
    last_response_id: str | None = None


class Activity(WireModel):
    """What the session is doing, for a status line."""

    status: Literal["idle", "running", "waiting", "error"]
    """`waiting`: for a person. `error`: idle, and the last turn failed."""
    label: str
    """In words: "Thinking", "Running pytest -q", "Waiting for approval"."""
    turn_id: str | None
    call_ids: tuple[str, ...]
    """The calls that run or wait."""
    error: ErrorInfo | None


class SessionState(WireModel):
    """Everything that is known of a conversation."""

    meta: SessionMeta
    title: str | None = None
    tag: str | None = None
    head: str | None = None
    """The message that the next one follows."""
    history: History = Field(default_factory=History)
    calls: dict[str, ToolCall] = Field(default_factory=dict[str, ToolCall])
    """The calls of the latest answer, by id, in the order the model wrote them."""
    live: LiveAnswer | None = None
    queue: tuple[QueuedPrompt, ...] = ()
    turn: Turn | None = None
    last_turn: TurnResult | None = None
    model: ModelChoice = ModelChoice()
    permissions: Permissions = Permissions()
    todos: tuple[Todo, ...] = ()
    variables: JsonObject = Field(default_factory=dict[str, JsonValue])
    usage: UsageTotals = UsageTotals()
    redo: tuple[RedoPoint, ...] = ()
    """The rewinds that can be undone, the latest last."""
    access: Access = Access()
    storage: StorageTrouble | None = None
    """Why the session cannot be written just now; null: it is."""


class SessionSlices(WireModel):
    """The parts of a session that a view shows."""

    model: ModelChoice
    permissions: Permissions
    todos: tuple[Todo, ...]
    activity: Activity
    usage: UsageTotals
    approvals: tuple[Approval, ...]
    queue: tuple[QueuedPrompt, ...]
    title: str | None
    tag: str | None
    access: Access
    storage: StorageTrouble | None


class SessionSnapshot(WireModel):
    """A session at one moment: all events up to `seq` are in it, none after."""

    seq: int
    state: SessionState
    slices: SessionSlices
