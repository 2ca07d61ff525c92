"""The same turn against a second server, llmock, and what becomes of the faults it can make."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.e2e.click_turn import (
    ANSWERS,
    CORE,
    LAST_WORDS,
    PROMPT,
    SPLIT_ANSWER,
    SPLIT_PROMPT,
    TODOS,
    WHY_NOT,
    ClickTree,
    check_requests_of_the_api,
    check_results,
)
from tests.support.mocks import HOW_TO_INSTALL, INSTALLED, Aimock, Llmock, MockServer, llmock_reply
from tests.support.scripts import IMPATIENT
from tests.support.servers import Editor, editor, write_settings

pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(not INSTALLED, reason=HOW_TO_INSTALL),
]

KEY = "sk-test-0123456789"
SECONDS = 60
HALF_SAID = "This answer is 👋 cut off in its middle, and nobody knows how it would have ended."


@asynccontextmanager
async def session(tree: ClickTree, base_url: str) -> AsyncGenerator[Editor]:
    """Begin a session in `tree` whose model is behind `base_url`."""
    given = {"ANTHROPIC_BASE_URL": base_url, "ANTHROPIC_API_KEY": KEY}
    async with editor(tree.folder, env=given) as it:
        await it.new_session()
        yield it
        assert await it.client.shut_down() == 0
        assert KEY not in it.client.stderr


async def test_the_turn_against_another_server(tree: ClickTree, llmock_server: Llmock) -> None:
    llmock_server.play(*(llmock_reply(answer) for answer in ANSWERS))
    async with session(tree, llmock_server.base_url) as it:
        await it.prompt(PROMPT)
        await it.answer("allow", 1)
        await it.answer("deny", 2, reason=WHY_NOT)
        finished = await it.event("turnFinished", seconds=SECONDS)
        assert (finished["status"], finished["error"]) == ("completed", None)
        (said,) = it.events("answerFinished")[-1]["parts"]
        assert said["text"] == it.streamed()[said["id"]] == LAST_WORDS
        snapshot = (await it.ask("state/get", sessionId="s1"))["snapshot"]
        assert snapshot["slices"]["todos"] == TODOS
        assert snapshot["slices"]["usage"]["responses"] == len(ANSWERS)
        counted = [event["usage"] for event in it.events("usageRecorded")]
        for kind in ("inputTokens", "outputTokens"):
            total = snapshot["slices"]["usage"]["total"][kind]
            assert total == sum(usage[kind] for usage in counted) > 0
    bodies = llmock_server.bodies()
    assert len(bodies) == len(ANSWERS)
    results = check_requests_of_the_api(bodies)
    denied = f"The user denied this call: the user said no: {WHY_NOT}."
    check_results(results, tree, why_denied=denied)
    assert tree.changed() == {CORE: tree.edited_core()}
    assert llmock_server.ask("GET", "/_llmock/verdict")["findings"] == []


@pytest.mark.parametrize(
    ("fault", "cause", "least_ms"),
    [
        ({"type": "fail", "status": 429, "retry_after": 1}, "rateLimited", 1000),
        ({"type": "fail", "status": 529}, "overloaded", 1000),
        ({"type": "fail", "status": 500}, "serverFailed", 500),
        *(
            ({"type": "stream_fault", "kind": kind, "after_chunks": 6}, "streamBroken", 0)
            for kind in ("disconnect", "truncate", "malformed")
        ),
    ],
)
async def test_a_fault_that_passes_costs_a_wait_and_not_the_turn(
    tree: ClickTree, llmock_server: Llmock, fault: dict[str, Any], cause: str, least_ms: int
) -> None:
    half, whole = {"type": "reply", "text": HALF_SAID}, {"type": "reply", "text": "All is well."}
    streams = fault["type"] == "stream_fault"
    llmock_server.play(fault, *([half] if streams else []), whole)
    async with session(tree, llmock_server.base_url) as it:
        await it.prompt("First try.")
        assert (await it.event("turnFinished", seconds=SECONDS))["status"] == "completed"
        (scheduled,) = it.events("retryScheduled")
        retry = scheduled["retry"]
        assert (retry["cause"], retry["attempt"], retry["parked"]) == (cause, 1, False)
        assert least_ms <= retry["delayMs"] <= least_ms * 1.25
        kept = [part["text"] for e in it.events("answerFinished") for part in e["parts"]]
        assert kept == ["All is well."], "a part that broke off is not kept beside the whole one"
        *halves, last = it.streamed().values()
        assert (last, len(halves)) == ("All is well.", streams)
        assert all(HALF_SAID.startswith(text) for text in halves)
    said = [message["content"] for message in llmock_server.bodies()[-1]["messages"]]
    assert [block["text"] for content in said for block in content] == ["First try."]


@pytest.mark.parametrize(
    ("fault", "kind", "told"),
    [
        (
            {"type": "fail", "status": 429, "retry_after": 0},
            "RateLimited",
            "no more requests",
        ),
        ({"type": "fail", "status": 529, "retry_after": 0}, "Overloaded", "overloaded"),
        ({"type": "fail", "status": 500}, "ServerFailed", "status 500"),
        (
            {"type": "stream_fault", "kind": "disconnect", "after_chunks": 6},
            "StreamBroken",
            "broke off",
        ),
        (
            {"type": "stream_fault", "kind": "truncate", "after_chunks": 6},
            "StreamBroken",
            "before it was complete",
        ),
        (
            {"type": "stream_fault", "kind": "malformed", "after_chunks": 6},
            "StreamBroken",
            "no event of the Messages API",
        ),
        ({"type": "fail", "status": 401}, "KeyRefused", "ANTHROPIC_API_KEY"),
        ({"type": "fail", "status": 400}, "RequestRefused", "refused the request"),
    ],
)
async def test_a_fault_that_lasts_ends_the_turn_and_not_the_session(
    tree: ClickTree, llmock_server: Llmock, fault: dict[str, Any], kind: str, told: str
) -> None:
    write_settings(tree.folder, retry=IMPATIENT)
    half, whole = {"type": "reply", "text": HALF_SAID}, {"type": "reply", "text": "All is well."}
    streams = fault["type"] == "stream_fault"
    llmock_server.play(*([fault, half] * 2 if streams else [fault]), whole)
    async with session(tree, llmock_server.base_url) as it:
        await it.prompt("First try.")
        finished = await it.event("turnFinished", seconds=SECONDS)
        error = finished["error"]
        assert (finished["status"], error["kind"]) == ("failed", kind)
        assert error["retryable"] is (kind not in ("KeyRefused", "RequestRefused"))
        assert told in error["message"]
        assert llmock_server.url in error["message"]
        kept = [part["text"] for e in it.events("answerFinished") for part in e["parts"]]
        assert kept == list(it.streamed().values())[-1:], "of the last try, all that came"
        assert [HALF_SAID.startswith(text) for text in kept] == [True] * streams
        activity = (await it.ask("state/get", sessionId="s1"))["snapshot"]["slices"]["activity"]
        assert (activity["status"], activity["error"]) == ("error", error)

        await it.prompt("Second try.")
        finished = await it.event("turnFinished", 2, seconds=SECONDS)
        assert finished["status"] == "completed"
        assert it.events("answerFinished")[-1]["parts"][0]["text"] == "All is well."
    said = [message["content"] for message in llmock_server.bodies()[-1]["messages"]]
    texts = [block["text"] for content in said for block in content]
    assert texts == ["First try.", *kept, "Second try."]


async def test_a_server_that_is_gone_is_named_and_may_come_back(
    tree: ClickTree, llmock_server: Llmock
) -> None:
    write_settings(tree.folder, retry=IMPATIENT)
    nobody = MockServer(9)  # the port of the discard service, at which nobody listens
    async with session(tree, nobody.url) as it:
        await it.prompt("Is anybody there?")
        error = (await it.event("turnFinished", seconds=SECONDS))["error"]
        assert (error["kind"], error["retryable"]) == ("Unreachable", True)
        assert nobody.url in error["message"]
        assert "ANTHROPIC_BASE_URL" in error["message"]
    llmock_server.play({"type": "reply", "text": "Here."})
    async with editor(tree.folder, env={"ANTHROPIC_BASE_URL": llmock_server.base_url}) as it:
        await it.ask("session/load", sessionId="s1")
        await it.prompt("And now?")
        assert (await it.event("turnFinished", seconds=SECONDS))["status"] == "completed"
    (body,) = llmock_server.bodies()
    assert [message["role"] for message in body["messages"]] == ["user"]
    texts = [block["text"] for block in body["messages"][0]["content"]]
    assert texts == ["Is anybody there?", "And now?"]


@pytest.mark.parametrize(
    ("kind", "told", "sent_back"),
    [
        ("unknown_tool", "There is no tool", {"file_path": CORE}),
        ("malformed_arguments", "arguments are not a JSON object", {}),
    ],
)
async def test_a_call_that_makes_no_sense_is_told_to_the_model(
    tree: ClickTree,
    llmock_server: Llmock,
    kind: str,
    told: str,
    sent_back: dict[str, Any],
) -> None:
    call = {"name": "Read", "arguments": {"file_path": CORE}}
    llmock_server.play(
        {"type": "tool_fault", "kind": kind},
        {"type": "reply", "text": "", "tool_calls": [call]},
        {"type": "reply", "text": "I see."},
    )
    async with session(tree, llmock_server.base_url) as it:
        await it.prompt("Read something.")
        assert (await it.event("turnFinished", seconds=SECONDS))["status"] == "completed"
        (finished,) = it.events("toolCallFinished")
        assert finished["outcome"] == "error"
        assert told in finished["content"][0]["text"]
    *_, answer, results = llmock_server.bodies()[-1]["messages"]
    (written,), (result,) = answer["content"], results["content"]
    assert (written["input"], written["id"]) == (sent_back, result["tool_use_id"])
    assert result["is_error"] is True


async def test_a_character_that_the_server_cuts_in_two_is_put_together(
    tree: ClickTree, aimock_server: Aimock
) -> None:
    async with session(tree, aimock_server.base_url) as it:
        await it.prompt(SPLIT_PROMPT)
        finished = await it.event("turnFinished", seconds=SECONDS)
        assert (finished["status"], finished["error"]) == ("completed", None)
        (said,) = it.events("answerFinished")[-1]["parts"]
        assert said["text"] == it.streamed()[said["id"]] == SPLIT_ANSWER
