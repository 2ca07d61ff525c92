"""Clients that use one workspace hard from several processes, and what must be there afterwards."""

import asyncio
import os
import random
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest

from agentls.protocol.content import text_of
from agentls.protocol.events.conversation import PromptQueued
from agentls.sessions.folder import FolderStore
from agentls.sessions.loading import load
from tests.e2e.observed import SECONDS
from tests.support.fault_watch import kept, torn_lines
from tests.support.raw_client import RpcError
from tests.support.scenarios import says, write_scenario
from tests.support.servers import AGENTLS, QUIET, Editor


@dataclass
class Counts:
    """What was done, and what was lost of it."""

    prompts: int = 0
    renames: int = 0
    lists: int = 0
    searches: int = 0
    hits: int = 0
    forks: int = 0
    refused: int = 0
    followed: int = 0
    runs: int = 0
    sessions: int = 0
    events: int = 0
    lost: list[str] = field(default_factory=list[str])
    acknowledged: dict[str, list[str]] = field(
        default_factory=lambda: defaultdict(list), repr=False
    )
    """The prompts that were taken, by session."""


async def hammer(it: Editor, mine: str, others: str, until_time: float, counts: Counts) -> None:
    """Work in the sessions of one's own and with those of the other server until a time."""
    async with asyncio.TaskGroup() as group:
        for number in range(2):
            group.create_task(_prompts(it, f"{mine}{number}", until_time, counts))
        group.create_task(_uses_others(it, mine, others, until_time, counts))


async def _prompts(it: Editor, session_id: str, until_time: float, counts: Counts) -> None:
    number = 0
    while time.monotonic() < until_time:
        text = f"{session_id} prompt {number}"
        turn_id = await it.prompt(text, session_id, turnId=f"{session_id}-{number}")
        counts.prompts += 1
        counts.acknowledged[session_id].append(text)
        if number % 5 == 0:
            await it.ask("session/rename", sessionId=session_id, title=f"Title {number}")
            counts.renames += 1
        await _turn_is_over(it, turn_id)
        number += 1


async def _turn_is_over(it: Editor, turn_id: str) -> None:
    def over() -> bool:
        told = it.client.notifications("agent/session/event")
        return any(
            params["turnId"] == turn_id and params["event"]["type"] == "turnFinished"
            for params in reversed(told)
        )

    await it.client.wait_until(over, f"the end of turn {turn_id}", SECONDS)


async def _uses_others(
    it: Editor, mine: str, others: str, until_time: float, counts: Counts
) -> None:
    """List, search, fork what the other server works in, follow it, and prompt the copies."""
    chance, number = random.Random(mine), 0
    while time.monotonic() < until_time:
        counts.lists += 1
        listed = (await it.ask("session/list", limit=200))["sessions"]
        theirs = [s["id"] for s in listed if s["id"] in (f"{others}0", f"{others}1")]
        hits = (await it.ask("session/search", query=f"{others}0 prompt"))["hits"]
        counts.searches += 1
        counts.hits += len(hits)
        if theirs:
            await _touches(it, chance.choice(theirs), f"f{mine}{number}", counts)
            number += 1
        await asyncio.sleep(0.3)


async def _touches(it: Editor, theirs: str, copy: str, counts: Counts) -> None:
    with pytest.raises(RpcError) as refused:
        await it.ask("session/load", sessionId=theirs)
    assert refused.value.data["kind"] == "SessionInUse"
    counts.refused += 1
    await it.ask("session/load", sessionId=theirs, ifInUse="follow")
    counts.followed += 1
    await it.ask("session/fork", sessionId=theirs, newSessionId=copy)
    counts.forks += 1
    text = f"{copy} of {theirs}"
    turn_id = await it.prompt(text, copy, turnId=f"turn-{copy}")
    counts.acknowledged[copy].append(text)
    await _turn_is_over(it, turn_id)
    await it.ask("session/close", sessionId=copy)
    await it.ask("session/close", sessionId=theirs)


async def runs_until(folder: Path, until_time: float, counts: Counts) -> None:
    """Begin a session with a run, and another, until a time."""
    while time.monotonic() < until_time:
        [(code, text, told)] = await run_many(folder, 1, "-p", f"Run {counts.runs}.")
        assert (code, text) == (0, "Answered.\n"), told
        counts.runs += 1


async def run_many(folder: Path, count: int, *arguments: str) -> list[tuple[int, str, str]]:
    """Start `agentls run` so many times at once; return exit codes, stdout and stderr.

    `{number}` in an argument is which of them it is.
    """
    answer = says("Answered.", delayMs=40)
    model = f"scripted:{write_scenario(folder.parent / 'run.json', answer)}"

    async def one(number: int) -> tuple[int, str, str]:
        given = [argument.format(number=number) for argument in arguments]
        process = await asyncio.create_subprocess_exec(
            AGENTLS, "run", "--cwd", folder, "--model", model, *given,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, env=_environment(folder), cwd=folder.parent,
        )  # fmt: skip
        try:
            async with asyncio.timeout(SECONDS):
                stdout, stderr = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode is not None
        return process.returncode, stdout.decode(), stderr.decode()

    return await asyncio.gather(*map(one, range(count)))


def _environment(folder: Path) -> dict[str, str]:
    private = {name: str(folder.parent / name) for name in ("config", "data")}
    return {
        **os.environ,
        **QUIET,
        "AGENTLS_CONFIG_DIR": private["config"],
        "AGENTLS_DATA_DIR": private["data"],
    }


def prompts_in(folder: Path, session_id: str) -> list[str]:
    """Return the prompts that a log holds, in order."""
    envelopes = kept(folder / ".agentls", session_id)
    found = (envelopes[seq].event for seq in sorted(envelopes))
    return [text_of(event.content) for event in found if isinstance(event, PromptQueued)]


def whole(folder: Path, session_id: str) -> int:
    """Return how many events a log holds. Fails where it is not whole in each respect.

    That is: a record on each line, numbers that go up by one, and nothing damaged to who loads it.
    """
    store = FolderStore(folder / ".agentls")
    log = store.sessions / f"{session_id}.jsonl"
    assert torn_lines(log) == 0, session_id
    records = [orjson.loads(line) for line in log.read_bytes().split(b"\n")[:-1]]
    numbers = [record["seq"] for record in records if "seq" in record]
    assert numbers == list(range(1, len(numbers) + 1)), session_id
    loaded = load(store, session_id, whole=True)
    assert not loaded.damage, session_id
    assert not loaded.message_count_difference, session_id
    return len(numbers)
