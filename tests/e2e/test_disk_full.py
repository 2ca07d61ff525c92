"""A disk that is full in the middle of a turn: the user is told, and nothing told of is lost."""

from pathlib import Path

import pytest

from tests.e2e.observed import SECONDS, scripted
from tests.support.fault_disk import SmallDisk, on_small_disk, small_disk
from tests.support.fault_watch import (
    Told,
    a_turn,
    all_kept,
    begin,
    go,
    in_trouble,
    missing,
    out_of_trouble,
    resumes,
    torn_lines,
    waiting,
)
from tests.support.scenarios import says
from tests.support.scripts import Script
from tests.support.servers import Editor

pytestmark = pytest.mark.editors

NO_ROOM = "there is no room on the disk"
LONG = {"text": "word by word it is told " * 2_400, "chunk": 400, "delayMs": 30}
"""An answer that takes more than four seconds; each second a longer line of the log."""


async def _fill_in_the_turn(it: Editor, disk: SmallDisk, folder: Path) -> None:
    await begin(it)
    assert disk.fill() > 0
    go(folder)
    trouble = await in_trouble(it, words=NO_ROOM)
    await waiting(it)
    assert str(folder) in trouble["message"]
    assert trouble["unsavedBytes"] > 10_000
    assert not trouble["accepted"]


async def test_a_turn_waits_for_room_and_goes_on_by_itself(folder: Path, tmp_path: Path) -> None:
    async with small_disk(folder, scripted(folder, *a_turn(folder))) as (it, disk):
        await _fill_in_the_turn(it, disk, folder)
        assert len(it.events("answerFinished")) == 1, "the model was asked before all was kept"
        disk.make_room()
        await out_of_trouble(it)
        await it.event("turnFinished")
        assert await all_kept(it, disk.agentls) > 8
        moved = disk.save(tmp_path / "moved" / "workspace")
        assert await it.client.shut_down() == 0
    assert torn_lines(moved / ".agentls/sessions/s1.jsonl") <= 1
    await resumes(moved, turns=1)


async def test_a_turn_that_is_let_go_on_is_written_when_there_is_room(
    folder: Path, tmp_path: Path
) -> None:
    script = (*a_turn(folder), says("Said in memory alone."))
    async with small_disk(folder, scripted(folder, *script)) as (it, disk):
        await _fill_in_the_turn(it, disk, folder)
        await it.ask("session/continueUnsaved", sessionId="s1")
        await it.event("turnFinished")
        await it.prompt("And then?", turnId="second")
        await it.event("turnFinished", 2)
        assert (await in_trouble(it))["accepted"]
        unsaved = missing(disk.agentls, Told(it.client).events())
        assert "turnFinished" in unsaved, "there was room after all"
        disk.make_room()
        await all_kept(it, disk.agentls)
        await out_of_trouble(it)
        moved = disk.save(tmp_path / "moved" / "workspace")
        assert await it.client.shut_down() == 0
    await resumes(moved, turns=2)


async def test_a_disk_that_fills_while_an_answer_streams_is_told_of_before_its_end(
    folder: Path,
) -> None:
    async with small_disk(folder, scripted(folder, LONG)) as (it, disk):
        await it.new_session()
        await it.prompt("Tell me.")
        await it.event("answerStarted")
        disk.fill()
        await in_trouble(it, words=NO_ROOM)
        assert it.events("answerFinished") == []
        await it.ask("session/continueUnsaved", sessionId="s1")
        await it.event("turnFinished", seconds=SECONDS)
        disk.make_room()
        await all_kept(it, disk.agentls)
        await out_of_trouble(it)
        assert await it.client.shut_down() == 0


async def test_a_session_that_begins_on_a_full_disk_waits_for_room(folder: Path) -> None:
    async with small_disk(folder, scripted(folder, says("Hello."))) as (it, disk):
        disk.fill()
        await it.new_session()
        await it.prompt("Hi.")
        await in_trouble(it)
        await waiting(it)
        assert it.events("answerStarted") == []
        disk.make_room()
        await it.event("turnFinished")
        await out_of_trouble(it)
        await all_kept(it, disk.agentls)
        assert torn_lines(disk.agentls / "sessions/s1.jsonl") == 0
        assert await it.client.shut_down() == 0


async def test_a_prompt_too_large_for_the_disk_is_kept_as_a_blob_later(folder: Path) -> None:
    """A value of over 64 KB is kept beside the log, before the line that refers to it."""
    async with small_disk(folder, scripted(folder, says("Read it."))) as (it, disk):
        await it.new_session()
        await it.ask("session/rename", sessionId="s1", title="Large")
        disk.fill()
        await it.prompt("much " * 30_000)
        await in_trouble(it)
        disk.make_room()
        await it.event("turnFinished")
        await all_kept(it, disk.agentls)
        assert len([*disk.agentls.glob("sessions/s1/blobs/*")]) == 1
        assert await it.client.shut_down() == 0


async def test_a_server_that_ends_on_a_full_disk_says_what_it_could_not_write(folder: Path) -> None:
    async with small_disk(folder, scripted(folder, *a_turn(folder))) as (it, disk):
        await _fill_in_the_turn(it, disk, folder)
        await it.client.request("shutdown")
        await it.client.notify("exit")
        await it.client.exit_code(SECONDS)
        assert NO_ROOM in it.client.stderr
        assert "Traceback" not in it.client.stderr


def test_a_run_on_a_full_disk_fails_and_says_so(tmp_path: Path) -> None:
    script = Script(tmp_path)
    fill = "head -c 2000000 /dev/zero > filler 2>/dev/null; seq 4000"
    model = script.plays({"calls": [{"name": "Bash", "input": {"command": fill}}]}, says("Never."))
    copy = ("sh", "-c", f'"$@"; code=$?; cp -a {script.folder} {tmp_path}/after; exit $code', "-")
    done = script.run(
        "-p", "Fill it.", "--model", model, "--permission-mode", "bypassPermissions",
        "--output-format", "json",
        prefix=(*on_small_disk(script.folder), *copy),
    )  # fmt: skip
    assert done.code == 1
    assert NO_ROOM in done.stderr.splitlines()[0]
    assert "Traceback" not in done.stderr
    assert NO_ROOM in done.result["result"]
    assert done.result["num_turns"] == 1, "the model was asked about what was not kept"
    (tmp_path / "after" / "filler").unlink()
    [log] = (tmp_path / "after").rglob("*.jsonl")
    session_id = done.result["session_id"]
    assert log.stem == session_id
    script.folder.rmdir()
    (tmp_path / "after").rename(script.folder)
    again = script.run(
        "-p", "Go on.", "--resume", session_id, "--model", script.plays(says("Resumed.")),
    )  # fmt: skip
    assert (again.code, again.stdout) == (0, "Resumed.\n")
    assert missing(script.folder / ".agentls", {}, session_id) == ""
