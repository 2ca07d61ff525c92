"""Models think where they can and the settings let them, and what does not know of it is served."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from agentls.llm.model import ModelRequest, StreamEvent
from agentls.llm.server_errors import Refusal, Server
from agentls.llm.stream_events import WrittenAnswer, answer_events
from agentls.protocol.history import Answer
from benchmarks.messages_api import serving
from tests.support.agents import open_agent

MODEL = "claude-sonnet-5-5"
KEY = {"ANTHROPIC_API_KEY": "sk-test-0123456789"}


class WithoutThinking:
    """A gateway that refuses what it does not know."""

    def __init__(self) -> None:
        self.asked: list[bool] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        self.asked.append(request.thinking)
        if request.thinking:
            message = "thinking: Extra inputs are not permitted"
            error = {"type": "invalid_request_error", "message": message}
            raise Server("http://gateway", "ANTHROPIC_API_KEY", ()).refusal(
                Refusal(400, {"error": error})
            )
        answer = WrittenAnswer("m1", request.model, ({"type": "text", "text": "Yes."},), "end_turn")
        for event in answer_events(answer):
            yield event


async def asked(folder: Path, settings: str, **options: Any) -> dict[str, Any]:
    """Return the request that a prompt leads to."""
    (folder.parent / "config").mkdir()
    (folder.parent / "config/settings.json").write_text(settings)
    async with serving() as api:
        environment = KEY | {"ANTHROPIC_BASE_URL": api.url}
        workspace = open_agent(folder, environment=environment, **options)
        session = await workspace.new_session()
        session.prompt("[[thinking:hm:Hello.]]")
        await session.idle()
        parts = session.state.history[-1].parts
        assert [part.type for part in parts] == ["thinking", "text"]
        await workspace.aclose()
        return api.requests[-1]


async def test_a_model_that_can_think_is_asked_to(folder):
    request = await asked(folder, "{}", model=MODEL)
    assert request["thinking"]["type"] == "adaptive"
    assert request["max_tokens"] == 32_000


@pytest.mark.parametrize(
    ("settings", "model"),
    [('{"thinking": "off"}', MODEL), ("{}", "qwen3"), ("{}", "claude-haiku-4-5")],
)
async def test_no_other_is(folder, settings, model):
    assert "thinking" not in await asked(folder, settings, model=model)


async def test_a_server_that_does_not_know_of_it_is_asked_again_without(folder):
    workspace = open_agent(folder, model=MODEL, environment=KEY)
    model = WithoutThinking()
    workspace.surroundings.catalog.resolve = lambda name: model  # type: ignore[method-assign]
    session = await workspace.new_session()
    for _ in range(2):
        session.prompt("Well?")
        await session.idle()
    assert model.asked == [True, False, False]
    assert isinstance(session.state.history[-1], Answer)
    assert session.state.last_turn.status == "completed"
    await workspace.aclose()
