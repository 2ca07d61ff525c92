"""Faults of agentls itself, made in this process: the run still ends in a result."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from agentls.agent.open import WorkspaceOptions
from agentls.agent.session import Session
from agentls.agent.workspace import Workspace
from agentls.headless import run as running
from agentls.headless.output import Output
from agentls.headless.run import RunOptions
from tests.support.scripts import kind


def break_in(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise ZeroDivisionError("by design")

    async def fail_later(*args: Any, **kwargs: Any) -> Any:
        fail()

    original = getattr(owner, name)
    monkeypatch.setattr(owner, name, fail_later if asyncio.iscoroutinefunction(original) else fail)


async def run_once(folder: Path, **options: Any) -> tuple[int, list[dict]]:
    """Run one prompt in this process and return exit code and lines."""
    environment = {"AGENTLS_CONFIG_DIR": str(folder.parent / "config")}
    workspace = WorkspaceOptions(roots=(folder,), model="offline", environment=environment)
    out = folder.parent / "out"
    fd = os.open(out, os.O_WRONLY | os.O_CREAT)
    stdin = os.open(os.devnull, os.O_RDONLY)
    try:
        output = Output(fd, "stream-json")
        told = RunOptions(workspace, "hi", output_format="stream-json", **options)
        code = await running._Run(told, stdin, output).main()
    finally:
        os.close(fd)
        os.close(stdin)
    return code, [orjson.loads(line) for line in out.read_bytes().splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.mark.parametrize(
    "place",
    [
        lambda: (running, "open_workspace"),
        lambda: (Workspace, "new_session"),
        lambda: (Session, "prompt"),
        lambda: (Session, "idle"),
        lambda: (Session, "flush"),
        lambda: (running, "outcome_of"),
        lambda: (running, "text_prompts"),
    ],
)
async def test_fault_ends_in_a_result(monkeypatch, caplog, folder, place: Callable) -> None:
    break_in(monkeypatch, *place())
    code, lines = await run_once(folder)
    assert code == 1
    assert kind(lines[0]) == "system/init"
    assert [kind(line) for line in lines].count("result") == 1
    result = lines[-1]
    assert (result["type"], result["is_error"], result["terminal_reason"]) == (
        "result", True, "failed",
    )  # fmt: skip
    assert "a fault in agentls: ZeroDivisionError: by design" in result["result"]
    assert "the run failed" in caplog.text


async def test_fault_while_closing_fails_a_run_that_has_its_result(
    monkeypatch, caplog, folder
) -> None:
    break_in(monkeypatch, Workspace, "aclose")
    code, lines = await run_once(folder)
    assert (code, lines[-1]["subtype"]) == (1, "success")
    assert "could not be ended as it should" in caplog.text


async def test_fault_in_what_reads_stdin_does_not_hang(monkeypatch, caplog, folder) -> None:
    def fail(*args: Any) -> Any:
        raise ZeroDivisionError("by design")

    monkeypatch.setattr("agentls.headless.prompts.message_lines", fail)
    async with asyncio.timeout(20):
        code, lines = await run_once(folder, input_format="stream-json")
    assert code == 1
    results = [line["terminal_reason"] for line in lines if kind(line) == "result"]
    assert results == ["completed", "failed"]
