"""A real server, killed outright at random moments of long work: what it has said stays true."""

import asyncio
import base64
import json
import sys
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.observed import SECONDS
from tests.support.attachments import blank_pdf
from tests.support.histories import picture
from tests.support.killed_at_work import Stage, at_rest, killed, staged
from tests.support.raw_client import RpcError
from tests.support.servers import Editor, write_settings

KILLS_OF_A_SESSION = 3
AT_ONCE = 5
ENDED_WITH_US = "agentls ended while it ran"

Work = Callable[[Stage, Editor], Coroutine[Any, Any, None]]
Check = Callable[[Stage, Editor, dict[str, Any]], Coroutine[Any, Any, None]]


@dataclass(frozen=True)
class Moment:
    """When the server is killed, and what is looked at afterwards."""

    work: Work
    check: Check
    spread: float
    """Seconds, within which the kill comes once the moment is there."""
    faults: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass
class Counts:
    """What the kills met."""

    kills: int = 0
    torn: int = 0
    told: int = 0
    promised: int = 0
    met: Counter[str] = field(default_factory=Counter[str])
    lost: list[str] = field(default_factory=list[str])


async def test_what_was_told_of_long_work_is_there_after_a_kill(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts, places = Counts(), asyncio.Semaphore(AT_ONCE)

    async def one(name: str) -> None:
        async with places:
            await kill_often(tmp_path / name, name, counts)

    async with asyncio.TaskGroup() as group:
        for name in MOMENTS:
            group.create_task(one(name))

    with capsys.disabled():
        sys.stdout.write(f"\n{counts}\n")
    assert counts.lost == []
    assert counts.kills == KILLS_OF_A_SESSION * len(MOMENTS)
    wanted = {
        "retry waited for", "parked", "went on by itself", "summary cut short", "compacted",
        "steering waited", "question open", "answer counted", "command died", "agent died",
        "moved and died", "attachments waited",
    }  # fmt: skip
    assert wanted <= counts.met.keys()


async def test_answer_counts_where_the_server_is_killed_as_it_hands_it_on(tmp_path: Path) -> None:
    async with staged(tmp_path, "answer", through_proxy=False) as stage:
        async with stage.server() as it:
            await it.new_session()
            await _answer_and_die(stage, it)
            await it.event("toolCallFinished", seconds=SECONDS)
            await stage.kill(it)
        stage.cut_log_after("toolCallStarted")
        async with stage.server() as it:
            loaded = (await it.ask("session/load", sessionId="s1"))["snapshot"]
            await _check_the_question(stage, it, loaded)
            assert await it.client.shut_down() == 0
        stage.check_requests()
        assert stage.lost == []


async def kill_often(place: Path, name: str, counts: Counts, seed: int = 0) -> None:
    """Let one session live through kills at its moment, each time in a new process."""
    moment = MOMENTS[name]
    async with staged(place, f"{name} {seed}", through_proxy=bool(moment.faults)) as stage:
        write_settings(stage.folder, **moment.settings)
        try:
            for number in range(KILLS_OF_A_SESSION + 1):
                async with stage.server(slow=bool(number % 2)) as it:
                    await _live_on(stage, it, moment, counts)
        except (AssertionError, RpcError) as error:
            stage.lost.append(f"round {stage.round}: {type(error).__name__}: {error}")
        counts.torn += stage.torn
        counts.promised += len(stage.promised)
        counts.met += stage.met
        counts.lost += [f"{place.name}: {said}" for said in stage.lost]


async def _live_on(stage: Stage, it: Editor, moment: Moment, counts: Counts) -> None:
    """Look at what the last kill left, work on, and be killed; the last server ends well."""
    snapshots: dict[str, dict[str, Any]] = {}
    if stage.has_begun():
        stage.check_log()
        snapshots["loaded"] = (await it.ask("session/load", sessionId="s1"))["snapshot"]
        await moment.check(stage, it, snapshots["loaded"])
        await stage.prompt(it, "after", "And now? [[text:Resumed.]]")
        assert await stage.over(it, "after") == "completed"
        snapshots["at rest"] = (await it.ask("state/get", sessionId="s1"))["snapshot"]
        assert snapshots["at rest"]["state"]["queue"] == []
        stage.check_requests()
    else:
        await it.new_session()
    if stage.round < KILLS_OF_A_SESSION:
        await it.ask("mode/set", sessionId="s1", mode="bypassPermissions")
        stage.proxy.next(*moment.faults)
        await killed(stage, it, moment.work, moment.spread)
        stage.proxy.faults.clear()
        counts.kills += 1
        counts.told += len(stage.told)
    else:
        assert await it.client.shut_down() == 0
    for when, snapshot in snapshots.items():
        stage.check_snapshot(snapshot, when)
    await stage.check_processes()


async def _wait_for_the_model(stage: Stage, it: Editor) -> None:
    await stage.prompt(it, "first", "Try. [[text:It works.]]")
    await it.event("retryScheduled", seconds=SECONDS)


async def _check_the_wait(stage: Stage, it: Editor, loaded: dict[str, Any]) -> None:
    """A wait within a turn ends with the server, and its turn is interrupted."""
    if "retryScheduled" not in stage.kinds or "turnFinished" in stage.kinds:
        return await at_rest(it)
    stage.met["retry waited for"] += 1
    assert loaded["state"]["turn"] is None
    assert loaded["state"]["lastTurn"]["status"] == "interrupted"


async def _check_the_parked(stage: Stage, it: Editor, loaded: dict[str, Any]) -> None:
    """A parked turn goes on by itself when its time comes, and not before."""
    waits = [e.event.retry for e in stage.kept if e.event.type == "retryScheduled"]
    if not waits or "retryEnded" in stage.kinds:
        return await at_rest(it)
    assert waits[0].parked
    stage.met["parked"] += 1
    assert (loaded["state"]["turn"] or {}).get("id") == stage.id("first")
    assert loaded["slices"]["activity"]["retry"]["resumesAt"] == waits[0].resumes_at
    assert await stage.over(it, "first") == "completed"
    assert await _at_of(it, "retryEnded") >= waits[0].resumes_at
    assert (await it.state())["history"][-1]["parts"][0]["text"] == "It works."
    stage.met["went on by itself"] += 1


async def _summarise(stage: Stage, it: Editor) -> None:
    words = " ".join(f"summary{number}" for number in range(60))
    await _ask_for_a_summary(stage, it, f"[[slow:25:{words}]]")
    await it.event("compactionStarted", seconds=SECONDS)


async def _be_compacted(stage: Stage, it: Editor) -> None:
    await _ask_for_a_summary(stage, it, "[[text:It was talked about words.]]")
    await it.event("conversationCompacted", seconds=SECONDS)


async def _ask_for_a_summary(stage: Stage, it: Editor, instructions: str) -> None:
    rule = f"Never use {stage.id('tabs')}."
    await stage.prompt(it, "first", f"{rule} [[deltas:8000]]")
    await stage.over(it, "first")
    await stage.prompt(it, "second", "Go on. [[text:Gone on.]]")
    await stage.over(it, "second")
    compaction = {"turnId": stage.id("compact"), "instructions": instructions}
    await it.ask("session/compact", sessionId="s1", **compaction)
    stage.done.add("compact")


async def _check_the_compaction(stage: Stage, it: Editor, loaded: dict[str, Any]) -> None:
    """A summary is there, or it is not and the conversation is as it was: nothing between."""
    state = loaded["state"]
    turns = [state["turn"] or {}, state["lastTurn"] or {}, *state["queue"]]
    if "compact" in stage.done:
        known = [turn.get("id") for turn in turns]
        assert stage.id("compact") in known, f"the compaction is lost: {known}"
    compacted = [e.event for e in stage.kept if e.event.type == "conversationCompacted"]
    if compacted:
        stage.met["compacted"] += 1
        assert state["history"][0]["id"] == compacted[0].id
        assert f"Never use {stage.id('tabs')}." in state["history"][0]["putBack"]
    elif stage.taken("first") and "promptDequeued" in stage.kinds:
        said = [entry["content"] for entry in state["history"] if entry["type"] == "user"]
        words = [content[0]["text"] for content in said]
        is_there = stage.promised[stage.id("first")] in words
        is_summed_up = f"Never use {stage.id('tabs')}." in state["history"][0].get("putBack", "")
        assert is_there or is_summed_up
        if "compactionStarted" in stage.kinds and is_there:
            stage.met["summary cut short"] += 1
            assert state["compaction"]["failures"] == 0
    await at_rest(it)


async def _steer(stage: Stage, it: Editor) -> None:
    await stage.prompt(it, "first", 'Begin. [[call:Bash:{"command": "sleep 0.8"}]]')
    await it.event("toolCallStarted", seconds=SECONDS)
    for number in range(3):
        text = f"Rather {stage.id('so')}, {number}. [[text:As you like.]]"
        await stage.prompt(it, f"steer{number}", text, delivery="steer")


async def _check_the_steering(stage: Stage, it: Editor, loaded: dict[str, Any]) -> None:
    """Prompts that waited for a turn that is no more are taken up all the same, in order."""
    names = [stage.id(f"steer{number}") for number in range(3)]
    waiting = [item["id"] for item in loaded["state"]["queue"]]
    assert waiting == sorted(waiting, key=[stage.id("first"), *names].index)
    taken = {e.event.item_id for e in stage.kept if e.event.type == "promptDequeued"}
    stage.met["steering waited"] += len(set(names) & set(waiting) - taken)
    await at_rest(it)
    if waiting:
        assert (await it.state())["lastTurn"]["status"] == "completed"


async def _be_asked(stage: Stage, it: Editor) -> None:
    options = [{"label": stage.id(way)} for way in ("left", "right")]
    question = {"question": "Which way?", "header": "Way", "options": options}
    asked = json.dumps({"questions": [question]})
    await stage.prompt(it, "first", f"Ask. [[call:AskUserQuestion:{asked}]]")
    await it.event("questionsAsked", seconds=SECONDS)


async def _answer_and_die(stage: Stage, it: Editor) -> None:
    await _be_asked(stage, it)
    call_id = it.events("questionsAsked")[0]["questions"]["callId"]
    answer = {"callId": call_id, "answers": [{"selected": [stage.id("left")]}]}
    await it.ask("question/answer", sessionId="s1", **answer)
    stage.done.add("answer")


async def _check_the_question(stage: Stage, it: Editor, loaded: dict[str, Any]) -> None:
    """An open question is asked again; one that was answered counts, and the turn goes on."""
    was_asked, is_open = "questionsAsked" in stage.kinds, bool(loaded["slices"]["questions"])
    if is_open:
        assert "answer" not in stage.done, "the answer does not count"
        stage.met["question open"] += 1
    await at_rest(it, choice=stage.id("right"))
    results = [
        entry["call"]["content"][0]["text"]
        for entry in (await it.state())["history"]
        if entry["type"] == "callResult" and stage.id("left") in json.dumps(entry["call"]["input"])
    ]
    assert len(results) == 1 or (not was_asked and not results), results
    way = "left" if was_asked and not is_open else "right"
    assert all(f'→ "{stage.id(way)}"' in result for result in results), results
    stage.met["answer counted"] += "answer" in stage.done


async def _run_beside(stage: Stage, it: Editor) -> None:
    daemon = "(setsid sleep 600 &) ; trap '' TERM; echo alive; while :; do sleep 0.1; done"
    command = json.dumps({"command": daemon, "run_in_background": True})
    await stage.prompt(it, "first", f"Begin. [[call:Bash:{command}]]")
    await it.event("taskStarted", seconds=SECONDS)
    words = json.dumps(f"[[slow:40:{'word ' * 200}]]")
    escaped = words.replace("[", "\\u005b").replace("]", "\\u005d")
    job = f'{{"description": "Search", "prompt": {escaped}, "run_in_background": true}}'
    await stage.prompt(it, "second", f"And search. [[call:Task:{job}]]")
    await it.event("taskStarted", 2, SECONDS)


async def _move(stage: Stage, it: Editor) -> None:
    command = "setsid sleep 600 & while :; do echo alive; sleep 0.02; done"
    call = json.dumps({"command": command, "timeout": 300})
    await stage.prompt(it, "first", f"Begin. [[call:Bash:{call}]]")
    await it.event("toolCallStarted", seconds=SECONDS)
    await asyncio.sleep(0.25)


async def _check_the_tasks(stage: Stage, it: Editor, loaded: dict[str, Any]) -> None:
    """Tasks that ran are marked as killed, the model is told of them, and nothing runs."""
    tasks = {task["id"]: task for task in loaded["state"]["tasks"]}
    ended = {e.event.task_id for e in stage.kept if e.event.type == "taskFinished"}
    added = {e.event.task.id for e in stage.kept if e.event.type == "taskAdded"}
    for task_id in added - ended:
        task = tasks[task_id]
        assert (task["status"], task["reason"]) == ("killed", ENDED_WITH_US)
        if task["kind"] == "localAgent":
            stage.met["agent died"] += 1
        else:
            moved = "run_in_background" not in stage.promised[stage.id("first")]
            stage.met["moved and died" if moved else "command died"] += 1
            assert task["outputBytes"] <= _size(Path(task["outputPath"]))
    await stage.check_processes()
    await at_rest(it)
    if tasks:
        await stage.prompt(it, "told", "What is it? [[text:Ended.]]")
        assert await stage.over(it, "told") == "completed"
        for task_id in tasks:
            assert f"Task {task_id}" in stage.asked_last(), "the model is not told of its end"
        assert (await it.state())["tasks"] == []


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


async def _attach(stage: Stage, it: Editor) -> None:
    await stage.prompt(it, "first", f"Begin. [[slow:50:{'word ' * 40}]]")
    picture = {"data": PICTURE, "name": f"{stage.id('seen')}.png"}
    await stage.prompt(it, "picture", "See this. [[text:Seen.]]", attachments=[picture])
    path = stage.folder / f"{stage.id('paper')}.pdf"
    path.write_bytes(PAPER)
    paper = {"path": path.name}
    await stage.prompt(it, "paper", "Read @a.txt and this. [[text:Read.]]", attachments=[paper])
    path.unlink()


async def _check_the_attachments(stage: Stage, it: Editor, loaded: dict[str, Any]) -> None:
    """What was attached is in the queue whole, whatever became of the file it came from."""
    waiting = {item["id"]: item for item in loaded["state"]["queue"]}
    for name, data in (("picture", PICTURE), ("paper", base64.b64encode(PAPER).decode())):
        if stage.id(name) in waiting:
            assert data in json.dumps(waiting[stage.id(name)])
            stage.met["attachments waited"] += stage.taken(name)
    await at_rest(it)
    sent = stage.asked_last() if stage.requests else ""
    pictures, papers = (
        sum(turn_id.startswith(name) for turn_id in stage.promised) for name in ("picture", "paper")
    )
    assert sent.count(PICTURE) >= pictures
    assert sent.count(base64.b64encode(PAPER).decode()) >= papers


async def _at_of(it: Editor, kind: str) -> str:
    told = it.client.notifications("agent/session/event")
    return next(params["at"] for params in told if params["event"]["type"] == kind)


PICTURE, PAPER = base64.b64encode(picture()).decode(), blank_pdf()
MOMENTS = {
    "retry": Moment(_wait_for_the_model, _check_the_wait, 1.5, ("retry-after:429:2",)),
    "parked": Moment(
        _wait_for_the_model, _check_the_parked, 2.5, ("retry-after:429:3",),
        {"retry": {"rateLimitSeconds": 0}},
    ),
    "parked soon": Moment(
        _wait_for_the_model, _check_the_parked, 0.05, ("retry-after:429:2",),
        {"retry": {"rateLimitSeconds": 1}},
    ),
    "summary": Moment(_summarise, _check_the_compaction, 1.6),
    "compacted": Moment(_be_compacted, _check_the_compaction, 0.1),
    "steering": Moment(_steer, _check_the_steering, 1.0),
    "question": Moment(_be_asked, _check_the_question, 0.1),
    "answered": Moment(_answer_and_die, _check_the_question, 0.05),
    "tasks": Moment(_run_beside, _check_the_tasks, 1.0),
    "moved": Moment(_move, _check_the_tasks, 0.4),
    "attached": Moment(_attach, _check_the_attachments, 1.5),
}  # fmt: skip
