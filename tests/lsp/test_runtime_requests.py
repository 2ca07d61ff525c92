"""The requests of long work over the server's pipes: steering, summaries, waits, fast mode."""

from pathlib import Path

import pytest

from agentls.protocol.requests import StateDidChangeParams
from agentls.protocol.session_state import SessionSlices
from tests.support.scenarios import calls, fails, says
from tests.support.servers import editor, scripted, write_settings

ALL = {"mode": "bypassPermissions"}
SUMMARY = says("## Done\nThe questions were answered.\n## Next step\nnone")
LONG = says("word " * 500)
UNTIL_GO = "until [ -e go ]; do sleep 0.02; done"
ASK = calls(
    "AskUserQuestion",
    questions=[
        {"question": "Which?", "header": "Which", "options": [{"label": "A"}, {"label": "B"}]}
    ],
)
INVALID, NOT_NOW, CONFIGURATION = -32602, -32005, -32006


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return workspace


async def test_a_steering_prompt_is_taken_in_by_the_turn_that_runs(folder):
    script = scripted(
        folder,
        calls("Bash", command=UNTIL_GO),
        says("With tests.", expect={"user": "Mind the tests."}),
        says("Next.", expect={"user": "And then?"}),
    )
    async with editor(folder, *script) as it:
        await it.new_session(**ALL)
        await it.prompt("Begin.", turnId="t1")
        await it.event("toolCallStarted")
        later = await it.ask("session/prompt", sessionId="s1", text="And then?", turnId="t2")
        steer = await it.ask(
            "session/prompt", sessionId="s1", text="Mind the tests.", turnId="t3", delivery="steer"
        )
        assert (later, steer) == (
            {"turnId": "t2", "queued": True},
            {"turnId": "t3", "queued": True},
        )
        queue = await it.changed("queue", lambda queue: len(queue) == 2)
        assert [(item["id"], item["delivery"]) for item in queue] == [
            ("t2", "queue"), ("t3", "steer"),
        ]  # fmt: skip
        (folder / "go").touch()
        await it.event("turnFinished", 2)
        taken = [(e["itemId"], e["reason"]) for e in it.events("promptDequeued")]
        assert taken == [("t1", "started"), ("t3", "steered"), ("t2", "started")]
        assert [e["status"] for e in it.events("turnFinished")] == ["completed"] * 2
        assert (await it.at_rest())["queue"] == []


async def test_a_steering_prompt_can_be_taken_out_again(folder):
    script = scripted(folder, calls("Bash", command=UNTIL_GO), says("Done."))
    async with editor(folder, *script) as it:
        await it.new_session(**ALL)
        await it.prompt("Begin.")
        await it.event("toolCallStarted")
        item = await it.prompt("Wrong window.", delivery="steer")
        await it.ask("queue/remove", sessionId="s1", itemId=item)
        (folder / "go").touch()
        await it.event("turnFinished")
        assert len(it.events("userMessageReceived")) == 1


async def test_a_delivery_that_is_none_is_refused(folder):
    async with editor(folder, "--model", "offline") as it:
        await it.new_session()
        error = await it.refused("session/prompt", text="hi", delivery="now")
        assert (error.code, "delivery" in error.message) == (INVALID, True)
        assert "steer" in error.message


async def test_a_conversation_is_compacted_on_request(folder):
    heeds = SUMMARY | {"expect": {"user": "Keep the table names."}}
    script = scripted(folder, LONG, LONG, LONG, heeds, says("On."))
    async with editor(folder, *script) as it:
        await it.new_session()
        for number in range(1, 4):
            await it.prompt(f"Prompt {number}.")
            await it.event("turnFinished", number)
        taken = await it.ask(
            "session/compact", sessionId="s1", instructions="Keep the table names.", turnId="c1"
        )
        assert taken == {"turnId": "c1", "queued": False}
        done = await it.event("conversationCompacted")
        await it.event("turnFinished", 4)
        assert done["reason"] == "requested"
        assert done["tokensAfter"] < done["tokensBefore"] * 0.9
        assert await it.changed("context", lambda context: context["compacting"] == "requested")
        resting = await it.at_rest()
        assert resting["context"]["compacting"] is None
        assert resting["context"]["compactionFailures"] == 0
        [summary, *_] = (await it.state())["history"]
        assert (summary["type"], "## Done" in summary["text"]) == ("summary", True)
        again = await it.ask("session/compact", sessionId="s1", turnId="c1")
        assert again == {"turnId": "c1", "queued": False}
        await it.prompt("Go on.")
        await it.event("turnFinished", 5)
        assert len(it.events("conversationCompacted")) == 1, "asked twice with one id is once"


