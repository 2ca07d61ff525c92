"""A server that is killed outright: its log is true, and another server goes on from it."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from agentls.protocol.events.envelope import Envelope
from agentls.protocol.session_state import SessionSnapshot, SessionState
from agentls.state.reduce import reduce
from tests.e2e.observed import (
    HOLDS,
    SECONDS,
    all_gone,
    is_passing,
    log_of,
    pids_of_the_command,
    scripted,
    until,
)
from tests.support.scenarios import calls, calls_together, says
from tests.support.servers import Editor, editor


@pytest.mark.parametrize("moment", ["text is streamed", "a command runs", "an approval is open"])
async def test_a_server_killed_outright_has_kept_what_the_work_was_built_on(
    folder: Path, moment: str
) -> None:
    """What the client was told before the model was called, or a tool ran, is in the log.

    An event that begins something outside (a request to the model, a command) is only told, or
    only has its effect, once all before it is on disk; what came after may be lost with the server.
    """
    reads = calls_together(calls("Read", file_path="a.txt"), calls("LS", path="."))
    edit = calls("Edit", file_path="a.txt", old_string="beta", new_string="delta")
    endless = {"text": "and so on " * 10_000, "chunk": 5, "delayMs": 5}
    last = endless if moment == "text is streamed" else calls("Bash", command=HOLDS)
    async with editor(folder, *scripted(folder, reads, edit, last)) as it:
        began = SessionSnapshot.model_validate(await it.new_session())
        await it.prompt("Change it.")
        await it.answer("allow")
        sure = await reach(moment, it, folder)
        os.kill(it.client.pid, signal.SIGKILL)
        assert await it.client.exit_code(SECONDS) == -signal.SIGKILL
        told = [Envelope.model_validate(p) for p in it.client.notifications("agent/session/event")]
    if moment == "a command runs":
        await all_gone(*await pids_of_the_command(folder))

    kept = [Envelope.model_validate(line) for line in log_of(folder)]
    assert [envelope.seq for envelope in kept] == list(range(1, len(kept) + 1))
    durable = {envelope.seq: envelope for envelope in told if not is_passing(envelope)}
    assert kept[-1].seq >= sure
    for envelope in kept:
        assert durable.get(envelope.seq, envelope) == envelope
    assert (folder / "a.txt").read_text() == "alpha\ndelta\n"
    before = began.state
    for number in range(began.seq + 1, sure + 1):
        before = reduce(before, durable[number])
    await check_the_session_goes_on(folder, before, moment)


@pytest.mark.parametrize("seen", [1, 4, 7, 9, 12, 16, 20])
async def test_a_server_killed_at_any_moment_leaves_a_log_that_is_true(
    folder: Path, seen: int
) -> None:
    script = scripted(
        folder,
        calls_together(calls("Read", file_path="a.txt"), calls("LS", path=".")),
        calls("Edit", file_path="a.txt", old_string="beta", new_string="delta"),
        {"text": "and so on " * 10_000, "chunk": 5, "delayMs": 5},
    )
    async with editor(folder, *script) as it:
        await it.new_session(mode="acceptEdits")
        await it.prompt("Change it.")
        await it.client.wait_until(lambda: len(it.events()) >= seen, f"{seen} events", SECONDS)
        os.kill(it.client.pid, signal.SIGKILL)
        await it.client.exit_code(SECONDS)
        told = [Envelope.model_validate(p) for p in it.client.notifications("agent/session/event")]
    kept = [Envelope.model_validate(line) for line in log_of(folder)]
    assert [envelope.seq for envelope in kept] == list(range(1, len(kept) + 1))
    assert len(kept) >= max((e.seq for e in told if e.event.type == "answerStarted"), default=0)
    durable = {envelope.seq: envelope for envelope in told if not is_passing(envelope)}
    assert all(durable.get(envelope.seq, envelope) == envelope for envelope in kept)
    begun = [e.event.call_id for e in kept if e.event.type == "toolCallStarted"]
    if (folder / "a.txt").read_text() != "alpha\nbeta\n":
        assert len(begun) == 3
    async with editor(folder, *scripted(folder, says("Resumed."), says("More."))) as it:
        await it.ask("session/load" if kept else "session/new", sessionId="s1")
        await it.prompt("Go on.", turnId="again")
        await it.client.wait_until(
            lambda: "again" in [p["turnId"] for p in finished_turns(it)], "the new turn", SECONDS
        )
        assert finished_turns(it)[-1]["event"]["status"] == "completed"
        assert await it.client.shut_down() == 0


def finished_turns(it: Editor) -> list[dict[str, Any]]:
    told = it.client.notifications("agent/session/event")
    return [params for params in told if params["event"]["type"] == "turnFinished"]


async def reach(moment: str, it: Editor, folder: Path) -> int:
    """Wait for a moment of the turn; return the number up to which the log must be whole then."""
    if moment == "text is streamed":
        await it.event("partStarted", 4, SECONDS)
        await until(lambda: len(max(it.streamed().values(), key=len)) > 50)
        started = [
            params["seq"]
            for params in it.client.notifications("agent/session/event")
            if params["event"]["type"] == "answerStarted"
        ]
        return started[-1]
    asked = await seq_of(it, "approvalRequested", 2)
    if moment == "an approval is open":
        # Told before it is kept, so that a slow disk does not hold it up; it is kept soon after.
        await until(lambda: log_of(folder)[-1]["seq"] >= asked)
        return asked
    await it.answer("allow", 2)
    await pids_of_the_command(folder)
    return await seq_of(it, "toolCallStarted", 4)


async def seq_of(it: Editor, kind: str, number: int) -> int:
    """Wait for the `number`-th event of a type and return its number in the log."""
    await it.event(kind, number, SECONDS)
    told = it.client.notifications("agent/session/event")
    return [params["seq"] for params in told if params["event"]["type"] == kind][number - 1]


async def check_the_session_goes_on(folder: Path, before: SessionState, moment: str) -> None:
    """Another server has all of `before` in its history, and goes on from there."""
    async with editor(folder, *scripted(folder, says("Resumed."), says("More."))) as it:
        loaded = (await it.ask("session/load", sessionId="s1"))["snapshot"]
        state = SessionSnapshot.model_validate(loaded).state
        assert state.history[: len(before.history)] == before.history[:]
        if moment == "an approval is open":
            (approval,) = loaded["slices"]["approvals"]
            answer = {"callId": approval["callId"], "optionId": "deny"}
            await it.ask("approval/answer", sessionId="s1", **answer)
            assert (await it.event("turnFinished", seconds=SECONDS))["status"] == "completed"
        else:
            assert state.last_turn is not None
            assert state.last_turn.status == "interrupted"
        if moment == "a command runs":
            told = loaded["state"]["history"][-1]["call"]
            assert told["outcome"] == "cancelled"
            assert "not known" in told["content"][0]["text"]
        already = len(it.events("turnFinished"))
        await it.prompt("Go on.")
        await it.event("turnFinished", already + 1, SECONDS)
        assert it.events("turnFinished")[-1]["status"] == "completed"
        assert await it.client.shut_down() == 0
