"""Three hundred cancels at random moments of every phase of a turn, over a real process."""

import asyncio
import os
import random
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import orjson
import psutil

from benchmarks.messages_api import MessagesApi, serving
from tests.support.api_rules import violations
from tests.support.servers import Editor, editor

CANCELS = int(os.environ.get("AGENTLS_CANCELS", "300"))
SEED = int(os.environ.get("AGENTLS_SEED", "20261130"))
OURS = "AGENTLS_TESTS_OWN"
"""The variable by which the processes of this test are told from those of others."""
SETTINGS = {
    "permissions": {"allow": ["Bash(sh:*)"]},
    "models": {"claude-sonnet-5-5": {"contextWindow": 200_000}},
}
STUBBORN = "trap '' TERM\nwhile :; do sleep 0.2; done\n"
DAEMON = "(setsid sh -c 'sleep 300' &) \nsleep 300\n"
WORDS = "word " * 200
OPTIONS = [{"label": label, "description": ""} for label in "AB"]
QUESTION = {"question": "Which?", "header": "Choice", "multiSelect": False, "options": OPTIONS}
ASKED = orjson.dumps({"questions": [QUESTION]}).decode()
PHASES = {
    "the model is asked": "[[hang]]",
    "the answer streams": f"[[slow:10:{WORDS}]]",
    "an approval is open": '[[call:Bash:{"command": "touch made"}]]',
    "a question is open": f"[[call:AskUserQuestion:{ASKED}]]",
    "a command runs": '[[call:Bash:{"command": "sh -c \\"sleep 300\\""}]]',
    "a stubborn command runs": '[[call:Bash:{"command": "sh stubborn.sh"}]]',
    "a command with a daemon runs": '[[call:Bash:{"command": "sh daemon.sh"}]]',
    "a retry is waited for": "[[retry-after:60]]",
    "the turn is parked": "[[retry-after:7200]]",
    "a summary is written": "",
    "the prompt is queued": "",
}


async def test_every_cancel_ends_its_turn_and_nothing_else(tmp_path: Path) -> None:
    folder = _workspace(tmp_path)
    chance = random.Random(SEED)
    took: dict[str, list[float]] = defaultdict(list)
    async with serving(kept=2_000) as api:
        given = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "sk-test-0123456789"}
        given[OURS] = str(tmp_path)
        async with editor(folder, env=given) as it:
            await it.new_session()
            await _clean_turn(it, "begin")
            for number in range(CANCELS):
                phase = chance.choice(list(PHASES))
                took[phase].append(await _cancelled(it, phase, number, chance))
                if number % 20 == 19:
                    await _clean_turn(it, str(number))
            await _clean_turn(it, "end")
            assert _commands(folder) == []
            assert await it.client.shut_down() == 0
        _check_requests(api)
    for phase, seconds in sorted(took.items(), key=lambda item: -max(item[1])):
        print(  # noqa: T201  what was seen belongs into the test's output
            f"{phase:<30} {len(seconds):3} cancels, at most {max(seconds) * 1000:5.0f} ms"
        )


async def _cancelled(it: Editor, phase: str, number: int, chance: random.Random) -> float:
    """Cancel a turn in a phase, and return how long it took until it was over."""
    turn_id = f"cancel-{number}"
    if phase == "the prompt is queued":
        return await _cancelled_in_queue(it, turn_id, chance)
    if phase == "a summary is written":
        told = f"[[slow:10:{WORDS}]]"
        await it.ask("session/compact", sessionId="s1", instructions=told, turnId=turn_id)
    else:
        await it.prompt(f"{number} {PHASES[phase]}", turnId=turn_id)
    await asyncio.sleep(chance.choice([0, 0.01, 0.05, 0.1, 0.3]))
    return await _cancel(it, turn_id)


async def _cancelled_in_queue(it: Editor, turn_id: str, chance: random.Random) -> float:
    await it.prompt("[[hang]]", turnId=f"{turn_id}-before")
    await it.prompt("[[text:never]]", turnId=turn_id, delivery=chance.choice(["queue", "steer"]))
    assert (await it.ask("turn/cancel", sessionId="s1", turnId=turn_id))["cancelled"]
    return await _cancel(it, f"{turn_id}-before")


async def _cancel(it: Editor, turn_id: str) -> float:
    begun = time.perf_counter()
    answer = await it.ask("turn/cancel", sessionId="s1", turnId=turn_id)
    finished = await _end_of(it, turn_id)
    seconds = time.perf_counter() - begun
    assert finished in ("cancelled", "removed", "completed", "failed"), finished
    assert answer["cancelled"] or finished in ("completed", "failed"), (turn_id, finished)
    late = await it.ask("turn/cancel", sessionId="s1", turnId=turn_id)
    assert late["cancelled"] is False, "a late cancel touches nothing"
    return seconds


async def _end_of(it: Editor, turn_id: str) -> str:
    """Wait for the end of a turn and return how it ended."""

    def end() -> str | None:
        for params in reversed(it.client.notifications("agent/session/event")):
            event = params["event"]
            if params["turnId"] == turn_id and event["type"] == "turnFinished":
                return event["status"]
            removed = event["type"] == "promptDequeued" and event["reason"] == "removed"
            if removed and event["itemId"] == turn_id:
                return "removed"
        return None

    return await it.client.wait_until(end, f"the end of turn {turn_id}", 30)


async def _clean_turn(it: Editor, name: str) -> None:
    """A turn that nobody cancels runs as ever, with nothing left over from those before."""
    turn_id = await it.prompt(f"[[text:yes {name}]]")
    assert await _end_of(it, turn_id) == "completed"
    snapshot = (await it.ask("state/get", sessionId="s1"))["snapshot"]
    said = [part["text"] for part in snapshot["state"]["history"][-1]["parts"]]
    assert said == [f"yes {name}"]
    assert snapshot["slices"]["approvals"] == snapshot["slices"]["questions"] == []
    assert snapshot["slices"]["queue"] == []
    assert _commands(it.folder) == []


def _commands(folder: Path) -> list[str]:
    """Return what the server's commands have left behind, wherever it hangs by now."""
    left: list[str] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            given = process.environ()
            if given.get(OURS) == str(folder.parent) and "AGENTLS_COMMAND" in given:
                left.append(" ".join(process.cmdline()))
    return left


def _check_requests(api: MessagesApi) -> None:
    """Every request that was sent obeys the API's rules, whatever was cancelled before it."""
    assert len(api.requests) > CANCELS // 4
    for request in api.requests:
        for message in request["messages"]:
            for block in message["content"]:
                block.pop("cache_control", None)
        assert violations(request["messages"]) == []


def _workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "stubborn.sh").write_text(STUBBORN)
    (folder / "daemon.sh").write_text(DAEMON)
    config = tmp_path / "config"
    config.mkdir()
    (config / "settings.json").write_bytes(orjson.dumps(SETTINGS))
    return folder
