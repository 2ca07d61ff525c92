"""The language server as a real process, spoken to over its pipes."""

import asyncio
import json
from pathlib import Path

import pytest

from agentls.lsp.handlers import Handlers
from agentls.lsp.kept_handlers import KeptHandlers
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.methods import REQUESTS, handler_name
from agentls.protocol.requests import SessionNewResult, StateDidChangeParams
from agentls.protocol.session_state import SessionSnapshot
from agentls.state.reduce import reduce
from agentls.state.selectors import slices
from tests.support.raw_client import RpcError
from tests.support.scenarios import calls, calls_together, says
from tests.support.servers import editor, scripted

SLOW = {"text": "slowly " * 400, "chunk": 7, "delayMs": 5}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "a.txt").write_text("alpha\nbeta\n")
    return workspace


def test_every_request_has_a_handler_of_its_name_and_no_handler_is_left_over():
    names = {handler_name(request) for request in REQUESTS}
    assert names == {
        name for name in (*vars(Handlers), *vars(KeptHandlers)) if not name.startswith("_")
    }


async def test_the_server_says_what_it_is(folder):
    async with editor(folder, "--model", "offline") as it:
        ours = it.hello["capabilities"]["experimental"]["agentls"]
        assert ours == {
            "version": 1,
            "clientId": "test-editor-1",
            "view": {
                "expandedView": "none", "verbose": False, "brief": False,
                "selectedCall": None, "footerFocus": "prompt",
            },
        }  # fmt: skip
        assert it.hello["serverInfo"]["name"] == "agentls"
        assert it.hello["capabilities"]["textDocumentSync"]["openClose"]
        app = await it.ask("app/get")
        assert app["state"]["defaultModel"] == "offline"
        assert await it.client.shut_down() == 0


async def test_a_turn_streams_asks_edits_and_is_on_disk(folder):
    script = scripted(
        folder,
        calls("Read", file_path="a.txt"),
        calls("Edit", file_path="a.txt", old_string="beta", new_string="delta"),
        says("All done. 😀 " * 20),
    )
    async with editor(folder, *script) as it:
        snapshot = await it.new_session()
        assert SessionSnapshot.model_validate(snapshot).state.history[:] == []
        turn = await it.prompt("Change it.", turnId="t1")
        assert turn == "t1"
        decision = await it.answer("allow")
        assert decision["decision"]["clientId"] == "test-editor-1"
        finished = await it.event("turnFinished")
        assert (finished["status"], finished["messageCount"]) == ("completed", 6)
        assert (folder / "a.txt").read_text() == "alpha\ndelta\n"

        text = it.events("answerFinished")[-1]["parts"][0]
        assert it.streamed()[text["id"]] == text["text"] == "All done. 😀 " * 20
        seen = await it.at_rest()
        assert (seen["approvals"], seen["queue"]) == ([], [])
        assert seen["usage"]["responses"] == 3

        told = [p for p in it.client.notifications("agent/session/event")]
        kept = [p for p in told if "parent" in p["event"] or p["event"]["type"] != "answerStarted"]
        assert [p["seq"] for p in kept] == sorted(p["seq"] for p in kept)
        assert await it.client.shut_down() == 0
        log = (folder / ".agentls/sessions/s1.jsonl").read_text().split("\n")[1:-1]
        on_disk = [line for line in map(json.loads, log) if "seq" in line]
        durable = [p for p in told if p["event"]["type"] not in ("answerStarted", "partStarted")]
        assert on_disk[-len(durable) :] == durable


