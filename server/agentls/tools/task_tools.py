"""TaskOutput and TaskStop: what runs beside the conversation is read and ended."""

from typing import ClassVar

from pydantic import Field

from agentls.errors import UnknownTask
from agentls.protocol.tasks import FINAL_STATUSES, Task
from agentls.tasks.output_file import OutputPiece
from agentls.tools.background import Background
from agentls.tools.bash import MOST_OUTPUT, exit_in_words, short
from agentls.tools.tool import Tool, ToolContext, ToolInput, ToolResult

DEFAULT_WAIT = 30_000
LONGEST_WAIT = 600_000
NO_BACKGROUND = "Nothing runs in the background here, so there is no task."


class TaskOutputInput(ToolInput):
    """What TaskOutput takes."""

    task_id: str
    """The task's id."""
    block: bool = True
    """Wait until the task has ended, or the timeout is over; false: return at once."""
    timeout: int = Field(default=DEFAULT_WAIT, ge=0, le=LONGEST_WAIT)
    """Milliseconds to wait at most; at most 600,000."""
    offset: int | None = Field(default=None, ge=0)
    """The byte to read from; left out: where the last TaskOutput of this task ended."""


class TaskOutput(Tool[TaskOutputInput]):
    """Reads what a task has written, and how it stands."""

    name: ClassVar[str] = "TaskOutput"
    description: ClassVar[str] = (
        "Returns how a background task stands and what it has written since you last read it "
        "(standard error included). With block, which is the default, it waits for the task's end "
        f"first, up to timeout. At most {MOST_OUTPUT:,} bytes are returned; the result says at "
        "which offset the rest begins. You need not ask whether a task has ended: you are told."
    )
    input_type = TaskOutputInput
    verbs: ClassVar[tuple[str, str]] = ("Read the output of", "Reading the output of")
    read_only: ClassVar[bool] = True
    timeout: ClassVar[float | None] = None

    async def execute(self, arguments: TaskOutputInput, context: ToolContext) -> ToolResult:
        """Wait for the task where that is wanted, and read."""
        background = context.background
        if background is None:
            return ToolResult.error(NO_BACKGROUND)
        task_id = arguments.task_id
        offset = arguments.offset
        if offset is None:
            offset = int(context.variables.get(f"{self.name}:{task_id}", 0))
        try:
            if arguments.block:
                await background.wait(task_id, arguments.timeout / 1_000)
            # Asked before the output is read: what an ended task wrote is then read whole.
            task = background.get(task_id)
        except UnknownTask as error:
            return ToolResult.error(str(error))
        try:
            piece = await background.output(task_id, offset, MOST_OUTPUT)
        except OSError as error:
            return ToolResult.error(
                f"{_standing(task)} Its output cannot be read: {error.strerror or error}."
            )
        return self._result(task, offset, piece, background)

    def subject(self, arguments: TaskOutputInput) -> str:
        """Name the task."""
        return f"task {arguments.task_id}"

    def _result(
        self, task: Task, offset: int, piece: OutputPiece, background: Background
    ) -> ToolResult:
        if task.status in FINAL_STATUSES:
            background.told(task.id)
        notes = [_standing(task), _where(task, offset, piece)]
        if trouble := background.trouble(task.id):
            notes.append(f"Not all of it is kept: {trouble}.")
        written = piece.text.rstrip("\n") or "(nothing new)"
        return ToolResult.ok(
            "\n".join([written, *(f"[{note}]" for note in notes)]),
            f"Read the output of {short(task.command or task.description)}",
            variables={task.id: piece.next_offset},
        )


class TaskStopInput(ToolInput):
    """What TaskStop takes."""

    task_id: str
    """The task's id."""


class TaskStop(Tool[TaskStopInput]):
    """Ends a task and all that it started."""

    name: ClassVar[str] = "TaskStop"
    description: ClassVar[str] = (
        "Ends a background task and everything it started: they are asked to end, and killed if "
        "they do not. What it has written stays, and TaskOutput still reads it."
    )
    input_type = TaskStopInput
    verbs: ClassVar[tuple[str, str]] = ("Stop", "Stopping")

    async def execute(self, arguments: TaskStopInput, context: ToolContext) -> ToolResult:
        """Stop the task; one that has ended already stays as it ended."""
        if context.background is None:
            return ToolResult.error(NO_BACKGROUND)
        try:
            before = context.background.get(arguments.task_id)
            task = await context.background.stop(arguments.task_id)
        except UnknownTask as error:
            return ToolResult.error(str(error))
        context.background.told(task.id)
        name = short(task.command or task.description)
        where = f"It has written {task.output_bytes:,} bytes, to {task.output_path}."
        if before.status in FINAL_STATUSES:
            return ToolResult.ok(
                f"There was nothing to stop: {_standing(task)} {where}", f"{name} had ended already"
            )
        return ToolResult.ok(f"{_standing(task)} {where}", f"Stopped {name}")

    def subject(self, arguments: TaskStopInput) -> str:
        """Name the task."""
        return f"task {arguments.task_id}"


def _standing(task: Task) -> str:
    """Say how a task stands, in a sentence."""
    how = [f"Task {task.id} ({short(task.command or task.description)}): {task.status}"]
    if task.exit_code is not None:
        how.append(exit_in_words(task.exit_code))
    if task.reason:
        how.append(task.reason.rstrip("."))
    return f"{', '.join(how)}."


def _where(task: Task, offset: int, piece: OutputPiece) -> str:
    """Say what of the output this was, and where it goes on."""
    begin = min(offset, piece.next_offset)
    read = f"Bytes {begin:,} to {piece.next_offset:,} of {piece.size:,}, from {task.output_path}."
    if piece.next_offset >= piece.size:
        return f"{read} Next offset: {piece.next_offset}."
    last = max(piece.next_offset, piece.size - MOST_OUTPUT)
    return f"{read} More from offset {piece.next_offset} on; its last part from offset {last} on."
