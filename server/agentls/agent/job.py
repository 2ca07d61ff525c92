"""What a task does: a command, or an agent at work."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from agentls.checkpoints.observed import Observed
from agentls.tasks.output import CommandOutput


class Job(Protocol):
    """Something that is done beside the conversation, and can be ended."""

    @property
    def output(self) -> CommandOutput:
        """What it has written."""
        ...

    @property
    def has_ended(self) -> bool:
        """Whether it is over."""
        ...

    @property
    def exit_code(self) -> int:
        """0 where it did what it should; counts once it is over."""
        ...

    async def wait(self) -> None:
        """Return when it is over."""
        ...

    async def end_gently(self, *, everywhere: bool) -> tuple[str, ...]:
        """Have it end, and return when it has."""
        ...

    def kill(self) -> None:
        """End it at once."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


@dataclass(slots=True)
class RunningTask:
    """A task that runs in this process."""

    task_id: str
    job: Job
    observe: Callable[[], Awaitable[Observed]]
    """Finds what it did to files, at its end."""
    stop_reason: str | None = None
    """Why it is to be ended; None while it is not."""
    closing: bool = False
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    work: "asyncio.Task[None] | None" = None

    def end(self, reason: str) -> None:
        """Have it ended; the first reason counts."""
        if self.stop_reason is None:
            self.stop_reason = reason
        self.stop.set()
