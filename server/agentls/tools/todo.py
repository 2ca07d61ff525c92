"""The TodoWrite tool: the agent's plan, written anew each time."""

from typing import ClassVar, Literal

from pydantic import Field

from agentls.protocol.content import Todo, TodoStatus
from agentls.tools.tool import Tool, ToolContext, ToolInput, ToolResult

STATUS: dict[str, TodoStatus] = {
    "pending": "pending",
    "in_progress": "inProgress",
    "completed": "completed",
}


class TodoItem(ToolInput):
    """One line of the plan."""

    content: str = Field(min_length=1)
    """What is to be done: "Run the tests"."""
    status: Literal["pending", "in_progress", "completed"]
    """How far it is."""
    active_form: str = Field(alias="activeForm", min_length=1)
    """The same while it is being done: "Running the tests"."""


class TodoWriteInput(ToolInput):
    """What TodoWrite takes."""

    todos: tuple[TodoItem, ...]
    """The whole plan, in order; it replaces the one before."""


class TodoWrite(Tool[TodoWriteInput]):
    """Sets the plan."""

    name: ClassVar[str] = "TodoWrite"
    description: ClassVar[str] = (
        "Writes the plan for work of several steps, which the user sees. Give the whole plan each "
        "time. Mark one step in_progress before beginning it, and completed as soon as it is done."
    )
    input_type = TodoWriteInput

    async def execute(self, arguments: TodoWriteInput, context: ToolContext) -> ToolResult:
        """Return the plan as the session's new one."""
        todos = tuple(
            Todo(content=item.content, active_form=item.active_form, status=STATUS[item.status])
            for item in arguments.todos
        )
        counts = {name: sum(i.status == name for i in arguments.todos) for name in STATUS}
        told = ", ".join(f"{count} {name}" for name, count in counts.items())
        text = f"The plan has {len(todos)} steps: {told}." if todos else "The plan is empty now."
        if counts["in_progress"] > 1:
            text += " Better have one step in progress at a time."
        return ToolResult.ok(
            text, f"Planned: {counts['completed']} of {len(todos)} done", todos=todos
        )

    def invocation(self, arguments: TodoWriteInput) -> str:
        """Name the step that is being done."""
        current = next((i for i in arguments.todos if i.status == "in_progress"), None)
        return f"Planning: {current.active_form}" if current else "Planning"
