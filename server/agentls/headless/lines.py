"""The lines that `agentls run --output-format stream-json` prints, in the field's shapes.

Field names are those that readers of such streams know, so they are snake_case as they stand.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentls.protocol.docstrings import describe_fields


class Line(BaseModel):
    """One line of JSON on stdout."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra=describe_fields,
        json_schema_serialization_defaults_required=True,
    )


class InitLine(Line):
    """Always the first line: what the run works with."""

    type: Literal["system"] = "system"
    subtype: Literal["init"] = "init"
    session_id: str
    cwd: str
    model: str | None
    tools: tuple[str, ...]
    mcp_servers: tuple[str, ...] = ()
    permissionMode: str
    slash_commands: tuple[str, ...] = ()
    agentls_version: str


class ApiUsage(Line):
    """Tokens, as the Messages API counts them."""

    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int
    cache_creation_input_tokens: int


class AssistantMessage(Line):
    """An answer, as the Messages API shapes it."""

    id: str
    type: Literal["message"] = "message"
    role: Literal["assistant"] = "assistant"
    model: str
    content: tuple[dict[str, Any], ...]
    """Blocks of type `text`, `thinking`, `redacted_thinking` and `tool_use`."""
    stop_reason: str | None
    usage: ApiUsage


class AssistantLine(Line):
    """The model answered."""

    type: Literal["assistant"] = "assistant"
    message: AssistantMessage
    parent_tool_use_id: str | None = None
    session_id: str


class ToolResultMessage(Line):
    """What the model is told."""

    role: Literal["user"] = "user"
    content: tuple[dict[str, Any], ...]
    """Blocks of type `tool_result`."""


class UserLine(Line):
    """A tool call has its result."""

    type: Literal["user"] = "user"
    message: ToolResultMessage
    parent_tool_use_id: str | None = None
    session_id: str


class PermissionDeniedLine(Line):
    """A tool call was not allowed to run."""

    type: Literal["system"] = "system"
    subtype: Literal["permission_denied"] = "permission_denied"
    tool_name: str
    tool_use_id: str
    reason: str
    session_id: str


class ApiRetryLine(Line):
    """The model's side failed in a way that may pass, and is asked again after a wait."""

    type: Literal["system"] = "system"
    subtype: Literal["api_retry"] = "api_retry"
    attempt: int
    """How many tries have failed."""
    max_retries: int
    retry_delay_ms: int
    error: str
    """What failed: `rateLimited`, `overloaded`, `serverFailed` and so on."""
    message: str
    session_id: str


class CompactMetadata(Line):
    """What a compaction did."""

    trigger: Literal["manual", "auto"]
    pre_tokens: int
    post_tokens: int


class CompactBoundaryLine(Line):
    """A summary took the place of the conversation so far."""

    type: Literal["system"] = "system"
    subtype: Literal["compact_boundary"] = "compact_boundary"
    compact_metadata: CompactMetadata
    session_id: str


class TaskStartedLine(Line):
    """A command goes on in the background."""

    type: Literal["system"] = "system"
    subtype: Literal["task_started"] = "task_started"
    task_id: str
    description: str
    tool_use_id: str | None
    session_id: str


class TaskNotificationLine(Line):
    """A command in the background has ended."""

    type: Literal["system"] = "system"
    subtype: Literal["task_notification"] = "task_notification"
    task_id: str
    status: Literal["completed", "failed", "killed"]
    output_file: str | None
    summary: str
    session_id: str


class PermissionDenial(Line):
    """A denied call, as the result lists it."""

    tool_name: str
    tool_use_id: str
    tool_input: dict[str, Any]


ResultSubtype = Literal["success", "error_max_turns", "error_during_execution"]
TerminalReason = Literal[
    "completed", "max_turns", "failed", "permission_denied", "interrupted", "usage"
]


class ResultLine(Line):
    """Always the last line of a prompt's run, whatever became of it."""

    type: Literal["result"] = "result"
    subtype: ResultSubtype
    is_error: bool
    result: str
    """The final answer's text; where the run failed, what went wrong."""
    session_id: str
    num_turns: int
    """How often the model answered."""
    duration_ms: int
    total_cost_usd: float | None = None
    """By list prices; null where the price of a response is not known."""
    usage: ApiUsage
    modelUsage: dict[str, ApiUsage] = Field(default_factory=dict[str, ApiUsage])
    permission_denials: tuple[PermissionDenial, ...] = ()
    terminal_reason: TerminalReason


class ControlResponseLine(Line):
    """The answer to a `control_request` on stdin."""

    type: Literal["control_response"] = "control_response"
    response: dict[str, Any]


StreamJsonLine = (
    InitLine
    | AssistantLine
    | UserLine
    | PermissionDeniedLine
    | ApiRetryLine
    | CompactBoundaryLine
    | TaskStartedLine
    | TaskNotificationLine
    | ResultLine
    | ControlResponseLine
)
"""Any line of the stream."""
