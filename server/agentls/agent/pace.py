"""How time passes for an agent: as on the wall, or as a test has it."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agentls.state.event_store import Clock, utc_now


@dataclass(frozen=True, slots=True)
class Pace:
    """A clock, waits that it agrees with, and chance."""

    clock: Clock = utc_now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    """Waits for so many seconds; the clock has gone on by as much when it returns."""
    jitter: Callable[[], float] = random.random
    """A number from 0 to 1, so that many clients do not try again all at once."""
