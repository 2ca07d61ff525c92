from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from agentls.llm.model import ModelRequest, StreamEvent
from agentls.llm.scripted import ScriptedModel
from tests.sessions.known_bugs.at_work import Sent
from tests.support.scripts import Script


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small workspace."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "a.txt").write_text("alpha\nbeta\n")
    (workspace / "b.txt").write_text("gamma\n")
    return workspace


@pytest.fixture
def script(tmp_path: Path) -> Script:
    return Script(tmp_path)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """The messages of every request that a scripted model was asked with, as they come."""
    requests: list[list[dict[str, Any]]] = []
    play = ScriptedModel.stream

    def stream(model: ScriptedModel, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        requests.append(list(request.messages))
        return play(model, request)

    monkeypatch.setattr(ScriptedModel, "stream", stream)
    return requests
