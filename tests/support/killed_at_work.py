"""A session at work in a real server that is killed outright, and what must be there afterwards."""

import asyncio
import json
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentls.errors import UnknownSession
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.events.kinds import EphemeralEvent
from agentls.protocol.session_state import SessionState
from agentls.protocol.tasks import FINAL_STATUSES
from agentls.sessions.folder import FolderStore
from agentls.sessions.loaded import LoadedSession
from agentls.sessions.loading import events, load
from agentls.state.reduce import reduce
from agentls.tasks.family import MARK
from benchmarks.messages_api import MessagesApi, serving
from tests.e2e.observed import SECONDS, until
from tests.support.api_rules import violations
from tests.support.fault_proxy import FaultProxy, proxied
from tests.support.raw_client import is_running
from tests.support.servers import AGENTLS, Editor, editor

SLOW = Path(__file__).with_name("throttled_server.py")
OUR_MARK = "AGENTLS_TEST_STAGE"
COMMAND = f"{MARK}=".encode()
KEY = "sk-test-0123456789"
MODEL = "claude-sonnet-5-5"
NOT_IN_LOGS = ("gates", "access", "storage", "live")
"""What a state holds that only the running server knows."""


@dataclass
class Stage:
    """One session that lives through many kills, and what its servers said."""

    folder: Path
    chance: random.Random
    api: MessagesApi
    proxy: FaultProxy
    through_proxy: bool
    round: int = 0
    """How many servers were killed."""
    promised: dict[str, str] = field(default_factory=dict[str, str])
    """What was answered with yes: the words of a prompt, by the id of its turn."""
    done: set[str] = field(default_factory=set[str])
    """Other requests that were answered with yes in this round."""
    told: list[Envelope] = field(default_factory=list[Envelope])
    """The events that were told in this round, but for the passing ones."""
    begun_at: int = 0
    """The number of the last event before this round."""
    kept: list[Envelope] = field(default_factory=list[Envelope])
    """The events of this round in the log that the killed server left: what was told, and maybe
    more, as an event is written before it is told."""
    torn: int = 0
    """How often a log ended within a line."""
    met: Counter[str] = field(default_factory=Counter[str])
    """What the kills met, by name."""
    lost: list[str] = field(default_factory=list[str])

    def id(self, name: str) -> str:
        """Return the id of a turn of this round."""
        return f"{name}-{self.round}"

    def taken(self, name: str) -> bool:
        """Whether the prompt of that name was taken in this round."""
        return self.id(name) in self.promised

    @property
    def kinds(self) -> list[str]:
        """The types of the events of this round in the log that the killed server left."""
        return [envelope.event.type for envelope in self.kept]

    @property
    def store(self) -> FolderStore:
        return FolderStore(self.folder / ".agentls")

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What the model's side was sent, by all servers."""
        return list(self.proxy.bodies if self.through_proxy else self.api.requests)

    @asynccontextmanager
    async def server(self, *, slow: bool = False) -> AsyncGenerator[Editor]:
        """Start a server over the folder, with the log written `slow` and in pieces."""
        url = self.proxy.url if self.through_proxy else self.api.url
        env = {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": KEY,
            OUR_MARK: str(self.folder),
        }
        start = (sys.executable, SLOW) if slow else (AGENTLS,)
        program = (*start, "lsp", "--stdio", "--model", MODEL)
        async with editor(self.folder, program=program, env=env) as it:
            yield it

    async def prompt(self, it: Editor, name: str, text: str, **params: Any) -> None:
        """Send a prompt, and note that it was taken."""
        await it.prompt(text, turnId=self.id(name), **params)
        self.promised[self.id(name)] = text

    async def over(self, it: Editor, name: str) -> str:
        """Wait for the end of a turn of this round, and return how it ended."""

        def found() -> list[str]:
            told = it.client.notifications("agent/session/event")
            return [
                params["event"]["status"]
                for params in told
                if params["turnId"] == self.id(name) and params["event"]["type"] == "turnFinished"
            ]

        what = f"the end of turn {self.id(name)}"
        return (await it.client.wait_until(found, what, SECONDS))[0]

    async def begin_round(self, it: Editor) -> None:
        """Forget what was told before."""
        self.begun_at = (await it.ask("state/get", sessionId="s1"))["snapshot"]["seq"]
        it.client.messages.clear()
        self.round += 1
        self.done.clear()
        self.told.clear()
        self.kept.clear()

    async def kill(self, it: Editor) -> None:
        """Kill the server, and take in what it has told in this round."""
        with suppress(ProcessLookupError):
            os.kill(it.client.pid, signal.SIGKILL)
        code = await it.client.exit_code(SECONDS)
        if code != -signal.SIGKILL:
            self.lost.append(f"the server ended with {code}: {it.client.stderr[-500:]}")
        heard = it.client.notifications("agent/session/event")
        envelopes = [Envelope.model_validate(params) for params in heard]
        self.told = [e for e in envelopes if not isinstance(e.event, EphemeralEvent)]
        self._read_log()

    def _read_log(self) -> None:
        with suppress(UnknownSession):
            kept = events(self.store, "s1")
            self.kept = [envelope for envelope in kept if envelope.seq > self.begun_at]

    def cut_log_after(self, kind: str) -> None:
        """Leave of the log what was there when the first event of a type had been written."""
        log = self.folder / ".agentls/sessions/s1.jsonl"
        lines = log.read_bytes().splitlines(keepends=True)
        types = [json.loads(line).get("event", {}).get("type") for line in lines]
        log.write_bytes(b"".join(lines[: types.index(kind) + 1]))
        self._read_log()

    def has_begun(self) -> bool:
        """Whether there is a log; where there is none, nothing must have been promised."""
        try:
            events(self.store, "s1")
        except UnknownSession:
            self.lost += [f"no log, but prompt {turn_id} was taken" for turn_id in self.promised]
            return False
        return True

    def check_log(self) -> None:
        """Note what was told or promised and is not in the log the killed server left."""
        log = self.folder / ".agentls/sessions/s1.jsonl"
        self.torn += not log.read_bytes().endswith(b"\n")
        kept = {envelope.seq: envelope for envelope in events(self.store, "s1")}
        if sorted(kept) != list(range(1, len(kept) + 1)):
            self.lost.append(f"numbers are missing in the log: {sorted(kept)}")
        loaded = load(self.store, "s1")
        if len(loaded.damage) > self.torn or loaded.message_count_difference:
            self.lost.append(f"damage: {loaded.damage} {loaded.message_count_difference}")
        if any(envelope.event.type == "promptQueued" for envelope in self.told):
            self.lost += [f"told, not kept: {e}" for e in self.told if kept.get(e.seq) != e]
        queued = {e.event.item_id for e in kept.values() if e.event.type == "promptQueued"}
        self.lost += [
            f"prompt {turn} was taken, and lost" for turn in self.promised.keys() - queued
        ]

    def check_snapshot(self, snapshot: dict[str, Any], when: str) -> None:
        """Note where a snapshot says something else than the log adds up to."""
        seq, kept = snapshot["seq"], events(self.store, "s1")
        if kept[-1].seq < seq:
            self.lost.append(f"{when}: the snapshot is at {seq}, the log ends at {kept[-1].seq}")
        state = LoadedSession.empty(SessionState.model_validate(snapshot["state"]).meta).state
        for envelope in kept:
            if envelope.seq <= seq:
                state = reduce(state, envelope)
        said, adds_up = _lasting(snapshot["state"]), _lasting(_dumped(state))
        for name in sorted(said.keys() | adds_up.keys()):
            if said.get(name) != adds_up.get(name):
                self.lost.append(
                    f"{when}: {name} is {json.dumps(said.get(name))[:600]} in the snapshot, "
                    f"{json.dumps(adds_up.get(name))[:600]} by the log"
                )

    def check_requests(self) -> None:
        """Note what the API would have refused, and prompts that no request ever held."""
        bodies = [without_cache_control(body) for body in self.requests]
        for number, body in enumerate(bodies):
            said = violations(body["messages"])
            self.lost += [f"request {number}: {problem}" for problem in said]
        words = "\n".join(json.dumps(body["messages"], ensure_ascii=False) for body in bodies)
        for turn_id, text in self.promised.items():
            if json.dumps(text, ensure_ascii=False)[1:-1] not in words:
                self.lost.append(f"prompt {turn_id} was taken, and the model never saw it")

    async def check_processes(self) -> None:
        """Wait until nothing runs that a server started for a command; note what stays."""
        with suppress(TimeoutError):
            await until(lambda: not processes(self.folder), 10)
        self.lost += [f"still running: {_described(pid)}" for pid in processes(self.folder)]

    def asked_last(self) -> str:
        """Return what the model was sent last, as text."""
        return json.dumps(self.requests[-1]["messages"], ensure_ascii=False)


