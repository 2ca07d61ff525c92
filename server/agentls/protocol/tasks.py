"""What runs beside the conversation, as its state says it."""

from typing import Literal

from agentls.protocol.wire_model import Timestamp, WireModel

TaskKind = Literal["shell", "localAgent"]
TaskStatus = Literal["pending", "running", "completed", "failed", "killed"]
"""`pending`: on record, about to begin. The last three are final. `failed`: it ended by itself, and
says that it did not succeed. `killed`: it was ended."""

FINAL_STATUSES: frozenset[TaskStatus] = frozenset(("completed", "failed", "killed"))

TASK_LETTERS = {
    "shell": "b",
    "localAgent": "a",
    "remoteAgent": "r",
    "inProcessTeammate": "t",
    "workflow": "w",
    "mcpMonitor": "m",
    "memoryConsolidation": "d",
}
"""The first letter of a task's id, by its kind; those that are no `TaskKind` are reserved."""


class Task(WireModel):
    """A command or an agent that runs in the background."""

    id: str
    """The kind's letter and eight characters of 0-9a-z: `b3k9x0q2m`."""
    kind: TaskKind
    description: str
    """What it is for, in a few words."""
    command: str | None = None
    """The shell command; null for an agent."""
    call_id: str | None
    """The tool call that made it."""
    chat_id: str | None = None
    """The agent's conversation; null for a command."""
    status: TaskStatus = "pending"
    started_at: Timestamp | None = None
    ended_at: Timestamp | None = None
    exit_code: int | None = None
    """Of a command that ended by itself; minus the signal's number, where a signal ended it."""
    reason: str | None = None
    """Why it was killed or failed, for a person."""
    output_path: str | None = None
    """The file that holds its output, absolute."""
    output_bytes: int = 0
    """How much it has written in all."""
    last_lines: str = ""
    """The end of its output while it runs."""
