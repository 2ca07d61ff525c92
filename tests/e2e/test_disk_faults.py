"""A disk and a clock that fail under a real server: the user is told, and nothing is lost."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.observed import SECONDS, log_of, scripted, until
from tests.support.fault_watch import (
    Told,
    a_turn,
    all_kept,
    begin,
    go,
    hears_of,
    in_trouble,
    kept,
    missing,
    out_of_trouble,
    resumes,
    torn_lines,
    waiting,
)
from tests.support.scenarios import says
from tests.support.scripts import PLAIN_USER, ROOT, Script, as_root
from tests.support.servers import AGENTLS, Editor, editor

PROGRAM = Path(__file__).parents[1] / "support" / "fault_server.py"
EIO = "input/output error"


class Faults:
    """What is wrong just now with the disk and the clock of a server."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.env = {"AGENTLS_FAULTS": str(path)}
        self.are("")

    def are(self, words: str) -> None:
        new = self.path.with_suffix(".new")
        new.write_text(words)
        new.replace(self.path)


@asynccontextmanager
async def failing(folder: Path, *script: dict[str, Any]) -> AsyncGenerator[tuple[Editor, Faults]]:
    """Start a server whose disk and clock fail as they are told to."""
    faults = Faults(folder.parent / "faults")
    command = (sys.executable, PROGRAM, "lsp", "--stdio", *scripted(folder, *script))
    async with editor(folder, program=command, env=faults.env) as it:
        yield it, faults


async def test_a_turn_waits_while_the_disk_reports_errors(folder: Path) -> None:
    async with failing(folder, *a_turn(folder)) as (it, faults):
        await begin(it)
        faults.are("EIO")
        go(folder)
        trouble = await in_trouble(it, words=EIO)
        await waiting(it)
        assert "s1.jsonl" in trouble["message"]
        assert len(it.events("answerFinished")) == 1, "the model was asked before all was kept"
        faults.are("")
        await it.event("turnFinished")
        await out_of_trouble(it)
        await all_kept(it, folder / ".agentls")
        assert await it.client.shut_down() == 0
    assert torn_lines(folder / ".agentls/sessions/s1.jsonl") == 0
    await resumes(folder, turns=1)


async def test_what_went_on_without_the_disk_is_written_when_it_works_again(folder: Path) -> None:
    async with failing(folder, *a_turn(folder), says("More.")) as (it, faults):
        await begin(it)
        faults.are("EIO")
        go(folder)
        await in_trouble(it, words=EIO)
        await it.ask("session/continueUnsaved", sessionId="s1")
        await it.event("turnFinished")
        await it.prompt("And then?", turnId="second")
        await it.event("turnFinished", 2)
        assert missing(folder / ".agentls", Told(it.client).events())
        faults.are("")
        await all_kept(it, folder / ".agentls")
        await out_of_trouble(it)
        assert await it.client.shut_down() == 0
    await resumes(folder, turns=2)


async def test_a_disk_that_hangs_is_told_of_and_holds_up_nothing_else(folder: Path) -> None:
    async with failing(folder, *a_turn(folder)) as (it, faults):
        await begin(it)
        faults.are("hang")
        go(folder)
        await in_trouble(it)
        await waiting(it)
        answered = await it.ask("state/get", sessionId="s1")
        assert answered["snapshot"]["state"]["turn"] is not None
        faults.are("")
        await it.event("turnFinished")
        await out_of_trouble(it)
        await all_kept(it, folder / ".agentls")
        assert await it.client.shut_down() == 0
    assert torn_lines(folder / ".agentls/sessions/s1.jsonl") == 0
    await resumes(folder, turns=1)


async def test_a_server_ends_although_its_disk_hangs(folder: Path) -> None:
    async with failing(folder, *a_turn(folder)) as (it, faults):
        await begin(it)
        faults.are("hang")
        go(folder)
        await it.event("toolCallFinished")
        it.client.close_stdin()
        await it.client.exit_code(SECONDS)
        assert "session s1 cannot be closed" in it.client.stderr
        assert "Traceback" not in it.client.stderr


