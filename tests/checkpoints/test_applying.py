import os
import stat
from pathlib import Path

import pytest

from agentls.checkpoints.applying import Failure
from tests.support.checkpoints import Yard


def fill(yard: Yard) -> None:
    yard.put("a", "one\n", mode=0o644)
    yard.put("run.sh", "#!/bin/sh\n", mode=0o755)
    yard.put("d/e/deep", b"\0binary\xff", mode=0o600)
    yard.put("empty")
    (yard.folder / "link").symlink_to("a")
    (yard.folder / "dangling").symlink_to(os.fsdecode(b"\xff-nowhere"))


@pytest.mark.parametrize(
    "command",
    [
        "echo two >> a",
        "rm a run.sh",
        "rm -r d",
        "mv d f",
        "chmod -x run.sh; chmod 400 a",
        "mkdir -p n/m; echo 1 > n/m/x; echo 2 > n/y; echo 3 > d/z",
        "ln -sf d link; rm dangling",
        "rm link; echo plain > link; rm a; ln -s run.sh a",
        "rm a; mkdir a; echo 1 > a/in; mkdir a/sub; echo 2 > a/sub/in",
        "rm a; mkdir -p a/sub/sub",
        "rm -r d; echo file > d",
        "mv d real; ln -s real d",
        "rm -r d; ln -s /etc d",
        ": > a; echo full > empty",
        r"printf x > $'new\nline'; printf y > $'\xff\xfe'; printf z > ' '; printf v > -rf",
        "mkfifo pipe",
        "truncate -s 3M large",
        "echo 1 > a; echo 2 > a; rm a; echo 3 > a",
    ],
)
async def test_rewind_brings_the_tree_back_and_redo_the_other(yard: Yard, command: str) -> None:
    fill(yard)
    before = yard.tree()
    yard.shell(command)
    after = yard.tree()
    outcome = await yard.rewind()
    assert (outcome.skipped, outcome.failures) == ([], [])
    assert yard.tree() == before
    redone = await yard.rewind(outcome.changes)
    if "mkfifo" in command:
        # What a pipe is made of is not kept.
        assert [step.conflict for step in redone.skipped] == [
            "cannot be brought back: what it held before was not kept"
        ]
        return
    if command == "rm a; mkdir -p a/sub/sub":
        after = {path: held for path, held in after.items() if not path.startswith("a/")}
        after.pop("a")
    assert (redone.skipped, redone.failures) == ([], [])
    assert yard.tree() == after
    again = await yard.rewind(redone.changes)
    assert (again.skipped, again.failures) == ([], [])
    assert yard.tree() == before


async def test_dry_run_touches_nothing(yard: Yard) -> None:
    fill(yard)
    yard.shell("echo 1 > a; rm -r d; echo 1 > new")
    before = yard.tree()
    assert {name: step.action for name, step in yard.steps().items()} == {
        "a": "restore",
        "d/e/deep": "create",
        "new": "delete",
    }
    assert yard.tree() == before


async def test_changes_of_a_rewind_say_what_it_did(yard: Yard) -> None:
    yard.put("a", "one\n", mode=0o644)
    yard.put("n/x", "x")
    made = yard.shell("echo two > a; rm -r n; echo 1 > new")
    outcome = await yard.rewind()
    found = {change.path: change for change in outcome.changes}
    assert found["a"] == made[0].model_copy(
        update={
            "before_sha256": made[0].after_sha256,
            "after_sha256": made[0].before_sha256,
            "added_lines": 1,
            "removed_lines": 1,
        }
    )
    assert (found["n/x"].kind, found["n/x"].made_folders) == ("created", 1)
    assert (found["new"].kind, found["new"].after_mode, found["new"].removed_lines) == (
        "deleted", None, 1,
    )  # fmt: skip
    assert yard.log == [*made, *outcome.changes]


async def test_conflict_is_skipped_and_the_rest_is_done(yard: Yard) -> None:
    for name in ("mine", "theirs"):
        yard.put(name, "1")
    yard.shell("echo 2 > mine; echo 2 > theirs")
    yard.put("theirs", "3")
    outcome = await yard.rewind()
    assert [(step.name, step.conflict) for step in outcome.skipped] == [
        ("theirs", "was changed by something else since")
    ]
    assert (yard.folder / "mine").read_text() == "1"
    assert (yard.folder / "theirs").read_text() == "3"


