"""Cancellation, and requests from the server to the client."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.raw_client import SILENCE, RawClient, RpcError, spawn

SERVER = [sys.executable, Path(__file__).parents[1] / "support" / "wire_server.py"]

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared() -> AsyncIterator[RawClient]:
    async with spawn(SERVER) as client:
        await client.initialize()
        yield client


@pytest_asyncio.fixture(loop_scope="module")
async def client(shared: RawClient) -> AsyncIterator[RawClient]:
    shared.messages.clear()
    shared.answers.clear()
    yield shared
    assert await shared.request("test/echo", {"alive": True}) == {"alive": True}


async def test_a_cancelled_request_is_stopped_and_says_so(client: RawClient) -> None:
    id_ = await client.send_request("test/sleep", {"seconds": 60})
    await client.wait_for_notification("test/sleeping")
    await client.notify("$/cancelRequest", {"id": id_})
    with pytest.raises(RpcError, match="-32800"):
        await client.result_of(id_)
    await client.wait_for_notification("test/cancelled")


async def test_a_request_that_finishes_all_the_same_is_answered(client: RawClient) -> None:
    id_ = await client.send_request("test/stubborn", {})
    await client.wait_for_notification("test/sleeping")
    await client.notify("$/cancelRequest", {"id": id_})
    assert await client.result_of(id_) == "finished anyway"


async def test_a_cancelled_command_stops_what_it_does(client: RawClient) -> None:
    id_ = await client.send_request("workspace/executeCommand", {"command": "test.sleep"})
    await client.wait_for_notification("test/sleeping")
    await client.notify("$/cancelRequest", {"id": id_})
    with pytest.raises(RpcError, match="-32800"):
        await client.result_of(id_)
    await client.wait_for_notification("test/cancelled")


@pytest.mark.parametrize("params", [{"id": 999}, {"id": "unheard"}, {"id": [1]}, {}, None], ids=str)
async def test_a_cancel_of_nothing_is_ignored(client: RawClient, params: object) -> None:
    await client.notify("$/cancelRequest", params)
    await client.request("test/echo", {})
    assert not client.errors_without_id()


async def test_the_client_is_asked_and_its_answer_arrives_typed(client: RawClient) -> None:
    client.answers["agent/test/echo"] = lambda params: {"text": params["text"] + " yes"}
    assert await client.request("test/ask", {}) == {"text": "there? yes"}


async def test_a_standard_request_to_the_client_is_answered_in_lsp_types(
    client: RawClient,
) -> None:
    client.answers["window/showMessageRequest"] = lambda params: params["actions"][0]
    assert await client.request("test/ask", {"lsp": True}) == "Yes"


async def test_a_dismissed_question_is_none(client: RawClient) -> None:
    client.answers["window/showMessageRequest"] = lambda params: None
    assert await client.request("test/ask", {"lsp": True}) is None


async def test_a_client_that_refuses_is_an_error_with_its_code(client: RawClient) -> None:
    with pytest.raises(RpcError, match="-32601: no agent/test/echo here"):
        await client.request("test/ask", {})


@pytest.mark.parametrize("answer", [{}, 5, {"text": 5}], ids=str)
async def test_an_answer_of_the_wrong_shape_is_an_error(client: RawClient, answer: object) -> None:
    client.answers["agent/test/echo"] = lambda params: answer
    with pytest.raises(RpcError, match="agent/test/echo is not understood"):
        await client.request("test/ask", {})


async def test_a_dismissal_that_is_an_empty_object_is_an_error_not_a_yes(
    client: RawClient,
) -> None:
    client.answers["window/showMessageRequest"] = lambda params: {}
    with pytest.raises(RpcError, match="window/showMessageRequest is not understood"):
        await client.request("test/ask", {"lsp": True})


async def test_a_question_that_times_out_is_cancelled_and_its_late_answer_ignored(
    client: RawClient,
) -> None:
    client.answers["agent/test/echo"] = lambda params: SILENCE
    assert await client.request("test/ask", {"within": 0.05}) == "timed out"
    [asked] = [m for m in client.messages if m.get("method") == "agent/test/echo"]
    assert client.notifications("$/cancelRequest") == [{"id": asked["id"]}]
    await client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"text": "late"}})
    await client.send({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": 1, "message": "x"}})
    await client.request("test/echo", {})
    assert not client.notifications("window/showMessage")


async def test_cancelling_a_request_cancels_what_it_asked_the_client(client: RawClient) -> None:
    for params in ({}, {"lsp": True}):
        client.messages.clear()
        client.answers["agent/test/echo"] = lambda params: SILENCE
        client.answers["window/showMessageRequest"] = lambda params: SILENCE
        id_ = await client.send_request("test/ask", params)
        asked = await client.wait_until(
            lambda: [m for m in client.messages if "method" in m and "id" in m], "the question"
        )
        await client.notify("$/cancelRequest", {"id": id_})
        with pytest.raises(RpcError, match="-32800"):
            await client.result_of(id_)
        cancelled = await client.wait_for_notification("$/cancelRequest")
        assert cancelled == {"id": asked[0]["id"]}


async def test_a_client_that_does_not_read_holds_up_only_itself(client: RawClient) -> None:
    before = await client.request("test/loop", {})
    client.stop_reading()
    flood = await client.send_request("test/flood", {"count": 5_000, "size": 1_000})
    await asyncio.sleep(3)
    client.go_on_reading()
    backlog = (await client.result_of(flood))["backlog"]
    after = await client.request("test/loop", {})
    numbers = [params["n"] for params in client.notifications("test/flooded")]
    assert numbers == list(range(5_000))
    assert backlog > 4_000_000
    # It came round all the while; had it waited for the client, a handful of times.
    assert after["ticks"] - before["ticks"] > 100
