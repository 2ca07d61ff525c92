"""What a folder of sessions withstands: planted links, other processes, moves, deletions."""

import os

import pytest

from agentls.errors import (
    LogConflict,
    LogUnreadable,
    SessionExists,
    UnknownSession,
)
from agentls.sessions.folder import FolderStore
from tests.support.log_lines import (
    created,
    keep,
    kept,
    queued,
    records,
    run_script,
    seqs,
    titled,
)


@pytest.fixture
def store(tmp_path):
    return FolderStore(tmp_path / ".agentls")


@pytest.fixture
def path(store):
    return store.folder / "sessions" / "s.jsonl"


def files(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


async def test_a_new_session_never_writes_into_a_log_that_is_there(store, path):
    await kept(store)
    before = path.read_bytes()
    log = store.create("s")
    with pytest.raises(LogConflict, match="is there already"):
        await keep(log, created(), queued(2, "mine"))
    with pytest.raises(LogConflict):
        await log.aclose()
    assert path.read_bytes() == before


async def test_of_two_that_go_on_with_one_session_the_second_is_stopped(store, path):
    """Where both went on, their runs shared one transcript."""
    await kept(store)
    first, second = store.open("s", after=2), store.open("s", after=2)
    await keep(first, titled(3, "first"))
    with pytest.raises(LogConflict):
        await keep(second, titled(3, "second"))
    await keep(first, titled(4, "first"))
    assert seqs(path) == [1, 2, 3, 4]
    assert b"second" not in path.read_bytes()
    with pytest.raises(LogConflict):
        await second.aclose()
    await first.aclose()


NAMES = ["", ".", "..", "../s", "a/b", "/etc/passwd", "a.b", "s\0", "s\n", "x" * 200, "é"]


@pytest.mark.parametrize("name", NAMES)
async def test_what_is_no_id_never_becomes_a_path(store, name):
    for ask in (store.create, store.read, store.chats, store.trash, store.restore, store.purge):
        with pytest.raises(UnknownSession, match="is not the id of a session"):
            ask(name)
    with pytest.raises(UnknownSession):
        store.open(name, after=1)
    with pytest.raises(UnknownSession):
        store.create("s", name)
    with pytest.raises(UnknownSession):
        store.blob(name, "0" * 64)
    assert not store.has(name)


@pytest.mark.parametrize("what", ["log", "folder", "chats"])
async def test_a_link_that_came_with_the_project_is_not_followed(store, path, tmp_path, what):
    outside = tmp_path / "outside"
    (outside / "chats").mkdir(parents=True)
    (outside / "chats" / "c.jsonl").write_bytes(b"precious\n")
    path.parent.mkdir(parents=True)
    chat = "c"
    if what == "log":
        path.symlink_to(outside / "chats" / "c.jsonl")
        chat = "main"
    elif what == "folder":
        (path.parent / "s").symlink_to(outside)
    else:
        (path.parent / "s").mkdir()
        (path.parent / "s" / "chats").symlink_to(outside / "chats")
    with pytest.raises(LogUnreadable, match="link"):
        store.read("s", chat)
    log = store.open("s", chat, after=0)
    log.append(titled(1, "T"))
    store.write_ahead()
    assert log.unsaved
    assert (outside / "chats" / "c.jsonl").read_bytes() == b"precious\n"
    assert files(outside) == ["chats/c.jsonl"]
    assert store.list() == ()
    {"log": path, "folder": path.parent / "s", "chats": path.parent / "s" / "chats"}[what].unlink()
    await log.aclose()
    assert store.read("s", chat).lines


async def test_a_project_that_was_moved_away_is_not_made_again(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    store = FolderStore(project / ".agentls")
    log = store.create("s")
    await keep(log, created(), queued(2, "hello"))
    project.rename(tmp_path / "moved")
    await keep(log, titled(3, "T"))
    assert seqs(tmp_path / "moved/.agentls/sessions/s.jsonl") == [1, 2, 3]
    other = store.create("t")
    for envelope in (created("t"), queued(2, "x", "t")):
        other.append(envelope)
    store.write_ahead()
    assert other.unsaved
    assert not project.exists()
    (tmp_path / "moved").rename(project)
    await other.flush()
    assert seqs(project / ".agentls/sessions/t.jsonl") == [1, 2]
    await log.aclose()
    await other.aclose()


async def test_a_session_in_the_trash_is_listed_there_alone_and_comes_back(store, path):
    await kept(store, titled(3, "T"))
    store.trash("s")
    assert store.list() == ()
    assert not store.has("s")
    assert [each.title for each in store.list(trashed=True)] == ["T"]
    assert store.trashed_at("s")
    await kept(store, session_id="s")
    with pytest.raises(SessionExists):
        store.restore("s")
    with pytest.raises(SessionExists):
        store.trash("s")
    path.unlink()
    store.restore("s")
    assert [each.title for each in store.list()] == ["T"]
    store.trash("s")
    store.purge("s")
    assert store.list(trashed=True) == ()
    with pytest.raises(UnknownSession):
        store.restore("s")


async def test_no_session_is_ever_deleted_by_itself(store, path):
    """A sweep that nobody had asked for took a thousand transcripts from one user."""
    await kept(store)
    os.utime(path, (0, 0))
    again = FolderStore(store.folder)
    again.list()
    again.list(trashed=True)
    await kept(again, session_id="t")
    again.write_ahead()
    assert {each.id for each in again.list()} == {"s", "t"}


RESUMES = """
import asyncio, sys
from pathlib import Path
from agentls.errors import StorageError
from agentls.sessions.folder import FolderStore
from tests.support.log_lines import titled

async def main():
    store = FolderStore(Path(sys.argv[1]))
    log = store.open("s", after=2)
    print("ready", flush=True)
    sys.stdin.readline()
    written = 0
    try:
        for seq in range(3, 2000):
            log.append(titled(seq, sys.argv[2] * 50))
            await log.flush()
            written += 1
    except StorageError as error:
        print(type(error).__name__, written)
    else:
        print("all", written)

asyncio.run(main())
"""


async def test_two_processes_without_a_lease_splice_nothing_and_are_stopped(store, path):
    await kept(store)
    processes = [run_script(RESUMES, store.folder, name) for name in ("a", "b")]
    for process in processes:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    ends = [process.communicate(timeout=120)[0].split() for process in processes]
    assert "LogConflict" in [how for how, _ in ends]
    whole = path.read_bytes().split(b"\n")
    assert len(records(path)) == len([line for line in whole if line])
    for name, (_, written) in zip("ab", ends, strict=True):
        own = [line for line in whole if name.encode() * 50 in line]
        assert len(own) >= int(written)
