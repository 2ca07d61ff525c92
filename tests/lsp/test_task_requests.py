"""What runs in the background, read and ended over the server's pipes."""

import asyncio
from pathlib import Path

import pytest

from tests.support.scenarios import calls, says
from tests.support.scripts import is_gone, written_pid
from tests.support.servers import editor, scripted

ALL = {"mode": "bypassPermissions"}
UNTIL_GO = "until [ -e go ]; do sleep 0.02; done"
INVALID, NOT_FOUND = -32602, -32004


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return workspace


async def test_the_output_of_a_task_is_read_on_from_an_offset(folder):
    lines = 40
    command = f'for n in $(seq {lines}); do echo "Zeile $n: größer 😀"; done; {UNTIL_GO}; echo end'
    script = scripted(
        folder, calls("Bash", command=command, run_in_background=True), says("It runs.")
    )
    async with editor(folder, *script) as it:
        await it.new_session(**ALL)
        await it.prompt("Begin.")
        await it.event("turnFinished")
        [task] = (await it.ask("task/list", sessionId="s1"))["tasks"]
        assert (task["status"], task["kind"], task["command"]) == ("running", "shell", command)
        text, offset, pieces = "", 0, 0
        async with asyncio.timeout(20):
            while True:
                piece = await it.ask(
                    "task/output", sessionId="s1", taskId=task["id"], offset=offset, limit=100
                )
                assert len(piece["text"].encode()) == piece["nextOffset"] - offset <= 104
                text, offset, pieces = text + piece["text"], piece["nextOffset"], pieces + 1
                if piece["finished"] and offset == piece["size"]:
                    break
                if f"Zeile {lines}:" in text:
                    (folder / "go").touch()
                if not piece["text"]:
                    await asyncio.sleep(0.02)
        wanted = [f"Zeile {n}: größer 😀" for n in range(1, lines + 1)]
        assert text.splitlines() == [*wanted, "end"]
        assert pieces > len(text.encode()) // 105
        [ended] = (await it.ask("task/list", sessionId="s1"))["tasks"]
        assert (ended["status"], ended["exitCode"]) == ("completed", 0)
        assert ended["outputBytes"] == offset


async def test_a_task_is_stopped_once_for_all(folder):
    command = "echo $$ > pid; exec sleep 600"
    script = scripted(
        folder,
        calls("Bash", command=command, description="Serve", run_in_background=True),
        says("It runs."),
        says("I see.", expect={"user": "was ended: it was stopped"}),
    )
    async with editor(folder, *script) as it:
        await it.new_session(**ALL)
        await it.prompt("Begin.")
        await it.event("turnFinished")
        pid = await asyncio.to_thread(written_pid, folder / "pid")
        [task] = (await it.ask("task/list", sessionId="s1"))["tasks"]
        stopped = (await it.ask("task/stop", sessionId="s1", taskId=task["id"]))["task"]
        assert (stopped["status"], stopped["exitCode"]) == ("killed", None)
        assert stopped["reason"] == "it was stopped"
        assert is_gone(pid)
        again = (await it.ask("task/stop", sessionId="s1", taskId=task["id"]))["task"]
        assert again == stopped
        assert len(it.events("taskFinished")) == 1
        await it.prompt("Well?")
        ended = await it.event("turnFinished", 2)
        assert ended["status"] == "completed", ended["error"]
        assert (await it.ask("task/list", sessionId="s1"))["tasks"] == [], "the model knows"
        late = await it.ask("task/output", sessionId="s1", taskId=task["id"])
        assert late == {"text": "", "nextOffset": 0, "size": 0, "finished": True}


@pytest.mark.parametrize("method", ["task/output", "task/stop"])
async def test_a_task_that_is_none_is_named(folder, method):
    async with editor(folder, "--model", "offline") as it:
        await it.new_session()
        error = await it.refused(method, taskId="b00000000")
        assert (error.code, error.data["kind"]) == (NOT_FOUND, "UnknownTask")
        assert "no task 'b00000000'; there are none" in error.message
        assert (await it.ask("task/list", sessionId="s1")) == {"tasks": []}


@pytest.mark.parametrize("wrong", [{"offset": -1}, {"limit": 0}, {"limit": 1 << 21}])
async def test_a_piece_of_output_that_makes_no_sense_is_refused(folder, wrong):
    async with editor(folder, "--model", "offline") as it:
        await it.new_session()
        error = await it.refused("task/output", taskId="b00000000", **wrong)
        assert (error.code, next(iter(wrong)) in error.message) == (INVALID, True)
