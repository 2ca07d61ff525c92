import json
from typing import Any

import pytest

from agentls.tools.bash import Bash
from agentls.tools.read import Read, ReadInput
from agentls.tools.registry import ToolRegistry, default_tools, parse_input
from agentls.tools.search import Grep, GrepInput
from agentls.tools.todo import TodoWrite
from agentls.tools.tool import Tool, ToolResult
from tests.support.workbench import told


def mistakes(tool: Tool[Any], **raw: object) -> list[str]:
    result = parse_input(tool, raw)
    assert isinstance(result, ToolResult)
    assert result.is_error
    return told(result).split("\n")


def test_tools_are_found_by_name_in_the_order_given() -> None:
    registry = ToolRegistry(default_tools())
    names = [
        "Read", "Write", "Edit", "Bash", "TaskOutput", "TaskStop", "Task", "Glob", "Grep", "LS",
        "TodoWrite", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "Recall",
    ]  # fmt: skip
    assert list(registry.tools) == names
    for name in names:
        tool = registry.get(name)
        assert tool is registry.tools[name]
        assert tool is not None
        assert tool.name == name
    assert registry.get("Reed") is None


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="Two tools are called Read"):
        ToolRegistry([Read(), Read()])


def test_registry_cannot_be_changed_from_outside() -> None:
    with pytest.raises(TypeError):
        ToolRegistry([]).tools["Read"] = Read()  # type: ignore[index]


def test_right_arguments_become_typed() -> None:
    assert parse_input(Read(), {"file_path": "a", "offset": "3"}) == ReadInput(
        file_path="a", offset=3
    )
    parsed = parse_input(Grep(), {"pattern": "x", "-i": True, "-A": 2})
    assert parsed == GrepInput(pattern="x", ignore_case=True, after=2)


def test_each_mistake_is_named() -> None:
    assert mistakes(Read(), offset="x", limit=0, path="a.py") == [
        "Read was not run; its arguments are wrong:",
        "- file_path: missing",
        "- offset: input should be a valid integer, unable to parse string as an integer; "
        "given was 'x'",
        "- limit: input should be greater than or equal to 1; given was 0",
        "- path: there is no such argument",
        "It takes: file_path (required), offset, limit.",
    ]


def test_mistake_deep_in_a_list_says_where() -> None:
    lines = mistakes(TodoWrite(), todos=[{"content": "a", "status": "pending"}])
    assert lines[1] == "- todos[0].activeForm: missing"


def test_parameters_are_named_as_the_model_sees_them() -> None:
    lines = mistakes(Grep(), **{"-A": -1})
    assert lines[1:3] == [
        "- pattern: missing",
        "- -A: input should be greater than or equal to 0; given was -1",
    ]
    assert "-i, -n, -A, -B, -C" in lines[-1]


def test_long_wrong_value_is_cut() -> None:
    assert all(len(line) < 250 for line in mistakes(Read(), file_path=["x" * 10_000]))


def test_lone_surrogate_is_refused_and_does_not_come_back() -> None:
    lines = mistakes(Bash(), command="echo \ud800")
    assert lines[1] == "- command: not valid Unicode (a lone surrogate)"
    for raw in ({"command": ["\ud800"]}, {"command": "ls", "\udcff": 1}):
        "\n".join(mistakes(Bash(), **raw)).encode()


@pytest.mark.parametrize("tool", default_tools(), ids=lambda tool: tool.name)
def test_schema_is_plain_and_every_parameter_explained(tool: Tool[Any]) -> None:
    schema = tool.input_schema()
    text = json.dumps(schema)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    for word in ('"$ref"', '"$defs"', '"title"', '"anyOf"', '"null"'):
        assert word not in text
    for name, parameter in schema["properties"].items():
        assert parameter["description"], name
        assert "type" in parameter, name
    assert tool.description


def test_schema_keeps_what_an_item_is_made_of() -> None:
    item = TodoWrite().input_schema()["properties"]["todos"]["items"]
    assert set(item["required"]) == {"content", "status", "activeForm"}
    assert item["properties"]["status"]["enum"] == ["pending", "in_progress", "completed"]
