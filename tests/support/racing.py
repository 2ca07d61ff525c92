"""What tests of races share: an agent over a model of their own, and how a session stands."""

import asyncio
from pathlib import Path
from typing import Any

from agentls.agent.session import Session
from agentls.agent.workspace import Workspace
from agentls.protocol.content import text_of
from agentls.protocol.history import Answer, UserMessage
from agentls.sessions.loading import load
from tests.support.agents import open_agent, until
from tests.support.gates import GatedModel
from tests.support.lives import settled

SLEEPS = ("Bash(sleep:*)", "Bash(echo:*)")
QUESTION = {
    "question": "Which of them?",
    "header": "Which",
    "options": [{"label": "This"}, {"label": "That"}],
}


def gated(folder: Path, model: GatedModel, **options: Any) -> Workspace:
    workspace = open_agent(folder, model="offline", **options)
    workspace.surroundings.catalog.resolve = lambda name: model  # type: ignore[method-assign]
    return workspace


def said(session: Session) -> list[str]:
    history = session.state.history
    return [text_of(entry.content[:1]) for entry in history if isinstance(entry, UserMessage)]


def answered(session: Session) -> list[str]:
    answers = [entry for entry in session.state.history if isinstance(entry, Answer)]
    return [part.text for answer in answers for part in answer.parts if part.type == "text"]


def status(session: Session) -> tuple[str, str]:
    last = session.state.last_turn
    assert last is not None
    return last.id, last.status


async def rest(session: Session) -> None:
    async with asyncio.timeout(10):
        await session.idle()


def check_loads(workspace: Workspace, session: Session) -> None:
    for whole in (False, True):
        loaded = load(workspace.surroundings.store, session.id, whole=whole).state
        assert settled(loaded) == settled(session.state)


async def goes_on_and_closes(workspace: Workspace, session: Session) -> None:
    """Check that the next turn is as any other, and that what is on disk is what was seen."""
    session.prompt("Next.", turn_id="next")
    await rest(session)
    assert status(session) == ("next", "completed")
    await workspace.aclose()
    check_loads(workspace, session)


async def waiting(session: Session, name: str = "") -> Any:
    """Return the call that waits for a person."""

    def found() -> list[Any]:
        calls = session.state.calls.values()
        return [c for c in calls if c.status == "waiting" and c.name.startswith(name)]

    await until(found)
    return found()[0]
