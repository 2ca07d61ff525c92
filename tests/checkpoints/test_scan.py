import os
import shutil
import socket
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentls.checkpoints import scan as module
from agentls.checkpoints.scan import (
    CHANGED,
    FINE,
    MODE,
    MODIFIED,
    SIZE,
    UNSEEN,
    Scan,
    ScanLimits,
    is_settled,
    scan,
    stamp_of,
)
from tests.support.checkpoints import as_nobody


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def names(seen: Scan, root: Path) -> list[str]:
    """Return the files that were seen, by their path below `root`."""
    return sorted(
        f"{folder}/{name}".removeprefix(f"{root}/")
        for folder, held in seen.folders.items()
        for name in held.files
    )


def settle() -> None:
    """Let the clocks of files step, so that a scan may trust what it lists."""
    time.sleep(2.5 * FINE / 1e9)


def test_stamp_tells_size_mode_and_times(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "four")
    stamp = scan([str(tmp_path)]).stamp(str(path))
    assert stamp == stamp_of(str(path))
    assert stamp is not None
    assert stamp[SIZE] == 4
    assert stat.S_ISREG(stamp[MODE])
    assert stamp[MODIFIED] == path.stat().st_mtime_ns


def test_git_and_our_own_folder_are_passed_over_wherever_they_are(tmp_path: Path) -> None:
    write(tmp_path / ".git" / "config")
    write(tmp_path / "submodule" / ".git", "gitdir: ../.git/modules/submodule\n")
    write(tmp_path / "nested" / ".git" / "HEAD")
    write(tmp_path / ".agentls" / "sessions" / "s1.jsonl")
    write(tmp_path / "nested" / ".agentls" / "x")
    write(tmp_path / "submodule" / "a")
    assert names(scan([str(tmp_path)]), tmp_path) == ["submodule/a"]


def test_repository_without_a_working_tree_is_left_out_and_said(tmp_path: Path) -> None:
    write(tmp_path / "a")
    for name in ("HEAD", "objects/pack/p", "refs/heads/main"):
        write(tmp_path / "bare" / name)
    seen = scan([str(tmp_path)])
    assert names(seen, tmp_path) == ["a"]
    (words,) = seen.left_out
    assert words.startswith("repositories without a working tree: 1")


def test_links_pipes_and_sockets_are_seen_as_such(tmp_path: Path) -> None:
    write(tmp_path / "real" / "a")
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "folder-link").symlink_to("real")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "socket"))
    seen = scan([str(tmp_path)])
    assert names(seen, tmp_path) == [
        "dangling", "folder-link", "loop", "pipe", "real/a", "socket",
    ]  # fmt: skip
    kinds = {name: stat.S_IFMT((seen.stamp(f"{tmp_path}/{name}") or (0,))[MODE]) for name in
             ("loop", "pipe", "socket")}  # fmt: skip
    assert kinds == {"loop": stat.S_IFLNK, "pipe": stat.S_IFIFO, "socket": stat.S_IFSOCK}


def test_what_is_ignored_is_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write(tmp_path / ".gitignore", "*.log\nbuild/\n.gitignore\n")
    write(tmp_path / "src" / ".gitignore", "!kept.log\n")
    for name in ("a.log", "build/x/y", "src/kept.log", "src/b.log", "src/a"):
        write(tmp_path / name)
    seen = scan([str(tmp_path)])
    assert names(seen, tmp_path) == [".gitignore", "src/.gitignore", "src/a", "src/kept.log"]
    assert seen.ignored == 3
    assert seen.left_out == ()


def test_ignored_folder_that_was_opened_is_looked_into(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write(tmp_path / ".gitignore", "vendor/\n")
    write(tmp_path / "vendor" / "a")
    assert names(scan([str(tmp_path / "vendor")]), tmp_path) == ["vendor/a"]


def test_roots_inside_of_one_another_are_seen_once(tmp_path: Path) -> None:
    write(tmp_path / "sub" / "a")
    seen = scan([str(tmp_path), str(tmp_path / "sub"), f"{tmp_path}/"])
    assert seen.files == 1
    other_way = scan([str(tmp_path / "sub"), str(tmp_path)])
    assert names(other_way, tmp_path) == ["sub/a"]


def test_root_may_be_a_link(tmp_path: Path) -> None:
    write(tmp_path / "real" / "a")
    (tmp_path / "link").symlink_to("real")
    assert names(scan([str(tmp_path / "link")]), tmp_path) == ["link/a"]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (ScanLimits(files=3), "folders beyond 3 files: 1, the first is {}/b/many"),
        (ScanLimits(depth=1), "folders deeper than 1: 1, the first is {}/b/many"),
        (ScanLimits(seconds=-1), "folders not reached in -1 s: 1, the first is {}/b"),
    ],
)
def test_bounds_are_kept_and_said(tmp_path: Path, limits: ScanLimits, expected: str) -> None:
    write(tmp_path / "a")
    for number in range(4):
        write(tmp_path / "b" / "many" / str(number))
    seen = scan([str(tmp_path)], limits=limits)
    assert seen.left_out == (expected.format(tmp_path),)
    assert names(seen, tmp_path) == ["a"]


