import errno
import os
import stat
import threading
import time
from pathlib import Path

import orjson
import pytest

from agentls.errors import LeaseLost, SessionInUse, UnknownSession
from agentls.sessions.lease import FolderLeases, LeaseStore, MemoryLeases
from agentls.sessions.owner import Owner
from tests.support.lease_owners import age, dead_owner, owner_elsewhere, put_lease

HERE = Owner.here("lsp")


@pytest.fixture(params=["folder", "memory"])
def leases(request: pytest.FixtureRequest, tmp_path: Path) -> LeaseStore:
    return FolderLeases(tmp_path) if request.param == "folder" else MemoryLeases()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "it.lease"


# What every store does


def test_free_session_has_no_holder_and_can_be_had(leases):
    assert leases.holder("it") is None
    lease = leases.acquire("it", HERE)
    assert lease.still_mine()
    assert leases.holder("it") == lease.owner
    lease.beat()
    assert lease.still_mine()


def test_second_owner_is_told_who_has_the_session_and_what_to_do(leases):
    lease = leases.acquire("it", HERE)
    with pytest.raises(SessionInUse) as refusal:
        leases.acquire("it", Owner.here("headless"))
    assert refusal.value.owner == lease.owner
    assert str(refusal.value) == (
        f"session it is open in an editor's server (process {os.getpid()} on {HERE.host}, since "
        f"{lease.owner.since}). Follow it read-only, fork it, or close it there."
    )
    assert lease.still_mine()


def test_sessions_do_not_stand_in_each_others_way(leases):
    first, second = leases.acquire("one", HERE), leases.acquire("two", HERE)
    first.release()
    assert second.still_mine()
    assert leases.holder("one") is None


def test_released_session_is_free(leases):
    lease = leases.acquire("it", HERE)
    lease.release()
    assert leases.holder("it") is None
    assert not lease.still_mine()
    with pytest.raises(LeaseLost):
        lease.beat()


def test_lease_of_before_is_not_that_of_now_although_the_process_is_the_same(leases):
    before = leases.acquire("it", HERE)
    before.release()
    now = leases.acquire("it", HERE)
    assert not before.still_mine()
    before.release()
    assert now.still_mine()
    assert leases.holder("it") == now.owner


# The file


