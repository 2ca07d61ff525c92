"""Clients that do not read, prompts and outputs of any size: memory is bounded, nothing is lost."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil

from agentls.protocol.events.conversation import UserMessageReceived
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.requests import SessionDeltaParams
from agentls.protocol.session_state import SessionSnapshot, SessionState
from agentls.sessions.folder import FolderStore
from agentls.sessions.loading import events
from agentls.state.reduce import reduce
from tests.e2e.observed import SECONDS, is_passing, log_of, scripted, until
from tests.support.raw_client import RawClient
from tests.support.scenarios import calls, says
from tests.support.servers import Editor, editor

MIB = 1 << 20
STALL_SECONDS = 10.0
DELTAS = 5_000

Report = Callable[[str, object], None]


async def test_a_client_that_does_not_read_for_ten_seconds_of_deltas(
    folder: Path, record_testsuite_property: Report
) -> None:
    pieces = [f"{number:<38}😀\n" for number in range(DELTAS)]
    text = "".join(pieces)
    stream = {"text": text, "chunk": len(pieces[0]), "delayMs": 1}
    script = scripted(folder, stream, says("Still here."))
    async with editor(folder, *script) as it:
        began = SessionSnapshot.model_validate(await it.new_session())
        async with memory_of(it.client.pid) as memory:
            it.client.stop_reading()
            await it.client.send_request(
                "agent/session/prompt", {"sessionId": "s1", "text": "Count."}
            )
            await asyncio.sleep(STALL_SECONDS)
            # The server goes on with its work, whether anybody reads of it or not.
            await until(lambda: log_ends_with(folder, "turnFinished"))
            assert it.events("turnFinished") == []
            it.client.go_on_reading()
            await it.event("turnFinished", seconds=SECONDS)
        record_testsuite_property("rss_growth_mib_of_5000_deltas_unread", memory.growth // MIB)
        assert memory.growth < 64 * MIB
        assert list(it.streamed().values()) == [text]
        assert len(it.client.notifications("agent/session/delta")) < DELTAS
        assert it.events("answerFinished")[-1]["parts"][0]["text"] == text
        await check_the_view(it, began)
        await it.prompt("Are you there?")
        await it.event("turnFinished", 2, seconds=SECONDS)
        assert await it.client.shut_down() == 0


async def test_a_client_that_falls_too_far_behind_is_sent_the_state_in_its_place(
    folder: Path, record_testsuite_property: Report
) -> None:
    prompts = 12
    script = scripted(folder, *(says(f"Answer {n}.") for n in range(prompts + 1)))
    async with editor(folder, *script) as it:
        began = SessionSnapshot.model_validate(await it.new_session())
        async with memory_of(it.client.pid) as memory:
            it.client.stop_reading()
            for number in range(prompts):
                params = {"sessionId": "s1", "text": f"{number} " + "lorem ipsum " * (MIB // 12)}
                await it.client.send_request("agent/session/prompt", params)
            await until(lambda: log_of_kind(folder, "turnFinished") == prompts)
            it.client.go_on_reading()
            await it.client.wait_for_notification("agent/session/didReset", seconds=SECONDS)
        record_testsuite_property("rss_growth_mib_of_12_mib_unread", memory.growth // MIB)
        assert memory.growth < 400 * MIB
        await it.prompt("And now in short.")
        await until(lambda: turns_seen(it) == prompts + 1)
        await check_the_view(it, began)
        assert len(it.events("turnFinished")) < prompts
        assert await it.client.shut_down() == 0


async def test_a_huge_output_of_a_tool_reaches_the_client_cut_and_costs_little(
    folder: Path, record_testsuite_property: Report
) -> None:
    command = "head -c 200000000 /dev/zero | tr '\\0' 'x' | fold -w 100; echo; echo the end"
    script = scripted(folder, calls("Bash", command=command), says("Done."))
    async with editor(folder, *script) as it:
        began = SessionSnapshot.model_validate(await it.new_session())
        await it.prompt("Write.")
        async with memory_of(it.client.pid) as memory:
            await it.answer("allow")
            finished = await it.event("turnFinished", seconds=SECONDS)
        record_testsuite_property("rss_growth_mib_of_200_mb_of_output", memory.growth // MIB)
        assert finished["status"] == "completed"
        assert memory.growth < 64 * MIB
        (call,) = it.events("toolCallFinished")
        told = call["content"][0]["text"]
        assert len(told) < 40_000
        assert told.startswith("xxxx")
        assert "the end" in told
        await check_the_view(it, began)
        assert await it.client.shut_down() == 0
    assert (folder / ".agentls/sessions/s1.jsonl").stat().st_size < MIB


async def test_a_prompt_of_fifty_megabytes_is_taken_and_kept(
    folder: Path, record_testsuite_property: Report
) -> None:
    text = "0123456789abcde\n" * (50 * MIB // 16)
    async with editor(folder, *scripted(folder, says("A lot."), says("Short."))) as it:
        await it.new_session()
        async with memory_of(it.client.pid) as memory:
            asked = await it.client.send_request(
                "agent/session/prompt", {"sessionId": "s1", "text": text, "turnId": "t1"}
            )
            assert await it.client.result_of(asked, SECONDS) == {"turnId": "t1", "queued": False}
            await until(lambda: turns_seen(it) == 1)
        record_testsuite_property("rss_growth_mib_of_a_50_mib_prompt", memory.growth // MIB)
        assert memory.growth < 1_000 * MIB
        await it.prompt("Now a short one.")
        await until(lambda: turns_seen(it) == 2)
        shut = await it.client.send_request("shutdown")
        await it.client.result_of(shut, SECONDS)
    kept = [envelope.event for envelope in events(FolderStore(folder / ".agentls"), "s1")]
    received = [event for event in kept if isinstance(event, UserMessageReceived)]
    assert [event.content[0].text for event in received] == [text, "Now a short one."]


class Memory:
    """How much a process has grown while it was looked at."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self._first = self._most = self._process.memory_info().rss

    @property
    def growth(self) -> int:
        """Bytes by which its resident memory was larger than at first, at its largest."""
        return self._most - self._first

    def look(self) -> None:
        self._most = max(self._most, self._process.memory_info().rss)


