"""When the model is asked again after a failure, and when that is given up.

Pure: what has failed and been waited for so far is given by the caller, who keeps it by cause.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from agentls.errors import (
    ConnectionLost,
    Overloaded,
    RateLimited,
    StreamBroken,
    TryAgainLater,
    Unreachable,
)
from agentls.protocol.events.retries import RetryCause

LONGEST_BACK_OFF = 32.0
"""Seconds, before the jitter."""
JITTER = 0.25
"""How much longer a wait may get by chance, so that many clients do not come back together."""
LONGEST_PARK = 30 * 24 * 3600.0
"""Seconds. A server that asks for more means never, or its clock is wrong."""


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """What the waits for one cause may add up to in a turn, in seconds; parked ones apart."""

    rate_limited: float = 300.0
    overloaded: float = 120.0
    network: float = 60.0
    """For each of the other causes."""

    def of(self, cause: RetryCause) -> float:
        """Return the budget of `cause`."""
        match cause:
            case "rateLimited":
                return self.rate_limited
            case "overloaded":
                return self.overloaded
            case "serverFailed" | "connectionLost" | "unreachable" | "streamBroken":
                return self.network


@dataclass(frozen=True, slots=True)
class RetryPlan:
    """How the model is asked again."""

    cause: RetryCause
    attempt: int
    """How many tries have failed for this cause."""
    max_attempts: int
    """How many there are, the first one included."""
    delay: float
    """Seconds to wait first."""
    parked: bool
    """The server asked for more than is left of the budget."""

    @property
    def delay_ms(self) -> int:
        """Return the wait in whole milliseconds, never fewer than it has."""
        return math.ceil(self.delay * 1000)


@dataclass(frozen=True, slots=True)
class _Rule:
    tries: int
    """The first one included."""
    base: float
    """Seconds before the second try; twice as much before each further one."""
    at_once: bool = False
    """The second try comes without a wait, and the waits begin behind it."""


_RULES: dict[RetryCause, _Rule] = {
    "rateLimited": _Rule(tries=10, base=0.5),
    "overloaded": _Rule(tries=3, base=1.0),
    "serverFailed": _Rule(tries=5, base=0.5),
    "connectionLost": _Rule(tries=2, base=0.0),
    "unreachable": _Rule(tries=5, base=1.0),
    "streamBroken": _Rule(tries=5, base=0.5, at_once=True),
}
_TRIES_OVERLOADED_IN_FAST_MODE = 1


def retry_of(
    error: TryAgainLater,
    *,
    failed: Mapping[str, int],
    waited_ms: Mapping[str, int],
    limits: RetryLimits,
    fast: bool,
    jitter: float,
) -> RetryPlan | None:
    """Return how to go on after `error`; None: it is given up.

    `failed` and `waited_ms` say by cause how many tries have failed before this one, and what was
    waited for them, but for parked waits. `fast`: in fast mode. `jitter` is a number by chance from
    0 to 1. The wait that the server asks for is never undercut; a back-off is cut to what is left
    of the budget, and where nothing is, the model is asked again at once or not at all.
    """
    cause = cause_of(error)
    rule = _RULES[cause]
    tries = _TRIES_OVERLOADED_IN_FAST_MODE if fast and cause == "overloaded" else rule.tries
    attempt = failed.get(cause, 0) + 1
    if attempt >= tries:
        return None
    asked = _asked(error.retry_after)
    if asked > LONGEST_PARK:
        return None
    left = max(0.0, limits.of(cause) - waited_ms.get(cause, 0) / 1000)
    if asked > left:
        return RetryPlan(cause, attempt, tries, asked, parked=True)
    back_off = _back_off(rule, attempt, jitter)
    if back_off > 0 and left == 0:
        return None
    delay = max(asked, min(back_off, left))
    return RetryPlan(cause, attempt, tries, delay, parked=False)


def cause_of(error: TryAgainLater) -> RetryCause:
    """Return what an error is counted as."""
    match error:
        case RateLimited():
            return "rateLimited"
        case Overloaded():
            return "overloaded"
        case ConnectionLost():
            return "connectionLost"
        case Unreachable():
            return "unreachable"
        case StreamBroken():
            return "streamBroken"
        case _:
            return "serverFailed"


def _asked(retry_after: float | None) -> float:
    """Return the wait that the server asks for; 0 where it asks for none that makes sense."""
    if retry_after is None or math.isnan(retry_after):
        return 0.0
    return max(0.0, retry_after)


def _back_off(rule: _Rule, attempt: int, jitter: float) -> float:
    doublings = attempt - 2 if rule.at_once else attempt - 1
    if doublings < 0:
        return 0.0
    return min(LONGEST_BACK_OFF, rule.base * 2**doublings) * (1 + JITTER * jitter)
