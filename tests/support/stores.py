"""A store whose logs refuse what they are told to refuse."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from agentls.agent.effects import SettingsWrites
from agentls.agent.workspace import Workspace
from agentls.protocol.events.envelope import MAIN_CHAT, Envelope
from agentls.protocol.requests import SessionSummary
from agentls.sessions.memory import MemoryStore
from agentls.sessions.store import Fence, SessionLog
from tests.support.agents import PersonHost, open_agent


class RefusingLog:
    """A log that takes everything, and writes none of it while its store refuses."""

    def __init__(self, store: "RefusingStore", log: SessionLog) -> None:
        self._store = store
        self._log = log
        self._waiting: list[Envelope | SessionSummary] = []

    @property
    def unsaved(self) -> int:
        return sum(len(item.model_dump_json()) for item in self._waiting)

    def append(self, envelope: Envelope) -> None:
        self._waiting.append(envelope)

    def describe(self, summary: SessionSummary) -> None:
        self._waiting.append(summary)

    async def flush(self, *, durable: bool = False) -> None:
        self._store.attempts += 1
        if self._store.refusal is not None:
            raise self._store.refusal
        waiting, self._waiting = self._waiting, []
        for item in waiting:
            if isinstance(item, Envelope):
                self._log.append(item)
            else:
                self._log.describe(item)
        await self._log.flush(durable=durable)

    def write_now(self) -> None:
        pass

    async def aclose(self) -> None:
        await self.flush(durable=True)
        await self._log.aclose()


class RefusingStore(MemoryStore):
    """Sessions in memory; `refusal` is raised by every log that is to be written."""

    def __init__(self) -> None:
        super().__init__()
        self.refusal: Exception | None = None
        self.attempts = 0

    def create(
        self, session_id: str, chat_id: str = MAIN_CHAT, *, lease: Fence | None = None
    ) -> SessionLog:
        return RefusingLog(self, super().create(session_id, chat_id, lease=lease))

    def open(
        self, session_id: str, chat_id: str = MAIN_CHAT, *, after: int, lease: Fence | None = None
    ) -> SessionLog:
        return RefusingLog(self, super().open(session_id, chat_id, after=after, lease=lease))


def agent_over(
    store: Any, folder: Path, *script: dict[str, Any], host: PersonHost | None = None, **rest: Any
) -> Workspace:
    """Open the agent over `folder` with its sessions in `store`; `rest` are surroundings."""
    options = {key: rest.pop(key) for key in ("mode",) if key in rest}
    made = open_agent(folder, *script, host=host, **options)
    around = replace(made.surroundings, store=store, **rest)
    return Workspace(around, SettingsWrites(folder.parent / "settings.json"))