@asynccontextmanager
async def memory_of(pid: int) -> AsyncGenerator[Memory]:
    """Watch a process's memory."""
    memory = Memory(pid)

    async def watch() -> None:
        while True:
            memory.look()
            await asyncio.sleep(0.05)

    watching = asyncio.create_task(watch())
    try:
        yield memory
        memory.look()
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def check_the_view(it: Editor, began: SessionSnapshot) -> None:
    """What the client was sent adds up to what the server has; so do the slices."""
    asked = (await it.ask("state/get", sessionId="s1"))["snapshot"]
    server = SessionSnapshot.model_validate(asked)
    assert view_of(it.client, began) == server.state
    merged = json.loads(began.model_dump_json())["slices"]
    for change in it.client.notifications("agent/state/didChange"):
        merged |= {key: value for key, value in change.items() if key in merged}
    assert merged == asked["slices"]


def view_of(client: RawClient, began: SessionSnapshot) -> SessionState:
    """Return the state that the snapshots, events and deltas of a client add up to."""
    state, seq = began.state, began.seq
    for message in client.messages:
        match message.get("method"):
            case "agent/session/didReset":
                reset = SessionSnapshot.model_validate(message["params"]["snapshot"])
                state, seq = reset.state, reset.seq
            case "agent/session/event":
                envelope = Envelope.model_validate(message["params"])
                assert is_passing(envelope) or envelope.seq == seq + 1
                state, seq = reduce(state, envelope), envelope.seq
            case "agent/session/delta":
                delta = SessionDeltaParams.model_validate(message["params"])
                state = reduce(state, as_event(delta))
            case _:
                pass
    return state


def as_event(delta: SessionDeltaParams) -> Envelope:
    fields = delta.model_dump(exclude={"session_id", "chat_id", "seq"})
    return Envelope.model_validate(
        {
            "seq": delta.seq,
            "session_id": delta.session_id,
            "chat_id": delta.chat_id,
            "turn_id": None,
            "origin": None,
            "at": "2026-01-01T00:00:00.000Z",
            "event": {"type": "partDelta"} | fields,
        }
    )


def turns_seen(it: Editor) -> int:
    """Return how many turns the client knows to be over, from events or a snapshot."""
    count = 0
    for message in it.client.messages:
        match message.get("method"):
            case "agent/session/didReset":
                history = message["params"]["snapshot"]["state"]["history"]
                count = sum(entry["type"] == "answer" for entry in history)
            case "agent/session/event":
                count += message["params"]["event"]["type"] == "turnFinished"
            case _:
                pass
    return count


def log_of_kind(folder: Path, kind: str) -> int:
    return sum(line["event"]["type"] == kind for line in log_of(folder))


def log_ends_with(folder: Path, kind: str) -> bool:
    return [line["event"]["type"] for line in log_of(folder)[-1:]] == [kind]