async def test_a_snapshot_and_the_events_after_it_make_the_state_of_the_server(folder):
    script = scripted(folder, calls("Read", file_path="a.txt"), SLOW, says("second"))
    async with editor(folder, *script) as it:
        first = SessionSnapshot.model_validate(await it.new_session())
        await it.prompt("one")
        await it.event("partStarted", 2)
        middle = SessionSnapshot.model_validate(
            (await it.ask("state/get", sessionId="s1"))["snapshot"]
        )
        await it.event("turnFinished")
        last = SessionSnapshot.model_validate(
            (await it.ask("state/get", sessionId="s1"))["snapshot"]
        )
        for start in (first, middle):
            state = start.state
            for params in it.client.notifications("agent/session/event"):
                envelope = Envelope.model_validate(params)
                if envelope.seq > start.seq:
                    state = reduce(state, envelope)
            assert state.model_copy(update={"live": None}) == last.state
        assert slices(last.state) == last.slices
        for params in it.client.notifications("agent/state/didChange"):
            StateDidChangeParams.model_validate(params)
            assert None not in [value for key, value in params.items() if key != "title"]


async def test_a_saved_session_is_resumed_by_another_server(folder):
    script = scripted(folder, calls("Bash", command="echo hi"), says("Done."))
    async with editor(folder, *script) as it:
        await it.new_session()
        await it.prompt("one")
        await it.event("approvalRequested")
        assert await it.client.shut_down() == 0
    script = scripted(folder, says("Resumed."))
    async with editor(folder, *script) as it:
        listed = await it.ask("session/list")
        assert [row["id"] for row in listed["sessions"]] == ["s1"]
        snapshot = (await it.ask("session/load", sessionId="s1"))["snapshot"]
        (approval,) = snapshot["slices"]["approvals"]
        assert snapshot["slices"]["activity"]["status"] == "waiting"
        await it.ask("approval/answer", sessionId="s1", callId=approval["callId"], optionId="allow")
        finished = await it.event("turnFinished")
        assert finished["status"] == "completed"
        assert it.events("toolCallFinished")[0]["content"][0]["text"].startswith("hi")


async def test_prompts_queue_and_cancels_name_their_turn(folder):
    async with editor(folder, *scripted(folder, SLOW, says("two"))) as it:
        await it.new_session()
        one, two, three = [await it.prompt(text) for text in ("one", "two", "three")]
        await it.ask("queue/remove", sessionId="s1", itemId=three)
        await it.event("partStarted")
        assert await it.ask("turn/cancel", sessionId="s1", turnId="nope") == {"cancelled": False}
        assert await it.ask("turn/cancel", sessionId="s1", turnId=one) == {"cancelled": True}
        await it.event("turnFinished", 2)
        assert [e["status"] for e in it.events("turnFinished")] == ["cancelled", "completed"]
        assert await it.ask("turn/cancel", sessionId="s1", turnId=two) == {"cancelled": False}


@pytest.mark.parametrize(
    ("method", "params", "code", "told"),
    [
        ("session/load", {"sessionId": "nope"}, -32004, "nope"),
        ("session/prompt", {"sessionId": "nope", "text": "hi"}, -32004, "agent/session/load"),
        ("session/prompt", {"sessionId": "s1", "text": "  "}, -32602, "no text"),
        ("session/prompt", {"sessionId": "s1"}, -32602, "text"),
        ("session/new", {"sessionId": "../evil"}, -32602, "sessionId"),
        ("session/new", {"model": "gpt-nope"}, -32004, "gpt-nope"),
        ("model/set", {"sessionId": "s1", "model": "claude-opus-5"}, -32006, "--model offline"),
        ("mode/set", {"sessionId": "s1", "mode": "yolo"}, -32602, "acceptEdits"),
        (
            "approval/answer",
            {"sessionId": "s1", "callId": "c", "optionId": "allow"},
            -32004,
            "no tool call 'c'",
        ),
        ("queue/remove", {"sessionId": "s1", "itemId": "x"}, -32004, "no prompt 'x'"),
        ("session/list", {"cursor": "abc"}, -32602, "cursor"),
        ("session/teleport", {}, -32601, "agent/session/teleport"),
    ],
)
async def test_bad_requests_are_answered_with_what_and_where(folder, method, params, code, told):
    async with editor(folder, "--model", "offline") as it:
        await it.new_session()
        with pytest.raises(RpcError) as caught:
            await it.ask(method, **params)
        assert caught.value.code == code
        assert told in caught.value.message
        await it.prompt("list .")
        await it.event("turnFinished")


