"""Four hundred turns in a small window: what must not be lost is not, and nothing else piles up."""

import asyncio
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import orjson
import psutil

from agentls.agent.session import Session
from agentls.llm.model import ModelRequest, StreamEvent
from agentls.llm.stream_events import WrittenAnswer, answer_events, estimated_usage
from agentls.protocol.history import Summary
from agentls.sessions.loading import load
from tests.support.agents import Story, open_agent, results
from tests.support.api_rules import violations
from tests.support.lives import settled

TURNS = int(os.environ.get("AGENTLS_TURNS", "400"))
WINDOW = 24_000
PATH = "src/engine/turbine_blade.py"
CONSTRAINT = "Never change the file vendor/LICENSE-7741.txt."
FAILING_TEST = "tests/test_turbine.py::test_spin_up_9a3f"
DETAIL = "the launch code of the second turn is zebra-4711-quartz"
FIRST_PROMPT = f"Work on {PATH}. {CONSTRAINT} Begin by running the tests."
MEGABYTES = 1 << 20


class SoakModel:
    """A model that reads, runs and answers by the turn, and whose summaries remember nothing."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.refused: list[str] = []
        self.summaries = 0
        self._answers = 0
        self._calls = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        messages = orjson.loads(orjson.dumps(list(request.messages)))
        self.refused += violations(messages)
        self.requests = [orjson.dumps([request.system, messages])]
        blocks = tuple(self._blocks(messages))
        self._answers += 1
        reason = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
        usage = estimated_usage(request, blocks)
        answer = WrittenAnswer(f"msg_{self._answers}", request.model, blocks, reason, usage)
        for event in answer_events(answer, chunk=2_000):
            yield event

    def _blocks(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        last = messages[-1]["content"]
        texts = [block["text"] for block in last if block["type"] == "text"]
        if texts and "Write the summary that takes its place" in texts[-1]:
            self.summaries += 1
            return [
                {"type": "text", "text": "## Done\nVarious things were done, all of them well."}
            ]
        if any(block["type"] == "tool_result" for block in last):
            return [{"type": "text", "text": f"Seen. {'All is well here. ' * 20}"}]
        return [self._call(texts[-1])]

    def _call(self, prompt: str) -> dict[str, Any]:
        name, arguments = "Read", {"file_path": "notes.txt"}
        if prompt == FIRST_PROMPT:
            name, arguments = "Bash", {"command": "sh failing.sh"}
        elif prompt.startswith("Recall"):
            name, arguments = "Recall", {"query": "launch code second turn"}
        self._calls += 1
        return {"type": "tool_use", "id": f"toolu_{self._calls}", "name": name, "input": arguments}


async def test_nothing_that_matters_is_lost_in_four_hundred_turns(folder: Path) -> None:
    (folder / "notes.txt").write_text("".join(f"note {n}: nothing new\n" for n in range(150)))
    (folder / "failing.sh").write_text(f"echo 'FAILED {FAILING_TEST} - AssertionError'; exit 1\n")
    model = SoakModel()
    session, workspace = await _session(folder, model)
    story = Story(session)
    memory: dict[int, int] = {}
    for number in range(1, TURNS + 1):
        await _turn(session, _prompt(number))
        story.moments.clear()
        if number in (TURNS // 4, TURNS):
            memory[number] = psutil.Process().memory_info().rss
    sent = model.requests[-1].decode()
    assert PATH in sent
    assert CONSTRAINT in sent
    assert FAILING_TEST in sent
    assert model.refused == []
    assert model.summaries > TURNS // 40
    assert isinstance(session.state.history[0], Summary)
    assert DETAIL not in sent
    await _turn(session, "Recall what was said of the launch code.")
    assert "zebra-4711-quartz" in results(session)[-1]
    grown = memory[TURNS] - memory[TURNS // 4]
    print(f"{model.summaries} compactions, memory grew by {grown / MEGABYTES:.1f} MB")  # noqa: T201
    assert grown < 40 * MEGABYTES
    live = session.state
    await workspace.aclose()
    assert settled(load(workspace.surroundings.store, "soak").state) == settled(live)


def _prompt(number: int) -> str:
    if number == 1:
        return FIRST_PROMPT
    if number == 2:
        return f"Note that {DETAIL}."
    return f"Step {number}: look at the notes again, and tell me whether anything has changed."


async def _turn(session: Session, prompt: str) -> None:
    session.prompt(prompt)
    async with asyncio.timeout(60):
        await session.idle()
    assert session.state.last_turn is not None
    assert session.state.last_turn.status == "completed", session.state.last_turn


async def _session(folder: Path, model: SoakModel) -> tuple[Session, Any]:
    config = folder.parent / "config"
    config.mkdir()
    settings = {
        "models": {"offline": {"contextWindow": WINDOW, "maxOutput": 2_000}},
        "permissions": {"allow": ["Bash(sh:*)"]},
    }
    (config / "settings.json").write_bytes(orjson.dumps(settings))
    workspace = open_agent(folder, model="offline")
    workspace.surroundings.catalog.resolve = lambda name: model  # type: ignore[method-assign]
    return await workspace.new_session("soak"), workspace