def test_a_run_whose_disk_reports_errors_fails_and_says_so(tmp_path: Path) -> None:
    script = Script(tmp_path)
    faults = Faults(tmp_path / "faults")
    faults.are("EIO")
    model = script.plays(says("Never."))
    command = [
        sys.executable,
        PROGRAM,
        "run",
        "--cwd",
        script.folder,
        "--model",
        model,
        "-p",
        "Hi.",
    ]
    done = subprocess.run(
        command, env=script.environment(**faults.env), capture_output=True, text=True,
        timeout=SECONDS, check=False, stdin=subprocess.DEVNULL, cwd=ROOT,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert EIO in done.stderr.splitlines()[0]
    assert "Traceback" not in done.stderr
    faults.are("")
    again = script.run("-p", "Again.", "--model", script.plays(says("Yes.")))
    assert (again.code, again.stdout) == (0, "Yes.\n")


@as_root
async def test_sessions_of_a_folder_that_is_read_only_are_kept_elsewhere(
    open_folder: Path,
) -> None:
    folder = open_folder
    async with as_somebody(folder, says("Hello."), mode=0o555) as it:
        notices = (await it.ask("app/get"))["state"]["notices"]
        [notice] = [n["message"] for n in notices if f"{folder} cannot be written" in n["message"]]
        await it.new_session()
        await it.prompt("Hi.")
        await it.event("turnFinished")
        [log] = (folder.parent / "data").rglob("*.jsonl")
        assert str(log.parent.parent) in notice
        await all_kept(it, log.parent.parent)
        assert await it.client.shut_down() == 0
    assert _names(folder) == ["a.txt"]


@as_root
@pytest.mark.parametrize("place", [".agentls/sessions", "."])
async def test_permission_that_is_lost_in_a_turn_and_given_back_loses_nothing(
    open_folder: Path, place: str
) -> None:
    folder = open_folder
    async with as_somebody(folder, *a_turn(folder), says("More.")) as it:
        await begin(it)
        (folder / place).chmod(0o000)
        go(folder)
        trouble = await in_trouble(it)
        assert ".agentls" in trouble["message"]
        await waiting(it)
        (folder / place).chmod(0o777)
        await it.event("turnFinished")
        await out_of_trouble(it)
        await it.prompt("And then?", turnId="second")
        await it.event("turnFinished", 2)
        await all_kept(it, folder / ".agentls")
        assert await it.client.shut_down() == 0
    assert torn_lines(folder / ".agentls/sessions/s1.jsonl") == 0
    await resumes(folder, turns=2)


@asynccontextmanager
async def as_somebody(
    folder: Path, *script: dict[str, Any], mode: int = 0o777
) -> AsyncGenerator[Editor]:
    """Start a server as a user whom permissions bind, in a folder of that mode."""
    _give(folder, mode)
    command = (*PLAIN_USER, AGENTLS, "lsp", "--stdio", *scripted(folder, *script))
    async with editor(folder, program=command) as it:
        yield it


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A workspace that others may enter; pytest closes its own folders to them ever again."""
    with tempfile.TemporaryDirectory(prefix="agentls-faults-") as name:
        Path(name).chmod(0o755)
        for inside in ("config", "data", "workspace"):
            (Path(name) / inside).mkdir()
            (Path(name) / inside).chmod(0o777)
        (Path(name) / "workspace/a.txt").write_text("alpha\nbeta\n")
        yield Path(name) / "workspace"


def _give(folder: Path, mode: int) -> None:
    folder.chmod(mode)


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def _rename(folder: Path, to: Path) -> None:
    folder.rename(to)


def _delete(log: Path) -> None:
    log.unlink()


def _replace_by_older(log: Path) -> None:
    older = log.with_suffix(".older")
    data = log.read_bytes()
    older.write_bytes(data[: data.index(b"\n", len(data) // 2) + 1])
    older.replace(log)


def _replace_by_rubbish(log: Path) -> None:
    rubbish = log.with_suffix(".rubbish")
    rubbish.write_bytes(b"this is\nnot a log")
    rubbish.replace(log)


def _delete_all(log: Path) -> None:
    # The server may be about to make or remove a file in it.
    for _ in range(100):
        shutil.rmtree(log.parent.parent, ignore_errors=True)
        if not log.parent.parent.exists():
            return
    raise AssertionError(f"{log.parent.parent} does not go away")


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (_delete, "deleted while in use"),
        (_replace_by_older, "replaced by another file"),
        (_replace_by_rubbish, "replaced by another file"),
        (_delete_all, "deleted while in use"),
    ],
)
async def test_a_log_that_is_taken_away_in_a_turn_is_written_again(
    folder: Path, harm: Callable[[Path], None], words: str
) -> None:
    log = folder / ".agentls/sessions/s1.jsonl"
    async with editor(folder, *scripted(folder, *a_turn(folder), says("More."))) as it:
        await begin(it)
        await until(lambda: "toolCallStarted" in log.read_text())
        harm(log)
        go(folder)
        await it.event("turnFinished")
        await hears_of(it, words)
        await it.prompt("And then?", turnId="second")
        await it.event("turnFinished", 2)
        await all_kept(it, folder / ".agentls")
        assert await it.client.shut_down() == 0
    assert torn_lines(log) == (2 if harm is _replace_by_rubbish else 0)
    await resumes(folder, turns=2)


@pytest.mark.parametrize("keeps", [0.0, 0.7])
async def test_a_log_that_is_cut_in_a_turn_is_gone_on_with_behind_what_is_left(
    folder: Path, keeps: float
) -> None:
    log = folder / ".agentls/sessions/s1.jsonl"
    async with editor(folder, *scripted(folder, *a_turn(folder), says("More."))) as it:
        await begin(it)
        await until(lambda: "toolCallStarted" in log.read_text())
        before = Told(it.client).events()
        with log.open("rb+") as file:
            file.truncate(int(log.stat().st_size * keeps))
        go(folder)
        await it.event("turnFinished")
        await hears_of(it, "was cut short while in use")
        await it.prompt("And then?", turnId="second")
        await it.event("turnFinished", 2)
        later = {seq: e for seq, e in Told(it.client).events().items() if seq not in before}
        history = (await it.ask("state/get", sessionId="s1"))["snapshot"]["state"]["history"]
        assert len(history) == 6, "what the process knew is not there any more"
        await until(lambda: kept(folder / ".agentls").items() >= later.items())
        assert await it.client.shut_down() == 0
    async with editor(folder, *scripted(folder, says("Resumed."))) as it:
        loaded = await it.ask("session/load", sessionId="s1")
        texts = json.dumps(loaded["snapshot"]["state"]["history"])
        assert "It was told." in texts
        assert "More." in texts
        await hears_of(it, "session s1 was damaged on disk")
        await it.prompt("Go on.", turnId="third")
        assert (await it.event("turnFinished"))["status"] == "completed"
        assert await it.client.shut_down() == 0


async def test_a_workspace_that_is_renamed_under_the_server_loses_nothing(folder: Path) -> None:
    elsewhere = folder.with_name("elsewhere")
    async with editor(folder, *scripted(folder, *a_turn(folder), says("More."))) as it:
        await begin(it)
        _rename(folder, elsewhere)
        go(elsewhere)
        await hears_of(it, str(folder))
        assert folder.name not in _names(folder.parent), "the folder was made again"
        _rename(elsewhere, folder)
        await it.event("turnFinished")
        await it.prompt("And then?", turnId="second")
        await it.event("turnFinished", 2)
        await all_kept(it, folder / ".agentls")
        assert await it.client.shut_down() == 0
    assert torn_lines(folder / ".agentls/sessions/s1.jsonl") == 0
    await resumes(folder, turns=2)


async def test_a_clock_that_goes_back_changes_neither_the_order_nor_the_list(folder: Path) -> None:
    script = (*a_turn(folder), says("Yesterday."), says("In another session."), says("Resumed."))
    async with failing(folder, *script) as (it, faults):
        await begin(it)
        faults.are("clock=-86400")
        go(folder)
        assert (await it.event("turnFinished"))["durationMs"] == 0
        await it.prompt("And then?", turnId="second")
        await it.event("turnFinished", 2)
        await all_kept(it, folder / ".agentls")
        await it.new_session("s2")
        await it.prompt("Here.", "s2")
        await it.event("turnFinished", 3)
        listed = (await it.ask("session/list"))["sessions"]
        assert {s["id"]: s["lastPrompt"] for s in listed} == {"s1": "And then?", "s2": "Here."}
        faults.are("clock=-172800")
        await it.ask("session/close", sessionId="s1")
        await it.ask("session/load", sessionId="s1")
        await it.prompt("Go on.", turnId="third")
        assert (await it.event("turnFinished", 4))["status"] == "completed"
        assert await it.client.shut_down() == 0
    days = {line["at"][:10] for line in log_of(folder) if "seq" in line}
    assert len(days) == 3
    numbers = [line["seq"] for line in log_of(folder) if "seq" in line]
    assert numbers == list(range(1, len(numbers) + 1))
    await resumes(folder, turns=3)
