"""What runs in the background of a real server: commands that behave badly, and their output."""

import asyncio
import os
import signal
import stat
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.observed import SECONDS, log_of, scripted, until
from tests.support.killed_at_work import OUR_MARK, processes
from tests.support.raw_client import RpcError
from tests.support.scenarios import calls, says
from tests.support.servers import Editor, editor

STUBBORN = "trap '' TERM HUP INT\necho up\nwhile :; do sleep 0.1; done"
DAEMON = """\
python3 - <<'END'
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        null = os.open("/dev/null", os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        open("daemon.pid", "w").write(str(os.getpid()))
        time.sleep(600)
    os._exit(0)
os.wait()
END
echo up
sleep 600"""
GIGABYTE = 1_000_000_000
FLOOD = f"echo BEGINNING; yes 0123456789abcde | head -c {GIGABYTE}; echo END"
MOST_RSS = 400 << 20
"""A server that holds nothing of what a command writes stays far below that."""


@asynccontextmanager
async def at_work(folder: Path, *script: dict[str, Any]) -> AsyncGenerator[Editor]:
    """Start a server that bears our mark, and begin a session in which all may run."""
    env = {OUR_MARK: str(folder)}
    async with editor(folder, *scripted(folder, *script), env=env) as it:
        await it.new_session(mode="bypassPermissions")
        yield it


def beside(command: str) -> dict[str, Any]:
    """Return an answer that runs a command in the background."""
    return calls("Bash", command=command, run_in_background=True)


async def begun(it: Editor, number: int = 1) -> dict[str, Any]:
    """Wait until a task was started, and return it."""
    added = await it.event("taskAdded", number, SECONDS)
    await it.event("taskStarted", number, SECONDS)
    return added["task"]


async def says_up(it: Editor, task_id: str) -> None:
    """Wait until a task has said that it is up."""
    async with asyncio.timeout(SECONDS):
        while "up" not in (await piece(it, task_id))["text"]:
            await asyncio.sleep(0.05)


async def piece(it: Editor, task_id: str, **params: Any) -> dict[str, Any]:
    """Return a piece of a task's output."""
    return await it.ask("task/output", sessionId="s1", taskId=task_id, **params)


async def all_of(it: Editor, task_id: str) -> str:
    """Read a task's output piece by piece, until it has ended."""
    text, offset = "", 0
    async with asyncio.timeout(SECONDS):
        while True:
            got = await piece(it, task_id, offset=offset, limit=1000)
            text, offset = text + got["text"], got["nextOffset"]
            if got["finished"] and offset == got["size"]:
                return text
            await asyncio.sleep(0 if got["text"] else 0.05)


def output_of(task: dict[str, Any]) -> Path:
    """Return the file that holds a task's output."""
    return Path(task["outputPath"])


async def stopped(it: Editor, task_id: str) -> dict[str, Any]:
    """Stop a task, and check that it is over with it and all that it started."""
    task = (await it.ask("task/stop", sessionId="s1", taskId=task_id))["task"]
    assert (task["status"], task["reason"]) == ("killed", "it was stopped")
    assert processes(it.folder) == []
    return task


@pytest.mark.parametrize("command", [STUBBORN, DAEMON], ids=["stubborn", "daemon"])
async def test_task_that_does_not_want_to_end_is_ended_when_it_is_stopped(
    folder: Path, command: str
) -> None:
    async with at_work(folder, beside(command), says("Begun.")) as it:
        await it.prompt("Begin.")
        task = await begun(it)
        await says_up(it, task["id"])
        assert processes(folder)
        await stopped(it, task["id"])
        again = (await it.ask("task/stop", sessionId="s1", taskId=task["id"]))["task"]
        assert again["status"] == "killed"
        assert [e["taskId"] for e in it.events("taskFinished")] == [task["id"]]
        assert await it.client.shut_down() == 0


