import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.errors import (
    ConnectionLost,
    Overloaded,
    RateLimited,
    ServerFailed,
    StreamBroken,
    StreamStalled,
    TryAgainLater,
    Unreachable,
)
from agentls.llm.retry import LONGEST_PARK, RetryLimits, RetryPlan, cause_of, retry_of
from agentls.protocol.events.retries import RetryCause

KINDS = [
    RateLimited,
    Overloaded,
    ServerFailed,
    ConnectionLost,
    Unreachable,
    StreamBroken,
    StreamStalled,
]
TRIES: dict[RetryCause, int] = {
    "rateLimited": 10,
    "overloaded": 3,
    "serverFailed": 5,
    "connectionLost": 2,
    "unreachable": 5,
    "streamBroken": 5,
}


class Trying:
    """Keeps what has failed and been waited for, as a turn does."""

    def __init__(self, limits: RetryLimits | None = None, *, fast: bool = False) -> None:
        self.limits = limits or RetryLimits()
        self.fast = fast
        self.failed: dict[str, int] = {}
        self.waited_ms: dict[str, int] = {}

    def fails(self, error: TryAgainLater, jitter: float = 0) -> RetryPlan | None:
        plan = retry_of(
            error,
            failed=self.failed,
            waited_ms=self.waited_ms,
            limits=self.limits,
            fast=self.fast,
            jitter=jitter,
        )
        if plan is not None:
            self.failed[plan.cause] = plan.attempt
            waited = 0 if plan.parked else plan.delay_ms
            self.waited_ms[plan.cause] = self.waited_ms.get(plan.cause, 0) + waited
        return plan

    def until_given_up(self, error: TryAgainLater, jitter: float = 0) -> list[RetryPlan]:
        plans: list[RetryPlan] = []
        while (plan := self.fails(error, jitter)) is not None:
            plans.append(plan)
            assert len(plans) < 20
        return plans


@pytest.mark.parametrize(
    ("kind", "delays"),
    [
        (RateLimited, [0.5, 1, 2, 4, 8, 16, 32, 32, 32]),
        (Overloaded, [1, 2]),
        (ServerFailed, [0.5, 1, 2, 4]),
        (ConnectionLost, [0]),
        (Unreachable, [1, 2, 4, 8]),
        (StreamBroken, [0, 0.5, 1, 2]),
        (StreamStalled, [0, 0.5, 1, 2]),
    ],
)
def test_each_failure_is_tried_again_by_its_own_rule(
    kind: type[TryAgainLater], delays: list[float]
) -> None:
    plans = Trying().until_given_up(kind("x"))

    assert [plan.delay for plan in plans] == delays
    assert [plan.attempt for plan in plans] == list(range(1, len(delays) + 1))
    assert {plan.max_attempts for plan in plans} == {len(delays) + 1}
    assert not any(plan.parked for plan in plans)


def test_overload_in_fast_mode_is_given_up_at_once() -> None:
    assert Trying(fast=True).fails(Overloaded("x")) is None
    assert Trying(fast=True).fails(ServerFailed("x")) is not None


def test_chance_makes_a_wait_up_to_a_quarter_longer() -> None:
    assert [plan.delay for plan in Trying().until_given_up(Overloaded("x"), 1)] == [1.25, 2.5]


def test_causes_are_counted_apart() -> None:
    trying = Trying()
    trying.until_given_up(ConnectionLost("x"))
    plan = trying.fails(ServerFailed("x"))

    assert plan is not None
    assert plan.attempt == 1


def test_wait_that_the_server_asks_for_wins_where_it_is_longer() -> None:
    trying = Trying()

    assert trying.fails(RateLimited("x", retry_after=7.25), 1) == RetryPlan(
        "rateLimited", 1, 10, 7.25, parked=False
    )
    assert trying.fails(RateLimited("x", retry_after=0.1)) == RetryPlan(
        "rateLimited", 2, 10, 1.0, parked=False
    )


def test_wait_beyond_the_budget_parks_the_turn_and_is_one_try() -> None:
    trying = Trying()
    plan = trying.fails(RateLimited("x", retry_after=3600))

    assert plan == RetryPlan("rateLimited", 1, 10, 3600, parked=True)
    after = trying.fails(RateLimited("x"))
    assert after == RetryPlan("rateLimited", 2, 10, 1.0, parked=False)


def test_wait_beyond_what_is_left_of_the_budget_parks_the_turn() -> None:
    trying = Trying()
    plans = [trying.fails(RateLimited("x", retry_after=200)) for _ in range(2)]

    assert [plan and plan.parked for plan in plans] == [False, True]


def test_back_off_is_cut_to_what_is_left_of_the_budget_and_then_given_up() -> None:
    trying = Trying(RetryLimits(overloaded=2.5))

    assert [plan.delay for plan in trying.until_given_up(Overloaded("x"))] == [1, 1.5]
    assert Trying(RetryLimits(network=0)).fails(Unreachable("x")) is None
    assert Trying(RetryLimits(network=0)).fails(ConnectionLost("x")) is not None


@pytest.mark.parametrize("asked", [LONGEST_PARK + 1, math.inf, 1e300])
def test_wait_of_more_than_a_month_is_given_up(asked: float) -> None:
    assert Trying().fails(RateLimited("x", retry_after=asked)) is None


@pytest.mark.parametrize("asked", [-1.0, math.nan, -math.inf, 0.0])
def test_wait_that_makes_no_sense_is_none(asked: float) -> None:
    plan = Trying().fails(RateLimited("x", retry_after=asked))

    assert plan is not None
    assert (plan.delay, plan.parked) == (0.5, False)


def test_milliseconds_are_never_fewer_than_the_wait() -> None:
    assert RetryPlan("overloaded", 1, 3, 1.0001, parked=False).delay_ms == 1001


def test_every_error_that_may_pass_has_a_cause() -> None:
    assert {cause_of(kind("x")) for kind in KINDS} == set(TRIES)
    assert cause_of(TryAgainLater("x")) == "serverFailed"


def _error(kind: type[TryAgainLater], retry_after: float | None) -> TryAgainLater:
    return kind("x", retry_after=retry_after)


ERRORS = st.builds(
    _error, st.sampled_from(KINDS), st.none() | st.floats() | st.floats(min_value=0, max_value=500)
)
LIMITS = st.builds(RetryLimits, st.floats(0, 400), st.floats(0, 200), st.floats(0, 100))


@given(st.lists(st.tuples(ERRORS, st.floats(0, 1)), max_size=60), LIMITS, st.booleans())
def test_tries_and_waits_are_bounded_and_no_wish_of_the_server_is_undercut(
    steps: list[tuple[TryAgainLater, float]], limits: RetryLimits, fast: bool
) -> None:
    trying = Trying(limits, fast=fast)
    plans: list[RetryPlan] = []
    for error, jitter in steps:
        plan = trying.fails(error, jitter)
        if plan is None:
            break
        plans.append(plan)
        asked = error.retry_after
        assert plan.cause == cause_of(error)
        assert 0 <= plan.delay <= LONGEST_PARK
        assert asked is None or math.isnan(asked) or plan.delay >= asked
        assert not plan.parked or plan.delay == asked
        assert plan.attempt < plan.max_attempts <= TRIES[plan.cause]
    for cause, tries in TRIES.items():
        of_cause = [plan for plan in plans if plan.cause == cause]
        assert len(of_cause) < tries
        waited = sum(plan.delay for plan in of_cause if not plan.parked)
        assert waited <= limits.of(cause) + 0.001