async def test_a_compaction_is_cancelled_like_a_turn_and_changes_nothing(folder):
    slow = SUMMARY | {"chunk": 1, "delayMs": 200}
    async with editor(folder, *scripted(folder, LONG, LONG, LONG, slow, says("On."))) as it:
        await it.new_session()
        for number in range(1, 4):
            await it.prompt(f"Prompt {number}.")
            await it.event("turnFinished", number)
        before = (await it.state())["history"]
        await it.ask("session/compact", sessionId="s1", turnId="c1")
        await it.event("compactionStarted")
        assert await it.ask("turn/cancel", sessionId="s1", turnId="c1") == {"cancelled": True}
        assert (await it.event("turnFinished", 4))["status"] == "cancelled"
        assert (await it.event("compactionFailed"))["counts"] is False
        assert (await it.at_rest())["context"]["compacting"] is None
        assert (await it.state())["history"] == before
        await it.prompt("Go on.")
        assert (await it.event("turnFinished", 5))["status"] == "completed"


async def test_where_nothing_was_said_there_is_nothing_to_compact(folder):
    async with editor(folder, "--model", "offline") as it:
        await it.new_session()
        error = await it.refused("session/compact")
        assert (error.code, error.data["kind"]) == (NOT_NOW, "NothingToCompact")
        assert "s1" in error.message


async def test_a_conversation_is_cleared_and_a_redo_brings_it_back(folder):
    script = scripted(folder, says("One."), says("Fresh.", expect={"user": "Anew."}))
    async with editor(folder, *script) as it:
        await it.new_session()
        await it.prompt("Hi.")
        await it.event("turnFinished")
        before = (await it.state())["history"]
        assert await it.ask("session/clear", sessionId="s1") == {"messages": 2}
        assert (await it.state())["history"] == []
        assert await it.ask("session/clear", sessionId="s1") == {"messages": 0}
        await it.ask("session/redo", sessionId="s1")
        assert (await it.state())["history"] == before
        await it.ask("session/clear", sessionId="s1")
        await it.prompt("Anew.")
        await it.event("turnFinished", 2)
        assert [e["type"] for e in (await it.state())["history"]] == ["user", "answer"]
        error = await it.refused("session/redo")
        assert (error.code, "no rewind" in error.message) == (NOT_NOW, True)


async def test_a_conversation_is_not_cleared_under_a_running_turn(folder):
    script = scripted(folder, calls("Bash", command=UNTIL_GO), says("Done."))
    async with editor(folder, *script) as it:
        await it.new_session(**ALL)
        await it.prompt("Begin.")
        await it.event("toolCallStarted")
        error = await it.refused("session/clear")
        assert (error.code, error.data["kind"]) == (NOT_NOW, "SessionBusy")
        (folder / "go").touch()
        await it.event("turnFinished")


async def test_a_lighter_model_answers_in_fast_mode(folder):
    write_settings(folder, fastModel="offline")
    async with editor(folder, *scripted(folder, says("Heavy."), says("Heavy again."))) as it:
        snapshot = await it.new_session()
        assert snapshot["slices"]["gates"]["fastModel"] == "offline"
        await it.prompt("list .")
        await it.event("turnFinished")
        on = (await it.ask("fastMode/set", sessionId="s1", enabled=True))["model"]
        assert on["fast"] == "offline"
        assert (await it.ask("fastMode/set", sessionId="s1", enabled=True))["model"] == on
        await it.prompt("list .")
        await it.event("turnFinished", 2)
        off = (await it.ask("fastMode/set", sessionId="s1", enabled=False))["model"]
        assert off == on | {"fast": None}
        await it.prompt("list .")
        await it.event("turnFinished", 3)
        models = [event["model"] for event in it.events("turnStarted")]
        assert models == [off["default"], "offline", off["default"]]
        assert (await it.changed("model", lambda told: told["fast"]))["fast"] == "offline"
        assert (await it.at_rest())["model"] == off


