"""The whole of a conversation as one frozen value: what a snapshot holds and a log adds up to."""

from typing import Literal

from pydantic import Field, JsonValue

from agentls.protocol.content import ContentBlock, LivePart, Todo, Usage
from agentls.protocol.events.compaction import Carried, CompactionReason
from agentls.protocol.events.conversation import (
    Delivery,
    ErrorInfo,
    QueuedKind,
    RedoPoint,
    SessionMeta,
    TurnStatus,
)
from agentls.protocol.events.retries import RetryWait
from agentls.protocol.events.settings import Gates
from agentls.protocol.events.storage import Access, StorageTrouble
from agentls.protocol.history import History
from agentls.protocol.tasks import Task
from agentls.protocol.tool_calls import Approval, Mode, Questions, ToolCall
from agentls.protocol.wire_model import JsonObject, Timestamp, WireModel


class QueuedPrompt(WireModel):
    """A prompt that waits for its turn."""

    id: str
    """Becomes the turn's id."""
    content: tuple[ContentBlock, ...]
    queued_at: Timestamp
    delivery: Delivery = "queue"
    kind: QueuedKind = "prompt"


class LiveAnswer(WireModel):
    """The answer that is being streamed."""

    message_id: str
    model: str
    parts: tuple[LivePart, ...] = ()
    kept: int = 0
    """How much of it is on disk, in Unicode code points."""
    stalled_since: Timestamp | None = None
    """When the model's last word came, where that is a while ago."""


class Turn(WireModel):
    """The turn that runs."""

    id: str
    message_id: str
    """The user's message it works on."""
    started_at: Timestamp
    model: str
    rounds: int = 0
    """How often the model has answered in it."""
    kind: QueuedKind = "prompt"
    instructions: str | None = None
    """What a compaction's summary should heed."""
    retry: RetryWait | None = None
    """The wait before the model is asked again, while there is one."""
    failed_tries: dict[str, int] = Field(default_factory=dict[str, int])
    """By cause, how often the model's side has failed since it last answered."""
    waited_ms: dict[str, int] = Field(default_factory=dict[str, int])
    """By cause, how long was waited since then."""
    usage: Usage = Usage()


class TurnResult(WireModel):
    """How the last turn ended."""

    id: str
    status: TurnStatus
    error: ErrorInfo | None
    finished_at: Timestamp
    duration_ms: int
    usage: Usage = Usage()


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
    fast: str | None = None
    """The lighter model that answers in place of both while fast mode is on."""

    @property
    def effective(self) -> str | None:
        """The model that the next call goes to; None where none is chosen."""
        return self.fast or self.session or self.default


class UsageTotals(WireModel):
    """What the session has used, in all and by model; every response counts once."""

    total: Usage = Usage()
    by_model: dict[str, Usage] = Field(default_factory=dict[str, Usage])
    responses: int = 0
    last: Usage | None = None
    """Of the latest response: what its request sent is the context in use."""
    last_response_id: str | None = None
    window: int | None = None
    """The context window of the model that answered last, in tokens, as far as it is known."""


class CompactionState(WireModel):
    """How it stands with making room in the model's window."""

    running: CompactionReason | None = None
    """A summary is being written."""
    failures: int = 0
    """How many compactions have failed in a row; at three none is begun by itself any more."""
    cleared_before: str | None = None
    """Tool output before this message is sent as placeholders."""
    cleared_at: Timestamp | None = None
    """Since when: what was thought before was thought with all of it in sight."""
    carried: Carried = Carried()
    """What the last compaction carried on."""


class ContextUse(WireModel):
    """How full the model's window is."""

    used_tokens: int | None
    """What the next request would hold, counted by the server as far as it has answered and
    estimated from there on; null: not known."""
    window: int | None
    """Null: not known."""
    compacting: CompactionReason | None
    compaction_failures: int


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
    retry: RetryWait | None = None
    """The wait before the model is asked again, while there is one."""


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
    tasks: tuple[Task, ...] = ()
    """What runs in the background, and what has ended and the model has not been told of."""
    compaction: CompactionState = CompactionState()
    gates: Gates = Gates()
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
    questions: tuple[Questions, ...]
    queue: tuple[QueuedPrompt, ...]
    tasks: tuple[Task, ...]
    context: ContextUse
    gates: Gates
    title: str | None
    tag: str | None
    access: Access
    storage: StorageTrouble | None


class SessionSnapshot(WireModel):
    """A session at one moment: all events up to `seq` are in it, none after."""

    seq: int
    state: SessionState
    slices: SessionSlices
