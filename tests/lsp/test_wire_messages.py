"""Each kind of bad message gets its JSON-RPC error, and the server lives on."""

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.raw_client import RawClient, RpcError, spawn

SERVER = [sys.executable, Path(__file__).parents[1] / "support" / "wire_server.py"]

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared() -> AsyncIterator[RawClient]:
    async with spawn(SERVER) as client:
        await client.initialize()
        yield client
        assert not client.notifications("window/showMessage")
        assert await client.shut_down() == 0


@pytest_asyncio.fixture(loop_scope="module")
async def client(shared: RawClient) -> AsyncIterator[RawClient]:
    shared.messages.clear()
    yield shared
    assert await shared.request("test/echo", {"alive": True}) == {"alive": True}


async def error_without_id(client: RawClient) -> dict[str, Any]:
    await client.wait_until(client.errors_without_id, "an error without an id")
    [error] = client.errors_without_id()
    return error


async def refusal(client: RawClient, method: str, params: Any = None, **rest: Any) -> RpcError:
    with pytest.raises(RpcError) as caught:
        await client.request(method, params, **rest)
    return caught.value


@pytest.mark.parametrize(
    "body",
    [b"{", b"", b"nonsense", b'{"a": 1,}', b"\xff\xfe", b"NaN", b"[" * 100_000],
    ids=["cut", "empty", "word", "comma", "no-utf8", "nan", "deep"],
)
async def test_malformed_json_is_a_parse_error(client: RawClient, body: bytes) -> None:
    await client.send_body(body)
    assert (await error_without_id(client))["code"] == -32700


async def test_garbage_between_frames_is_a_parse_error(client: RawClient) -> None:
    await client.send_bytes(b"GET / HTTP/1.1\r\nHost: example\r\n\r\n")
    error = await error_without_id(client)
    assert error["code"] == -32700
    assert "GET / HTTP/1.1" in error["message"]


async def test_a_frame_that_claims_to_be_huge_is_a_parse_error(client: RawClient) -> None:
    await client.send_bytes(b"Content-Length: 400000000000\r\n\r\n")
    error = await error_without_id(client)
    assert error["code"] == -32700
    assert "400000000000 bytes is too large" in error["message"]


@pytest.mark.parametrize("value", [5, "text", None, True], ids=str)
async def test_a_message_that_is_no_object_is_an_invalid_request(
    client: RawClient, value: Any
) -> None:
    await client.send(value)
    assert (await error_without_id(client))["code"] == -32600


async def test_a_batch_is_an_invalid_request(client: RawClient) -> None:
    await client.send([{"jsonrpc": "2.0", "id": 900, "method": "test/echo"}])
    error = await error_without_id(client)
    assert error["code"] == -32600
    assert "batches" in error["message"]


@pytest.mark.parametrize("version", ["1.0", 2.0, None], ids=str)
async def test_another_jsonrpc_version_is_refused_under_its_id(
    client: RawClient, version: Any
) -> None:
    error = await refusal(client, "test/echo", {}, jsonrpc=version)
    assert error.code == -32600
    assert "jsonrpc" in error.message


async def test_a_message_without_jsonrpc_is_refused_under_its_id(client: RawClient) -> None:
    await client.send({"id": "no-version", "method": "test/echo"})
    with pytest.raises(RpcError, match="-32600"):
        await client.result_of("no-version")


@pytest.mark.parametrize("id_", [None, 1.5, True, [1], {}], ids=str)
async def test_an_id_that_is_no_id_is_an_invalid_request(client: RawClient, id_: Any) -> None:
    await client.send({"jsonrpc": "2.0", "id": id_, "method": "test/echo", "params": {}})
    error = await error_without_id(client)
    assert error["code"] == -32600
    assert "'id'" in error["message"]


@pytest.mark.parametrize("method", [None, 5, ["a"]], ids=str)
async def test_a_method_that_is_no_string_is_an_invalid_request(
    client: RawClient, method: Any
) -> None:
    id_ = f"method {method}"
    await client.send({"jsonrpc": "2.0", "id": id_, "method": method, "params": {}})
    with pytest.raises(RpcError, match="-32600: 'method' must be a string"):
        await client.result_of(id_)


