"""What every `agent/*` message carries: params and results, in the order of the registry."""

from typing import Literal

from pydantic import Field

from agentls.protocol.app_state import AppState
from agentls.protocol.content import Todo, Usage
from agentls.protocol.events.app import Client, Notice
from agentls.protocol.events.conversation import Delivery
from agentls.protocol.events.settings import Gates
from agentls.protocol.events.storage import Access, StorageTrouble
from agentls.protocol.session_state import (
    Activity,
    ContextUse,
    ModelChoice,
    Permissions,
    QueuedPrompt,
    SessionSnapshot,
    UsageTotals,
)
from agentls.protocol.tasks import Task
from agentls.protocol.tool_calls import Approval, Decision, Mode, Questions
from agentls.protocol.wire_model import JsonObject, Params, Timestamp, WireModel

PROTOCOL_VERSION = 1


class ViewState(WireModel):
    """How one client looks at the agent; other clients never see it."""

    expanded_view: Literal["none", "todos", "tasks"] = "none"
    """Lasting: kept in the user's settings."""
    verbose: bool = False
    """Lasting: tool output in full."""
    brief: bool = False
    """Lasting: answers only, no tool calls."""
    selected_call: str | None = None
    footer_focus: Literal["prompt", "todos", "approvals"] = "prompt"


class ClientOptions(Params):
    """What a client says of itself in `initializationOptions.agentls`.

    A client that says nothing is a plain LSP client: it is sent standard messages alone.
    """

    version: int = PROTOCOL_VERSION
    client_name: str | None = None
    """How the user knows this client; else the `clientInfo` of `initialize`."""
    events: bool = True
    """Send `agent/session/event`, for a client that draws the conversation."""
    deltas: bool = True
    """Send `agent/session/delta`, the streamed text."""
    state: bool = True
    """Send `agent/state/didChange` and `agent/app/didChange`."""
    can_approve: bool = True
    """A person sits there who can answer approvals."""


class ServerOptions(WireModel):
    """What the server says of itself in `capabilities.experimental.agentls`."""

    version: int
    client_id: str
    """The name of this connection in origins and decisions."""
    view: ViewState


class SessionSummary(WireModel):
    """A saved session, as a list shows it."""

    id: str
    title: str | None
    tag: str | None
    last_prompt: str | None
    """Cut at 200 characters."""
    created_at: Timestamp
    updated_at: Timestamp
    message_count: int
    model: str | None
    git_branch: str | None
    usage: Usage
    """All that it has used."""
    forked_from: str | None
    """The session it is a fork of."""
    open: bool
    """In memory of this server."""


class SessionNewParams(Params):
    """Begin a session. An id the client made is honoured; asked again, the same session answers."""

    session_id: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")
    model: str | None = None
    mode: Mode | None = None


class SessionNewResult(WireModel):
    """The new session."""

    session_id: str
    snapshot: SessionSnapshot


class SessionLoadParams(Params):
    """Open a saved session, or join one that is open."""

    session_id: str
    if_in_use: Literal["refuse", "follow"] = "refuse"
    """What to do where another process writes the session: an error, or follow it read-only."""


class SessionLoadResult(WireModel):
    """The session as it stands; events after `snapshot.seq` follow as notifications."""

    snapshot: SessionSnapshot


class SessionContinueParams(Params):
    """Open the session that was used last."""


class SessionContinueResult(WireModel):
    """The session as it stands."""

    session_id: str
    snapshot: SessionSnapshot


class SessionListParams(Params):
    """List the sessions of the workspace, newest first."""

    limit: int = Field(default=50, ge=1, le=500)
    cursor: str | None = None
    """From the `nextCursor` of the page before."""
    tag: str | None = None
    """Only those with this tag."""
    trashed: bool = False
    """Those in the trash instead."""


class SessionListResult(WireModel):
    """One page of sessions."""

    sessions: tuple[SessionSummary, ...]
    next_cursor: str | None


class SessionCloseParams(Params):
    """Take a session out of memory; a turn that runs is cancelled. It stays on disk."""

    session_id: str


class SessionCloseResult(WireModel):
    """The session is closed and its log complete."""


class SessionRenameParams(Params):
    """Give a session a title."""

    session_id: str
    title: str = Field(min_length=1, max_length=200)


class SessionRenameResult(WireModel):
    """The session bears the title."""


class Attachment(Params):
    """A picture or a PDF that goes with a prompt: by its path, or with its bytes."""

    path: str | None = None
    """Of a file the server can read; relative to the working folder, or absolute."""
    data: str | None = None
    """The file's bytes, base64, in place of a path: a picture from the clipboard."""
    name: str | None = None
    """How a person knows it; else the path's last name."""


