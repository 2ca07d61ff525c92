import subprocess
import sys

import pytest

from agentls.errors import LeaseLost, SessionInUse
from agentls.sessions.owner import Owner
from tests.sessions.conformance.events import created, kept, model_changed, prompted


@pytest.fixture
def here():
    return Owner.here("lsp")


@pytest.fixture
def dead():
    """An owner whose process has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return Owner.here("headless").model_copy(update={"pid": process.pid, "started": "1"})


def test_a_session_that_nobody_has_is_free(store):
    assert store.leases.holder("s1") is None


def test_asking_for_an_owner_leaves_nothing_behind(store):
    store.leases.holder("s1")
    assert store.list() == ()


def test_a_session_is_one_owners(place, here):
    lease = place.open().leases.acquire("s1", here)
    assert lease.still_mine()
    assert place.open().leases.holder("s1") == lease.owner
    with pytest.raises(SessionInUse, match="s1 is open in an editor's server") as refused:
        place.open().leases.acquire("s1", Owner.here("headless"))
    assert refused.value.owner == lease.owner
    lease.beat()
    assert lease.still_mine()


def test_every_session_has_an_owner_of_its_own(store, here):
    first, second = store.leases.acquire("s1", here), store.leases.acquire("s2", here)
    first.release()
    assert (first.still_mine(), second.still_mine()) == (False, True)


def test_a_session_that_was_let_go_of_is_the_next_ones(place, here):
    first = place.open().leases.acquire("s1", here)
    first.release()
    assert not first.still_mine()
    assert place.open().leases.holder("s1") is None
    second = place.open().leases.acquire("s1", here)
    first.release()
    assert second.still_mine()
    assert not first.still_mine()
    assert isinstance(first.lost(), LeaseLost)
    with pytest.raises(LeaseLost):
        first.beat()
    assert second.still_mine()


def test_a_session_may_be_let_go_of_twice(store, here):
    lease = store.leases.acquire("s1", here)
    lease.release()
    lease.release()
    assert store.leases.holder("s1") is None


def test_a_dead_owners_session_is_taken_over(shared_place, here, dead):
    place = shared_place
    old = place.open().leases.acquire("s1", dead)
    assert place.open().leases.holder("s1") is None
    new = place.open().leases.acquire("s1", here)
    assert (old.still_mine(), new.still_mine()) == (False, True)
    assert "an editor's server" in str(old.lost())
    with pytest.raises(LeaseLost):
        old.beat()


async def test_who_was_taken_over_writes_nothing_more(shared_place, here, dead):
    place = shared_place
    lost = place.open().leases.acquire("s1", dead)
    log = place.open().create("s1", lease=lost)
    log.append(created())
    log.append(prompted(2))
    await log.flush()
    place.open().leases.acquire("s1", here)
    log.append(model_changed(3))
    with pytest.raises(LeaseLost, match="s1"):
        await log.flush()
    with pytest.raises(LeaseLost):
        await log.aclose()
    assert kept(place.open()) == [created(), prompted(2)]