async def test_an_unknown_method_is_named(client: RawClient) -> None:
    error = await refusal(client, "agent/session/fly", {})
    assert error.code == -32601
    assert "agent/session/fly" in error.message


async def test_an_unknown_notification_is_ignored(client: RawClient) -> None:
    await client.notify("agent/unheard/of", {})
    await client.notify("$/unheardOf", {})


async def test_bad_params_name_the_field_and_what_is_allowed(client: RawClient) -> None:
    error = await refusal(client, "agent/session/list", {"limit": 0})
    assert error.code == -32602
    assert "limit: Input should be greater than or equal to 1" in error.message
    assert error.data["problems"][0]["field"] == "limit"


async def test_bad_params_of_an_lsp_request_name_the_field_as_lsp_writes_it(
    client: RawClient,
) -> None:
    error = await refusal(client, "textDocument/hover", {"position": {"line": "x"}})
    assert error.code == -32602
    assert "textDocument: required" in error.message
    assert "position.line: expected int" in error.message


@pytest.mark.parametrize("params", [[1], "text", 5, False], ids=str)
async def test_params_that_are_no_object_are_refused(client: RawClient, params: Any) -> None:
    for method in ("agent/session/list", "textDocument/hover"):
        assert (await refusal(client, method, params)).code == -32602


async def test_a_custom_request_without_params_takes_the_defaults(client: RawClient) -> None:
    result = await client.request("agent/session/list")
    assert result["sessions"][0]["messageCount"] == 50


async def test_a_custom_request_without_params_it_needs_is_refused(client: RawClient) -> None:
    error = await refusal(client, "agent/session/load")
    assert error.code == -32602
    assert "sessionId: Field required" in error.message


async def test_fields_it_does_not_know_are_ignored(client: RawClient) -> None:
    params = {"limit": 3, "fromTheFuture": {"jsonrpc": "2.0"}}
    result = await client.request("agent/session/list", params)
    assert result["sessions"][0]["messageCount"] == 3


async def test_bad_params_of_a_notification_are_logged_and_not_answered(
    client: RawClient,
) -> None:
    await client.notify("textDocument/didOpen", {"textDocument": 5})
    await client.request("test/echo", {})
    assert not client.errors_without_id()
    await client.wait_until(
        lambda: "textDocument/didOpen is ignored" in client.stderr, "a log line"
    )


async def test_a_result_that_cannot_be_written_is_an_internal_error(client: RawClient) -> None:
    error = await refusal(client, "test/unwritable", {})
    assert error.code == -32603
    assert "Unwritable" in error.message


async def test_half_a_surrogate_pair_in_a_result_becomes_a_question_mark(
    client: RawClient,
) -> None:
    result = await client.request("test/surrogate", {})
    assert result["name"] == "caf?"
    assert result["plan"]["content"] == "?"


async def test_half_a_surrogate_pair_from_the_client_is_taken(client: RawClient) -> None:
    body = b'{"jsonrpc":"2.0","id":"half","method":"test/echo","params":{"text":"a\\ud83db"}}'
    await client.send_body(body)
    assert await client.result_of("half") == {"text": "a?b"}


async def test_a_nested_object_that_looks_like_a_message_is_only_data(client: RawClient) -> None:
    params = {"inner": {"jsonrpc": "2.0", "id": 1, "method": "exit"}, "jsonrpc": "1.0"}
    assert await client.request("test/echo", params) == params


async def test_keys_keep_their_names(client: RawClient) -> None:
    params = {"b-c": 1, "class": {"type_name": 2}}
    assert await client.request("test/echo", params) == params


async def test_a_lower_case_header_is_read(client: RawClient) -> None:
    body = b'{"jsonrpc":"2.0","id":"low","method":"test/echo","params":{}}'
    await client.send_bytes(b"content-length: %d\r\n\r\n%b" % (len(body), body))
    assert await client.result_of("low") == {}


