"""A real server, killed outright at random moments of a turn: nothing is lost that it told of."""

import asyncio
import os
import random
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agentls.errors import UnknownSession
from agentls.llm.normalise import Conversation
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.events.kinds import EphemeralEvent
from agentls.protocol.history import Answer, UserMessage
from agentls.sessions.folder import FolderStore
from agentls.sessions.loaded import LoadedSession
from agentls.sessions.loading import events, load
from tests.e2e.observed import SECONDS, scripted
from tests.support.agents import open_agent
from tests.support.api_rules import violations
from tests.support.raw_client import RawClient
from tests.support.scenarios import calls, calls_together, says
from tests.support.servers import Editor, editor

KILLS = 200
AT_ONCE = 5
LONGEST = 2.6
"""Seconds after the prompt, within which the kill comes; the turn takes a little less."""
SLOW = Path(__file__).parents[1] / "support" / "throttled_server.py"
STREAMED = "word by word it is told " * 16

SCRIPT = (
    calls_together(calls("Read", file_path="a.txt"), calls("LS", path=".")),
    calls("Edit", file_path="a.txt", old_string="beta", new_string="delta"),
    calls("Bash", command="echo made > made.txt"),
    {"text": STREAMED, "chunk": 8, "delayMs": 25},
    says("Done."),
)


@dataclass
class Counts:
    """What the kills met, and what was there afterwards."""

    kills: int = 0
    before_anything: int = 0
    torn: int = 0
    told: int = 0
    acknowledged: int = 0
    cut_answers: int = 0
    interrupted: int = 0
    finished: int = 0
    lost: list[str] = field(default_factory=list)


async def test_two_hundred_kills_lose_nothing_that_was_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts, turns = Counts(), asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        async with turns:
            await _kill_one(tmp_path / f"{number}", random.Random(number), counts)

    async with asyncio.TaskGroup() as group:
        for number in range(KILLS):
            group.create_task(one(number))

    with capsys.disabled():
        sys.stdout.write(f"\n{counts}\n")
    assert counts.lost == []
    assert counts.kills == KILLS
    assert counts.torn > 0, "no kill landed inside of a write"
    assert counts.cut_answers > 0
    assert counts.interrupted > 0


async def _kill_one(place: Path, chance: random.Random, counts: Counts) -> None:
    folder = place / "workspace"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("alpha\nbeta\n")
    command = (sys.executable, SLOW, "lsp", "--stdio", *scripted(folder, *SCRIPT))
    acknowledged: list[str] = []
    async with editor(folder, program=command) as it:
        await it.new_session(mode="acceptEdits")
        working = asyncio.create_task(_work(it, acknowledged))
        await asyncio.sleep(chance.random() * LONGEST)
        os.kill(it.client.pid, signal.SIGKILL)
        assert await it.client.exit_code(SECONDS) == -signal.SIGKILL
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        told = _told(it.client)
        streamed = dict(it.streamed())
    counts.kills += 1
    await _check(folder, told, acknowledged, streamed, counts)


async def _work(it: Editor, acknowledged: list[str]) -> None:
    """Use the session as a person would, and note what the server has said yes to."""
    await it.prompt("Change it.", turnId="first")
    acknowledged.append("prompt first")
    await it.ask("session/rename", sessionId="s1", title="Kills")
    acknowledged.append("title Kills")
    await it.answer("allow")
    acknowledged.append("approval")
    await it.prompt("And then?", turnId="second")
    acknowledged.append("prompt second")
    await asyncio.sleep(SECONDS)


def _told(client: RawClient) -> list[Envelope]:
    told = client.notifications("agent/session/event")
    envelopes = [Envelope.model_validate(params) for params in told]
    return [e for e in envelopes if not isinstance(e.event, EphemeralEvent)]


async def _check(
    folder: Path,
    told: list[Envelope],
    acknowledged: list[str],
    streamed: dict[str, str],
    counts: Counts,
) -> None:
    log = folder / ".agentls/sessions/s1.jsonl"
    store = FolderStore(folder / ".agentls")
    # What comes before the first prompt is told before there is a log.
    begun = any(e.event.type == "promptQueued" for e in told)
    try:
        kept = {envelope.seq: envelope for envelope in events(store, "s1")}
    except UnknownSession:
        counts.before_anything += 1
        promised = [*acknowledged, *(told if begun else ())]
        counts.lost += [f"{folder}: no log, but {what}" for what in promised]
        return
    counts.torn += not log.read_bytes().endswith(b"\n")
    counts.told += len(told)
    counts.acknowledged += len(acknowledged)
    for envelope in told if begun else []:
        if kept.get(envelope.seq) != envelope:
            counts.lost.append(f"{folder}: told and not kept: {envelope}")
    loaded = load(store, "s1")
    for what in acknowledged:
        if not _is_kept(what, loaded, kept):
            counts.lost.append(f"{folder}: acknowledged and not kept: {what}")
    await _resume(folder, streamed, counts)


def _is_kept(what: str, loaded: LoadedSession, kept: dict[int, Envelope]) -> bool:
    kind, _, name = what.partition(" ")
    match kind:
        case "prompt":
            queued = [e.event for e in kept.values() if e.event.type == "promptQueued"]
            return any(event.item_id == name for event in queued)
        case "title":
            return loaded.state.title == name
        case _:
            return any(e.event.type == "approvalAnswered" for e in kept.values())


async def _resume(folder: Path, streamed: dict[str, str], counts: Counts) -> None:
    """Open the session again: what is sent of it the API takes, and it works on."""
    workspace = open_agent(folder, says("Resumed."), says("More."), says("More."), says("More."))
    try:
        session = await workspace.load_session("s1")
        sent = Conversation().messages(session.state.history)
        counts.lost += [f"{folder}: not sendable: {said}" for said in violations(list(sent))]
        _count_the_ends(session.state.history, streamed, folder, counts)
        last = session.state.last_turn
        counts.interrupted += last is not None and last.status == "interrupted"
        counts.finished += last is not None and last.status == "completed"
        asked = [c for c in session.state.calls.values() if c.status == "waiting"]
        for call in asked:
            session.answer_approval(call.id, "deny")
        session.prompt("Go on.", turn_id="after")
        async with asyncio.timeout(SECONDS):
            await session.idle()
        assert session.state.last_turn is not None
        assert session.state.last_turn.status == "completed"
        assert any(
            isinstance(e, UserMessage) and e.turn_id == "after" for e in session.state.history
        )
    finally:
        await workspace.aclose()


def _count_the_ends(history: Any, streamed: dict[str, str], folder: Path, counts: Counts) -> None:
    """An answer that was cut has all but the last second of what was seen of it."""
    cut = [e for e in history if isinstance(e, Answer) and e.stop_reason == "interrupted"]
    counts.cut_answers += len(cut)
    whole = {part.id for e in history if isinstance(e, Answer) for part in e.parts}
    a_second = 8 * 1000 // 25
    for part_id, text in streamed.items():
        if len(text) > 2 * a_second and part_id not in whole:
            counts.lost.append(f"{folder}: {len(text)} characters were seen of {part_id}")
