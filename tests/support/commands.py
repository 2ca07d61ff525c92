"""Commands that are run to their end, and what is left of them."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from agentls.tasks.command import Command
from agentls.tasks.family import MARK
from agentls.tasks.output import CommandOutput


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    exit_code: int
    output: str
    timed_out: bool
    ended: tuple[str, ...]
    """What still ran and was ended."""


async def run(
    command: str,
    cwd: Path,
    *,
    seconds: float = 60,
    progress: Callable[[str], None] | None = None,
    output: CommandOutput | None = None,
) -> Ended:
    """Run a command as the foreground does."""
    running = Command.start(
        command,
        cwd=cwd,
        environment=dict(os.environ),
        output=output or CommandOutput(10_000),
        progress=progress,
    )
    try:
        timed_out = not await running.ends_within(seconds)
        ended = await running.end_gently(everywhere=timed_out)
    except asyncio.CancelledError:
        await running.end_gently(everywhere=True)
        raise
    finally:
        running.close()
    return Ended(running.exit_code, running.output.text(), timed_out, ended)


def lives(pid: int) -> bool:
    """Whether a process runs."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def marked(folder: Path) -> list[int]:
    """Return what runs in a folder or below and has been started by a command."""
    found: list[int] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if MARK in process.environ() and Path(process.cwd()).is_relative_to(folder):
                found.append(process.pid)
    return [pid for pid in found if lives(pid)]


async def until(condition: Callable[[], object]) -> None:
    """Wait until `condition` holds."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


def pids_in(file: Path) -> list[int]:
    """Return what a command has written down of its processes."""
    return [int(pid) for pid in file.read_text().split()] if file.exists() else []


async def written(file: Path, count: int) -> list[int]:
    """Wait until a command has written down the ids of its processes."""
    await until(lambda: len(pids_in(file)) == count and file.read_text().endswith("\n"))
    return pids_in(file)