async def test_gigabyte_of_output_is_read_at_both_ends_and_held_nowhere(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with at_work(folder, beside(FLOOD), says("Begun.")) as it:
        await it.prompt("Begin.")
        task = await begun(it)
        before = _most_memory(it.client.pid)
        offset = 0
        while not it.events("taskFinished"):
            got = await piece(it, task["id"], offset=offset)
            offset = got["nextOffset"]
            await asyncio.sleep(0.05)
        first = await piece(it, task["id"], limit=26)
        last = await piece(it, task["id"], offset=first["size"] - 20)
        after = _most_memory(it.client.pid)
        (finished,) = it.events("taskFinished")
        assert await it.client.shut_down() == 0
    with capsys.disabled():
        sys.stdout.write(f"\nRSS at most {before >> 20} MB before, {after >> 20} MB after 1 GB\n")
    assert first["text"] == "BEGINNING\n0123456789abcde\n"
    assert last["text"].endswith("bcde\nEND\n")
    assert last["nextOffset"] == last["size"]
    assert last["finished"]
    assert (finished["status"], finished["exitCode"]) == ("completed", 0)
    assert finished["outputBytes"] == GIGABYTE + len("BEGINNING\nEND\n")
    assert last["size"] < 70 << 20
    assert output_of(task).stat().st_size == last["size"]
    assert after < MOST_RSS


async def test_command_that_waits_for_input_finds_none(folder: Path) -> None:
    command = 'read line; echo "read: $? [$line]"; read line </dev/tty || echo no terminal; cat'
    script = (beside(command), calls("Bash", command=command), says("Done."))
    async with at_work(folder, *script) as it:
        await it.prompt("Begin.")
        task = await begun(it)
        finished = await it.event("taskFinished", seconds=SECONDS)
        assert (finished["status"], finished["exitCode"]) == ("completed", 0)
        assert "read: 1 []\n" in (text := await all_of(it, task["id"]))
        assert text.endswith("no terminal\n")
        await it.event("turnFinished", seconds=SECONDS)
        ran = it.events("toolCallFinished")[-1]
        assert ran["outcome"] == "ok"
        assert "no terminal" in ran["content"][0]["text"]
        assert await it.client.shut_down() == 0


async def test_command_past_its_timeout_goes_on_and_its_output_has_no_gap(folder: Path) -> None:
    command = "for i in $(seq 1500); do echo line $i äöü; done; sleep 0.6; " + (
        "for i in $(seq 1501 2000); do echo line $i äöü; sleep 0.001; done; exit 3"
    )
    wanted = "".join(f"line {number} äöü\n" for number in range(1, 2001))
    async with at_work(folder, calls("Bash", command=command, timeout=300), says("Moved.")) as it:
        await it.prompt("Begin.")
        task = await begun(it)
        moved = await it.event("toolCallFinished", seconds=SECONDS)
        assert moved["outcome"] == "ok"
        assert f"runs on in the background as task {task['id']}" in moved["content"][0]["text"]
        assert await all_of(it, task["id"]) == wanted
        finished = await it.event("taskFinished", seconds=SECONDS)
        assert (finished["status"], finished["exitCode"]) == ("failed", 3)
        assert finished["outputBytes"] == len(wanted.encode())
        await it.event("turnFinished", seconds=SECONDS)
        assert await it.client.shut_down() == 0
    path = output_of(task)
    assert path.read_text() == wanted
    assert [file.name for file in path.parent.iterdir()] == [path.name], "there is one file"


@pytest.mark.parametrize("way", ["shutdown and exit", "stdin closed", "SIGTERM"])
async def test_server_that_ends_leaves_nothing_running(folder: Path, way: str) -> None:
    in_front = calls("Bash", command=f"setsid sleep 600 & touch begun; {STUBBORN}")
    async with at_work(folder, beside(STUBBORN), beside(DAEMON), in_front) as it:
        await it.prompt("Begin.")
        for number in (1, 2):
            await says_up(it, (await begun(it, number))["id"])
        await until((folder / "begun").exists)
        if way == "shutdown and exit":
            assert await it.client.shut_down() == 0
        elif way == "stdin closed":
            it.client.close_stdin()
            await it.client.exit_code(SECONDS)
        else:
            os.kill(it.client.pid, signal.SIGTERM)
            await it.client.exit_code(SECONDS)
        # What the guard ends, where the server had no time to, takes a second more.
        await until(lambda: not processes(folder, commands_only=False))
    kept = [line["event"] for line in log_of(folder) if line["event"]["type"] == "taskFinished"]
    assert [event["status"] for event in kept] == ["killed"] * 2
    assert {event["reason"] for event in kept} == {"agentls ended while it ran"}


async def test_output_is_closed_to_others(folder: Path) -> None:
    old = os.umask(0)
    try:
        async with at_work(folder, beside("echo up"), says("Begun.")) as it:
            await it.prompt("Begin.")
            task = await begun(it)
            await it.event("taskFinished", seconds=SECONDS)
            assert await it.client.shut_down() == 0
    finally:
        os.umask(old)
    path = output_of(task)
    assert path == folder / ".agentls/sessions/s1/tasks" / f"{task['id']}.output"
    modes = [stat.S_IMODE(place.lstat().st_mode) for place in (path, path.parent)]
    assert modes == [0o600, 0o700]


@pytest.mark.parametrize("planted", ["tasks", "."])
async def test_folder_that_is_a_planted_link_is_not_followed(folder: Path, planted: str) -> None:
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    link = folder / ".agentls/sessions/s1" / planted
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    script = (beside("echo up; sleep 600"), says("Begun."), says("More."))
    async with at_work(folder, *script) as it:
        await it.prompt("Begin.")
        task = await begun(it)
        # What it writes is lost to the file, and still shown.
        progressed = await it.event("taskProgressed", seconds=SECONDS)
        assert progressed["lastLines"] == "up"
        await stopped(it, task["id"])
        assert await it.client.shut_down() == 0
    assert [path for path in elsewhere.rglob("*.output")] == []


async def test_link_in_the_place_of_output_is_not_read(folder: Path) -> None:
    secret = folder.parent / "secret.txt"
    secret.write_text("do not tell")
    async with at_work(folder, beside("echo up; sleep 600"), says("Begun.")) as it:
        await it.prompt("Begin.")
        task = await begun(it)
        await says_up(it, task["id"])
        path = output_of(task)
        path.unlink()
        path.symlink_to(secret)
        with pytest.raises(RpcError) as refused:
            await piece(it, task["id"])
        assert "do not tell" not in str(refused.value)
        assert refused.value.data["kind"] == "OutputUnreadable"
        assert str(path) in str(refused.value), "it says what cannot be read"
        await stopped(it, task["id"])
        path.unlink()
        with pytest.raises(RpcError) as refused:
            await piece(it, task["id"])
        assert refused.value.data["kind"] == "OutputUnreadable"
        assert await it.client.shut_down() == 0
    assert secret.read_text() == "do not tell"


async def test_tasks_of_another_session_are_none_of_its_business(folder: Path) -> None:
    async with at_work(folder, beside(STUBBORN), says("Begun.")) as it:
        await it.prompt("Begin.")
        task = await begun(it)
        await it.new_session("s2", mode="bypassPermissions")
        assert (await it.ask("task/list", sessionId="s2"))["tasks"] == []
        for method in ("task/output", "task/stop"):
            with pytest.raises(RpcError) as refused:
                await it.ask(method, sessionId="s2", taskId=task["id"])
            assert refused.value.data["kind"] == "UnknownTask"
        await it.ask("session/close", sessionId="s2")
        (running,) = (await it.ask("task/list", sessionId="s1"))["tasks"]
        assert (running["id"], running["status"]) == (task["id"], "running")
        await it.ask("session/close", sessionId="s1")
        assert processes(folder) == []
        assert await it.client.shut_down() == 0


async def test_another_server_that_follows_reads_output_and_cannot_stop_its_task(
    folder: Path,
) -> None:
    async with at_work(folder, beside(STUBBORN), says("Begun.")) as it, editor(folder) as other:
        await it.prompt("Begin.")
        task = await begun(it)
        await says_up(it, task["id"])
        await other.ask("session/load", sessionId="s1", ifInUse="follow")
        assert (await piece(other, task["id"]))["text"] == "up\n"
        with pytest.raises(RpcError) as refused:
            await other.ask("task/stop", sessionId="s1", taskId=task["id"])
        assert refused.value.data["kind"] == "SessionReadOnly"
        assert processes(folder), "it runs on"
        assert await other.client.shut_down() == 0
        assert processes(folder), "it is not the other's to end"
        await stopped(it, task["id"])
        assert await it.client.shut_down() == 0


def _most_memory(pid: int) -> int:
    """Return the most bytes of memory that a process has had so far."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    raise AssertionError("no VmHWM")