async def test_an_id_in_use_is_refused_and_the_first_request_goes_on(client: RawClient) -> None:
    request = {"jsonrpc": "2.0", "id": "twice", "method": "test/sleep", "params": {"seconds": 60}}
    await client.send(request)
    await client.send(request)
    with pytest.raises(RpcError, match="-32600"):
        await client.result_of("twice")
    await client.notify("$/cancelRequest", {"id": "twice"})
    await client.wait_for_notification("test/cancelled")
    await client.wait_until(
        lambda: [m for m in client.messages if m.get("error", {}).get("code") == -32800],
        "the first request's own answer",
    )


async def test_a_response_to_nothing_is_ignored(client: RawClient) -> None:
    for id_ in ("unheard", 5, None, [1], {}):
        await client.send({"jsonrpc": "2.0", "id": id_, "result": {}})
        await client.send({"jsonrpc": "2.0", "id": id_, "error": "not even an object"})


async def test_a_response_with_the_id_of_the_clients_own_request_changes_nothing(
    client: RawClient,
) -> None:
    id_ = await client.send_request("test/sleep", {"seconds": 0.2})
    await client.send({"jsonrpc": "2.0", "id": id_, "result": "mixed up"})
    assert await client.result_of(id_) == "slept"


async def test_a_second_initialize_is_refused(client: RawClient) -> None:
    error = await refusal(client, "initialize", {"processId": None, "capabilities": {}})
    assert error.code == -32600


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("EmptyPrompt", -32602),
        ("UnknownSession", -32004),
        ("ApprovalAlreadyAnswered", -32005),
        ("NoCredentials", -32006),
        ("LogNotWritten", -32007),
        ("Overloaded", -32008),
        ("AgentError", -32000),
    ],
)
async def test_an_error_raised_on_purpose_keeps_its_text_and_kind(
    client: RawClient, kind: str, code: int
) -> None:
    error = await refusal(client, "agent/session/load", {"sessionId": kind})
    assert (error.code, error.message, error.data["kind"]) == (code, f"{kind} it is", kind)


async def test_a_bug_is_told_in_a_line_and_its_traceback_logged(client: RawClient) -> None:
    error = await refusal(client, "agent/session/load", {"sessionId": "nonsense"})
    assert error.code == -32603
    assert error.data == {"kind": "Bug"}
    assert "LookupError: no such error: nonsense" in error.message
    assert "\n" not in error.message
    await client.wait_until(lambda: "in session_load" in client.stderr, "the traceback")


async def test_what_the_server_sends_of_its_own_is_whole(client: RawClient) -> None:
    [summary] = (await client.request("agent/session/list", {}))["sessions"]
    assert summary["title"] is None
    assert summary["gitBranch"] is None


async def test_empty_fields_of_lsp_messages_are_left_out(client: RawClient) -> None:
    params = {"textDocument": {"uri": "file:///a"}, "position": {"line": 0, "character": 0}}
    hover = await client.request("textDocument/hover", params)
    assert hover == {"contents": {"kind": "markdown", "value": "file:///a"}}


async def test_a_state_change_holds_the_changed_slices_alone_and_each_whole(
    client: RawClient,
) -> None:
    await client.request("test/state", {})
    [change] = client.notifications("agent/state/didChange")
    assert change == {
        "sessionId": "s1",
        "seq": 7,
        "title": None,
        "permissions": {"mode": "default", "rules": []},
    }


async def test_a_print_does_not_harm_the_stream(client: RawClient) -> None:
    assert await client.request("test/print", {}) == "printed"
    for stray in ("a stray line on stdout", "raw bytes on 1", "from a child"):
        await client.wait_until(lambda text=stray: text in client.stderr, stray)


async def test_messages_take_effect_in_the_order_in_which_they_come(client: RawClient) -> None:
    calls = ["test/async", "test/sync"] * 100
    frames = [
        json.dumps({"jsonrpc": "2.0", "method": method, "params": {"n": n}}).encode()
        for n, method in enumerate(calls)
    ]
    await client.send_bytes(b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(f), f) for f in frames))
    assert await client.request("test/order", {}) == list(range(200))


async def test_fifty_megabytes_come_in(client: RawClient) -> None:
    text = "x" * (50 << 20)
    assert await client.request("test/length", {"text": text}) == len(text)


async def test_fifty_megabytes_go_out(client: RawClient) -> None:
    result = await client.request("test/text", {"size": 50 << 20})
    assert len(result["text"]) == 50 << 20
