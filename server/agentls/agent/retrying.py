"""Has the model asked again when its side has failed, as often and as late as is of use."""

import math
from datetime import datetime, timedelta

from agentls.agent.chat import Chat
from agentls.agent.surroundings import Surroundings
from agentls.errors import AgentError, TryAgainLater
from agentls.llm.retry import RetryLimits, RetryPlan, retry_of
from agentls.protocol.events.conversation import ErrorInfo
from agentls.protocol.events.retries import RetryEnded, RetryScheduled, RetryWait
from agentls.state.event_store import timestamp

LONGEST_SLEEP = 30.0
"""Seconds. A machine that was suspended sleeps on where its clock has gone on; it is looked at."""


class Retries:
    """Plans the tries of one turn. What has failed before is in the state, and nowhere else."""

    def __init__(self, turn_id: str, chat: Chat, surroundings: Surroundings) -> None:
        self._turn_id = turn_id
        self._chat = chat
        self._surroundings = surroundings

    def may_try_again(self, error: TryAgainLater) -> bool:
        """Whether the model is to be asked again after this."""
        return self._plan(error, jitter=0.0) is not None

    def schedule(self, error: TryAgainLater) -> bool:
        """Put on record when the model is asked again; return False where it is not."""
        plan = self._plan(error, self._surroundings.pace.jitter())
        turn = self._chat.state.turn
        if plan is None or turn is None:
            return False
        resumes_at = self._surroundings.clock() + timedelta(milliseconds=plan.delay_ms)
        wait = RetryWait(
            cause=plan.cause,
            error=ErrorInfo(kind=type(error).__name__, message=str(error), retryable=True),
            attempt=plan.attempt,
            max_attempts=plan.max_attempts,
            delay_ms=plan.delay_ms,
            resumes_at=timestamp(resumes_at),
            parked=plan.parked,
        )
        self._chat.emit(RetryScheduled(parent=turn.message_id, retry=wait), turn_id=self._turn_id)
        return True

    async def wait(self, wait: RetryWait) -> None:
        """Return when it is time to ask again."""
        until = datetime.fromisoformat(wait.resumes_at)
        while (left := (until - self._surroundings.clock()).total_seconds()) > 0:
            await self._surroundings.pace.sleep(min(left, LONGEST_SLEEP))
        turn = self._chat.state.turn
        assert turn is not None, "a turn waits for as long as it runs"
        self._chat.emit(RetryEnded(parent=turn.message_id), turn_id=self._turn_id)

    def _plan(self, error: TryAgainLater, jitter: float) -> RetryPlan | None:
        turn = self._chat.state.turn
        if turn is None:
            return None
        plan = retry_of(
            error,
            failed=turn.failed_tries,
            waited_ms=turn.waited_ms,
            limits=self._limits(),
            fast=self._chat.state.model.fast is not None,
            jitter=jitter,
        )
        # A script is better told than kept waiting for hours: its exit code says to try again.
        is_too_long = plan is not None and plan.parked and not self._surroundings.host.can_ask()
        return None if is_too_long else plan

    def _limits(self) -> RetryLimits:
        settings = self._surroundings.settings().settings.retry
        return RetryLimits(
            rate_limited=settings.rate_limit_seconds,
            overloaded=settings.overload_seconds,
            network=settings.network_seconds,
        )


def asked_wait(error: AgentError) -> str:
    """Return, to be said behind an error, for how long the server asks to be left alone."""
    seconds = error.retry_after if isinstance(error, TryAgainLater) else None
    if not seconds or not math.isfinite(seconds):
        return ""
    minutes, rest = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{n} {unit}" for n, unit in ((hours, "h"), (minutes, "min"), (rest, "s")) if n]
    return f" (it asks to be left alone for {' '.join(parts)})"
