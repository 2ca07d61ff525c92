"""Models behind a server of the Messages API, by Anthropic's own SDK.

The SDK takes over a second to import, so that happens in a thread, on the first request or when
`prepare` is awaited; nothing else in agentls imports it.
"""

import asyncio
import contextlib
import json
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import orjson

from agentls.config.secrets import Credentials
from agentls.errors import (
    ConfigurationError,
    ConnectionLost,
    ModelError,
    RequestRefused,
    StreamBroken,
    StreamStalled,
    Unreachable,
)
from agentls.llm.blocks import encode, sendable_text
from agentls.llm.model import ModelRequest, StreamEvent
from agentls.llm.server_errors import Refusal, Server, asked_wait, one_line

if TYPE_CHECKING:
    import anthropic
    import httpx2

DEFAULT_BASE_URL = "https://api.anthropic.com"
PLACEHOLDER_KEY = "local"
"""Sent to servers that need no key: with none at all the SDK would look for profiles on disk."""

CONNECT_TIMEOUT = 5.0
READ_TIMEOUT = 600.0
"""Seconds without a byte; a long thought before the first one is normal."""
DRAIN_TIMEOUT = 1.0
"""Seconds that a server has to end its response once the answer is complete."""

CACHE_UP_TO_HERE = {"type": "ephemeral"}
"""A request may have four of them: behind the tools, the system prompt and two messages."""
MARKED_MESSAGES = 2

BINDING_BETA = "thinking-binding-controls-2026-08-01"
BINDING = {"prefix_mismatch_behavior": "drop_block"}
"""Of a thought before which something has changed: it is dropped, and the request goes on. Source:
the API's documentation, "Preserved thinking"."""
BINDING_SINCE = (5, 1)
"""The first version whose thoughts are bound to what came before them. Older models do not need
the setting, and some of their servers refuse it."""


