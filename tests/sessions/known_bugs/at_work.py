"""Sessions at work, as the tests of known bugs need them."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

from agentls.agent.session import Session
from tests.support.agents import WAIT_SECONDS, until
from tests.support.api_rules import violations
from tests.support.raw_client import wait_gone
from tests.support.scenarios import calls, write_scenario
from tests.support.servers import editor

Sent = list[list[dict[str, Any]]]
HOLDS = calls("Bash", command="echo $$ > shell.tmp; mv shell.tmp shell.pid; exec sleep 600")
"""A call that runs until it is stopped, and tells who it is."""


async def ask(session: Session, *prompts: str) -> None:
    """Have prompts answered, one after the other."""
    for prompt in prompts:
        session.prompt(prompt)
        await at_rest(session)
        assert session.state.last_turn.status == "completed", session.state.last_turn


async def at_rest(session: Session) -> None:
    """Wait until nothing runs and nothing is queued."""
    async with asyncio.timeout(WAIT_SECONDS):
        await session.idle()


async def killed_in_a_tool(folder: Path, *script: dict[str, Any], queued: str = "") -> None:
    """Kill a server outright while `HOLDS`, which `script` ends with, runs in session `s1`.

    `queued` is a prompt that is sent, and acknowledged, just before.
    """
    scenario = write_scenario(folder.parent / "killed.json", *script)
    async with editor(folder, "--model", f"scripted:{scenario}") as it:
        await it.new_session(mode="bypassPermissions")
        await it.prompt("first")
        shell = folder / "shell.pid"
        await until(shell.exists)
        if queued:
            await it.prompt(queued)
        os.kill(it.client.pid, signal.SIGKILL)
        assert await it.client.exit_code(WAIT_SECONDS) == -signal.SIGKILL
    await wait_gone(int(shell.read_text()), WAIT_SECONDS)


def log_of(folder: Path) -> Path:
    """Return where the log of session `s1` is."""
    return folder / ".agentls/sessions/s1.jsonl"


def texts(session: Session) -> list[str]:
    """Return what was said, by both sides."""
    said: list[str] = []
    for entry in session.state.history:
        if entry.type == "user":
            said += [block.text for block in entry.content]
        elif entry.type == "answer":
            said += [part.text for part in entry.parts if part.type == "text"]
    return said


def refused(sent: Sent) -> list[str]:
    """Return what the API would refuse of what it was sent; that is at least one request."""
    assert sent
    return [said for messages in sent for said in violations(messages)]
