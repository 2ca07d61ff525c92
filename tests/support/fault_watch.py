"""What a client was told against what is in the log, in these tests of faults."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentls.llm.normalise import Conversation
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.events.kinds import EphemeralEvent
from agentls.protocol.history import UserMessage
from agentls.sessions.folder import FolderStore
from agentls.sessions.loading import events
from tests.e2e.observed import SECONDS, until
from tests.support.agents import open_agent
from tests.support.api_rules import violations
from tests.support.raw_client import RawClient
from tests.support.scenarios import calls, says
from tests.support.servers import Editor

MOST_LOOKS = 1200


def a_turn(folder: Path) -> tuple[dict[str, Any], ...]:
    """Return a script: a command that waits until `go` and then writes 19 KB, and an answer."""
    done = folder.parent / "go"
    looks = f"for i in $(seq {MOST_LOOKS}); do [ -e {done} ] && break; sleep 0.05; done"
    return calls("Bash", command=f"{looks}; seq 4000"), says("It was told.")


@dataclass(frozen=True)
class Told:
    """What a client was told of one session."""

    client: RawClient
    session_id: str = "s1"

    def events(self) -> dict[int, Envelope]:
        """Return the events told that are to be kept, by number; each is told once."""
        found: dict[int, Envelope] = {}
        for params in self.client.notifications("agent/session/event"):
            envelope = Envelope.model_validate(params)
            if envelope.session_id != self.session_id or is_ephemeral(envelope):
                continue
            assert found.setdefault(envelope.seq, envelope) == envelope
        return found


def is_ephemeral(envelope: Envelope) -> bool:
    return isinstance(envelope.event, EphemeralEvent)


def kept(agentls_folder: Path, session_id: str = "s1") -> dict[int, Envelope]:
    """Return the events in a log, by number. Fails where a number is there twice."""
    store = FolderStore(agentls_folder)
    if not store.has(session_id):
        return {}
    found = events(store, session_id)
    assert len({envelope.seq for envelope in found}) == len(found)
    return {envelope.seq: envelope for envelope in found}


def missing(agentls_folder: Path, told: Mapping[int, Envelope], session_id: str = "s1") -> str:
    """Say what was told and is not in the log, or not as it was told; empty where all of it is."""
    there = kept(agentls_folder, session_id)
    lost = [f"{seq} {e.event.type}" for seq, e in told.items() if there.get(seq) != e]
    gaps = sorted(set(range(1, max(there, default=0) + 1)) - set(there))
    return "; ".join([*lost, *(f"no number {seq}" for seq in gaps)])


def torn_lines(log: Path) -> int:
    """Return how many lines of a log cannot be read; the last one must end with a newline."""
    data = log.read_bytes()
    assert data.endswith(b"\n"), data[-200:]
    return sum(not _is_record(line) for line in data.split(b"\n")[:-1])


def _is_record(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


async def all_kept(it: Editor, agentls_folder: Path) -> int:
    """Wait until all that was told is in the log, and return how many events that are."""
    told = Told(it.client)

    def whole() -> bool:
        return not missing(agentls_folder, told.events())

    try:
        await until(whole, 20)
    except TimeoutError:
        raise AssertionError(
            f"told and not kept: {missing(agentls_folder, told.events())}\n{it.client.stderr}"
        ) from None
    return len(told.events())


async def in_trouble(it: Editor, *, words: str = "") -> dict[str, Any]:
    """Wait until the state says that the session cannot be written, and return what it says."""

    def told() -> dict[str, Any] | None:
        trouble = it.slices().get("storage")
        return trouble if trouble and words in trouble["message"] else None

    return await it.client.wait_until(told, f"storage trouble: {words}")


async def out_of_trouble(it: Editor) -> None:
    """Wait until the state says that all is written again."""

    def told() -> bool:
        return "storage" in it.slices() and it.slices()["storage"] is None

    await it.client.wait_until(told, "storage recovered")


async def hears_of(it: Editor, words: str) -> None:
    """Wait until a notice to the user, or the session's state, says these words."""

    def told() -> bool:
        trouble = it.slices().get("storage")
        texts: list[str] = [trouble["message"]] if trouble else []
        for params in it.client.notifications("agent/app/didChange"):
            texts += [notice["message"] for notice in params.get("notices") or ()]
        return any(words in text for text in texts)

    await it.client.wait_until(told, f"the user is told: {words}")


async def waiting(it: Editor) -> None:
    """Wait until the session's activity says that it waits for room."""

    def told() -> bool:
        return it.slices().get("activity", {}).get("status") == "waiting"

    await it.client.wait_until(told, "a turn that waits")


async def begin(it: Editor, **params: Any) -> None:
    """Begin a session and a turn, up to where its command runs and waits for `go`."""
    await it.new_session(**params)
    await it.prompt("Do it.")
    await it.answer("allow")
    await it.event("toolCallStarted")


def go(folder: Path) -> None:
    """Let the command of the turn end."""
    (folder.parent / "go").touch()


async def resumes(folder: Path, turns: int) -> None:
    """Open the session again, as another process would, and work on in it."""
    workspace = open_agent(folder, says("Resumed."))
    try:
        session = await workspace.load_session("s1")
        sent = Conversation().messages(session.state.history)
        assert violations(list(sent)) == []
        prompts = [entry for entry in session.state.history if isinstance(entry, UserMessage)]
        assert len(prompts) == turns
        session.prompt("Go on.", turn_id="after")
        async with asyncio.timeout(SECONDS):
            await session.idle()
        last = session.state.last_turn
        assert last is not None
        assert (last.id, last.status) == ("after", "completed"), last
    finally:
        await workspace.aclose()
