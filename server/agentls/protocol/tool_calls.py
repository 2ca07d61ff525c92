"""The one state machine of a tool call, approvals included.

streaming (a part of the live answer) → ready → waiting → running → finished
                                          └───────────────┘ where no approval is needed
"""

from typing import Literal

from agentls.protocol.content import ContentBlock, FileChange
from agentls.protocol.wire_model import JsonObject, Timestamp, WireModel

CallStatus = Literal["ready", "waiting", "running", "finished"]
CallOutcome = Literal["ok", "error", "denied", "cancelled"]
OptionKind = Literal["allowOnce", "allowSession", "deny"]
Mode = Literal["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"]


class ApprovalOption(WireModel):
    """One way to answer an approval."""

    id: str
    kind: OptionKind
    label: str
    rule: str | None = None
    """The rule that this answer adds for the rest of the session, where it adds one."""
    mode: Mode | None = None
    """The mode that holds after this answer, where it changes it."""


class Approval(WireModel):
    """A question that a person must answer before a call runs."""

    call_id: str
    tool_name: str
    title: str
    """What the agent wants, in one line: "Run rm -r build/"."""
    detail: str
    """What there is to see before answering: the command, a unified diff, the path."""
    reason: str
    """Why it asks: the mode, or the rule and its source."""
    options: tuple[ApprovalOption, ...]
    requested_at: Timestamp


class QuestionOption(WireModel):
    """An answer that the model offers."""

    label: str
    description: str = ""


class Question(WireModel):
    """Something that the model wants to know; another answer than those offered is possible."""

    question: str
    header: str
    """What it is about, in a word or two."""
    options: tuple[QuestionOption, ...]
    multi_select: bool = False


class Questions(WireModel):
    """Questions of one call, which are answered together."""

    call_id: str
    questions: tuple[Question, ...]
    asked_at: Timestamp


class QuestionAnswer(WireModel):
    """The user's answer to one question."""

    selected: tuple[str, ...] = ()
    """Labels of the options chosen."""
    other: str | None = None
    """In the user's own words."""


class Decision(WireModel):
    """Why a call was let through or not."""

    behaviour: Literal["allow", "deny"]
    decided_by: Literal["user", "rule", "mode", "host"]
    """`host`: nobody could be asked, so the answer is no."""
    reason: str
    rule: str | None = None
    client_id: str | None = None


class ToolCall(WireModel):
    """A tool call from the moment the model has written it."""

    id: str
    message_id: str
    """The answer that holds it."""
    name: str
    invocation: str
    """What it is doing, in one line: "Reading src/main.py"."""
    input: JsonObject
    malformed_input: str | None = None
    """What the model wrote, where that is not a JSON object."""
    status: CallStatus
    approval: Approval | None = None
    decision: Decision | None = None
    questions: Questions | None = None
    """What the user is asked, where the call is a question."""
    answers: tuple[QuestionAnswer, ...] | None = None
    """One for each question; null: none yet, or the user would not answer."""
    progress: str | None = None
    """The last lines of its output while it runs."""
    outcome: CallOutcome | None = None
    summary: str | None = None
    """What it did, in one line: "Read 120 lines of src/main.py"."""
    content: tuple[ContentBlock, ...] = ()
    """What the model is told."""
    changes: tuple[FileChange, ...] = ()
    left_out: str | None = None
    """What was not looked at for changes, where something was not."""
    started_at: Timestamp | None = None
    finished_at: Timestamp | None = None
