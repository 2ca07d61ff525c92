import hashlib
import os
import stat
import time
from pathlib import Path

import pytest

from agentls.checkpoints.scan import FINE
from agentls.protocol.content import FileChange
from tests.support.checkpoints import Yard


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def named(changes: list[FileChange] | tuple[FileChange, ...]) -> dict[str, FileChange]:
    return {change.path: change for change in changes}


def kinds(changes: list[FileChange] | tuple[FileChange, ...]) -> dict[str, str]:
    return {change.path: change.kind for change in changes}


def test_command_that_changes_nothing_has_no_changes(yard: Yard) -> None:
    yard.put("a", "x")
    assert yard.shell("cat a; touch a; chmod 644 a") == []


def test_modified_file_has_both_contents_and_its_lines_counted(yard: Yard) -> None:
    yard.put("a", "one\ntwo\n", mode=0o644)
    (change,) = yard.shell("printf 'one\nthree\nfour\n' > a")
    assert change == FileChange(
        path="a",
        kind="modified",
        before_sha256=sha(b"one\ntwo\n"),
        after_sha256=sha(b"one\nthree\nfour\n"),
        added_lines=2,
        removed_lines=1,
        before_mode=stat.S_IFREG | 0o644,
        after_mode=stat.S_IFREG | 0o644,
    )
    assert yard.contents.get(change.before_sha256 or "") == b"one\ntwo\n"
    assert yard.contents.get(change.after_sha256 or "") == b"one\nthree\nfour\n"


def test_created_file_tells_which_folders_came_with_it(yard: Yard) -> None:
    yard.put("old/x")
    changes = named(yard.shell("mkdir -p n/m old/p; echo 1 > n/m/a; echo 2 > old/p/b; echo 3 > c"))
    assert {name: change.made_folders for name, change in changes.items()} == {
        "n/m/a": 2,
        "old/p/b": 1,
        "c": 0,
    }
    assert all(change.kind == "created" and change.restorable for change in changes.values())


def test_deleted_file_is_restorable(yard: Yard) -> None:
    yard.put("d/a", "gone")
    (change,) = yard.shell("rm -r d")
    assert (change.path, change.kind, change.after_sha256, change.after_mode) == (
        "d/a", "deleted", None, None,
    )  # fmt: skip
    assert change.restorable
    assert yard.contents.get(change.before_sha256 or "") == b"gone"


def test_change_of_the_mode_alone_is_a_change(yard: Yard) -> None:
    yard.put("run.sh", "#!/bin/sh\n", mode=0o644)
    (change,) = yard.shell("chmod +x run.sh")
    assert change.kind == "modified"
    assert change.before_sha256 == change.after_sha256 == sha(b"#!/bin/sh\n")
    assert (change.before_mode, change.after_mode) == (0o100644, 0o100755)
    assert (change.added_lines, change.removed_lines) == (0, 0)


def test_link_is_followed_as_a_link(yard: Yard) -> None:
    yard.put("a", "x")
    (yard.folder / "l").symlink_to("a")
    (change,) = yard.shell("ln -sf elsewhere l")
    assert change.before_sha256 == sha(b"a")
    assert change.after_sha256 == sha(b"elsewhere")
    assert stat.S_ISLNK(change.before_mode or 0)


def test_file_that_becomes_a_link_or_a_folder(yard: Yard) -> None:
    yard.put("a", "x")
    yard.put("b", "y")
    yard.put("d/z", "z")
    changes = yard.shell("rm a b; ln -s d a; mkdir b; echo 1 > b/in; rm -r d; echo 2 > d")
    assert kinds(changes) == {
        "a": "modified", "b": "deleted", "b/in": "created", "d": "created", "d/z": "deleted",
    }  # fmt: skip


def test_rename_is_a_deletion_and_a_creation(yard: Yard) -> None:
    yard.put("d/a", "x")
    changes = named(yard.shell("mv d e"))
    assert kinds(tuple(changes.values())) == {"d/a": "deleted", "e/a": "created"}
    assert changes["d/a"].before_sha256 == changes["e/a"].after_sha256 == sha(b"x")


