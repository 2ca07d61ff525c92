import contextlib
import resource
import shutil
import sqlite3
import stat

import pytest

from agentls.errors import LogConflict, LogNotWritten, SessionInUse, StorageError
from agentls.sessions.owner import Owner
from agentls.sessions.sqlite import database as sqlite_database
from agentls.sessions.sqlite.store import SqliteStore
from tests.sessions.conformance.events import (
    compacted,
    created,
    events_in,
    keep,
    kept,
    model_changed,
    prompted,
    said,
    seqs,
    summary,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "sessions.sqlite"


@pytest.fixture
def store(path):
    store = SqliteStore(path, busy_seconds=0.1)
    yield store
    store.close()


@pytest.fixture
def opened(monkeypatch):
    """Return the connections that were opened."""
    real, connections = sqlite_database._opened, []

    def open_and_remember(*arguments):
        connections.append(real(*arguments))
        return connections[-1]

    monkeypatch.setattr(sqlite_database, "_opened", open_and_remember)
    return connections


async def test_nothing_is_on_the_disk_before_the_first_prompt(store, path):
    log = store.create("s1")
    log.append(created())
    await log.flush(durable=True)
    store.leases.holder("s1")
    assert store.list() == ()
    assert not path.parent.exists()
    await log.aclose()


async def test_the_files_are_their_owners_alone(store, path):
    await keep(store, created(), prompted(2))
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == dict.fromkeys([path.name, f"{path.name}-wal", f"{path.name}-shm"], 0o600)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_a_log_is_read_from_what_its_last_compaction_needs(store):
    events = [created(), prompted(2), said(3), compacted(4, None), said(5), said(6), said(7)]
    await keep(store, *events, compacted(8, 6), said(9))
    raw = store.read("s1")
    assert [event.seq for event in events_in(store, raw)] == [6, 7, 8, 9]
    assert (raw.first_line, raw.complete) == (7, False)
    log = store.open("s1", after=9)
    log.append(compacted(10, None))
    await log.aclose()
    assert [event.seq for event in events_in(store, store.read("s1"))] == [10]


async def test_a_closed_store_opens_again(store):
    await keep(store, created(), prompted(2))
    store.close()
    store.close()
    assert seqs(store) == [1, 2]
    log = store.open("s1", after=2)
    log.append(model_changed(3))
    await log.flush()
    log.append(model_changed(4))
    store.close()
    assert seqs(store) == [1, 2, 3, 4]
    await log.aclose()


async def test_a_store_that_is_closed_last_leaves_one_file(store, path):
    await keep(store, created(), prompted(2))
    store.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


async def test_a_deleted_session_leaves_no_trace_in_the_files(store, path):
    await keep(store, created(), prompted(2, "SECRET" * 3000), prompted(3, "SECRET" * 30_000))
    await keep(store, created("s2"), prompted(2, "x" * 1000, "s2"))
    store.trash("s1")
    store.purge("s1")
    for file in path.parent.iterdir():
        assert b"SECRETSECRET" not in file.read_bytes()
    assert path.stat().st_size < 100_000
    assert seqs(store, "s2") == [1, 2]


async def test_another_writer_that_does_not_end_is_told_and_waited_for_later(store, path):
    log = store.create("s1")
    log.append(created())
    log.append(prompted(2))
    await log.flush()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        log.append(model_changed(3))
        with pytest.raises(LogNotWritten, match="another process is writing") as told:
            await log.flush()
        assert f"{log.unsaved} bytes of session s1 are kept in memory" in str(told.value)
        with pytest.raises(StorageError, match="another process is writing"):
            store.leases.acquire("s1", Owner.here("lsp"))
        assert seqs(store) == [1, 2]
        other.execute("ROLLBACK")
    await log.aclose()
    assert seqs(store) == [1, 2, 3]


async def test_a_full_disk_is_told_and_nothing_is_lost_or_doubled(store, opened):
    log = store.create("s1")
    log.append(created())
    log.append(prompted(2))
    await log.flush()
    (writer,) = opened
    writer.execute("PRAGMA max_page_count=40")
    events = [prompted(seq, f"{seq}" * 20_000) for seq in range(3, 10)]
    for event in events:
        log.append(event)
    with pytest.raises(LogNotWritten, match=r"the disk is full .*make room"):
        await log.flush()
    assert seqs(store) == [1, 2]
    writer.execute("PRAGMA max_page_count=4000")
    await log.flush()
    assert kept(store) == [created(), prompted(2), *events]
    await log.aclose()


async def test_a_failing_disk_is_told_and_nothing_is_lost_or_doubled(store, path):
    log = store.create("s1")
    log.append(created())
    log.append(prompted(2))
    await log.flush()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        log.append(prompted(3, "x" * 60_000))
        with pytest.raises(LogNotWritten, match="the disk reports an error"):
            await log.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    log.append(model_changed(4))
    await log.flush(durable=True)
    assert kept(store) == [created(), prompted(2), prompted(3, "x" * 60_000), model_changed(4)]
    await log.aclose()


async def test_a_file_that_may_only_be_read_is_told(store, monkeypatch):
    await keep(store, created(), prompted(2))
    store.close()
    real = sqlite_database._opened

    def opened_to_read(*arguments):
        connection = real(*arguments)
        connection.execute("PRAGMA query_only=1")
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(sqlite_database, "_opened", opened_to_read)
        log = store.open("s1", after=2)
        log.append(model_changed(3))
        with pytest.raises(LogNotWritten, match="it may only be read"):
            await log.flush()
        with pytest.raises(LogNotWritten, match="it may only be read"):
            store.trash("s1")
        assert seqs(store) == [1, 2]
        store.close()
    await log.aclose()
    assert seqs(store) == [1, 2, 3]


async def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    store = SqliteStore(tmp_path / "file" / "sessions.sqlite")
    log = store.create("s1")
    log.append(created())
    log.append(prompted(2))
    with pytest.raises(LogNotWritten, match="Not a directory"):
        await log.flush()
    (tmp_path / "file").unlink()
    await log.aclose()
    assert seqs(store) == [1, 2]
    store.close()


async def test_a_file_deleted_under_a_session_is_told_and_what_comes_is_kept(store, path):
    log = store.create("s1")
    log.append(created())
    log.append(prompted(2))
    await log.flush()
    shutil.rmtree(path.parent)
    log.append(model_changed(3))
    with pytest.raises(LogNotWritten, match="number 2 was written, and now it ends with 0"):
        await log.flush()
    assert log.unsaved > 0
    await keep(store, created("s2"), prompted(2, session_id="s2"))
    assert [found.id for found in store.list()] == ["s2"]
    with pytest.raises(LogNotWritten):
        await log.aclose()


async def test_a_file_put_in_place_of_another_is_the_one_that_is_written(store, path, tmp_path):
    log = store.create("s1")
    log.append(created())
    log.append(prompted(2))
    await log.flush()
    store.close()
    shutil.copy(path, tmp_path / "copy")
    assert seqs(store) == [1, 2]
    (tmp_path / "copy").replace(path)
    log.append(model_changed(3))
    await log.aclose()
    store.close()
    assert seqs(SqliteStore(path)) == [1, 2, 3]


async def test_a_session_trashed_under_its_writer_is_told_and_goes_on_when_restored(store, path):
    log = store.create("s1")
    log.append(created())
    log.append(prompted(2))
    await log.flush()
    other = SqliteStore(path)
    other.trash("s1")
    log.append(model_changed(3))
    with pytest.raises(LogNotWritten, match="trash"):
        await log.flush()
    other.restore("s1")
    await log.aclose()
    assert seqs(other) == [1, 2, 3]
    other.close()


@pytest.fixture
def unsure(store, monkeypatch):
    """Let every commit be made and reported as failed, until undone."""
    real = store._database.writing

    @contextlib.contextmanager
    def made_but_failing(**how):
        with real(**how) as connection:
            yield connection
        raise LogNotWritten("the disk does not answer")

    with monkeypatch.context() as patch:
        patch.setattr(store._database, "writing", made_but_failing)
        yield patch


async def test_a_commit_that_failed_but_was_made_is_not_made_twice(store, unsure):
    log = store.create("s1")
    log.append(created())
    log.append(prompted(2, "x" * 100_000))
    log.describe(summary())
    for seq in (3, 4):
        with pytest.raises(LogNotWritten, match="does not answer"):
            await log.flush()
        log.append(model_changed(seq))
    assert log.unsaved > 100_000
    unsure.undo()
    log.append(model_changed(5))
    await log.aclose()
    events = [created(), prompted(2, "x" * 100_000), *map(model_changed, (3, 4, 5))]
    assert kept(store) == events
    assert len(store.read("s1").lines) == len(events) + 1
    assert store.list()[0].title == "A title"


async def test_what_another_wrote_behind_such_a_commit_is_not_overwritten(store, path, unsure):
    log = store.create("s1")
    log.append(created())
    log.append(prompted(2))
    with pytest.raises(LogNotWritten):
        await log.flush()
    other = SqliteStore(path)
    theirs = other.open("s1", after=2)
    theirs.append(prompted(3, "theirs"))
    await theirs.aclose()
    unsure.undo()
    log.append(prompted(3, "ours"))
    with pytest.raises(LogConflict):
        await log.flush()
    assert kept(other) == [created(), prompted(2), prompted(3, "theirs")]
    other.close()


async def test_a_durable_flush_commits_with_full_synchronisation(store, path, opened):
    log = store.create("s1")
    log.append(created())
    log.append(prompted(2))
    await log.flush()
    statements = []
    opened[0].set_trace_callback(statements.append)
    log.append(model_changed(3))
    await log.flush()
    assert "PRAGMA synchronous=NORMAL" in statements
    assert "PRAGMA synchronous=FULL" not in statements
    statements.clear()
    wal = path.with_name(f"{path.name}-wal")
    size = wal.stat().st_size
    await log.flush(durable=True)  # what was written before was not yet on the disk
    assert statements.index("PRAGMA synchronous=FULL") < statements.index("BEGIN IMMEDIATE")
    assert statements[-1] == "COMMIT"
    assert wal.stat().st_size > size  # a commit of nothing would sync nothing
    statements.clear()
    await log.flush(durable=True)
    assert statements == []
    await log.aclose()


def test_a_lease_of_another_container_is_taken_over_when_it_is_silent(store, path):
    here = Owner.here("lsp")
    there = here.model_copy(update={"host": "another", "machine": "another"})
    lease = store.leases.acquire("s1", there)
    assert store.leases.holder("s1") == lease.owner
    with pytest.raises(SessionInUse, match="on another"):
        store.leases.acquire("s1", here)
    _age_the_lease(path, 31)
    lease.beat()
    assert store.leases.holder("s1") == lease.owner
    _age_the_lease(path, 31)
    assert store.leases.holder("s1") is None
    assert store.leases.acquire("s1", here).still_mine()
    assert not lease.still_mine()


def _age_the_lease(path, seconds):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("UPDATE leases SET beat = beat - ?", (seconds,))
