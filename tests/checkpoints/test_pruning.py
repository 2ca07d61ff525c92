import hashlib
import os
import time
from pathlib import Path

import pytest

from agentls.checkpoints.contents import FolderContents
from agentls.checkpoints.pruning import GRACE, Pruned

NOTHING = 10**12


@pytest.fixture
def contents(tmp_path: Path) -> FolderContents:
    return FolderContents(tmp_path / "store")


def grow_older(contents: FolderContents, seconds: float = GRACE + 60) -> None:
    for path in contents.folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            moment = path.stat().st_mtime - seconds
            os.utime(path, (moment, moment))


def session(contents: FolderContents, session_id: str, *texts: str) -> list[str]:
    shas = [contents.put(text.encode()) for text in texts]
    contents.refer(session_id, shas)
    return shas


def test_what_no_session_needs_goes_when_it_is_old_enough(contents: FolderContents) -> None:
    (needed,) = session(contents, "s1", "needed")
    stray = contents.put(b"stray")
    assert contents.prune(NOTHING) == Pruned(0, 0, (), 11)
    grow_older(contents)
    young = contents.put(b"young")
    assert contents.prune(NOTHING) == Pruned(1, 5, (), 11)
    assert contents.has(needed)
    assert contents.has(young)
    assert not contents.has(stray)


def test_content_that_is_put_again_is_young_again(contents: FolderContents) -> None:
    sha256 = contents.put(b"stray")
    grow_older(contents)
    contents.put(b"stray")
    assert contents.prune(NOTHING).contents == 0
    assert contents.has(sha256)


def test_deleted_session_gives_back_what_no_other_needs(contents: FolderContents) -> None:
    shared, own = session(contents, "s1", "shared", "own")
    session(contents, "s2", "shared")
    grow_older(contents)
    contents.release("s1")
    assert contents.prune(NOTHING) == Pruned(1, 3, (), 6)
    assert contents.has(shared)
    assert not contents.has(own)
    contents.release("s2")
    contents.release("s2")
    assert contents.prune(NOTHING) == Pruned(1, 6, (), 0)


def test_quota_takes_the_oldest_sessions_first(contents: FolderContents) -> None:
    for session_id in ("oldest", "older", "old"):
        session(contents, session_id, session_id * 10, "shared by all")
        grow_older(contents)
    assert contents.prune(quota_bytes=80) == Pruned(2, 110, ("oldest", "older"), 43)
    assert contents.get(hashlib.sha256(b"shared by all").hexdigest()) == b"shared by all"


def test_quota_never_takes_what_is_at_work(contents: FolderContents) -> None:
    (given,) = session(contents, "given", "a" * 100)
    (other,) = session(contents, "other", "b" * 100)
    grow_older(contents)
    (young,) = session(contents, "young", "c" * 100)
    pruned = contents.prune(quota_bytes=10, keep=["given"])
    assert pruned == Pruned(1, 100, ("other",), 200)
    assert contents.has(given)
    assert contents.has(young)
    assert not contents.has(other)


def test_line_that_was_cut_off_harms_no_other(contents: FolderContents) -> None:
    (first,) = session(contents, "s1", "first")
    list_of_session = contents.folder / "references" / "s1"
    list_of_session.write_text(f"{first}\n{'ab' * 20}")
    (second,) = session(contents, "s1", "second")
    grow_older(contents)
    assert contents.prune(NOTHING).contents == 0
    assert contents.has(first)
    assert contents.has(second)


def test_what_a_killed_process_left_goes(contents: FolderContents) -> None:
    sha256 = contents.put(b"x")
    contents.refer("s1", [sha256])
    left = contents.folder / sha256[:2] / "unfinished-0123"
    left.write_bytes(b"half of someth")
    assert contents.prune(NOTHING).contents == 0
    assert left.exists()
    grow_older(contents)
    contents.prune(NOTHING)
    assert not left.exists()


def test_planted_links_are_neither_followed_nor_counted(
    contents: FolderContents, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    name = "c" * 62
    (victim / name).write_bytes(b"precious")
    (victim / "s9").write_text("0" * 64)
    old = time.time() - 10 * GRACE
    os.utime(victim / name, (old, old))
    os.utime(victim / "s9", (old, old))
    contents.put(b"x")
    (contents.folder / "ab").symlink_to(victim)
    (contents.folder / "references").symlink_to(victim)
    assert contents.prune(0).left_bytes == 1
    assert sorted(path.name for path in victim.iterdir()) == [name, "s9"]


def test_store_that_is_not_there_is_empty(contents: FolderContents) -> None:
    assert contents.prune(0) == Pruned(0, 0, (), 0)
    contents.release("s1")
    assert not contents.folder.exists()
