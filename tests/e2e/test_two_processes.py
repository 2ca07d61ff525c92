"""Two real servers, and runs, in one workspace: one owner at a time, nothing spliced or lost."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agentls.headless.outcome import EXIT_RETRY
from agentls.protocol.events.envelope import Envelope
from tests.e2e.observed import SECONDS, until
from tests.support.fault_processes import (
    Counts,
    hammer,
    prompts_in,
    run_many,
    runs_until,
    whole,
)
from tests.support.fault_watch import Told, a_turn, all_kept, begin, go, missing
from tests.support.raw_client import RpcError
from tests.support.scenarios import says, write_scenario
from tests.support.servers import Editor, editor

HAMMER_SECONDS = 30.0
AT_ONCE = 8
FOLLOWS = {"sessionId": "s1", "ifInUse": "follow"}


@asynccontextmanager
async def two(folder: Path, *script: dict[str, Any]) -> AsyncGenerator[tuple[Editor, Editor]]:
    """Start two servers in one workspace; the first plays `script`, the second has its own."""
    first = f"scripted:{write_scenario(folder.parent / 'first.json', *script)}"
    more = [says(f"Of the second: {number}.") for number in range(9)]
    second = f"scripted:{write_scenario(folder.parent / 'second.json', *more)}"
    async with (
        editor(folder, "--model", first) as owner,
        editor(folder, "--model", second) as other,
    ):
        yield owner, other


async def test_a_session_in_use_is_refused_with_who_has_it(folder: Path) -> None:
    async with two(folder, *a_turn(folder)) as (owner, other):
        await begin(owner)
        with pytest.raises(RpcError) as refused:
            await other.ask("session/load", sessionId="s1")
        assert refused.value.data["kind"] == "SessionInUse"
        assert f"process {owner.client.pid}" in refused.value.message
        with pytest.raises(RpcError) as deleted:
            await other.ask("session/delete", sessionId="s1")
        assert deleted.value.data["kind"] == "SessionInUse"
        go(folder)
        await owner.event("turnFinished")
        await all_kept(owner, folder / ".agentls")


async def test_a_follower_sees_every_event_in_order(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = [says(f"Answer {number}. " * 30, chunk=40, delayMs=20) for number in range(8)]
    async with two(folder, says("Begun."), *answers) as (owner, other):
        await owner.new_session()
        await owner.prompt("Begin.")
        await owner.event("turnFinished")
        loaded = (await other.ask("session/load", **FOLLOWS))["snapshot"]
        assert loaded["state"]["access"]["mode"] == "follower"
        assert f"process {owner.client.pid}" in loaded["state"]["access"]["owner"]
        waited: list[float] = []
        delays = asyncio.create_task(_note_delays(owner, other, loaded["seq"], waited))
        for number in range(len(answers)):
            await owner.prompt(f"Prompt {number}.")
            await owner.event("turnFinished", number + 2)
        await all_kept(owner, folder / ".agentls")
        last = max(Told(owner.client).events())
        await until(lambda: max(Told(other.client).events(), default=0) == last)
        delays.cancel()
        seen = Told(other.client).events()
        assert list(seen) == list(range(loaded["seq"] + 1, last + 1))
        told = Told(owner.client).events()
        assert all(told[seq] == envelope for seq, envelope in seen.items())
        await asyncio.gather(delays, return_exceptions=True)
    with capsys.disabled():
        middle, longest = sorted(waited)[len(waited) // 2], max(waited)
        sys.stdout.write(
            f"\n{len(waited)} events followed: {middle * 1e3:.0f} ms in the middle, "
            f"{longest * 1e3:.0f} ms at most\n"
        )


async def _note_delays(owner: Editor, other: Editor, after: int, waited: list[float]) -> None:
    """Note for each event how long after the owner's client the follower's knew of it."""
    first: dict[int, float] = {}
    done = after
    while True:
        now = time.monotonic()
        for seq in Told(owner.client).events():
            first.setdefault(seq, now)
        seen = max(Told(other.client).events(), default=after)
        waited.extend(now - first.get(seq, now) for seq in range(done + 1, seen + 1))
        done = max(done, seen)
        await asyncio.sleep(0.05)


async def test_what_is_only_followed_takes_no_changes_but_can_be_forked(folder: Path) -> None:
    async with two(folder, *a_turn(folder), says("Later.")) as (owner, other):
        await begin(owner)
        await other.ask("session/load", **FOLLOWS)
        await owner.prompt("And later?", turnId="queued")
        changes: dict[str, dict[str, Any]] = {
            "session/prompt": {"text": "And me?"},
            "session/rename": {"title": "Mine"},
            "session/tag": {"tag": "mine"},
            "mode/set": {"mode": "plan"},
            "queue/remove": {"itemId": "queued"},
            "turn/cancel": {"turnId": "queued"},
        }
        await other.event("promptQueued")
        for method, params in changes.items():
            with pytest.raises(RpcError) as refused:
                await other.ask(method, sessionId="s1", **params)
            assert refused.value.data["kind"] == "SessionReadOnly", method
            assert "fork" in refused.value.message
        forked = await other.ask("session/fork", sessionId="s1", newSessionId="f1")
        assert forked["snapshot"]["state"]["access"]["mode"] == "owner"
        await other.prompt("In the copy.", "f1", turnId="copied")
        await until(lambda: 'turnFinished"' in _log(folder, "f1"))
        go(folder)
        await owner.event("turnFinished", 2)
        await all_kept(owner, folder / ".agentls")
        assert prompts_in(folder, "s1") == ["Do it.", "And later?"]
        assert prompts_in(folder, "f1")[-1] == "In the copy."


@pytest.mark.parametrize("end", ["killed", "closed"])
async def test_a_follower_takes_over_when_the_owner_is_gone(folder: Path, end: str) -> None:
    async with two(folder, says("First.")) as (owner, other):
        await owner.new_session()
        await owner.prompt("Hi.")
        await owner.event("turnFinished")
        await all_kept(owner, folder / ".agentls")
        await other.ask("session/load", **FOLLOWS)
        with pytest.raises(RpcError, match="only followed here"):
            await other.prompt("Now?")
        if end == "killed":
            os.kill(owner.client.pid, signal.SIGKILL)
            await owner.client.exit_code(SECONDS)
        else:
            await owner.ask("session/close", sessionId="s1")
        await other.client.wait_until(
            lambda: other.slices().get("access") == {"mode": "follower", "owner": None},
            "the owner is seen to be gone",
        )
        loaded = (await other.ask("session/load", sessionId="s1"))["snapshot"]
        assert loaded["state"]["access"] == {"mode": "owner", "owner": None}
        assert (await other.prompt("Mine now.", turnId="taken")) == "taken"
        await other.event("turnFinished")
        assert prompts_in(folder, "s1") == ["Hi.", "Mine now."]
        assert whole(folder, "s1")
        assert missing(folder / ".agentls", Told(other.client).events()) == ""


async def test_a_follower_may_take_over_at_once_when_the_owner_was_killed(folder: Path) -> None:
    """In the middle of a turn, and without waiting to be told that the owner is gone."""
    async with two(folder, *a_turn(folder)) as (owner, other):
        await begin(owner)
        await other.ask("session/load", **FOLLOWS)
        os.kill(owner.client.pid, signal.SIGKILL)
        await owner.client.exit_code(SECONDS)
        loaded = (await other.ask("session/load", **FOLLOWS))["snapshot"]
        assert loaded["state"]["access"]["mode"] == "owner"
        await other.prompt("Mine now.", turnId="taken")
        await other.client.wait_until(
            lambda: [e for e in other.events("turnFinished") if e["status"] == "completed"],
            "the turn of who took over",
        )
        assert whole(folder, "s1")
        assert prompts_in(folder, "s1") == ["Do it.", "Mine now."]
    go(folder)


async def test_an_owner_whose_lease_another_has_says_so_and_writes_nothing(folder: Path) -> None:
    """As on a folder that two machines share, where one was silent for long."""
    async with two(folder, says("First."), says("Never kept."), says("Forked.")) as (owner, other):
        await owner.new_session()
        await owner.prompt("Hi.")
        await owner.event("turnFinished")
        await all_kept(owner, folder / ".agentls")
        (folder / ".agentls/sessions/s1.lease").unlink()
        await other.ask("session/load", sessionId="s1")
        await other.prompt("Mine.", turnId="other")
        await other.event("turnFinished")
        with pytest.raises(RpcError) as lost:
            await owner.prompt("Still mine?")
        assert lost.value.data["kind"] == "LeaseLost"
        assert f"process {other.client.pid}" in lost.value.message
        await owner.client.wait_until(
            lambda: owner.slices().get("access", {}).get("mode") == "follower", "a follower"
        )
        with pytest.raises(RpcError, match="only followed here"):
            await owner.prompt("And now?")
        assert prompts_in(folder, "s1") == ["Hi.", "Mine."]
        forked = await owner.ask("session/fork", sessionId="s1", newSessionId="f1")
        assert forked["snapshot"]["state"]["access"]["mode"] == "owner"
        [first, *_] = forked["snapshot"]["state"]["history"]
        assert first["content"][0]["text"] == "Hi."
        await other.prompt("And mine again.", turnId="again")
        await other.event("turnFinished", 2)
        await all_kept(other, folder / ".agentls")
        assert whole(folder, "s1")
        assert await other.client.shut_down() == 0
        assert await owner.client.shut_down() == 0


async def test_two_servers_and_runs_hammering_one_workspace_lose_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = Counts()
    until_time = time.monotonic() + HAMMER_SECONDS
    answers = [says(f"Answer {number}.", delayMs=80) for number in range(4000)]
    async with two(folder, *answers) as (first, second):
        for it, mine in ((first, "a"), (second, "b")):
            for number in range(2):
                await it.new_session(f"{mine}{number}")
        async with asyncio.TaskGroup() as group:
            group.create_task(hammer(first, "a", "b", until_time, counts))
            group.create_task(hammer(second, "b", "a", until_time, counts))
            group.create_task(runs_until(folder, until_time, counts))
        assert await first.client.shut_down() == 0
        assert await second.client.shut_down() == 0
        assert "Traceback" not in first.client.stderr + second.client.stderr
        told = _told_by_session(first, second)
    await _check_the_hammered(folder, told, counts)
    with capsys.disabled():
        sys.stdout.write(f"\n{counts}\n")
    assert counts.lost == []
    assert min(counts.prompts, counts.forks, counts.renames, counts.searches, counts.runs) > 0


def _told_by_session(*editors: Editor) -> dict[str, dict[int, Envelope]]:
    ids = {
        params["sessionId"]
        for it in editors
        for params in it.client.notifications("agent/session/event")
    }
    told: dict[str, dict[int, Envelope]] = {}
    for session_id in ids:
        for it in editors:
            told.setdefault(session_id, {}).update(Told(it.client, session_id).events())
    return told


async def _check_the_hammered(
    folder: Path, told: dict[str, dict[int, Envelope]], counts: Counts
) -> None:
    for session_id, envelopes in told.items():
        begun = any(e.event.type == "promptQueued" for e in envelopes.values())
        if (begun or session_id.startswith("f")) and (
            lost := missing(folder / ".agentls", envelopes, session_id)
        ):
            counts.lost.append(f"{session_id}: {lost}")
    for session_id, texts in counts.acknowledged.items():
        there = set(prompts_in(folder, session_id))
        counts.lost += [f"{session_id}: no prompt {text!r}" for text in texts if text not in there]
    ids = [path.stem for path in (folder / ".agentls/sessions").glob("*.jsonl")]
    counts.sessions = len(ids)
    async with editor(folder, "--model", "offline") as it:
        assert sorted(await _listed(it)) == sorted(ids)
        for session_id in ids:
            counts.events += whole(folder, session_id)
            await it.ask("session/load", sessionId=session_id)
            await it.ask("session/close", sessionId=session_id)
        assert (await it.ask("app/get"))["state"]["notices"] == []


async def _listed(it: Editor) -> list[str]:
    ids: list[str] = []
    cursor = None
    while True:
        page = await it.ask("session/list", limit=50, cursor=cursor)
        ids += [summary["id"] for summary in page["sessions"]]
        cursor = page["nextCursor"]
        if cursor is None:
            return ids


async def test_of_eight_runs_that_continue_one_session_one_works_at_a_time(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [(code, text, _)] = await run_many(folder, 1, "-p", "Begin.")
    assert (code, text) == (0, "Answered.\n")
    [log] = (folder / ".agentls/sessions").glob("*.jsonl")
    session_id = log.stem
    done = await run_many(folder, AT_ONCE, "--continue", "-p", "Go on {number}.")
    codes = sorted(code for code, _, _ in done)
    assert set(codes) <= {0, EXIT_RETRY}, done
    worked = [text for code, text, _ in done if code == 0]
    assert worked, done
    for code, text, told in done:
        assert "Traceback" not in told
        if code:
            assert text == ""
            assert f"session {session_id} is open in a run of `agentls run` (process " in told
    there = prompts_in(folder, session_id)
    assert there[0] == "Begin."
    assert len(there) == 1 + len(worked)
    assert len(set(there)) == len(there)
    assert whole(folder, session_id)
    assert [*(folder / ".agentls/sessions").glob("*.jsonl")] == [log]
    with capsys.disabled():
        sys.stdout.write(f"\n{AT_ONCE} runs at once: exit codes {codes}\n")


def _log(folder: Path, session_id: str) -> str:
    path = folder / f".agentls/sessions/{session_id}.jsonl"
    return path.read_text() if path.exists() else ""