class SessionPromptParams(Params):
    """Send a prompt. While a turn runs it waits in the queue, or steers that turn.

    `@src/main.py`, `@src/main.py:10-20`, `@src/main.py#Symbol` and `@src/` in its text bring that
    file, those lines, that definition, that folder's names along, as they are when the turn begins.
    """

    session_id: str
    text: str
    turn_id: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")
    """An id the client made; the same prompt sent again with it is not run twice."""
    delivery: Delivery = "queue"
    attachments: tuple[Attachment, ...] = ()


class SessionPromptResult(WireModel):
    """The prompt is taken; everything after is an event."""

    turn_id: str
    queued: bool
    """Another turn runs first."""


class TurnCancelParams(Params):
    """Stop a turn. One that still waits leaves the queue; one that has ended is not touched."""

    session_id: str
    turn_id: str


class TurnCancelResult(WireModel):
    """Whether there was something to stop."""

    cancelled: bool


class QueueRemoveParams(Params):
    """Take a prompt out of the queue."""

    session_id: str
    item_id: str


class QueueRemoveResult(WireModel):
    """The prompt is gone from the queue."""


class ApprovalAnswerParams(Params):
    """Answer an approval with one of its options. The first answer wins."""

    session_id: str
    call_id: str
    option_id: str
    reason: str | None = None
    """For the model to read, with a no."""
    edited_input: JsonObject | None = None
    """Run this instead of what the model wrote."""


class ApprovalAnswerResult(WireModel):
    """What was decided."""

    decision: Decision


class ModelInfo(WireModel):
    """A model that can be chosen."""

    id: str
    display_name: str
    provider: str
    available: bool
    """False where a key is missing; choosing it says what to do."""
    context_window: int | None = None
    """Tokens; null: not known."""
    input_usd_per_mtok: float | None = None
    """List price of a million input tokens, in US dollars; null: not known."""
    output_usd_per_mtok: float | None = None


class ModelListParams(Params):
    """List the models that can be chosen."""


class ModelListResult(WireModel):
    """The models known here."""

    models: tuple[ModelInfo, ...]


class ModelSetParams(Params):
    """Choose a model, for one session or as the user's default; null takes a choice back."""

    session_id: str
    model: str | None
    scope: Literal["session", "user"] = "session"


class ModelSetResult(WireModel):
    """What holds now."""

    model: ModelChoice


class ModeSetParams(Params):
    """Choose a session's permission mode."""

    session_id: str
    mode: Mode


class ModeSetResult(WireModel):
    """What holds now."""

    mode: Mode


class StateGetParams(Params):
    """Ask for a session's whole state."""

    session_id: str


class StateGetResult(WireModel):
    """The state of an open session."""

    snapshot: SessionSnapshot


class AppGetParams(Params):
    """Ask for the server-wide state."""


class AppGetResult(WireModel):
    """The server-wide state."""

    seq: int
    state: AppState


class ViewSetParams(Params):
    """Change how this client looks at the agent; what is left out stays."""

    expanded_view: Literal["none", "todos", "tasks"] | None = None
    verbose: bool | None = None
    brief: bool | None = None
    selected_call: str | None = None
    footer_focus: Literal["prompt", "todos", "approvals"] | None = None


class ViewSetResult(WireModel):
    """The client's whole view."""

    view: ViewState


class SessionDeltaParams(WireModel):
    """Text that was streamed, to be added to a part at `offset` (Unicode code points)."""

    session_id: str
    chat_id: str
    seq: int
    part_id: str
    offset: int
    text: str


class SessionDidResetParams(WireModel):
    """A client fell too far behind: what it was not sent is all in this snapshot."""

    session_id: str
    snapshot: SessionSnapshot


class StateDidChangeParams(WireModel):
    """Whole values of the slices of a session that changed; nothing else is in the message."""

    session_id: str
    seq: int
    model: ModelChoice | None = None
    permissions: Permissions | None = None
    todos: tuple[Todo, ...] | None = None
    activity: Activity | None = None
    usage: UsageTotals | None = None
    approvals: tuple[Approval, ...] | None = None
    questions: tuple[Questions, ...] | None = None
    queue: tuple[QueuedPrompt, ...] | None = None
    tasks: tuple[Task, ...] | None = None
    context: ContextUse | None = None
    gates: Gates | None = None
    title: str | None = None
    tag: str | None = None
    access: Access | None = None
    storage: StorageTrouble | None = None


class AppDidChangeParams(WireModel):
    """Whole values of the server-wide slices that changed; nothing else is in the message."""

    seq: int
    clients: tuple[Client, ...] | None = None
    sessions: tuple[str, ...] | None = None
    default_model: str | None = None
    notices: tuple[Notice, ...] | None = None
