"""The port to agents that work on a part of the job in a conversation of their own."""

from dataclasses import dataclass
from typing import Protocol

from agentls.protocol.content import FileChange
from agentls.protocol.tasks import Task


@dataclass(frozen=True, slots=True)
class Report:
    """What an agent has to say when it is done."""

    text: str
    failed: bool
    """It could not do what it was asked; `text` says why."""
    changes: tuple[FileChange, ...] = ()
    """What it did to files."""


class Agents(Protocol):
    """The agents that a session may set to work."""

    async def run(self, prompt: str, *, description: str, call_id: str) -> Report:
        """Have an agent work on `prompt`, and wait for its report. Cancelled, it stops."""
        ...

    async def start(self, prompt: str, *, description: str, call_id: str) -> Task:
        """Have an agent work on `prompt` in the background. Raises as `Background.start`."""
        ...
