"""What happens to tasks, which are real whatever branch of the conversation is chosen."""

from typing import Literal

from agentls.protocol.content import FileChange
from agentls.protocol.events.kinds import EphemeralEvent, SessionEvent
from agentls.protocol.tasks import Task, TaskStatus


class TaskAdded(SessionEvent):
    """A task is about to begin; written before it does, so that a crash in it is seen."""

    type: Literal["taskAdded"] = "taskAdded"
    task: Task


class TaskStarted(SessionEvent):
    """The task runs."""

    type: Literal["taskStarted"] = "taskStarted"
    task_id: str


class TaskProgressed(EphemeralEvent):
    """A running task has written more; told at most once a second."""

    type: Literal["taskProgressed"] = "taskProgressed"
    task_id: str
    output_bytes: int
    last_lines: str


class TaskFinished(SessionEvent):
    """The task has ended, whatever became of it."""

    type: Literal["taskFinished"] = "taskFinished"
    task_id: str
    status: TaskStatus
    """`completed`, `failed` or `killed`."""
    exit_code: int | None = None
    reason: str | None = None
    output_bytes: int = 0
    changes: tuple[FileChange, ...] = ()
    """What it did to files after the call that made it had its result."""
    left_out: str | None = None
    """What was not looked at for changes, where something was not."""


class TasksEvicted(SessionEvent):
    """The model has been told how these tasks ended: they leave the state, their output stays."""

    type: Literal["tasksEvicted"] = "tasksEvicted"
    task_ids: tuple[str, ...]
