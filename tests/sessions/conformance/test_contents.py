import os
import time
from hashlib import sha256

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentls.errors import ContentMissing

QUITE_LATER = 2 * 3600.0
"""Seconds: longer than contents are kept whoever needs them."""
LARGE = os.urandom(1000) * 3000
"""Several times what is held in memory at once."""


@pytest.fixture
def later(monkeypatch):
    """Let time pass."""
    real = time.time

    def pass_by():
        monkeypatch.setattr(time, "time", lambda: real() + QUITE_LATER)

    return pass_by


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=300))
def test_any_content_comes_back_by_its_hash(new_place, data):
    place = new_place()
    name = place.open().contents.put(data)
    assert name == sha256(data).hexdigest()
    assert place.open().contents.has(name)
    assert place.open().contents.get(name) == data


@pytest.mark.parametrize("data", [b"", b"x", LARGE, LARGE[: 1 << 20], LARGE[: 2 << 20]])
def test_a_file_comes_back_by_its_hash(place, tmp_path, data):
    (tmp_path / "file").write_bytes(data)
    name = place.open().contents.put_file(str(tmp_path / "file"))
    assert name == sha256(data).hexdigest()
    assert place.open().contents.put(data) == name
    assert place.open().contents.get(name) == data
    with (tmp_path / "copy").open("wb") as copy:
        place.open().contents.copy_to(name, copy.fileno())
    assert (tmp_path / "copy").read_bytes() == data


def test_what_is_put_twice_is_kept_once(store, later):
    assert store.contents.put(LARGE) == store.contents.put(LARGE)
    later()
    assert store.contents.prune(0).bytes == len(LARGE)


def test_what_is_no_file_is_not_kept(store, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for path in ("missing", "link", "."):
        with pytest.raises(OSError, match=r"."):
            store.contents.put_file(str(tmp_path / path))


@pytest.mark.parametrize("name", ["0" * 64, "../../etc/passwd", "", "no hash"])
def test_what_was_never_put_is_missing(store, tmp_path, name):
    assert not store.contents.has(name)
    with pytest.raises(ContentMissing):
        store.contents.get(name)
    with (tmp_path / "copy").open("wb") as copy, pytest.raises(ContentMissing):
        store.contents.copy_to(name, copy.fileno())


def test_asking_an_empty_place_leaves_it_empty(store):
    store.contents.release("s1")
    assert store.contents.prune(0) == store.contents.prune(10**9)
    assert store.contents.prune(0).left_bytes == 0
    assert store.list() == ()


def test_what_a_session_needs_is_not_removed(place, later):
    contents = place.open().contents
    needed, unneeded = contents.put(b"needed"), contents.put(b"unneeded!")
    contents.refer("s1", [needed])
    contents.refer("s1", [])
    assert place.open().contents.prune(10**9).contents == 0
    later()
    pruned = place.open().contents.prune(10**9)
    assert (pruned.contents, pruned.bytes, pruned.left_bytes) == (1, 9, 6)
    assert pruned.sessions == ()
    assert (contents.has(needed), contents.has(unneeded)) == (True, False)
    assert contents.get(needed) == b"needed"


def test_what_is_young_is_not_removed(store):
    name = store.contents.put(b"young")
    store.contents.refer("s1", [name])
    store.contents.release("s1")
    assert store.contents.prune(0).contents == 0
    assert store.contents.get(name) == b"young"


def test_what_a_deleted_session_needed_goes_if_no_other_needs_it(place, later):
    contents = place.open().contents
    shared, own = contents.put(b"shared"), contents.put(b"own")
    contents.refer("s1", [shared, own])
    contents.refer("s2", [shared])
    contents.release("s1")
    contents.release("s1")
    later()
    place.open().contents.prune(10**9)
    assert (contents.has(shared), contents.has(own)) == (True, False)


def test_the_oldest_sessions_contents_go_when_there_is_too_much(store, later):
    contents = store.contents
    names = {}
    for session_id in ("s1", "s2", "s3"):
        names[session_id] = contents.put(session_id.encode() * 500)
        contents.refer(session_id, [names[session_id]])
        time.sleep(0.02)
    assert contents.prune(1000).sessions == ()
    later()
    pruned = contents.prune(2000, keep=["s1"])
    assert pruned.sessions == ("s2",)
    assert (pruned.contents, pruned.bytes, pruned.left_bytes) == (1, 1000, 2000)
    assert [contents.has(names[s]) for s in ("s1", "s2", "s3")] == [True, False, True]
    assert contents.prune(0).sessions == ("s1", "s3")
    assert contents.prune(0).left_bytes == 0


def test_what_was_removed_can_be_put_again(store, later):
    name = store.contents.put(b"again")
    later()
    store.contents.prune(0)
    assert not store.contents.has(name)
    assert store.contents.put(b"again") == name
    assert store.contents.get(name) == b"again"