def processes(folder: Path, *, commands_only: bool = True) -> list[int]:
    """Return what lives of what servers over `folder` have started, by its environment."""
    ours, found = f"{OUR_MARK}={folder}".encode(), list[int]()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            environment = place.joinpath("environ").read_bytes().split(b"\0")
        except OSError:
            continue
        is_command = any(variable.startswith(COMMAND) for variable in environment)
        if (
            ours in environment
            and (is_command or not commands_only)
            and is_running(int(place.name))
        ):
            found.append(int(place.name))
    return found


def _described(pid: int) -> str:
    with suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
        return f"{pid} {words.decode(errors='replace')}"
    return f"{pid}"


def without_cache_control(value: Any) -> Any:
    """Return the body of a request without the marks for the server's cache."""
    if isinstance(value, dict):
        return {k: without_cache_control(v) for k, v in value.items() if k != "cache_control"}
    if isinstance(value, list):
        return [without_cache_control(item) for item in value]
    return value


@asynccontextmanager
async def staged(place: Path, seed: str, *, through_proxy: bool) -> AsyncGenerator[Stage]:
    """Make a workspace, and a server of the API for it, with a proxy before it or not."""
    folder = place / "workspace"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("alpha\nbeta\n")
    async with serving(kept=10_000) as api, proxied(api.url) as proxy:
        try:
            yield Stage(folder, random.Random(seed), api, proxy, through_proxy)
        finally:
            for process in processes(folder, commands_only=False):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)


