"""What the tests of faults share: a session at work, and what can be seen of it from outside."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentls.protocol.events.envelope import Envelope
from tests.support.raw_client import wait_gone
from tests.support.scenarios import write_scenario

SECONDS = 60.0
"""The longest wait for anything; a loaded machine is slow."""
HOLDS = "echo $$ > shell.pid; sleep 600 & echo $! > child.pid; wait"
"""A command that tells who it is and does not end by itself."""


def scripted(folder: Path, *script: dict[str, Any]) -> tuple[str, str]:
    return "--model", f"scripted:{write_scenario(folder.parent / 'scenario.json', *script)}"


async def pids_of_the_command(folder: Path) -> list[int]:
    """Wait until `HOLDS` has told who it is and what it started."""
    paths = [folder / "shell.pid", folder / "child.pid"]
    await until(lambda: all(path.exists() and path.read_text().strip() for path in paths))
    return [int(path.read_text()) for path in paths]


async def until(holds: Callable[[], Any], seconds: float = SECONDS) -> None:
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.05)


async def all_gone(*pids: int) -> None:
    for pid in pids:
        await wait_gone(pid, SECONDS)


def log_of(folder: Path) -> list[dict[str, Any]]:
    """Return the events in the whole lines of the session's log."""
    path = folder / ".agentls/sessions/s1.jsonl"
    data = path.read_bytes() if path.exists() else b""
    return [line for line in map(json.loads, data.split(b"\n")[:-1]) if "seq" in line]


def is_passing(envelope: Envelope) -> bool:
    return envelope.event.type in ("answerStarted", "partStarted", "toolCallProgressed")
