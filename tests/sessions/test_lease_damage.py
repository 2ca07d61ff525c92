"""Leases that make no sense, and disks that refuse."""

import errno
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.errors import LeaseLost, SessionInUse, StorageError
from agentls.sessions import claim
from agentls.sessions.lease import FolderLeases
from agentls.sessions.owner import Owner
from tests.support.lease_owners import age, owner_elsewhere, put_lease

HERE = Owner.here("lsp")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "it.lease"


@given(data=st.binary(max_size=200))
def test_garbage_is_taken_over(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("leases")
    put_lease(folder / "it.lease", data, silent_for=10)
    assert FolderLeases(folder).holder("it") is None
    assert FolderLeases(folder).acquire("it", HERE).still_mine()


@given(cut=st.integers(0, 200), flip=st.integers(0, 200), value=st.integers(0, 255))
def test_damaged_lease_never_crashes(cut, flip, value, tmp_path_factory):
    folder = tmp_path_factory.mktemp("leases")
    data = bytearray(HERE.model_dump_json().encode())
    data[flip % len(data)] = value
    put_lease(folder / "it.lease", bytes(data[: len(data) - cut]), silent_for=10)
    # Where the change has hit what does not matter, whose it is can be read.
    read = FolderLeases(folder).holder("it")
    try:
        assert FolderLeases(folder).acquire("it", HERE).still_mine()
    except SessionInUse:
        assert read is not None
    else:
        assert read is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 300,
        b"[" * 10_000,
        b"x" * 100_000,
        HERE.model_dump_json().encode()[:-1],
        HERE.model_dump_json().encode().replace(b'"pid":', b'"pid":-'),
        b'{"pid": 1e400}',
    ],
    ids=["empty", "zeros", "nested", "long", "cut", "negative pid", "infinite"],
)
def test_file_without_sense_is_taken_over(tmp_path, path, data):
    put_lease(path, data, silent_for=10)
    assert FolderLeases(tmp_path).acquire("it", HERE).still_mine()


def test_file_without_sense_is_left_alone_while_it_may_be_half_written(tmp_path, path, monkeypatch):
    put_lease(path, b'{"host": "he')
    waits = []

    def finish(seconds):
        waits.append(seconds)
        put_lease(path, HERE)

    monkeypatch.setattr(claim.time, "sleep", finish)
    with pytest.raises(SessionInUse):
        FolderLeases(tmp_path).acquire("it", HERE)
    assert len(waits) == 1


def test_link_in_the_place_is_replaced_and_not_followed(tmp_path, path):
    (tmp_path / "precious").write_text("kept")
    path.symlink_to(tmp_path / "precious")
    os.utime(path, (0, 0), follow_symlinks=False)
    assert FolderLeases(tmp_path).acquire("it", HERE).still_mine()
    assert (tmp_path / "precious").read_text() == "kept"
    path.unlink()
    path.symlink_to(tmp_path / "nothing")
    os.utime(path, (0, 0), follow_symlinks=False)
    assert FolderLeases(tmp_path).acquire("it", HERE).still_mine()
    assert not (tmp_path / "nothing").exists()


def test_pipe_in_the_place_is_not_waited_for(tmp_path, path):
    os.mkfifo(path)
    age(path, 10)
    assert FolderLeases(tmp_path).acquire("it", HERE).still_mine()


def test_folder_in_the_place_is_told(tmp_path, path):
    path.mkdir()
    age(path, 10)
    with pytest.raises(StorageError, match=r"it\.lease.*: Is a directory"):
        FolderLeases(tmp_path).acquire("it", HERE)


def test_lease_that_is_gone_is_lost(tmp_path, path):
    lease = FolderLeases(tmp_path).acquire("it", HERE)
    path.unlink()
    assert not lease.still_mine()
    with pytest.raises(LeaseLost, match=r"it\.lease is gone"):
        lease.beat()
    lease.release()
    assert not path.exists()


def test_lease_that_was_damaged_is_lost(tmp_path, path):
    lease = FolderLeases(tmp_path).acquire("it", HERE)
    path.write_bytes(b"?")
    assert not lease.still_mine()
    assert "is damaged" in str(lease.lost())
    lease.release()
    assert path.read_bytes() == b"?"


def test_disk_that_refuses_is_told_with_a_way_out(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StorageError, match=r"it\.lease: No space left on device\. Make .*writable"):
        FolderLeases(tmp_path).acquire("it", HERE)
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []


def test_file_where_the_folder_should_be_is_told(tmp_path):
    (tmp_path / "sessions").write_text("")
    with pytest.raises(StorageError, match="sessions: File exists"):
        FolderLeases(tmp_path / "sessions").acquire("it", HERE)


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that every user may write to, for a test that does not run as root."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@contextmanager
def as_a_user() -> Iterator[None]:
    """Be nobody instead of root, who may do anything; any other user is a user already."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_folder_that_may_not_be_written_is_told(shared):
    shared.chmod(0o555)
    with as_a_user(), pytest.raises(StorageError, match=r"Permission denied\. Make .* writable"):
        FolderLeases(shared).acquire("it", HERE)
    shared.chmod(0o777)


def test_holder_is_told_where_nothing_may_be_written(shared):
    put_lease(shared / "it.lease", owner_elsewhere(), silent_for=3600)
    (shared / "it.lease").chmod(0o644)
    shared.chmod(0o555)
    with as_a_user():
        assert FolderLeases(shared).holder("it") is not None
    shared.chmod(0o777)


def test_own_lease_that_cannot_be_read_is_taken_over(shared):
    with as_a_user():
        put_lease(shared / "it.lease", HERE, silent_for=10)
        (shared / "it.lease").chmod(0)
        assert FolderLeases(shared).acquire("it", HERE).still_mine()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")
def test_lease_of_another_user_is_left_alone(shared):
    lease = FolderLeases(shared).acquire("it", HERE)
    with as_a_user():
        with pytest.raises(StorageError, match="belongs to another user"):
            FolderLeases(shared).acquire("it", HERE)
        with pytest.raises(StorageError, match="belongs to another user"):
            FolderLeases(shared).holder("it")
    assert lease.still_mine()


def test_beat_that_cannot_be_written_is_told_and_nothing_is_lost(tmp_path, monkeypatch):
    lease = FolderLeases(tmp_path).acquire("it", HERE)

    def broken(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "write", broken)
    with pytest.raises(StorageError, match=r"Input/output error.*another machine may take"):
        lease.beat()
    monkeypatch.undo()
    assert lease.still_mine()
    lease.beat()


def test_lease_that_cannot_be_read_is_not_written_under(tmp_path, monkeypatch):
    lease = FolderLeases(tmp_path).acquire("it", HERE)

    def broken(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "read", broken)
    assert not lease.still_mine()
    monkeypatch.undo()
    assert lease.still_mine()
    assert "could not be read for a moment" in str(lease.lost())


def test_release_that_fails_is_logged_and_the_lease_ends_with_the_process(
    tmp_path, monkeypatch, caplog
):
    lease = FolderLeases(tmp_path).acquire("it", HERE)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with caplog.at_level(logging.WARNING):
        lease.release()
    assert "stays until this process ends" in caplog.text
    monkeypatch.undo()
    lease.release()
    assert list(tmp_path.iterdir()) == []
