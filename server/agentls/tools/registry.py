"""The tools there are, and the way from what a model wrote to what a tool takes."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from agentls.tools.agent import Agent
from agentls.tools.ask import AskUserQuestion
from agentls.tools.bash import Bash
from agentls.tools.edit import Edit
from agentls.tools.list_folder import ListFolder
from agentls.tools.plan import EnterPlanMode, ExitPlanMode
from agentls.tools.read import Read
from agentls.tools.recall import Recall
from agentls.tools.search import Glob, Grep
from agentls.tools.task_tools import TaskOutput, TaskStop
from agentls.tools.todo import TodoWrite
from agentls.tools.tool import I, Tool, ToolResult
from agentls.tools.write import Write


class ToolRegistry:
    """Tools by name, in the order given."""

    def __init__(self, tools: Iterable[Tool[Any]]) -> None:
        by_name: dict[str, Tool[Any]] = {}
        for tool in tools:
            if tool.name in by_name:
                raise ValueError(f"Two tools are called {tool.name}.")
            by_name[tool.name] = tool
        self._tools = MappingProxyType(by_name)

    @property
    def tools(self) -> Mapping[str, Tool[Any]]:
        """The tools by name."""
        return self._tools

    def get(self, name: str) -> Tool[Any] | None:
        """Return the tool of this name, None where there is none."""
        return self._tools.get(name)


def default_tools() -> tuple[Tool[Any], ...]:
    """Return the tools that every session has."""
    return (
        Read(),
        Write(),
        Edit(),
        Bash(),
        TaskOutput(),
        TaskStop(),
        Agent(),
        Glob(),
        Grep(),
        ListFolder(),
        TodoWrite(),
        AskUserQuestion(),
        EnterPlanMode(),
        ExitPlanMode(),
        Recall(),
    )


def parse_input(tool: Tool[I], raw: Mapping[str, Any]) -> I | ToolResult:
    """Return what the tool takes, or a result that tells the model each mistake."""
    try:
        return tool.input_type.model_validate(dict(raw))
    except ValidationError as error:
        mistakes = [f"- {_mistake(details)}" for details in error.errors(include_url=False)]
    names = ", ".join(
        f"{field.alias or name}{' (required)' if field.is_required() else ''}"
        for name, field in tool.input_type.model_fields.items()
    )
    return ToolResult.error(
        "\n".join(
            [f"{tool.name} was not run; its arguments are wrong:", *mistakes, f"It takes: {names}."]
        ),
        f"{tool.name}: wrong arguments",
    )


def _mistake(details: ErrorDetails) -> str:
    """Say what is wrong with one field: "todos[0].status: missing"."""
    where = ""
    for part in details["loc"]:
        where += f"[{part}]" if isinstance(part, int) else f".{part}" if where else str(part)
    match details["type"]:
        case "missing":
            return f"{where}: missing"
        case "extra_forbidden":
            return f"{where}: there is no such argument"
        case "string_unicode":
            return f"{where}: not valid Unicode (a lone surrogate)"
        case _:
            given = repr(details["input"])
            short = given if len(given) <= 100 else f"{given[:100]}..."
            return f"{where}: {_lower_first(details['msg'])}; given was {short}"


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
