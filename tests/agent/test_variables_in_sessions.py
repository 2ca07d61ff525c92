import asyncio
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from agentls.agent.library import Library
from agentls.agent.workspace import Workspace
from agentls.sessions.loading import load
from agentls.sessions.memory import MemoryStore
from agentls.tools.registry import ToolRegistry, default_tools
from agentls.tools.tool import Tool, ToolContext, ToolInput, ToolResult
from tests.support.agents import WAIT_SECONDS, open_agent, results
from tests.support.scenarios import calls, says
from tests.support.stores import agent_over

RICH: dict[str, Any] = {
    "day": date(2026, 11, 30),
    "moment": datetime(2026, 11, 30, 12, 0, 0, 250_000, tzinfo=UTC),
    "hour": time(7, 30),
    "span": timedelta(days=-1, microseconds=7),
    "price": Decimal("1.10"),
    "raw": b"\x00\xff\n",
    "nested": {"list": [Decimal("0.1"), {"at": date(2027, 1, 1)}], "$type": "mine"},
    "plain": [1, 2.5, "x", True],
}


class SetInput(ToolInput):
    what: str


class Weather(Tool[SetInput]):
    """Sets variables of its own, and tells what it sees of all."""

    name: ClassVar[str] = "Weather"
    description: ClassVar[str] = "For tests."
    input_type = SetInput
    seen: ClassVar[list[dict[str, Any]]] = []

    async def execute(self, arguments: SetInput, context: ToolContext) -> ToolResult:
        Weather.seen.append(dict(context.variables))
        match arguments.what:
            case "rich":
                return ToolResult.ok("set", "Set", variables=RICH)
            case "other":
                return ToolResult.ok("set", "Set", variables={"Read:a.txt": "mine now"})
            case "remove":
                return ToolResult.ok("set", "Set", variables={"day": None})
            case "unkeepable":
                return ToolResult.ok("set", "Set", variables={"x": object()})
            case _:
                return ToolResult.ok("looked", "Looked")


class Forecast(Tool[SetInput]):
    """Declares what its variables are taken from."""

    name: ClassVar[str] = "Forecast"
    description: ClassVar[str] = "For tests."
    input_type = SetInput
    outputs: ClassVar[dict[str, str]] = {
        "city": "$.place.city",
        "temperatures": "$.days[*].degrees",
        "nothing": "$.place.country",
    }

    async def execute(self, arguments: SetInput, context: ToolContext) -> ToolResult:
        days = [{"degrees": 3}, {"degrees": Decimal("4.5")}]
        data = {"place": {"city": arguments.what}, "days": days}
        if arguments.what == "Nowhere":
            return ToolResult.error("no such place", data=data)
        return ToolResult.ok("set", "Set", data=data)


def forecast(city: str) -> dict[str, Any]:
    return calls("Forecast", what=city)


def weather(what: str) -> dict[str, Any]:
    return calls("Weather", what=what)


def opened(folder: Path, *script: dict[str, Any], store: Any = None) -> Workspace:
    Weather.seen.clear()
    around = open_agent(folder).surroundings
    return agent_over(
        store or around.store,
        folder,
        *script,
        toolbox=cache(lambda: ToolRegistry([*default_tools(), Weather(), Forecast()])),
    )


async def run(workspace: Workspace, session_id: str, prompt: str = "one"):
    session = await workspace.new_session(session_id)
    session.set_mode("bypassPermissions")  # it is not restored when a session is resumed
    session.prompt(prompt)
    async with asyncio.timeout(WAIT_SECONDS):
        await session.idle()
    assert session.state.last_turn.status == "completed", session.state.last_turn
    return session


async def test_dates_decimals_and_bytes_come_back_as_they_were_set(folder: Path) -> None:
    workspace = opened(folder, weather("rich"), weather("look"), says("ok"))
    await run(workspace, "s1")
    assert Weather.seen[-1] == {f"Weather:{key}": value for key, value in RICH.items()}
    assert isinstance(Weather.seen[-1]["Weather:day"], date)
    await workspace.aclose()