def test_lease_is_closed_to_others_and_can_go_over_the_wire(tmp_path, path):
    lease = FolderLeases(tmp_path).acquire("it", HERE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["it.lease"]
    told = orjson.loads(path.read_bytes())
    assert set(told) == {"host", "machine", "pid", "started", "boot", "face", "since", "token"}
    assert Owner.model_validate(told) == lease.owner


def test_folder_is_made_closed_to_others(tmp_path):
    FolderLeases(tmp_path / "new" / "sessions").acquire("it", HERE)
    assert stat.S_IMODE((tmp_path / "new" / "sessions").stat().st_mode) == 0o700


def test_release_removes_the_file_and_leaves_nothing(tmp_path):
    FolderLeases(tmp_path).acquire("it", HERE).release()
    assert list(tmp_path.iterdir()) == []


def test_threads_that_release_at_once_remove_it_once(tmp_path, path, monkeypatch):
    """The second removal would hit the lease of whoever came after the first."""
    lease = FolderLeases(tmp_path).acquire("it", HERE)
    removals, begun, go_on = [], threading.Event(), threading.Event()
    unlink = Path.unlink

    def slow_unlink(self, missing_ok=False):
        if self == path:
            removals.append(self)
            begun.set()
            assert go_on.wait(60)
        unlink(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", slow_unlink)
    first, second = (threading.Thread(target=lease.release) for _ in range(2))
    first.start()
    assert begun.wait(60)
    second.start()
    second.join(0.3)  # it has time to do what it must not
    go_on.set()
    first.join(60)
    second.join(60)
    assert removals == [path]
    assert list(tmp_path.iterdir()) == []


def test_release_changes_nothing_where_the_lease_is_anothers(tmp_path, path):
    lease = FolderLeases(tmp_path).acquire("it", HERE)
    put_lease(path, owner_elsewhere())
    before = path.read_bytes()
    lease.release()
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["it.lease"]


@pytest.mark.parametrize("session_id", ["", "../it", "a/b", "a b", ".", "it.lease"])
def test_what_is_no_id_leads_nowhere(tmp_path, session_id):
    with pytest.raises(UnknownSession):
        FolderLeases(tmp_path).acquire(session_id, HERE)
    with pytest.raises(UnknownSession):
        FolderLeases(tmp_path).holder(session_id)


# Owners on this machine


def test_owner_whose_process_ended_is_taken_over_at_once(tmp_path, path):
    put_lease(path, dead_owner())
    assert FolderLeases(tmp_path).holder("it") is None
    assert FolderLeases(tmp_path).acquire("it", HERE).still_mine()


def test_owner_whose_process_id_was_given_to_another_process_is_taken_over(tmp_path, path):
    put_lease(path, HERE.model_copy(update={"started": "17"}))
    assert FolderLeases(tmp_path).holder("it") is None
    assert FolderLeases(tmp_path).acquire("it", HERE).still_mine()


def test_owner_of_before_the_machine_was_started_anew_is_taken_over(tmp_path, path):
    put_lease(path, HERE.model_copy(update={"boot": "the one before"}))
    assert FolderLeases(tmp_path).holder("it") is None
    assert FolderLeases(tmp_path).acquire("it", HERE).still_mine()


def test_living_owner_keeps_its_session_however_long_it_was_silent(tmp_path, path):
    lease = FolderLeases(tmp_path).acquire("it", HERE)
    age(path, 1e6)
    with pytest.raises(SessionInUse):
        FolderLeases(tmp_path).acquire("it", HERE)
    assert FolderLeases(tmp_path).holder("it") == lease.owner


def test_living_owner_keeps_its_session_when_the_clock_is_set(tmp_path, path, monkeypatch):
    """A process's beginning as psutil tells it moves with the clock; ours must not."""
    lease = FolderLeases(tmp_path).acquire("it", HERE)
    monkeypatch.setattr(time, "time", lambda: 1e9)
    age(path, -1e6)
    assert FolderLeases(tmp_path).holder("it") == lease.owner
    with pytest.raises(SessionInUse):
        FolderLeases(tmp_path).acquire("it", HERE)
    lease.beat()
    assert lease.still_mine()


def test_owner_of_a_newer_agentls_is_an_owner(tmp_path, path):
    put_lease(path, HERE.model_copy(update={"face": "acp", "colour": "blue"}))
    with pytest.raises(SessionInUse, match=r"is open in acp \(process"):
        FolderLeases(tmp_path).acquire("it", HERE)


def test_text_of_an_owner_is_safe_to_print(tmp_path, path):
    put_lease(path, HERE.model_copy(update={"since": "\x1b[2J\n\u202e", "host": HERE.host}))
    with pytest.raises(SessionInUse) as refusal:
        FolderLeases(tmp_path).acquire("it", HERE)
    assert str(refusal.value).isprintable()


# Owners on other machines


def test_owner_elsewhere_that_was_heard_of_keeps_its_session(tmp_path, path):
    owner = owner_elsewhere()
    put_lease(path, owner, silent_for=20)
    assert FolderLeases(tmp_path).holder("it") == owner
    with pytest.raises(SessionInUse, match="process 4711 on elsewhere"):
        FolderLeases(tmp_path).acquire("it", HERE)


def test_owner_elsewhere_that_was_not_heard_of_for_long_is_taken_over(tmp_path, path):
    put_lease(path, owner_elsewhere(), silent_for=31)
    assert FolderLeases(tmp_path).holder("it") is None
    assert FolderLeases(tmp_path).acquire("it", HERE).still_mine()


def test_no_clock_but_the_file_systems_counts(tmp_path, path, monkeypatch):
    put_lease(path, owner_elsewhere(), silent_for=20)
    monkeypatch.setattr(time, "time", lambda: 4e9)
    with pytest.raises(SessionInUse):
        FolderLeases(tmp_path).acquire("it", HERE)
    assert FolderLeases(tmp_path).holder("it") is not None


def test_owner_that_is_taken_for_silent_stops(tmp_path, path):
    lease = FolderLeases(tmp_path).acquire("it", HERE)
    age(path, 31)
    taken = FolderLeases(tmp_path).acquire("it", owner_elsewhere(face="headless"))
    assert not lease.still_mine()
    with pytest.raises(LeaseLost) as loss:
        lease.beat()
    assert str(loss.value) == (
        "session it is not written from here any more: it was taken over by a run of `agentls run` "
        f"(process 4711 on elsewhere, since {taken.owner.since}). What was not written is seen "
        "here alone; fork the session to go on from what is on disk."
    )
    lease.release()
    assert taken.still_mine()


def test_beat_is_heard_elsewhere_and_changes_not_a_byte(tmp_path, path):
    lease = FolderLeases(tmp_path).acquire("it", HERE)
    before = path.read_bytes()
    age(path, 31)
    lease.beat()
    with pytest.raises(SessionInUse):
        FolderLeases(tmp_path).acquire("it", owner_elsewhere())
    assert path.read_bytes() == before


def test_owner_of_the_future_counts_from_when_it_is_first_looked_at(tmp_path, path):
    """The clock went back by a day; a dead owner must not keep its session for so long."""
    owner = owner_elsewhere()
    put_lease(path, owner, silent_for=-86400)
    assert FolderLeases(tmp_path).holder("it") == owner
    with pytest.raises(SessionInUse):
        FolderLeases(tmp_path).acquire("it", HERE)
    (tmp_path / "now").touch()
    assert path.stat().st_mtime_ns <= (tmp_path / "now").stat().st_mtime_ns
    assert FolderLeases(tmp_path).holder("it") == owner


# What is left over, and what is missing


def test_takeover_removes_what_the_dead_left_on_the_way(tmp_path, path):
    put_lease(path, dead_owner())
    old, young = tmp_path / "it.lease.aa.new", tmp_path / "it.lease.bb"
    other = tmp_path / "it2.lease.aa.new"
    for each in (old, young, other):
        put_lease(each, dead_owner(), silent_for=3600)
    age(young, 1)
    FolderLeases(tmp_path).acquire("it", HERE)
    assert sorted(tmp_path.iterdir()) == sorted([path, young, other])


def test_file_system_without_hard_links_will_do(tmp_path, path, monkeypatch):
    def none(*_):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", none)
    leases = FolderLeases(tmp_path)
    lease = leases.acquire("it", HERE)
    with pytest.raises(SessionInUse):
        leases.acquire("it", HERE)
    lease.release()
    put_lease(path, dead_owner())
    assert leases.acquire("it", HERE).still_mine()
    assert [each.name for each in tmp_path.iterdir()] == ["it.lease"]
