"""The same tries over real connections: a proxy breaks the answers of a server of the API."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agentls.agent.session import Session
from agentls.protocol.events import retries
from agentls.protocol.history import Answer
from benchmarks.messages_api import serving
from tests.support.agents import Story, open_agent
from tests.support.fake_time import FakeTime
from tests.support.fault_proxy import FaultProxy, proxied

KEY = "sk-test-0123456789"
MODEL = "claude-sonnet-5-5"
SETTINGS = '{"retry": {"stallSeconds": 1, "firstWordSeconds": 1}}'


class Run:
    def __init__(self, session: Session, story: Story, time: FakeTime, proxy: FaultProxy) -> None:
        self.session = session
        self.story = story
        self.time = time
        self.proxy = proxy

    async def prompt(self, text: str) -> None:
        self.session.prompt(text)
        async with asyncio.timeout(30):
            await self.session.idle()

    @property
    def waits(self) -> list[tuple[str, float]]:
        told = [moment.envelope.event for moment in self.story.moments if moment.envelope]
        scheduled = [event.retry for event in told if isinstance(event, retries.RetryScheduled)]
        return [(retry.cause, retry.delay_ms / 1000) for retry in scheduled]

    @property
    def answers(self) -> list[Answer]:
        return [entry for entry in self.session.state.history if isinstance(entry, Answer)]

    @property
    def error(self) -> str | None:
        last = self.session.state.last_turn
        return last.error.kind if last and last.error else None


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Run]:
    config = folder.parent / "config"
    config.mkdir(exist_ok=True)
    (config / "settings.json").write_text(SETTINGS)
    async with serving() as api, proxied(api.url) as proxy:
        time = FakeTime()
        environment = {"ANTHROPIC_BASE_URL": proxy.url, "ANTHROPIC_API_KEY": KEY}
        workspace = open_agent(folder, model=MODEL, pace=time.pace, environment=environment)
        await workspace.surroundings.catalog.prepare(MODEL)  # its import would count as a silence
        session = await workspace.new_session()
        story = Story(session)
        yield Run(session, story, time, proxy)
        await workspace.aclose()


@pytest.mark.parametrize(
    ("fault", "waits", "error"),
    [
        ("status:429", [("rateLimited", s) for s in (0.5, 1, 2, 4, 8, 16, 32, 32, 32)],
         "RateLimited"),
        ("status:529", [("overloaded", 1), ("overloaded", 2)], "Overloaded"),
        ("reset", [("connectionLost", 0)], "ConnectionLost"),
        ("html:502", [("serverFailed", s) for s in (0.5, 1, 2, 4)], "ServerFailed"),
        ("status:500", [("serverFailed", s) for s in (0.5, 1, 2, 4)], "ServerFailed"),
        ("cut:2", [("streamBroken", s) for s in (0, 0.5, 1, 2)], "StreamBroken"),
        ("end:3", [("streamBroken", s) for s in (0, 0.5, 1, 2)], "StreamBroken"),
        ("error:2:overloaded_error", [("overloaded", 1), ("overloaded", 2)], "Overloaded"),
        ("error:2:api_error", [("streamBroken", s) for s in (0, 0.5, 1, 2)], "StreamBroken"),
        ("status:401", [], "KeyRefused"),
        ("status:403", [], "KeyRefused"),
        ("status:400", [], "RequestRefused"),
    ],
)  # fmt: skip
async def test_a_fault_that_stays_ends_the_turn_after_its_tries(folder, fault, waits, error):
    async with running(folder) as run:
        run.proxy.next(*[fault] * 20)
        await run.prompt("Say [[text:something]]")
        assert run.waits == waits
        assert run.error == error
        assert len(run.proxy.arrivals) == len(waits) + 1
        run.proxy.faults.clear()
        await run.prompt("Say [[text:something]]")
        assert run.error is None, "a session in error takes the next prompt"


@pytest.mark.parametrize(
    "fault",
    ["status:429", "status:529", "reset", "html:502", "cut:2", "end:3", "error:2:overloaded_error",
     "retry-after:429:47", "retry-after:529:9", "stall:2", "silence"],
)  # fmt: skip
async def test_a_fault_that_passes_is_not_seen_in_the_answer(folder, fault):
    async with running(folder) as run:
        run.proxy.next(fault)
        await run.prompt("Say [[text:all is well]]")
        assert run.error is None
        assert [answer.parts[0].text for answer in run.answers] == ["all is well"]
        assert len(run.waits) == 1
        if fault.startswith("retry-after"):
            assert run.waits[0][1] == float(fault.rpartition(":")[2])


async def test_a_cut_after_a_whole_call_runs_it_and_asks_on(folder):
    async with running(folder) as run:
        run.proxy.next("cut:7")  # the start, a ping, and all of the call's block
        await run.prompt("[[reads:1:a.txt]]")
        assert run.error is None
        assert [answer.stop_reason for answer in run.answers] == ["cut", "endTurn"]
        assert "Read: ok" in run.story.lines
        last = run.proxy.bodies[-1]["messages"]
        assert [message["role"] for message in last] == ["user", "assistant", "user"]


async def test_the_key_is_in_no_wait_and_no_error(folder):
    async with running(folder) as run:
        run.proxy.next("status:529", "status:529", "status:529")
        await run.prompt("Say [[text:x]]")
        told = "".join(m.envelope.model_dump_json() for m in run.story.moments if m.envelope)
        assert KEY not in told
