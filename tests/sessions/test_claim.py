"""Claimants of one lease, in every order that their file operations can take."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from agentls.sessions import claim
from agentls.sessions.lease import FolderLeases
from tests.support.lease_owners import put_lease
from tests.support.lease_stage import Stage, stage_owner

MOST_STEPS = 2000
DEAD = 50
LIVING = 99
"""Who comes when all is over."""

turns = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["step"] * 25 + ["kill"])),
    min_size=20,
    max_size=120,
)
casts = st.lists(st.booleans(), min_size=2, max_size=4).map(tuple)
beginnings = st.sampled_from(["nothing", "a dead owner", "garbage"])


@contextmanager
def stage(beginning: str, *, hard_links: bool = True) -> Iterator[Stage]:
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    if beginning == "a dead owner":
        put_lease(folder / "it.lease", stage_owner(DEAD))
    if beginning == "garbage":
        put_lease(folder / "it.lease", b"{", silent_for=1e6)
    try:
        with pytest.MonkeyPatch.context() as patch:
            it = Stage(folder, patch, hard_links=hard_links)
            yield it
            for actor in it.actors:
                while not actor.ended:
                    actor.kill()
                actor.join()
    finally:
        shutil.rmtree(folder)


def play(stage: Stage, order: list[tuple[int, str]]) -> None:
    """Let the actors act in that order, then in turn to their ends, and look after each step."""
    for number, deed in order:
        actor = stage.actors[number % len(stage.actors)]
        if not actor.ended:
            actor.kill() if deed == "kill" else actor.step()
        nobody_is_robbed(stage)
    for _ in range(MOST_STEPS):
        acting = [actor for actor in stage.actors if not actor.ended]
        if not acting:
            break
        for actor in acting:
            actor.step()
            nobody_is_robbed(stage)
    assert all(actor.ended for actor in stage.actors)
    assert [actor.error for actor in stage.actors if actor.error] == []


def nobody_is_robbed(stage: Stage) -> None:
    holders = stage.holders()
    assert len(holders) <= 1, "two have it"
    for holder in holders:
        assert holder.lease is not None
        assert holder.lease.still_mine(), "it was taken from one that lives"


@settings(max_examples=300)
@given(order=turns, cast=casts, beginning=beginnings)
def test_nobody_is_robbed_in_any_order_and_whoever_dies_on_the_way(order, cast, beginning):
    with stage(beginning) as it:
        it.cast(cast)
        play(it, order)
        holders = it.holders()
        event(f"{len(holders)} holders, {sum(actor.killed for actor in it.actors)} killed")
        if holders:
            return
        assert any(actor.killed or actor.lease is None for actor in it.actors)
        # What the dead left does not keep the next one away, not even for a moment.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(claim.time, "sleep", lambda _: pytest.fail("it had to wait"))
            assert FolderLeases(it.folder).acquire("it", stage_owner(LIVING)).still_mine()


@given(order=turns, cast=casts, beginning=beginnings)
def test_nobody_is_robbed_where_there_are_no_hard_links(order, cast, beginning):
    with pytest.MonkeyPatch.context() as patch, stage(beginning, hard_links=False) as it:
        # What is half-written must not age while others are on.
        patch.setattr(claim, "_HALF_WRITTEN_SECONDS", 1e5)
        it.cast(cast)
        play(it, [(number, "step") for number, _ in order])


@given(order=turns, cast=casts)
def test_one_gets_it_where_nobody_dies_or_lets_go(order, cast):
    with stage("a dead owner") as it:
        it.cast((False,) * len(cast))
        play(it, [(number, "step") for number, _ in order])
        (holder,) = it.holders()
        assert {actor.refused_by.pid for actor in it.actors if actor.refused_by} == {holder.pid}