def test_content_that_changes_without_a_sign_is_noticed(yard: Yard) -> None:
    path = yard.put("a", "one")
    time.sleep(2.5 * FINE / 1e9)
    before = path.stat()
    (change,) = yard.shell(f"printf two > a; touch -d @{before.st_mtime_ns / 1e9:.9f} a")
    assert (change.path, change.after_sha256) == ("a", sha(b"two"))


def test_file_written_right_before_and_right_after_the_scan_is_read_again(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = yard.put("a", "one")
    point = yard.tracker.before()
    before = path.stat()
    path.write_bytes(b"two")
    after = path.stat()
    # As on a clock that stood still: the second state looks like the first.
    frozen = Frozen(before, after)
    monkeypatch.setattr(os, "stat", frozen.patched(os.stat))
    monkeypatch.setattr(os, "lstat", frozen.patched(os.lstat))
    (change,) = yard.tracker.after(point).changes
    assert (change.before_sha256, change.after_sha256) == (sha(b"one"), sha(b"two"))


class Frozen:
    """Shows a file's first status where its second would be seen."""

    def __init__(self, first: os.stat_result, second: os.stat_result) -> None:
        self._first, self._second = first, second

    def patched(self, real):  # type: ignore[no-untyped-def]
        def look(*arguments: object, **named: object) -> os.stat_result:
            status = real(*arguments, **named)
            same = (status.st_ino, status.st_ctime_ns)
            return (
                self._first if same == (self._second.st_ino, self._second.st_ctime_ns) else status
            )

        return look


def test_what_was_written_between_two_commands_is_nobodys(yard: Yard) -> None:
    yard.put("a", "x")
    yard.shell("echo 1 >> a")
    yard.put("a", "by the user")
    yard.put("b", "by the user")
    assert kinds(yard.shell("echo 2 > c")) == {"c": "created"}
    (change,) = yard.shell("echo 3 >> a")
    assert change.before_sha256 == sha(b"by the user")


def test_changed_bytes_between_commands_are_what_the_next_one_is_held_against(yard: Yard) -> None:
    yard.edit("a", "by the tool\n")
    (change,) = yard.shell("rm a")
    assert change.before_sha256 == sha(b"by the tool\n")


def test_background_task_gets_what_it_writes_later_and_nothing_else(yard: Yard) -> None:
    yard.put("mine", "1")
    task = yard.tracker.before()
    assert yard.tracker.since(task).changes == ()
    yard.put("task-a", "1")
    assert kinds(yard.shell("echo 1 > command")) == {"command": "created"}
    yard.edit("edited", "1")
    yard.put("saved", "by the user")
    yard.tracker.disown(yard.folder / "saved")
    yard.put("task-b", "2")
    assert kinds(yard.tracker.since(task).changes) == {"task-a": "created", "task-b": "created"}
    assert yard.tracker.since(task).changes == ()
    yard.put("command", "the task writes over it")
    (change,) = yard.tracker.since(task).changes
    assert (change.path, change.kind, change.before_sha256) == ("command", "modified", sha(b"1\n"))
    yard.put("task-a", "again")
    (change,) = yard.tracker.after(task).changes
    assert (change.kind, change.before_sha256) == ("modified", sha(b"1"))
    yard.put("task-a", "too late")
    assert yard.tracker.since(task).changes == ()


def test_file_the_command_made_is_given_back_as_the_task_found_it(yard: Yard) -> None:
    yard.put("a", "first")
    task = yard.tracker.before()
    yard.shell("echo second > a")
    yard.put("a", "first")
    (change,) = yard.tracker.since(task).changes
    assert (change.before_sha256, change.after_sha256) == (sha(b"second\n"), sha(b"first"))


def test_edit_is_kept_with_its_modes(yard: Yard) -> None:
    yard.put("a", "old", mode=0o755)
    (yard.folder / "a").write_text("new")
    kept = yard.tracker.keep(yard.folder / "a", b"old", b"new")
    assert (kept.before_mode, kept.after_mode) == (0o100755, 0o100755)
    assert (kept.path, kept.restorable, kept.problem) == ("a", True, None)
    assert yard.contents.get(kept.before_sha256 or "") == b"old"
    assert yard.contents.get(kept.after_sha256 or "") == b"new"
    created = yard.tracker.keep(yard.put("b", "b"), None, b"b")
    assert (created.before_sha256, created.before_mode) == (None, None)


def test_edit_through_a_link_is_the_linked_files(yard: Yard) -> None:
    yard.put("real/a", "x")
    (yard.folder / "link").symlink_to("real")
    (yard.folder / "a").symlink_to("real/a")
    assert yard.tracker.keep(yard.folder / "link" / "a", b"", b"x").path == "real/a"
    assert yard.tracker.keep(yard.folder / "a", b"", b"x").path == "real/a"


def test_link_among_the_roots_is_not_taken_out_of_the_paths(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    yard = Yard(tmp_path / "link", store=tmp_path / "store")
    yard.put("a", "x")
    assert yard.tracker.keep(yard.folder / "a", b"", b"x").path == "a"
    assert kinds(yard.shell("echo 2 > a")) == {"a": "modified"}


def test_ignored_file_counts_once_the_session_knows_it(yard: Yard) -> None:
    yard.put(".gitignore", "*.env\n")
    yard.put("known.env", "1")
    yard.put("unknown.env", "1")
    yard.tracker.know("known.env")
    (change,) = yard.shell("echo 2 > known.env; echo 2 > unknown.env")
    assert (change.path, change.kind, change.restorable) == ("known.env", "modified", True)
    assert kinds(yard.shell("rm *.env")) == {"known.env": "deleted"}
    assert kinds(yard.shell("echo 3 > known.env")) == {"known.env": "created"}
    assert yard.tracker.before().ignored == 1


def test_file_outside_of_the_workspace_counts_once_it_is_known(yard: Yard) -> None:
    outside = yard.folder.parent / "outside"
    outside.write_text("1")
    yard.tracker.know(outside)
    (change,) = yard.shell("echo 2 > ../outside; echo 3 > ../other")
    assert change.path == str(outside)
    assert change.before_sha256 == sha(b"1")


def test_file_of_another_root_has_its_whole_path(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    yard = Yard(tmp_path / "one", roots=[tmp_path / "two"])
    assert kinds(yard.shell("echo 1 > ../two/a; echo 2 > b")) == {
        str(tmp_path / "two" / "a"): "created",
        "b": "created",
    }


def test_file_that_ignore_rules_now_cover_is_not_taken_for_deleted(yard: Yard) -> None:
    for name in ("a.log", "d/b.log", "logs/c"):
        yard.put(name, "x")
    changes = yard.shell("printf '*.log\nlogs/\n' > .gitignore; echo 2 > d/b.log; rm logs/c")
    assert kinds(changes) == {
        ".gitignore": "created", "d/b.log": "modified", "logs/c": "deleted",
    }  # fmt: skip


def test_file_that_was_ignored_is_not_taken_for_new(yard: Yard) -> None:
    yard.put(".gitignore", "*.log\nlogs/\n")
    for name in ("a.log", "d/b.log", "logs/c", "logs/deep/d"):
        yard.put(name, "precious")
    point = yard.tracker.before()
    yard.put(".gitignore", "")
    yard.put("new", "")
    observed = yard.tracker.after(point)
    assert kinds(observed.changes) == {".gitignore": "modified", "new": "created"}
    assert observed.left_out == (
        "4 files that were ignored before: whether they are new is not known"
    )


def test_gits_files_are_never_among_the_changes(yard: Yard) -> None:
    changes = yard.shell("git init -q . && git init -q sub && echo 1 > a && git add a")
    assert kinds(changes) == {"a": "created"}
    assert kinds(yard.shell("rm -rf .git; echo gitdir: sub > .git; touch .agentls")) == {}
