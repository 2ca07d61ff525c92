"""The port to what runs beside the conversation: a tool starts it, reads of it and ends it."""

from typing import Protocol

from agentls.protocol.tasks import Task
from agentls.tasks.command import Command
from agentls.tasks.output_file import OutputPiece as OutputPiece


class Background(Protocol):
    """The tasks of one session."""

    async def start(self, command: str, *, description: str, call_id: str) -> Task:
        """Run a command as a task; it is on record before it begins.

        Raises OSError and ValueError where it cannot be started, `TooManyTasks`, and
        `SessionClosed` where the session is closing: where there is a record of it, it has failed.
        """
        ...

    def take_over(self, running: Command, command: str, *, description: str, call_id: str) -> Task:
        """Go on with a command that was begun in the foreground, as a task; it is no longer yours.

        Where it cannot be it still is yours; raises `TooManyTasks` and `SessionClosed`.
        """
        ...

    def get(self, task_id: str) -> Task:
        """Return a task as it is now, also one that has left the state. Raises `UnknownTask`."""
        ...

    async def output(self, task_id: str, offset: int, limit: int) -> OutputPiece:
        """Return about `limit` bytes of a task's output, from `offset` on.

        Raises as `get`, and OSError where it cannot be read.
        """
        ...

    async def wait(self, task_id: str, seconds: float) -> Task:
        """Return the task when it has ended, or after so many seconds; raises as `get`."""
        ...

    async def stop(self, task_id: str) -> Task:
        """End a task and all that it started, and return how it ended; raises as `get`."""
        ...

    def trouble(self, task_id: str) -> str | None:
        """Say why not all of a task's output is in its file; None where all is. Raises as `get`."""
        ...

    def told(self, *task_ids: str) -> None:
        """Note that the model knows how tasks ended: they leave the state, their output stays."""
        ...
