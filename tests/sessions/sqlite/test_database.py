import contextlib
import sqlite3

import pytest

from agentls.errors import LogNotWritten, LogUnreadable
from agentls.sessions.sqlite import database as sqlite_database
from agentls.sessions.sqlite.store import SqliteStore
from tests.sessions.conformance.events import (
    created,
    keep,
    model_changed,
    prompted,
    seqs,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "sessions.sqlite"


@pytest.fixture
def store(path):
    store = SqliteStore(path, busy_seconds=0.1)
    yield store
    store.close()


async def test_a_damaged_file_is_told(store, path):
    await keep(store, created(), *(prompted(seq, "x" * 3000) for seq in range(2, 100)))
    store.close()
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(LogUnreadable, match=r"it is damaged .*\.recover"):
        store.read("s1")
    log = store.open("s1", after=99)
    log.append(prompted(100))
    with pytest.raises(LogNotWritten, match="it is damaged"):
        await log.flush()
    with pytest.raises(LogNotWritten):
        await log.aclose()


@pytest.mark.parametrize("content", [b"not a database" * 100, b"\0" * 5000])
async def test_a_file_that_is_no_database_is_left_alone(store, path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(LogUnreadable, match="not an SQLite database"):
        store.list()
    log = store.create("s1")
    log.append(created())
    log.append(prompted(2))
    with pytest.raises(LogNotWritten, match="not an SQLite database"):
        await log.flush()
    assert path.read_bytes() == content


async def test_a_database_of_something_else_is_left_alone(store, path):
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE sessions (mine)")
        other.commit()
    before = path.read_bytes()
    with pytest.raises(LogUnreadable, match="a database of something else"):
        store.list()
    log = store.create("s1")
    log.append(created())
    log.append(prompted(2))
    with pytest.raises(LogNotWritten, match="a database of something else"):
        await log.flush()
    assert path.read_bytes() == before


async def test_a_database_of_a_newer_agentls_is_left_alone(store, path):
    await keep(store, created(), prompted(2))
    log = store.open("s1", after=2)
    newer = len(sqlite_database.MIGRATIONS) + 1
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA user_version={newer}")
    log.append(model_changed(3))
    with pytest.raises(LogNotWritten, match=f"in version {newer}.*Update agentls"):
        await log.flush()
    with pytest.raises(LogUnreadable, match=f"in version {newer}.*Update agentls"):
        store.read("s1")
    with pytest.raises(LogUnreadable):
        SqliteStore(path).list()


async def test_an_older_database_is_brought_up_to_date(store, path, monkeypatch):
    await keep(store, created(), prompted(2))
    step = ("ALTER TABLE sessions ADD COLUMN colour TEXT", "UPDATE sessions SET colour = 'blue'")
    monkeypatch.setattr(sqlite_database, "MIGRATIONS", (*sqlite_database.MIGRATIONS, step))
    newer = SqliteStore(path)
    assert seqs(newer) == [1, 2]
    with contextlib.closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT colour FROM sessions").fetchall() == [("blue",)]
        assert other.execute("PRAGMA user_version").fetchone() == (2,)
    newer.close()
    assert seqs(store) == [1, 2]


async def test_a_migration_that_fails_changes_nothing(store, path, monkeypatch):
    await keep(store, created(), prompted(2))
    step = ("ALTER TABLE sessions ADD COLUMN colour TEXT", "UPDATE nowhere SET colour = 'blue'")
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_database, "MIGRATIONS", (*sqlite_database.MIGRATIONS, step))
        with pytest.raises(LogUnreadable, match="nowhere"):
            SqliteStore(path).list()
    assert seqs(SqliteStore(path)) == [1, 2]
