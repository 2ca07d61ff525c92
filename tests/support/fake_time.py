"""Time that passes only as far as somebody waits for it: minutes of waiting take none."""

import asyncio
from datetime import UTC, datetime, timedelta

from agentls.agent.pace import Pace


class FakeTime:
    """A clock that every sleep moves on; `held`, it stands still until `advance` is called."""

    def __init__(self, *, held: bool = False, jitter: float = 0.0) -> None:
        self.now = datetime(2026, 11, 30, 12, tzinfo=UTC)
        self.sleeps: list[float] = []
        """Seconds of each sleep that was asked for."""
        self._jitter = jitter
        self._held = held
        self._moved = asyncio.Event()

    @property
    def pace(self) -> Pace:
        return Pace(clock=lambda: self.now, sleep=self._sleep, jitter=lambda: self._jitter)

    def advance(self, seconds: float) -> None:
        """Let so many seconds pass."""
        self.now += timedelta(seconds=seconds)
        self._moved.set()
        self._moved = asyncio.Event()

    async def _sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        if not self._held:
            self.now += timedelta(seconds=seconds)
            await asyncio.sleep(0)
            return
        until = self.now + timedelta(seconds=seconds)
        while self.now < until:
            await self._moved.wait()