async def test_a_second_answer_to_an_approval_is_told_who_was_first(folder):
    script = scripted(folder, calls("Bash", command="echo hi"), says("Done."))
    async with editor(folder, *script) as it:
        await it.new_session()
        await it.prompt("one")
        await it.answer("deny", reason="not today")
        with pytest.raises(RpcError) as caught:
            await it.answer("allow")
        assert caught.value.code == -32005
        assert "not today" in caught.value.message
        await it.event("turnFinished")
        assert "not today" in it.events("toolCallFinished")[0]["content"][0]["text"]


async def test_a_plain_client_is_sent_nothing_of_ours(folder):
    async with editor(folder, "--model", "offline", greet=False) as it:
        await it.client.initialize(rootUri=folder.as_uri())
        await it.new_session()
        await it.prompt("list .")
        await asyncio.sleep(0.5)
        assert [m["method"] for m in it.client.messages if "method" in m] == []


async def test_options_that_are_not_understood_are_refused_and_can_be_mended(folder):
    async with editor(folder, greet=False) as it:
        with pytest.raises(RpcError, match=r"initializationOptions\.agentls\.version"):
            await it.start(version="new")
        await it.start()
        assert (await it.ask("model/list"))["models"]


async def test_a_workspace_that_is_not_there_is_named(folder):
    async with editor(folder / "gone", greet=False) as it:
        with pytest.raises(RpcError, match=r"gone is not there"):
            await it.start()


async def test_the_lasting_part_of_a_view_and_a_default_model_outlive_the_server(folder):
    async with editor(folder) as it:
        await it.new_session()
        view = (await it.ask("view/set", verbose=True, footerFocus="todos"))["view"]
        assert (view["verbose"], view["footerFocus"]) == (True, "todos")
        await it.ask("model/set", sessionId="s1", model="offline", scope="user")
        await it.client.wait_for_notification(
            "agent/app/didChange", lambda params: params.get("defaultModel") == "offline"
        )
        assert await it.client.shut_down() == 0
    saved = json.loads((folder.parent / "config/settings.json").read_text())
    assert saved == {"view": {"verbose": True}, "model": "offline"}
    async with editor(folder) as it:
        view = it.hello["capabilities"]["experimental"]["agentls"]["view"]
        assert (view["verbose"], view["footerFocus"]) == (True, "prompt")
        snapshot = await it.new_session("s2")
        assert snapshot["state"]["model"] == {
            "session": None, "default": "offline", "fast": None,
        }  # fmt: skip


async def test_a_session_model_is_never_written_to_the_settings(folder):
    async with editor(folder) as it:
        await it.new_session()
        await it.ask("model/set", sessionId="s1", model="offline")
        await it.ask("session/prompt", sessionId="s1", text="list .")
        await it.event("turnFinished")
        assert await it.client.shut_down() == 0
    assert not (folder.parent / "config/settings.json").exists()


async def test_parallel_reads_are_told_as_they_finish_and_answered_in_order(folder):
    for number in range(10):
        (folder / f"f{number}.txt").write_text(f"content {number}\n")
    reads = calls_together(*(calls("Read", file_path=f"f{n}.txt") for n in range(10)))
    async with editor(folder, *scripted(folder, reads, says("Ten."))) as it:
        await it.new_session()
        await it.prompt("one")
        await it.event("turnFinished")
        assert len(it.events("toolCallFinished")) == 10
        snapshot = (await it.ask("state/get", sessionId="s1"))["snapshot"]
        calls_in_state = list(snapshot["state"]["calls"].values()) or [
            e["call"] for e in snapshot["state"]["history"] if e["type"] == "callResult"
        ]
        assert len(calls_in_state) == 10


async def test_model_ids_are_validated_when_a_session_begins(folder):
    async with editor(folder) as it:
        result = await it.ask("session/new", sessionId="s1", model="offline")
        assert SessionNewResult.model_validate(result).snapshot.state.model.session == "offline"
        again = await it.ask("session/new", sessionId="s1")
        assert again["snapshot"] == result["snapshot"]
