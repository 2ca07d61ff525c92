import errno
import hashlib
import os
import resource
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from agentls.checkpoints import places
from agentls.checkpoints.applying import Failure
from agentls.protocol.content import FileChange
from tests.support.checkpoints import Yard, as_nobody


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def test_folder_replaced_by_a_link_after_the_preview_is_not_followed(
    yard: Yard, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "a").write_text("2\n")
    yard.put("d/a", "1")
    yard.put("d/b", "1")
    yard.shell("echo 2 > d/a; rm d/b; echo 3 > d/c")
    planned = yard.plan()
    (yard.folder / "d").rename(yard.folder / "moved")
    (yard.folder / "d").symlink_to(victim)
    outcome = await yard.apply(planned, forced={"d/a", "d/b", "d/c"})
    assert outcome.changes == []
    assert {failure.name for failure in outcome.failures} == {"d/a", "d/b", "d/c"}
    assert [(path.name, path.read_text()) for path in victim.iterdir()] == [("a", "2\n")]


@pytest.mark.parametrize("action", ["write", "link", "remove", "set_mode"])
def test_place_is_never_reached_through_a_link(tmp_path: Path, action: str) -> None:
    (tmp_path / "victim").mkdir()
    target = tmp_path / "victim" / "a"
    target.write_text("x")
    target.chmod(0o644)
    (tmp_path / "d").symlink_to("victim")
    status = target.stat()
    stamp = (
        *(status.st_mode, status.st_size, status.st_ino),
        *(status.st_mtime_ns, status.st_ctime_ns),
    )
    place = str(tmp_path / "d" / "a")
    calls: dict[str, Callable[[], object]] = {
        "write": lambda: places.write(place, lambda file: None, None, stamp),
        "link": lambda: places.link(place, b"x", stamp),
        "remove": lambda: places.remove(place, stamp),
        "set_mode": lambda: places.set_mode(place, 0o600, stamp),
    }
    with pytest.raises(NotADirectoryError):
        calls[action]()
    assert target.read_text() == "x"
    assert stat.S_IMODE(target.stat().st_mode) == 0o644


async def test_file_behind_a_link_out_of_the_workspace_is_a_conflict(
    yard: Yard, tmp_path: Path
) -> None:
    yard.put("d/a", "1")
    yard.shell("echo 2 > d/a")
    (yard.folder / "d").rename(tmp_path / "outside")
    (yard.folder / "d").symlink_to(tmp_path / "outside")
    (step,) = yard.plan().steps
    assert step.conflict == (f"is behind a link that leads out of the workspace: {yard.folder}/d")
    await yard.rewind()
    assert (tmp_path / "outside" / "a").read_text() == "2\n"


