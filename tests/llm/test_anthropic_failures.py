"""What goes wrong on the way to a model and back, over real loopback sockets."""

import asyncio
import shutil
import socket
from pathlib import Path
from typing import Any

import orjson
import pytest

from agentls.config.secrets import Credentials
from agentls.errors import (
    ConnectionLost,
    ModelError,
    Overloaded,
    RateLimited,
    RequestRefused,
    ServerFailed,
    StreamBroken,
    StreamStalled,
    TryAgainLater,
    Unreachable,
)
from agentls.llm import anthropic
from agentls.llm.anthropic import AnthropicModel
from agentls.llm.model import ModelRequest
from agentls.llm.server_errors import refuses_thinking
from tests.support.raw_answers import EVENT_STREAM, PAGE, answering, refusal, untrusted
from tests.support.scenarios import collect

START = b'data: {"type": "message_start", "message": {}}\n\n'


async def failing(url: str, **rest: Any) -> ModelError:
    messages = ({"role": "user", "content": [{"type": "text", "text": "hello"}]},)
    model = AnthropicModel(Credentials(api_key="sk-test-0123456789", base_url=url))
    try:
        with pytest.raises(ModelError) as caught:
            await collect(model, ModelRequest("claude-opus-5-5", "", messages, **rest))
    finally:
        await model.aclose()
    assert "\n" not in str(caught.value)
    return caught.value


def told(kind: str, message: str = "as scripted", **details: Any) -> str:
    error = {"type": kind, "message": message, "details": details or None}
    return orjson.dumps({"type": "error", "error": error}).decode()


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refusal(502, PAGE, "text/html"), ServerFailed),
        (refusal(503, PAGE, "text/html"), ServerFailed),
        (refusal(504, "", "text/plain"), ServerFailed),
        (refusal(408, told("timeout_error")), ServerFailed),
        (refusal(500, told("overloaded_error")), Overloaded),
        (refusal(500, told("rate_limit_error")), RateLimited),
        (b"", ConnectionLost),
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/ev", ConnectionLost),
        (b"SSH-2.0-OpenSSH_9.6\r\n", ConnectionLost),
        (EVENT_STREAM, StreamBroken),
        (EVENT_STREAM + START, StreamBroken),
        (EVENT_STREAM.replace(b"connection: close", b"content-length: 999") + START, StreamBroken),
        (EVENT_STREAM.replace(b"connection: close", b"content-length: 999"), ConnectionLost),
        (EVENT_STREAM + f"data: {told('overloaded_error')}\n\n".encode(), Overloaded),
        (EVENT_STREAM + START + f"data: {told('brand_new_error')}\n\n".encode(), StreamBroken),
    ],
)
async def test_failure_is_named_for_what_it_is(answer: bytes, kind: type[ModelError]) -> None:
    async with answering(answer) as url:
        error = await failing(url)

    assert type(error) is kind
    assert url in str(error)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
async def test_every_refusal_passes_on_the_wait_it_asks_for(status: int) -> None:
    async with answering(refusal(status, PAGE, "text/html", retry_after="7")) as url:
        error = await failing(url)

    assert isinstance(error, TryAgainLater)
    assert error.retry_after == 7


async def test_wait_in_milliseconds_is_the_finer_one() -> None:
    answer = refusal(429, told("rate_limit_error"), retry_after="2", retry_after_ms="1500")
    async with answering(answer) as url:
        error = await failing(url)

    assert isinstance(error, RateLimited)
    assert error.retry_after == 1.5


async def test_spent_account_is_not_asked_again() -> None:
    body = told("rate_limit_error", "Until December", error_code="enforced_spend_limit_reached")
    async with answering(refusal(429, body)) as url:
        error = await failing(url)

    assert type(error) is RequestRefused
    assert "limit of spending is reached: Until December" in str(error)


async def test_name_that_leads_nowhere_is_unreachable() -> None:
    error = await failing("http://nowhere.invalid:8080")

    assert type(error) is Unreachable
    assert "http://nowhere.invalid:8080 cannot be reached: " in str(error)


async def test_server_that_does_not_take_connections_is_unreachable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(anthropic, "CONNECT_TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(address)
        error = await failing(f"http://127.0.0.1:{address[1]}")
        for one in waiting:
            one.close()

    assert type(error) is Unreachable
    assert "no connection within" in str(error)


@pytest.mark.parametrize("begun", [b"", EVENT_STREAM, EVENT_STREAM + START])
async def test_server_that_says_nothing_more_has_stalled(
    begun: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anthropic, "READ_TIMEOUT", 0.3)
    done = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(begun)
        await done.wait()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    error = await failing(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    done.set()
    server.close()
    await server.wait_closed()

    assert type(error) is StreamStalled
    assert "no byte within" in str(error)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
async def test_certificate_that_is_not_trusted_is_no_matter_of_time(tmp_path: Path) -> None:
    async with answering(b"", untrusted(tmp_path)) as url:
        error = await failing(url)

    assert type(error) is RequestRefused
    assert str(error).startswith(f"The certificate of {url} is not trusted: ")


@pytest.mark.parametrize(
    "words",
    [
        "thinking.adaptive.block_binding: Extra inputs are not permitted",
        "Unexpected value(s) `thinking-binding-controls-2026-08-01` for the `anthropic-beta` "
        "header",
        '"thinking.type.adaptive" is not supported for this model',
        "adaptive thinking is not supported on this model",
        "thinking: Extra inputs are not permitted",
    ],
)
async def test_server_that_knows_no_thinking_can_be_told(words: str) -> None:
    async with answering(refusal(400, told("invalid_request_error", words))) as url:
        error = await failing(url, thinking=True)

    assert type(error) is RequestRefused
    assert refuses_thinking(error)
    assert words in str(error)


@pytest.mark.parametrize(
    "words",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
        "different conversation. Remove the block, or set "
        '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".',
        "messages.13.content.0.thinking.cache_control: Extra inputs are not permitted",
        "max_tokens: too many",
    ],
)
async def test_other_refusals_are_not_taken_for_that(words: str) -> None:
    async with answering(refusal(400, told("invalid_request_error", words))) as url:
        error = await failing(url, thinking=True)

    assert isinstance(error, RequestRefused)
    assert not refuses_thinking(error)