def test_root_that_is_not_there_is_said(tmp_path: Path) -> None:
    seen = scan([str(tmp_path / "nowhere")])
    assert seen.left_out == (f"folders that cannot be read: 1, the first is {tmp_path}/nowhere",)


def test_folder_that_cannot_be_read_is_said_and_the_rest_seen(open_place: Path) -> None:
    write(open_place / "closed" / "a")
    write(open_place / "open" / "b")
    with as_nobody(open_place):
        (open_place / "closed").chmod(0o000)
        seen = scan([str(open_place)])
        assert stamp_of(str(open_place / "closed" / "a")) == UNSEEN
        (open_place / "closed").chmod(0o755)
    assert names(seen, open_place) == ["open/b"]
    assert seen.left_out == (f"folders that cannot be read: 1, the first is {open_place}/closed",)


def test_any_name_is_seen(tmp_path: Path) -> None:
    for name in (b"\xff\xfe", b"new\nline", b" ", b"-rf", b"*"):
        write(tmp_path / os.fsdecode(name))
    seen = scan([str(tmp_path)])
    assert sorted(os.fsencode(name) for name in names(seen, tmp_path)) == [
        b" ", b"*", b"-rf", b"new\nline", b"\xff\xfe",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        lambda root: write(root / "new"),
        lambda root: write(root / "d" / "new"),
        lambda root: write(root / "a", "longer"),
        lambda root: (root / "a").chmod(0o600),
        lambda root: (root / "a").unlink(),
        lambda root: shutil.rmtree(root / "d"),
        lambda root: (root / "d").rename(root / "e"),
        lambda root: write(root / ".gitignore", "a\n"),
        lambda root: write(root / "d" / ".gitignore", "*.log\n"),
        lambda root: (root / ".gitignore").unlink(),
        lambda root: (shutil.rmtree(root / "d"), write(root / "d", "a file now")),
        lambda root: ((root / "a").unlink(), write(root / "a" / "inside")),
        lambda root: ((root / "d").rename(root / "x"), (root / "d").symlink_to("x")),
    ],
)
def test_second_scan_sees_what_a_first_one_would(
    tmp_path: Path, change: Callable[[Path], object]
) -> None:
    write(tmp_path / ".gitignore", "*.tmp\n")
    for name in ("a", "b.tmp", "c.log", "d/a", "d/b/c", "d/x.log"):
        write(tmp_path / name)
    settle()
    before = scan([str(tmp_path)])
    assert all(folder.trusted for folder in before.folders.values())
    change(tmp_path)
    assert_same(scan([str(tmp_path)], before), scan([str(tmp_path)]))


def assert_same(one: Scan, other: Scan) -> None:
    assert list(one.folders) == list(other.folders)
    for path, folder in one.folders.items():
        assert folder.files == other.folders[path].files
        assert folder.folders == other.folders[path].folders
        assert folder.rules == other.folders[path].rules
        assert folder.ignored == other.folders[path].ignored
    assert (one.files, one.ignored, one.left_out) == (other.files, other.ignored, other.left_out)


def test_what_did_not_change_is_not_listed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / ".gitignore", "*.tmp\n")
    write(tmp_path / "d" / "a")
    settle()
    before = scan([str(tmp_path)])
    monkeypatch.delattr(os, "scandir")
    monkeypatch.delattr(module, "rules_in")
    after = scan([str(tmp_path)], before)
    assert all(after.folders[path] is folder for path, folder in before.folders.items())


paths = st.sampled_from(["a", "b", "d/a", "d/b", "d/e/a", "d/e", "d", ".gitignore", "d/.gitignore"])
actions = st.lists(
    st.tuples(st.sampled_from(["write", "delete", "rename", "link", "scan"]), paths, paths),
    max_size=12,
)


@settings(deadline=None, max_examples=150)
@given(actions=actions)
def test_scan_after_scan_equals_one_from_nothing(actions: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        seen = None
        for action, one, other in actions:
            act(root, action, root / one, root / other)
            # Right after: no clock has stepped yet.
            seen = scan([str(root)], seen)
            assert_same(seen, scan([str(root)]))


def act(root: Path, action: str, path: Path, other: Path) -> None:
    try:
        match action:
            case "write":
                write(path, f"{other.name}\n")
            case "delete" if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            case "delete":
                path.unlink()
            case "rename":
                path.rename(other)
            case "link":
                path.symlink_to(other)
            case _:
                pass
    except OSError:
        # The other things are in the way.
        return


def test_stamp_is_settled_when_the_clock_has_stepped_since() -> None:
    now = 1_700_000_000_123_456_789
    stamp = [0] * 5
    stamp[CHANGED] = stamp[MODIFIED] = now
    assert not is_settled(tuple(stamp), now)
    assert not is_settled(tuple(stamp), now + FINE)
    assert is_settled(tuple(stamp), now + FINE + 1)
    assert not is_settled(tuple(stamp), now - 10 * FINE), "a clock that was set back proves nothing"


def test_whole_seconds_are_taken_for_a_coarse_clock() -> None:
    stamp = [0] * 5
    stamp[CHANGED] = stamp[MODIFIED] = 1_700_000_000_000_000_000
    assert not is_settled(tuple(stamp), stamp[CHANGED] + 2_000_000_000)
    assert is_settled(tuple(stamp), stamp[CHANGED] + 2_100_000_000)