class AnthropicModel:
    """Every model of one server; the request says which. One client, made on first use."""

    def __init__(self, credentials: Credentials) -> None:
        """Check the credentials. Raises ConfigurationError where they cannot be sent."""
        self._base_url = _checked_base_url(credentials.base_url or DEFAULT_BASE_URL)
        self._key = _checked_credential("ANTHROPIC_API_KEY", credentials.api_key)
        self._token = _checked_credential("ANTHROPIC_AUTH_TOKEN", credentials.auth_token)
        self._server = Server(
            url=_without_login(self._base_url),
            credential="ANTHROPIC_API_KEY" if self._key or not self._token
            else "ANTHROPIC_AUTH_TOKEN",
            secrets=tuple(secret for secret in (self._key, self._token) if secret),
        )  # fmt: skip
        self._making = asyncio.Lock()
        self._client: anthropic.AsyncAnthropic | None = None

    async def prepare(self) -> "anthropic.AsyncAnthropic":
        """Return the client; the first time, import the SDK and make it, in a thread."""
        async with self._making:
            if self._client is None:
                self._client = await asyncio.to_thread(self._make_client)
            return self._client

    async def aclose(self) -> None:
        """Close the connections; a later request opens new ones."""
        async with self._making:
            client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Yield the answer's events; see `Model.stream`."""
        response = await self._send(request)
        try:
            await self._check_is_a_stream(response)
            async with contextlib.aclosing(self._events(response)) as events:
                async for event in events:
                    yield event
        finally:
            await response.aclose()

    def _make_client(self) -> "anthropic.AsyncAnthropic":
        import anthropic
        import httpx2

        # One credential and no more, which the SDK would refuse, or none, which it would look for.
        only_token = self._token if not self._key else None
        return anthropic.AsyncAnthropic(
            api_key=None if only_token else self._key or PLACEHOLDER_KEY,
            auth_token=only_token,
            base_url=self._base_url,
            max_retries=0,
            timeout=httpx2.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT),
        )

    async def _send(self, request: ModelRequest) -> "httpx2.Response":
        client = await self.prepare()
        import anthropic
        import httpx2

        # `messages.create` walks and encodes the whole conversation with json, 15 ms for 2,000
        # messages where orjson takes 2; `post` is the SDK's way to send a body as it is.
        try:
            stream = await client.post(
                "/v1/messages",
                content=request_body(request),
                options={"headers": request_headers(request)},
                cast_to=object,
                stream=True,
                stream_cls=anthropic.AsyncStream[object],
            )
        except anthropic.APIStatusError as error:
            raise self._server.refusal(_refusal(error)) from None
        except (anthropic.APIConnectionError, httpx2.RequestError) as error:
            raise self._transport_error(error, begun=False) from error
        return stream.response

    async def _check_is_a_stream(self, response: "httpx2.Response") -> None:
        """Raise RequestRefused for a page or a JSON document where a stream should be."""
        import httpx2

        mime = response.headers.get("content-type", "").partition(";")[0].strip()
        if mime not in ("text/html", "application/json"):
            return
        try:
            await response.aread()
        except httpx2.RequestError as error:
            raise self._transport_error(error, begun=False) from error
        said = self._server.without_secrets(one_line(response.text))
        raise RequestRefused(
            f"{self._server.url} answered with {mime} in place of a stream: {said}. Is "
            "ANTHROPIC_BASE_URL the address of a server of the Messages API?"
        )

    async def _events(self, response: "httpx2.Response") -> AsyncGenerator[StreamEvent, None]:
        import anthropic
        import httpx2

        begun = False
        messages = anthropic.AsyncStream[object].raw_events(response)
        try:
            async for message in messages:
                if not message.data:
                    continue
                event = self._parsed(message.data)
                if event["type"] == "error":
                    raise self._server.refusal(Refusal(200, event, streaming=True))
                begun = True
                if event["type"] == "message_stop":
                    await _drain(messages)
                    yield event
                    return
                yield event
        except httpx2.RequestError as error:
            raise self._transport_error(error, begun=begun) from error
        except UnicodeDecodeError as error:
            raise StreamBroken(f"{self._server.url} sent what is not UTF-8") from error
        raise StreamBroken(f"{self._server.url} ended its answer before it was complete")

    def _parsed(self, data: str) -> StreamEvent:
        try:
            event = orjson.loads(data)
        except orjson.JSONDecodeError:
            event = _with_halves(data)
        if isinstance(event, dict) and isinstance(cast("StreamEvent", event).get("type"), str):
            return cast("StreamEvent", event)
        said = self._server.without_secrets(one_line(data))
        raise StreamBroken(f"{self._server.url} sent what is no event of the Messages API: {said}")

    def _transport_error(self, error: Exception, *, begun: bool) -> ModelError:
        import httpx2

        causes = list(_causes(error))
        reason = self._server.without_secrets(_reason(causes))
        if any(isinstance(cause, httpx2.ReadTimeout) for cause in causes):
            return StreamStalled(f"{self._server.url} gave no more of an answer: {reason}")
        if begun:
            return StreamBroken(f"{self._server.url} broke off its answer: {reason}")
        if any(map(_is_about_certificates, causes)):
            return RequestRefused(f"The certificate of {self._server.url} is not trusted: {reason}")
        if any(isinstance(cause, _not_connected()) for cause in causes):
            return Unreachable(
                f"{self._server.url} cannot be reached: {reason}. Is the network up, and is "
                "ANTHROPIC_BASE_URL right, where it is set?"
            )
        return ConnectionLost(f"{self._server.url} gave no answer: {reason}")


def request_body(request: ModelRequest) -> bytes:
    """Return what is sent, with cache marks behind the tools, the system prompt and what is new.

    The new is what the user's side said last, and what it had said last in the request before: that
    one left its mark there, so its cache is found however much has come since. Nothing in `request`
    is changed; the conversation comes last.
    """
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "stream": True,
    }
    if request.thinking:
        binding = {"block_binding": BINDING} if _binds_thoughts(request.model) else {}
        body["thinking"] = {"type": "adaptive", "display": "summarized", **binding}
    if request.metadata:
        body["metadata"] = request.metadata
    if request.tools:
        tools: list[dict[str, Any]] = [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.input_schema,
            }
            for tool in request.tools
        ]
        tools[-1]["cache_control"] = CACHE_UP_TO_HERE
        body["tools"] = tools
    if request.system.strip():
        text = sendable_text(request.system)
        body["system"] = [{"type": "text", "text": text, "cache_control": CACHE_UP_TO_HERE}]
    known = request.encoded
    rest = encode(_marked(tuple(request.messages[known.count :])))[1:-1]
    comma = b"," if known.json and rest else b""
    return b"".join((encode(body)[:-1], b',"messages":[', known.json, comma, rest, b"]}"))


