import asyncio
import os
import subprocess
import threading

import pytest

from agentls.errors import (
    ContentMissing,
    LogUnreadable,
    UnknownSession,
)
from agentls.protocol.events.storage import SessionResumed
from agentls.sessions.folder import DESCRIBE_BYTES, FolderStore
from agentls.sessions.records import envelope_line, header_line
from tests.support.log_lines import (
    at,
    created,
    enveloped,
    finished,
    keep,
    kept,
    queued,
    records,
    said,
    seqs,
    summary,
    titled,
)


@pytest.fixture
def store(tmp_path):
    return FolderStore(tmp_path / ".agentls")


@pytest.fixture
def path(store):
    return store.folder / "sessions" / "s.jsonl"


def resumed(seq):
    return enveloped(seq, SessionResumed(agentls_version="0", face="lsp", git_branch=None))


def files(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


async def test_nothing_is_on_disk_before_the_first_prompt(store, tmp_path):
    log = store.create("s")
    await keep(log, created(), titled(2, "T"))
    log.describe(summary())
    store.write_ahead()
    log.write_now()
    await log.flush(durable=True)
    await log.aclose()
    assert list(tmp_path.iterdir()) == []
    assert log.unsaved == 0
    assert not store.has("s")


async def test_what_came_before_the_first_prompt_is_written_with_it(store, path):
    log = store.create("s")
    await keep(log, created(), titled(2, "T"), queued(3, "hello"), said(4, "hello"))
    assert records(path)[0] == {
        "log": "agentls",
        "version": 2,
        "sessionId": "s",
        "chatId": "main",
        "cwd": ".",
    }
    assert seqs(path) == [1, 2, 3, 4]
    assert path.read_bytes().endswith(b"}\n")
    assert store.has("s")
    await log.aclose()
    await log.aclose()


async def test_a_session_that_was_only_looked_at_stays_as_it_was(store, path):
    """Where resuming left a stub, a later cleaning took the real session for it."""
    await kept(store)
    before, changed = path.read_bytes(), path.stat().st_mtime_ns
    log = store.open("s", after=2)
    log.append(resumed(3))
    log.describe(summary(title="Another"))
    await log.flush(durable=True)
    await log.aclose()
    assert path.read_bytes() == before
    assert path.stat().st_mtime_ns == changed


async def test_that_a_session_was_resumed_is_written_with_its_first_change(store, path):
    await kept(store)
    await (await keep(store.open("s", after=2), resumed(3), titled(4, "T"))).aclose()
    assert seqs(path) == [1, 2, 3, 4]


async def test_everything_is_closed_to_other_users(store):
    log = store.create("s")
    await keep(log, created(), said(2, "x" * 70_000))
    side = store.create("s", "c1")
    await keep(side, created(), said(2, "side"))
    for place in store.folder.rglob("*"):
        expected = 0o700 if place.is_dir() else 0o600
        assert place.stat().st_mode & 0o777 == expected, place
    await log.aclose()
    await side.aclose()


async def test_git_sees_nothing_but_what_the_project_brings(store, tmp_path):
    await (await keep(store.create("s"), created(), said(2, "x" * 70_000))).aclose()
    await kept(store, session_id="t")
    store.trash("t")
    for name in ("checkpoints/x", "settings.json", "settings.local.json", "skills/a/SKILL.md"):
        (store.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (store.folder / name).write_text("x")
    seen = await asyncio.to_thread(git_status, tmp_path)
    assert sorted(line[3:] for line in seen.splitlines()) == [
        ".agentls/.gitignore",
        ".agentls/settings.json",
        ".agentls/skills/a/SKILL.md",
    ]


def git_status(folder):
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    options = {"cwd": folder, "env": environment, "check": True, "capture_output": True}
    subprocess.run(["git", "init", "-q"], **options)
    shown = subprocess.run(["git", "status", "--porcelain", "-uall"], **options, text=True)
    return shown.stdout


async def test_a_gitignore_of_the_users_own_is_left_alone(store):
    store.folder.mkdir()
    (store.folder / ".gitignore").write_text("mine\n")
    await kept(store)
    assert (store.folder / ".gitignore").read_text() == "mine\n"


async def test_a_large_value_lies_beside_the_log_and_comes_back(store, path):
    text = "é" * 40_000
    await (await keep(store.create("s"), created(), said(2, text))).aclose()
    reference = records(path)[-1]["blobs"][0]
    assert reference["at"] == ["event", "content", 0, "text"]
    assert store.blob("s", reference["sha256"]).decode() == text
    assert path.stat().st_size < 2000
    with pytest.raises(ContentMissing):
        store.blob("s", "0" * 64)


async def test_what_is_appended_never_waits_for_its_large_values(store, path):
    log = store.create("s")
    log.append(created())
    log.append(said(2, "x" * 100_000))
    assert log.unsaved > 100_000
    assert not store.folder.exists()
    await log.flush()
    assert log.unsaved == 0
    await log.aclose()


async def test_a_log_is_read_as_it_is_kept(store, path):
    await kept(store, titled(3, "T"))
    raw = store.read("s")
    assert raw.header + b"\n" == header_line("s")
    assert [line + b"\n" for line in raw.lines] == [
        envelope_line(each) for each in (created(), queued(2, "hello"), titled(3, "T"))
    ]
    assert raw.position == path.stat().st_size
    assert (raw.complete, raw.torn, raw.first_line) == (True, False, 2)


async def test_nobody_is_told_of_a_log_that_was_closed_in_order(tmp_path):
    told = []
    store = FolderStore(tmp_path / ".agentls", on_trouble=told.append)
    await kept(store)
    async with asyncio.timeout(10):
        while any(str(tmp_path) in thread.name for thread in threading.enumerate()):
            await asyncio.sleep(0.01)
    await asyncio.sleep(0)
    assert told == []


async def test_what_comes_later_is_read_from_where_reading_ended(store, path):
    await kept(store)
    position = store.read("s").position
    assert store.read_new("s", position) == ([], position)
    await (await keep(store.open("s", after=2), titled(3, "T"))).aclose()
    with path.open("ab") as file:
        file.write(b'{"seq":4')
    lines, later = store.read_new("s", position)
    assert [line + b"\n" for line in lines] == [envelope_line(titled(3, "T"))]
    assert later == path.stat().st_size - 8
    os.truncate(path, position - 1)
    with pytest.raises(LogUnreadable, match="load the session anew"):
        store.read_new("s", later)


async def test_the_conversations_of_subagents_have_logs_of_their_own(store):
    await kept(store)
    assert store.chats("s") == ()
    for chat in ("b", "a"):
        await (await keep(store.create("s", chat), created(), said(2, chat))).aclose()
    (store.folder / "sessions" / "s" / "chats" / "not a chat.jsonl").write_text("x")
    assert store.chats("s") == ("a", "b")
    assert b'"chatId":"a"' in store.read("s", "a").header
    await (await keep(store.open("s", "a", after=2), titled(3, "T"))).aclose()
    assert len(store.read("s", "a").lines) == 3
    with pytest.raises(UnknownSession, match="conversation c in session"):
        store.read("s", "c")


async def test_a_list_shows_the_newest_first_and_passes_over_what_is_no_log(store):
    await kept(store, titled(3, "Old"), session_id="old")
    await kept(store, titled(9, "New"), session_id="new")
    sessions = store.folder / "sessions"
    (sessions / "empty.jsonl").write_bytes(b"")
    (sessions / "rubbish.jsonl").write_bytes(b"\0\xff" * 1000)
    (sessions / "new.lease").write_bytes(b"{}")
    (sessions / "a b.jsonl").write_bytes((sessions / "old.jsonl").read_bytes())
    assert [(each.id, each.title) for each in store.list()] == [("new", "New"), ("old", "Old")]
    assert store.list(trashed=True) == ()


async def test_a_store_that_was_never_used_has_no_sessions_and_is_not_made(store, tmp_path):
    assert store.list() == store.list(trashed=True) == ()
    assert not store.has("s")
    for ask in (store.read, store.chats, store.trash, store.restore, store.purge):
        with pytest.raises(UnknownSession):
            ask("s")
    store.write_ahead()
    assert list(tmp_path.iterdir()) == []


async def test_a_summary_is_kept_when_it_says_something_new(store, path):
    log = store.create("s")
    await keep(log, created(), queued(2, "hello"))
    log.describe(summary(title="T"))
    log.describe(summary(title="T", updated_at=at(30)))
    log.describe(summary(title="U"))
    await log.flush()
    found = [record["summary"] for record in records(path) if "summary" in record]
    assert [each["title"] for each in found] == ["T", "U"]
    assert "open" not in found[0]
    assert store.list()[0].title == "U"
    await log.aclose()


async def test_an_unchanged_summary_is_kept_again_before_it_is_too_far_back(store, path):
    log = store.create("s")
    await keep(log, created(), queued(2, "hello"))
    seq = 3
    for _ in range(4):
        for _ in range(DESCRIBE_BYTES // 1000 + 1):
            log.append(titled(seq, "y" * 1000))
            seq += 1
        log.describe(summary(title="T"))
    await log.flush()
    assert len([record for record in records(path) if "summary" in record]) == 4
    await log.aclose()


async def test_an_older_log_gets_a_header_of_this_version_before_its_new_lines(store, path):
    path.parent.mkdir(parents=True)
    old = b'{"log":"agentls","version":1,"sessionId":"s"}\n' + envelope_line(created())
    path.write_bytes(old)
    for seq in (2, 3):
        log = store.open("s", after=seq - 1)
        await (await keep(log, titled(seq, "T"))).aclose()
    new = header_line("s") + envelope_line(titled(2, "T")) + envelope_line(titled(3, "T"))
    assert path.read_bytes() == old + new


async def test_everything_that_waits_is_written_before_it_is_told(store, path):
    first, second = store.create("s"), store.create("t")
    for log, session in ((first, "s"), (second, "t")):
        for envelope in (created(session), queued(2, "hello", session)):
            log.append(envelope)
    await asyncio.to_thread(store.write_ahead)
    assert seqs(path) == [1, 2]
    assert seqs(path.with_name("t.jsonl")) == [1, 2]
    await first.aclose()
    await second.aclose()


async def test_a_finished_turn_is_seen_in_the_list_without_a_summary(store):
    await kept(store, finished(3, 8))
    assert store.list()[0].message_count == 8