async def test_known_file_outside_needs_force(yard: Yard, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("1")
    yard.tracker.know(outside)
    yard.shell("echo 2 > ../outside")
    outcome = await yard.rewind()
    assert [step.conflict for step in outcome.skipped] == ["is outside of the workspace"]
    await yard.rewind(forced={str(outside)})
    assert outside.read_text() == "1"


async def test_refusing_disk_leaves_the_file_whole(yard: Yard) -> None:
    yard.put("a", "x" * 50_000)
    yard.put("b", "x")
    yard.shell("echo short > a; echo short > b")
    before = yard.tree()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        outcome = await yard.rewind()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert outcome.failures == [Failure("a", "cannot be changed: File too large")]
    assert yard.tree() == {**before, "b": (before["b"][0], b"x")}
    (failed,) = [step for step in yard.plan().steps if step.action != "nothing"]
    assert failed.conflict is None, "once there is room it can be done"
    await yard.rewind()
    assert (yard.folder / "a").read_text() == "x" * 50_000


async def test_folder_that_may_not_be_written_fails_file_by_file(open_place: Path) -> None:
    (open_place / "work").mkdir()
    yard = Yard(open_place / "work", store=open_place / "store")
    yard.put("closed/a", "1")
    yard.put("closed/gone", "1")
    yard.put("open/a", "1")
    with as_nobody(open_place):
        yard.shell("echo 2 > closed/a; rm closed/gone; echo 3 > closed/new; echo 2 > open/a")
        (yard.folder / "closed").chmod(0o500)
        before = yard.tree()
        outcome = await yard.rewind()
        (yard.folder / "closed").chmod(0o700)
    refused = "cannot be changed: Permission denied"
    assert sorted((failure.name, failure.reason) for failure in outcome.failures) == [
        ("closed/a", refused),
        ("closed/gone", refused),
        ("closed/new", refused),
    ]
    assert yard.tree() == {
        **before,
        "closed": (stat.S_IFDIR | 0o700, b""),
        "open/a": (before["open/a"][0], b"1"),
    }


async def test_unreadable_file_is_a_conflict_and_stays(open_place: Path) -> None:
    (open_place / "work").mkdir()
    yard = Yard(open_place / "work", store=open_place / "store")
    yard.put("a", "1")
    with as_nobody(open_place):
        yard.shell("echo 2 > a")
        (yard.folder / "a").chmod(0o000)
        outcome = await yard.rewind(forced={"a"})
    assert [step.conflict for step in outcome.skipped] == ["cannot be looked at: Permission denied"]
    assert (yard.folder / "a").read_text() == "2\n"


async def test_store_that_cannot_keep_what_is_replaced_stops_the_step(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    yard.put("a", "1")
    yard.shell("echo 2 > a")

    def full(path: str) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(yard.contents, "put_file", full)
    outcome = await yard.rewind()
    assert outcome.failures == [Failure("a", "cannot be changed: No space left on device")]
    assert (yard.folder / "a").read_text() == "2\n"


async def test_damaged_content_is_found_out_and_replaces_nothing(yard: Yard) -> None:
    yard.put("a", "first")
    (change,) = yard.shell("echo 2 > a")
    kept = change.before_sha256 or ""
    (yard.contents.folder / kept[:2] / kept[2:]).write_bytes(b"fIrst")
    before = yard.tree()
    outcome = await yard.rewind()
    (failure,) = outcome.failures
    assert "is damaged; it was removed" in failure.reason
    assert yard.tree() == before
    assert yard.plan().steps[0].conflict == (
        "cannot be brought back: what it held before is no longer kept"
    )
    yard.contents.put(b"first")
    await yard.rewind()
    assert (yard.folder / "a").read_text() == "first"


async def test_content_that_was_pruned_is_said_and_the_rest_is_done(yard: Yard) -> None:
    yard.put("a", "first")
    yard.shell("echo 2 > a; echo 3 > b")
    kept = sha(b"first")
    (yard.contents.folder / kept[:2] / kept[2:]).unlink()
    outcome = await yard.rewind(forced={"a"})
    assert [(step.name, step.action) for step in outcome.skipped] == [("a", "nothing")]
    assert not (yard.folder / "b").exists()


async def test_gits_and_our_own_files_are_left_alone_by_force_too(yard: Yard) -> None:
    yard.put(".git/config", "1")
    yard.put("sub/.GIT/config", "1")
    yard.put("bare/HEAD", "1")
    yard.put("bare/objects/x")
    yard.put("bare/refs/x")
    names = (".git/config", "sub/.GIT/config", "bare/HEAD")
    for name in names:
        yard.edit(name, "2")
    outcome = await yard.rewind(forced=set(names))
    assert [step.conflict for step in outcome.skipped] == ["belongs to git and is left alone"] * 3
    assert all((yard.folder / name).read_text() == "2" for name in names)


async def test_link_to_gits_folder_leads_nowhere(yard: Yard) -> None:
    yard.put(".git/hooks/a", "2")
    (yard.folder / "hooks").symlink_to(".git/hooks")
    change = FileChange(
        path="hooks/a",
        kind="modified",
        before_sha256=yard.contents.put(b"evil"),
        after_sha256=sha(b"2"),
        added_lines=0,
        removed_lines=0,
    )
    await yard.rewind([change], forced={"hooks/a"})
    assert (yard.folder / ".git" / "hooks" / "a").read_text() == "2"