async def test_forced_conflict_is_done_and_redo_gives_back_what_it_replaced(yard: Yard) -> None:
    yard.put("theirs", "1")
    yard.put("gone", "1")
    yard.shell("echo 2 > theirs; echo 2 > gone; echo 2 > new")
    yard.put("theirs", "by the user")
    yard.put("new", "by the user as well")
    (yard.folder / "gone").unlink()
    theirs = yard.tree()
    outcome = await yard.rewind(forced={"theirs", "new", "gone"})
    assert (outcome.skipped, outcome.failures) == ([], [])
    assert (yard.folder / "theirs").read_text() == "1"
    assert (yard.folder / "gone").read_text() == "1"
    assert not (yard.folder / "new").exists()
    await yard.rewind(outcome.changes)
    assert yard.tree() == theirs


async def test_force_does_not_empty_a_folder(yard: Yard) -> None:
    yard.put("a", "1")
    yard.shell("rm a")
    yard.put("a/precious", "2")
    outcome = await yard.rewind(forced={"a"})
    assert outcome.failures == [Failure("a", "cannot be changed: Directory not empty")]
    assert (yard.folder / "a" / "precious").read_text() == "2"


async def test_file_that_changes_after_the_preview_is_left_alone(yard: Yard) -> None:
    yard.put("a", "1")
    yard.shell("echo 2 > a")
    planned = yard.plan()
    yard.put("a", "by the user")
    outcome = await yard.apply(planned)
    assert outcome.failures == [Failure("a", "was changed since the preview")]
    assert (yard.folder / "a").read_text() == "by the user"


async def test_folders_that_were_there_stay_and_new_ones_go(yard: Yard) -> None:
    (yard.folder / "logs").mkdir()
    yard.shell("mkdir -p new/sub; echo 1 > logs/a; echo 1 > new/sub/b; echo 1 > new/c")
    await yard.rewind()
    assert set(yard.tree()) == {"logs"}


async def test_new_folder_that_somebody_uses_stays(yard: Yard) -> None:
    yard.shell("mkdir new; echo 1 > new/a")
    yard.put("new/by the user")
    await yard.rewind()
    assert set(yard.tree()) == {"new", "new/by the user"}


async def test_folders_of_an_edit_go_when_they_are_emptied(yard: Yard) -> None:
    yard.edit("n/m/a", "1")
    await yard.rewind()
    assert yard.tree() == {}
    assert yard.folder.is_dir()


async def test_modes_owners_and_attributes_survive(yard: Yard) -> None:
    path = yard.put("a", "1", mode=0o640)
    try:
        os.setxattr(path, "user.note", b"kept")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    if os.geteuid() == 0:
        os.chown(path, 1234, 1234)
    owner = path.stat().st_uid
    yard.shell("echo 2 > a; chmod 755 a")
    await yard.rewind()
    status = path.stat()
    assert (stat.S_IMODE(status.st_mode), status.st_uid) == (0o640, owner)
    assert os.getxattr(path, "user.note") == b"kept"


async def test_mode_of_an_edit_that_did_not_say_is_the_present_one(yard: Yard) -> None:
    yard.put("a", "1", mode=0o755)
    change = yard.edit("a", "2").model_copy(update={"before_mode": None, "after_mode": None})
    await yard.rewind([change])
    assert (yard.folder / "a").read_text() == "1"
    assert stat.S_IMODE((yard.folder / "a").stat().st_mode) == 0o755


async def test_two_sessions_share_contents_and_each_has_its_way_back(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    one, two = (
        Yard(tmp_path / "work", session_id=name, store=tmp_path / "store") for name in ("s1", "s2")
    )
    one.put("a", "shared")
    one.shell("echo by one > a")
    two.shell("echo by two > a")
    one.contents.release("s1")
    assert [step.conflict for step in one.plan().steps] == ["was changed by something else since"]
    await two.rewind()
    assert (tmp_path / "work" / "a").read_text() == "by one\n"
    await one.rewind()
    assert (tmp_path / "work" / "a").read_text() == "shared"