async def test_without_a_lighter_model_there_is_no_fast_mode(folder):
    async with editor(folder, "--model", "offline") as it:
        snapshot = await it.new_session()
        assert snapshot["slices"]["gates"]["fastModel"] is None
        error = await it.refused("fastMode/set", enabled=True)
        assert (error.code, error.data["kind"]) == (CONFIGURATION, "NoFastMode")
        assert "offline" in error.message
        assert "fastModel" in error.message
        off = await it.ask("fastMode/set", sessionId="s1", enabled=False)
        assert off["model"]["fast"] is None


async def test_what_is_allowed_changes_with_the_model(folder):
    write_settings(folder, models={"offline": {"thinking": True}}, parallelReads=3)
    async with editor(folder, *scripted(folder, says("Hi."))) as it:
        gates = (await it.new_session())["slices"]["gates"]
        assert (gates["parallelReads"], gates["thinking"]) == (3, False)
        await it.ask("model/set", sessionId="s1", model="offline")
        assert (await it.changed("gates"))["thinking"] is True


async def test_a_wait_for_the_model_is_told_and_can_be_cancelled(folder):
    script = scripted(folder, fails("overloaded", "No room.", retryAfter=100), says("Now."))
    async with editor(folder, *script) as it:
        await it.new_session()
        turn = await it.prompt("Hi.")
        told = await it.changed("activity", lambda told: told["retry"])
        assert (told["status"], told["label"]) == ("running", "Waiting: the model is overloaded")
        retry = told["retry"]
        assert (retry["cause"], retry["delayMs"], retry["attempt"]) == ("overloaded", 100_000, 1)
        assert (retry["error"]["message"], retry["parked"]) == ("No room.", False)
        assert await it.ask("turn/cancel", sessionId="s1", turnId=turn) == {"cancelled": True}
        assert (await it.event("turnFinished"))["status"] == "cancelled"
        assert (await it.at_rest())["activity"]["retry"] is None
        await it.prompt("And now?")
        assert (await it.event("turnFinished", 2))["status"] == "completed"


async def test_a_turn_that_is_put_aside_is_so_in_the_next_server_too(folder):
    first = scripted(folder, fails("rateLimited", "Come back.", retryAfter=4000))
    async with editor(folder, *first) as it:
        await it.new_session()
        turn = await it.prompt("Hi.")
        parked = (await it.event("retryScheduled"))["retry"]
        assert parked["parked"]
        assert await it.client.shut_down() == 0
    async with editor(folder, *scripted(folder, says("Now."))) as it:
        loaded = (await it.ask("session/load", sessionId="s1"))["snapshot"]
        assert loaded["slices"]["activity"]["retry"] == parked
        assert await it.ask("turn/cancel", sessionId="s1", turnId=turn) == {"cancelled": True}
        await it.event("turnFinished")
        await it.prompt("And now?")
        assert (await it.event("turnFinished", 2))["status"] == "completed"


async def test_every_new_slice_is_told_as_it_changes(folder):
    model = scripted(
        folder,
        fails("connectionLost"),
        ASK,
        calls("Bash", command="echo hi", run_in_background=True),
        says("Done."),
    )
    write_settings(
        folder,
        fastModel="offline",
        models={model[1]: {"contextWindow": 50_000}, "offline": {"thinking": True}},
    )
    async with editor(folder, *model) as it:
        await it.new_session(**ALL)
        await it.prompt("Begin.")
        call_id = (await it.event("questionsAsked"))["questions"]["callId"]
        await it.ask("question/answer", sessionId="s1", callId=call_id, answers=None)
        await it.event("turnFinished")
        await it.ask("fastMode/set", sessionId="s1", enabled=True)
        await it.changed("tasks", lambda tasks: tasks and tasks[0]["status"] == "completed")
        await it.changed("questions", lambda questions: len(questions) == 1)
        await it.changed("gates", lambda gates: gates["thinking"])
        await it.changed("context", lambda context: context["window"] == 50_000)
        assert any(event["retry"]["delayMs"] == 0 for event in it.events("retryScheduled"))
        last = (await it.ask("state/get", sessionId="s1"))["snapshot"]
        await it.client.wait_until(
            lambda: it.client.notifications("agent/state/didChange")[-1]["seq"] == last["seq"],
            "the last slices",
        )
        for params in it.client.notifications("agent/state/didChange"):
            StateDidChangeParams.model_validate(params)
        told = it.slices()
        same = {name: last["slices"][name] for name in SessionSlices.model_fields if name in told}
        assert {name: told[name] for name in same} == same
        assert {"tasks", "questions", "context", "gates", "activity"} <= same.keys()
