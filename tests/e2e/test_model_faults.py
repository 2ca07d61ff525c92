"""Two independent servers of the Messages API, behind a proxy that breaks their answers."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.fault_proxy import FaultProxy, proxied
from tests.support.mocks import (
    HOW_TO_INSTALL,
    INSTALLED,
    PLAIN_ANSWER,
    PLAIN_PROMPT,
    Aimock,
    Llmock,
)
from tests.support.servers import Editor, editor

pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(not INSTALLED, reason=HOW_TO_INSTALL),
]

SECONDS = 60
KEY = "sk-test-0123456789"
PROMPT, ANSWER = PLAIN_PROMPT, PLAIN_ANSWER["text"]
PASSING = [
    ("status:429", "rateLimited"),
    ("retry-after:429:1", "rateLimited"),
    ("status:529", "overloaded"),
    ("retry-after:529:2", "overloaded"),
    ("reset", "connectionLost"),
    ("html:502", "serverFailed"),
    ("status:500", "serverFailed"),
    ("cut:2", "streamBroken"),
    ("end:2", "streamBroken"),
    ("error:2:overloaded_error", "overloaded"),
    ("stall:2", "streamBroken"),
]
LASTING = [
    ("status:401", "KeyRefused"),
    ("status:403", "KeyRefused"),
    ("status:400", "RequestRefused"),
]


@asynccontextmanager
async def broken(folder: Path, upstream: str) -> AsyncGenerator[tuple[Editor, FaultProxy]]:
    """Begin a session whose model is behind a proxy before `upstream`."""
    config = folder.parent / "config"
    config.mkdir(exist_ok=True)
    (config / "settings.json").write_text('{"retry": {"stallSeconds": 1}}')
    async with proxied(upstream) as proxy:
        given = {"ANTHROPIC_BASE_URL": proxy.url, "ANTHROPIC_API_KEY": KEY}
        async with editor(folder, env=given) as it:
            await it.new_session()
            yield it, proxy
            assert await it.client.shut_down() == 0
            assert KEY not in it.client.stderr


async def answered(it: Editor) -> list[dict[str, Any]]:
    """Send the prompt, wait for its end, and return the waits on the way."""
    await it.prompt(PROMPT)
    finished = await it.event("turnFinished", seconds=SECONDS)
    assert (finished["status"], finished["error"]) == ("completed", None)
    assert it.events("answerFinished")[-1]["parts"][0]["text"] == ANSWER
    assert len(it.events("retryEnded")) == len(it.events("retryScheduled"))
    return [event["retry"] for event in it.events("retryScheduled")]


@pytest.mark.parametrize(("fault", "cause"), PASSING)
async def test_llmock_behind_a_fault_is_answered_in_the_end(
    folder: Path, llmock_server: Llmock, fault: str, cause: str
) -> None:
    reply = {"type": "reply", "text": ANSWER}
    # A fault in the middle of an answer has used one up.
    llmock_server.play(reply, reply)
    async with broken(folder, llmock_server.base_url) as (it, proxy):
        proxy.next(fault)
        waits = await answered(it)
        assert [wait["cause"] for wait in waits] == [cause]
        if fault.startswith("retry-after"):
            assert waits[0]["delayMs"] >= 1_000 * int(fault.rpartition(":")[2])
    assert llmock_server.ask("GET", "/_llmock/verdict")["findings"] == []


@pytest.mark.parametrize(("fault", "cause"), PASSING)
async def test_aimock_behind_a_fault_is_answered_in_the_end(
    folder: Path, aimock_server: Aimock, fault: str, cause: str
) -> None:
    async with broken(folder, aimock_server.base_url) as (it, proxy):
        proxy.next(fault)
        waits = await answered(it)
        assert [wait["cause"] for wait in waits] == [cause]


@pytest.mark.parametrize(("fault", "kind"), LASTING)
async def test_what_cannot_pass_is_asked_once(
    folder: Path, llmock_server: Llmock, fault: str, kind: str
) -> None:
    llmock_server.play({"type": "reply", "text": ANSWER})
    async with broken(folder, llmock_server.base_url) as (it, proxy):
        proxy.next(fault)
        await it.prompt(PROMPT)
        finished = await it.event("turnFinished", seconds=SECONDS)
        assert (finished["status"], finished["error"]["kind"]) == ("failed", kind)
        assert len(proxy.arrivals) == 1
        assert it.events("retryScheduled") == []