async def killed(
    stage: Stage,
    it: Editor,
    work: Callable[[Stage, Editor], Coroutine[Any, Any, None]],
    spread: float,
) -> None:
    """Work in a session and kill its server, mostly soon after `work` has reached its moment."""
    await stage.begin_round(it)
    chance = stage.chance.random()
    working = asyncio.create_task(work(stage, it))
    try:
        async with asyncio.timeout(SECONDS):
            if stage.chance.random() < 0.8:
                await asyncio.shield(working)
                # Often at once: what was answered a moment ago is the first to be lost.
                await asyncio.sleep(stage.chance.choice((0.0, 1.0, 1.0)) * chance * spread)
            else:
                await asyncio.sleep(chance * (spread + 0.8))
        await stage.kill(it)
    except TimeoutError:
        kinds = Counter(event["type"] for event in it.events())
        raise AssertionError(f"the moment does not come: {kinds}; {it.events()[-3:]}") from None
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def at_rest(it: Editor, *, choice: str = "") -> None:
    """Wait until no turn runs and nothing is queued; what asks for an approval is denied.

    A prompt that was queued in a mode that a load does not keep asks where it would not have,
    and one that was queued when the server was killed may ask a question now: `choice` answers.
    """
    deadline = asyncio.get_running_loop().time() + SECONDS
    while (state := await it.state())["turn"] or state["queue"]:
        if asyncio.get_running_loop().time() > deadline:
            parts = {name: state[name] for name in ("turn", "queue", "calls", "live", "storage")}
            raise AssertionError(f"no rest: {parts}; {it.client.stderr[-1000:]}")
        for call in state["calls"].values():
            if call["status"] == "waiting" and call["approval"]:
                answer = {"callId": call["id"], "optionId": "deny"}
                await it.ask("approval/answer", sessionId="s1", **answer)
            if call["status"] == "waiting" and call["questions"] and choice:
                answers = [{"selected": [choice]}]
                await it.ask("question/answer", sessionId="s1", callId=call["id"], answers=answers)
        await asyncio.sleep(0.1)


def _dumped(state: SessionState) -> dict[str, Any]:
    return state.model_dump(mode="json", by_alias=True)


def _lasting(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state without what is nowhere but in the server that told it."""
    read = SessionState.model_validate(state)
    tasks = tuple(
        task
        if task.status in FINAL_STATUSES
        else task.model_copy(update={"output_bytes": 0, "last_lines": ""})
        for task in read.tasks
    )
    found = _dumped(read.model_copy(update={"tasks": tasks}))
    return {name: value for name, value in found.items() if name not in NOT_IN_LOGS}