async def test_variables_survive_a_resume_and_a_memory_store(folder: Path) -> None:
    workspace = opened(folder, weather("rich"), says("ok"))
    kept = (await run(workspace, "s1")).state.variables
    await workspace.aclose()
    again = opened(folder, weather("look"), says("ok"))
    session = await run(again, "s1", "two")
    assert session.state.variables == kept
    assert Weather.seen[-1]["Weather:price"] == Decimal("1.10")
    await again.aclose()
    store = MemoryStore()
    in_memory = opened(folder, weather("rich"), says("ok"), store=store)
    session = await run(in_memory, "m1")
    assert load(store, "m1").state.variables == session.state.variables == kept
    await in_memory.aclose()


async def test_declared_outputs_are_taken_from_the_data_by_jsonpath(folder: Path) -> None:
    workspace = opened(folder, forecast("Graz"), weather("look"), says("ok"))
    session = await run(workspace, "s1")
    assert Weather.seen[-1] == {
        "Forecast:city": "Graz",
        "Forecast:temperatures": [3, Decimal("4.5")],
    }
    assert "Forecast:nothing" not in session.state.variables
    await workspace.aclose()


async def test_a_failed_call_declares_nothing(folder: Path) -> None:
    workspace = opened(folder, forecast("Graz"), forecast("Nowhere"), weather("look"), says("ok"))
    session = await run(workspace, "s1")
    assert session.state.variables["Forecast:city"] == "Graz"
    await workspace.aclose()


async def test_none_removes_a_variable(folder: Path) -> None:
    workspace = opened(folder, weather("rich"), weather("remove"), says("ok"))
    session = await run(workspace, "s1")
    assert "Weather:day" not in session.state.variables
    assert "Weather:hour" in session.state.variables
    await workspace.aclose()


async def test_a_tool_cannot_set_another_tools_variable(folder: Path) -> None:
    workspace = opened(folder, calls("Read", file_path="a.txt"), weather("other"), says("ok"))
    session = await run(workspace, "s1")
    assert "may not set 'Read:a.txt'" in results(session)[1]
    assert session.state.history[-2].call.outcome == "error"
    assert session.state.variables["Read:a.txt"] != "mine now"
    await workspace.aclose()


async def test_what_cannot_be_kept_is_an_error_and_the_turn_goes_on(folder: Path) -> None:
    workspace = opened(folder, weather("unkeepable"), says("ok"))
    session = await run(workspace, "s1")
    assert "cannot hold a object" in results(session)[0]
    assert session.state.variables == {}
    await workspace.aclose()


async def test_two_sessions_never_see_each_others_variables(folder: Path) -> None:
    workspace = opened(folder, weather("rich"), says("ok"), weather("look"), says("ok"))
    await run(workspace, "s1")
    other = await run(workspace, "s2")
    assert Weather.seen[-1] == {}
    assert other.state.variables == {}
    await workspace.aclose()


async def test_a_rewind_takes_variables_back_and_a_redo_brings_them(folder: Path) -> None:
    workspace = opened(
        folder, forecast("Graz"), says("ok"), weather("rich"), weather("look"), says("ok")
    )
    session = await run(workspace, "s1")
    first = session.state.variables
    session = await run(workspace, "s1", "two")
    second = session.state.variables
    prompts = [entry.id for entry in session.state.history if entry.type == "user"]
    await session.rewind(prompts[1], "conversation")
    assert session.state.variables == first
    await session.redo()
    assert session.state.variables == second
    await workspace.aclose()


async def test_a_fork_has_the_variables_of_its_branch_and_its_own_from_then_on(
    folder: Path,
) -> None:
    workspace = opened(folder, forecast("Graz"), says("ok"), weather("rich"), says("ok"))
    session = await run(workspace, "s1")
    fork = await Library(workspace).fork("s1", None, "s2")
    assert fork.state.variables == session.state.variables
    fork.set_mode("bypassPermissions")
    fork.prompt("two")
    await fork.idle()
    assert "Weather:price" in fork.state.variables
    assert "Weather:price" not in session.state.variables
    await workspace.aclose()