def request_headers(request: ModelRequest) -> dict[str, str]:
    """Return the headers that are of this request and not of the client."""
    headers = {"Content-Type": "application/json"}
    if request.thinking and _binds_thoughts(request.model):
        headers["anthropic-beta"] = BINDING_BETA
    return headers


def _binds_thoughts(model: str) -> bool:
    version = _VERSION.search(model)
    return version is not None and (int(version[1]), int(version[2] or 0)) >= BINDING_SINCE


_VERSION = re.compile(r"\bclaude-[a-z]+-(\d{1,2})(?:-(\d{1,2}))?(?!\d)")
"""`claude-opus-5-5`, also behind a gateway's prefix; a day behind the name is no minor version."""


def _marked(messages: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
    """Return `messages` with a cache mark on the last block of each of the user's last two."""
    marked = list(messages)
    wanted = MARKED_MESSAGES
    for place in range(len(marked) - 1, -1, -1):
        message = marked[place]
        if wanted and message["role"] == "user" and not isinstance(message["content"], str):
            marked[place] = {**message, "content": _with_mark(message["content"])}
            wanted -= 1
    return tuple(marked)


def _with_mark(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return `blocks` with a mark on the last one that the API lets have it.

    That is none without text, and no thought. Source: its documentation, "Prompt caching".
    """
    for place in range(len(blocks) - 1, -1, -1):
        block = blocks[place]
        if block["type"] not in _NOT_MARKED and str(block.get("text", "x")).strip():
            marked = {**block, "cache_control": CACHE_UP_TO_HERE}
            return [*blocks[:place], marked, *blocks[place + 1 :]]
    return blocks


_NOT_MARKED = ("thinking", "redacted_thinking")


def _with_halves(data: str) -> object:
    """Parse what orjson refuses: some servers cut a character in two, which json lets pass."""
    try:
        return json.loads(data)
    except ValueError:
        return None


def _refusal(error: "anthropic.APIStatusError") -> Refusal:
    return Refusal(error.status_code, error.body, asked_wait(error.response.headers))


async def _drain(messages: AsyncIterator[object]) -> None:
    """Read to the end of the response, so that its connection serves the next request."""
    import httpx2

    with contextlib.suppress(TimeoutError, UnicodeDecodeError, httpx2.RequestError):
        async with asyncio.timeout(DRAIN_TIMEOUT):
            async for _ in messages:
                pass


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _not_connected() -> tuple[type[Exception], ...]:
    """Return the errors of connections that did not come about."""
    import httpx2

    return (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)


def _is_about_certificates(cause: BaseException) -> bool:
    """Whether either side did not accept the other's certificate, which no wait changes."""
    if isinstance(cause, ssl.SSLCertVerificationError):
        return True
    reason = cause.reason if isinstance(cause, ssl.SSLError) else None
    return bool(reason) and any(word in str(reason) for word in ("CERTIFICATE", "UNKNOWN_CA"))


def _reason(causes: list[BaseException]) -> str:
    """Return what lies at the bottom of an error: "Connection refused", "no byte within 600 s"."""
    import httpx2

    for cause in causes:
        if isinstance(cause, httpx2.ConnectTimeout):
            return f"no connection within {CONNECT_TIMEOUT:.0f} s"
        if isinstance(cause, httpx2.TimeoutException):
            return f"no byte within {READ_TIMEOUT:.0f} s"
    for cause in reversed(causes):
        if isinstance(cause, OSError) and (said := cause.strerror or str(cause)):
            return one_line(said)
    # The SDK's own error, the first, says "Connection error." and no more.
    said = next((str(cause) for cause in causes[1:] if str(cause)), str(causes[0]))
    return one_line(said).rstrip(".")


def _checked_base_url(url: str) -> str:
    """Return `url` without a `/v1` at its end, which the SDK adds itself."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise ConfigurationError(
            f"ANTHROPIC_BASE_URL is {_without_login(url)!r}, which is not the address of a server: "
            "write it like http://localhost:11434 or https://gateway.example/anthropic"
        )
    return url.rstrip("/").removesuffix("/v1")


def _checked_credential(name: str, value: str | None) -> str | None:
    value = (value or "").strip()
    if value and not (value.isascii() and value.isprintable()):
        raise ConfigurationError(
            f"{name} holds a character that no key has, such as a line break or an accented "
            "letter: copy the key again and set it anew"
        )
    return value or None


def _without_login(url: str) -> str:
    return re.sub(r"//[^/]*@", "//", url)
