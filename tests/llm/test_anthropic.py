"""The SDK and our reading of it, over real loopback HTTP."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import orjson
import pytest

from agentls.config.secrets import Credentials
from agentls.errors import (
    ConfigurationError,
    ConnectionLost,
    KeyRefused,
    ModelError,
    Overloaded,
    PromptTooLong,
    RateLimited,
    RequestRefused,
    ServerFailed,
    StreamBroken,
    TryAgainLater,
    Unreachable,
)
from agentls.llm.anthropic import AnthropicModel, request_body
from agentls.llm.model import ModelRequest, ToolSpec
from benchmarks.messages_api import MessagesApi, serving
from tests.support.scenarios import collect, input_of, text_of

KEY = "sk-test-0123456789"


@pytest.fixture
async def api() -> AsyncIterator[MessagesApi]:
    async with serving() as api:
        yield api


@pytest.fixture
async def model(api: MessagesApi) -> AsyncIterator[AnthropicModel]:
    model = AnthropicModel(Credentials(api_key=KEY, base_url=api.url))
    yield model
    await model.aclose()


def asking(text: str, **rest: Any) -> ModelRequest:
    messages = ({"role": "user", "content": [{"type": "text", "text": text}]},)
    return ModelRequest(model="claude-test", system="Be brief.", messages=messages, **rest)


async def failing(model: AnthropicModel, text: str) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await collect(model, asking(text))
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


async def test_text_streams_in_deltas(model: AnthropicModel) -> None:
    events = await collect(model, asking("[[text:Hello there, you]]"))

    assert text_of(events) == "Hello there, you"
    assert sum(event["type"] == "content_block_delta" for event in events) == 3
    assert [events[0]["type"], events[-1]["type"]] == ["message_start", "message_stop"]
    assert events[0]["message"]["model"] == "claude-test"
    assert events[-2]["usage"]["output_tokens"] == 10


async def test_tool_calls_come_with_their_input_in_pieces(model: AnthropicModel) -> None:
    events = await collect(model, asking("[[parallel:3:src/{i}.py]]"))

    blocks = [e["content_block"] for e in events if e["type"] == "content_block_start"]
    assert [block["name"] for block in blocks] == ["Read"] * 3
    assert input_of(events, 2) == {"file_path": "src/2.py"}
    assert events[-2]["delta"]["stop_reason"] == "tool_use"


async def test_thinking_keeps_its_signature(model: AnthropicModel) -> None:
    events = await collect(model, asking("[[thinking:hm:hello]]"))

    deltas = [e["delta"] for e in events if e["type"] == "content_block_delta"]
    assert {"type": "signature_delta", "signature": "signed:hm"} in deltas


async def test_one_connection_serves_request_after_request(
    api: MessagesApi, model: AnthropicModel
) -> None:
    for _ in range(3):
        await collect(model, asking("[[text:hello]]"))

    assert api.connections == 1


async def test_reader_that_stops_at_the_last_event_keeps_the_connection(
    api: MessagesApi, model: AnthropicModel
) -> None:
    for _ in range(2):
        async with aclosing(model.stream(asking("[[text:hello]]"))) as events:
            async for event in events:
                if event["type"] == "message_stop":
                    break

    assert api.connections == 1


async def test_key_is_sent_and_the_request_is_whole(
    api: MessagesApi, model: AnthropicModel
) -> None:
    tool = ToolSpec("Read", "Reads a file.", {"type": "object", "properties": {}})
    await collect(model, asking("hello", tools=(tool,), max_tokens=7, metadata={"user_id": "u"}))

    assert api.headers["authorization"] == f"Bearer {KEY}"
    assert api.requests[-1] == {
        "model": "claude-test",
        "max_tokens": 7,
        "stream": True,
        "metadata": {"user_id": "u"},
        "tools": [
            {
                "name": "Read",
                "description": "Reads a file.",
                "input_schema": {"type": "object", "properties": {}},
                "cache_control": {"type": "ephemeral"},
            }
        ],
        "system": [
            {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
        ],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}}
                ],
            }
        ],
    }  # fmt: skip


async def test_auth_token_is_sent_where_there_is_no_key(
    api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "from-the-environment")
    model = AnthropicModel(Credentials(auth_token="token-12345678", base_url=api.url))
    await collect(model, asking("hello"))
    await model.aclose()

    assert api.headers["authorization"] == "Bearer token-12345678"


async def test_base_url_alone_is_enough(api: MessagesApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    model = AnthropicModel(Credentials(base_url=api.url + "/v1/"))
    assert text_of(await collect(model, asking("[[text:hello]]"))) == "hello"
    await model.aclose()


async def test_model_that_was_closed_answers_again(api: MessagesApi, model: AnthropicModel) -> None:
    await collect(model, asking("hello"))
    await model.aclose()
    await model.aclose()

    assert text_of(await collect(model, asking("[[text:again]]"))) == "again"


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        ("[[status:401]]", KeyRefused),
        ("[[status:403]]", KeyRefused),
        ("[[status:400]]", RequestRefused),
        ("[[status:402]]", RequestRefused),
        ("[[status:404]]", RequestRefused),
        ("[[status:422]]", RequestRefused),
        ("[[status:400:prompt is too long: 210000 tokens > 200000 maximum]]", PromptTooLong),
        ("[[status:413]]", PromptTooLong),
        ("[[status:429]]", RateLimited),
        ("[[status:500]]", ServerFailed),
        ("[[status:503]]", ServerFailed),
        ("[[status:529]]", Overloaded),
        ("[[html:502]]", ServerFailed),
        ("[[html:503]]", ServerFailed),
        ("[[page]]", RequestRefused),
        ("[[refuse]]", ConnectionLost),
        ("[[cut-early]]", ConnectionLost),
        ("[[cut]]", StreamBroken),
        ("[[eof]]", StreamBroken),
        ("[[garbage]]", StreamBroken),
        ("[[error-event:overloaded_error]]", Overloaded),
        ("[[error-event:rate_limit_error]]", RateLimited),
        ("[[error-event:authentication_error]]", KeyRefused),
        ("[[error-event:invalid_request_error]]", RequestRefused),
        ("[[error-event:invalid_request_error:prompt is too long]]", PromptTooLong),
        ("[[error-event:api_error]]", StreamBroken),
        ("[[error-event:something_new]]", StreamBroken),
    ],
)
async def test_refusal_is_named_for_what_it_is(
    api: MessagesApi, model: AnthropicModel, prompt: str, kind: type[ModelError]
) -> None:
    error = await failing(model, prompt)

    assert type(error) is kind
    assert api.url in str(error)


async def test_server_is_asked_once_however_it_fails(
    api: MessagesApi, model: AnthropicModel
) -> None:
    await failing(model, "[[status:529]]")

    assert len(api.requests) == 1


async def test_wait_that_the_server_asks_for_is_passed_on(model: AnthropicModel) -> None:
    error = await failing(model, "[[retry-after:7]]")

    assert isinstance(error, TryAgainLater)
    assert error.retry_after == 7


async def test_refused_key_says_which_variable_and_what_to_do(
    api: MessagesApi, model: AnthropicModel
) -> None:
    assert str(await failing(model, "[[echo-key:401]]")) == (
        f"{api.url} refused the key in ANTHROPIC_API_KEY: invalid key: Bearer [credential]. Set "
        "ANTHROPIC_API_KEY to a key that this server accepts and start again, or choose the model "
        "`offline`."
    )


async def test_server_that_wants_a_key_is_told_from_one_that_refuses_it(api: MessagesApi) -> None:
    model = AnthropicModel(Credentials(base_url=api.url))
    error = await failing(model, "[[status:401]]")
    await model.aclose()

    assert "wants a key, and ANTHROPIC_API_KEY is not set" in str(error)


async def test_page_of_html_is_cut_to_its_title(model: AnthropicModel) -> None:
    assert str(await failing(model, "[[html:502]]")).endswith("failed with status 502: Bad Gateway")


async def test_server_that_is_not_there_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    model = AnthropicModel(Credentials(api_key=KEY, base_url=f"http://127.0.0.1:{port}"))
    error = await failing(model, "hello")
    await model.aclose()

    assert isinstance(error, Unreachable)
    assert f"http://127.0.0.1:{port} cannot be reached: " in str(error)


async def test_text_before_a_cut_has_been_passed_on(model: AnthropicModel) -> None:
    events = model.stream(asking("[[cut]]"))
    begun = [await anext(events) for _ in range(4)]
    with pytest.raises(StreamBroken):
        await anext(events)

    assert text_of(begun) == "Half of "


async def test_cancelling_closes_the_connection(api: MessagesApi, model: AnthropicModel) -> None:
    begun = asyncio.Event()

    async def read() -> None:
        async for event in model.stream(asking("[[slow:20:" + "word " * 200 + "]]")):
            if event["type"] == "content_block_delta":
                begun.set()

    reading = asyncio.create_task(read())
    await begun.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading

    async with asyncio.timeout(5):
        await api.hung_up.wait()
    assert text_of(await collect(model, asking("[[text:next]]"))) == "next"


async def test_closing_the_stream_closes_the_connection(
    api: MessagesApi, model: AnthropicModel
) -> None:
    async with aclosing(model.stream(asking("[[slow:20:" + "word " * 200 + "]]"))) as events:
        await anext(events)

    async with asyncio.timeout(5):
        await api.hung_up.wait()


async def test_requests_at_once_share_one_client(api: MessagesApi, model: AnthropicModel) -> None:
    answers = await asyncio.gather(
        *(collect(model, asking(f"[[text:answer {n}]]")) for n in range(5))
    )

    assert [text_of(events) for events in answers] == [f"answer {n}" for n in range(5)]


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://x", "http://", "http://[", ""])
def test_address_that_is_none_is_named(url: str) -> None:
    if not url:
        assert AnthropicModel(Credentials(api_key=KEY, base_url=url))
        return
    with pytest.raises(ConfigurationError, match="ANTHROPIC_BASE_URL is '"):
        AnthropicModel(Credentials(base_url=url))


def test_login_in_an_address_is_not_shown() -> None:
    with pytest.raises(ConfigurationError) as caught:
        AnthropicModel(Credentials(base_url="ftp://me:secret@host"))

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-\nbroken-in-two", "sk-clé-à-moi"])
def test_key_that_cannot_be_sent_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ConfigurationError, match="ANTHROPIC_API_KEY") as caught:
        AnthropicModel(Credentials(api_key=key))

    assert key not in str(caught.value)


def test_request_is_not_changed_by_its_cache_marks() -> None:
    request = asking("hello", tools=(ToolSpec("Read", "Reads.", {}),))
    before = orjson.dumps(request.messages)
    request_body(request)

    assert orjson.dumps(request.messages) == before


def test_numbers_of_any_size_can_be_sent() -> None:
    call = {"type": "tool_use", "id": "t", "name": "Read", "input": {"offset": 2**80}}
    request = ModelRequest("m", "", ({"role": "assistant", "content": [call]},))

    assert str(2**80).encode() in request_body(request)


def test_module_does_not_import_the_sdk() -> None:
    script = (
        "import sys, agentls.llm.anthropic, agentls.llm.catalog, agentls.llm.normalise;"
        "import agentls.llm.retry, agentls.llm.scripted, agentls.llm.watchdog;"
        "print([m for m in ('anthropic', 'httpx2', 'httpx') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert ran.stdout == "[]\n"
