"""What is asked about the work itself: room in the window, questions, tasks, fast mode."""

from pydantic import Field

from agentls.protocol.session_state import ModelChoice
from agentls.protocol.tasks import Task
from agentls.protocol.tool_calls import QuestionAnswer
from agentls.protocol.wire_model import Params, WireModel


class SessionCompactParams(Params):
    """Put a summary in the place of the conversation so far; a running turn is waited for."""

    session_id: str
    instructions: str | None = None
    """What the summary should heed."""
    turn_id: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")
    """As for a prompt."""


class SessionCompactResult(WireModel):
    """The compaction is in the queue; it can be cancelled like a turn."""

    turn_id: str
    queued: bool
    """Another turn runs first."""


class SessionClearParams(Params):
    """Begin the conversation anew in the same session; a redo brings the old one back."""

    session_id: str


class SessionClearResult(WireModel):
    """The conversation is empty."""

    messages: int
    """Entries of the conversation that were left behind."""


class QuestionAnswerParams(Params):
    """Answer the questions of a call, all of them. The first answer wins."""

    session_id: str
    call_id: str
    answers: tuple[QuestionAnswer, ...] | None
    """One for each question, in their order; null: the user would not answer."""


class QuestionAnswerResult(WireModel):
    """The answers are taken."""


class TaskListParams(Params):
    """List what runs in a session's background."""

    session_id: str


class TaskListResult(WireModel):
    """The tasks the session knows of."""

    tasks: tuple[Task, ...]


class TaskOutputParams(Params):
    """Read a task's output from an offset, also that of one that has ended."""

    session_id: str
    task_id: str
    offset: int = Field(default=0, ge=0)
    """In bytes."""
    limit: int = Field(default=65_536, ge=1, le=1_048_576)
    """Bytes, at most."""


class TaskOutputResult(WireModel):
    """A piece of a task's output, as UTF-8; no character is cut in two."""

    text: str
    next_offset: int
    """Where the next piece begins."""
    size: int
    """How much there is to read by now."""
    finished: bool
    """The task has ended: nothing comes after `size`."""


class TaskStopParams(Params):
    """End a task: its whole process group is asked to, and then made to."""

    session_id: str
    task_id: str


class TaskStopResult(WireModel):
    """The task as it is now."""

    task: Task


class FastModeSetParams(Params):
    """Have a lighter model answer, or the chosen one again."""

    session_id: str
    enabled: bool


class FastModeSetResult(WireModel):
    """What holds now."""

    model: ModelChoice
