"""What the real `agentls lsp` does, in the middle of a turn, when its client dies or leaves."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.e2e.observed import HOLDS, SECONDS, all_gone, log_of, pids_of_the_command, scripted
from tests.support.raw_client import is_running
from tests.support.scenarios import calls
from tests.support.servers import Editor, editor

ROOT = Path(__file__).parents[2]


@asynccontextmanager
async def holding(folder: Path) -> AsyncGenerator[Editor]:
    """Yield an editor in whose session a command runs that does not end."""
    async with editor(folder, *scripted(folder, calls("Bash", command=HOLDS))) as it:
        await it.new_session()
        await it.prompt("Hold.")
        await it.answer("allow")
        await pids_of_the_command(folder)
        yield it


async def test_a_client_killed_outright_takes_server_and_command_with_it(folder: Path) -> None:
    _, name = scripted(folder, calls("Bash", command=HOLDS))
    scenario = name.removeprefix("scripted:")
    client = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.dying_editor", str(folder), scenario,
        stdout=asyncio.subprocess.PIPE, cwd=ROOT,
    )  # fmt: skip
    try:
        assert client.stdout is not None
        async with asyncio.timeout(SECONDS):
            server = int(await client.stdout.readline())
        pids = await pids_of_the_command(folder)
        assert all(map(is_running, [server, *pids]))
    finally:
        client.kill()
        await client.wait()
    await all_gone(server, *pids)
    kinds = [line["event"]["type"] for line in log_of(folder)]
    assert kinds[-2:] == ["toolCallFinished", "turnFinished"]


async def test_the_end_of_input_ends_server_and_command(folder: Path) -> None:
    async with holding(folder) as it:
        pids = await pids_of_the_command(folder)
        it.client.close_stdin()
        assert await it.client.exit_code(SECONDS) == 1
        await all_gone(*pids)


async def test_exit_without_shutdown_is_a_failure_and_ends_the_command(folder: Path) -> None:
    async with holding(folder) as it:
        pids = await pids_of_the_command(folder)
        await it.client.notify("exit")
        assert await it.client.exit_code(SECONDS) == 1
        await all_gone(*pids)


async def test_shutdown_has_everything_on_disk_and_ends_the_command(folder: Path) -> None:
    async with holding(folder) as it:
        pids = await pids_of_the_command(folder)
        await it.client.result_of(await it.client.send_request("shutdown"), SECONDS)
        await all_gone(*pids)
        finished = log_of(folder)[-1]["event"]
        assert (finished["type"], finished["status"]) == ("turnFinished", "interrupted")
        await it.client.notify("exit")
        assert await it.client.exit_code(SECONDS) == 0


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
)
async def test_a_signal_ends_server_and_command(
    folder: Path, number: signal.Signals, code: int
) -> None:
    async with holding(folder) as it:
        pids = await pids_of_the_command(folder)
        os.kill(it.client.pid, number)
        assert await it.client.exit_code(SECONDS) == code
        await all_gone(*pids)
    assert log_of(folder)[-1]["event"]["type"] == "turnFinished"


async def test_a_dead_parent_ends_the_server_though_its_pipes_stay_open(folder: Path) -> None:
    parent = await asyncio.create_subprocess_exec("sleep", "600", cwd=folder)
    try:
        script = scripted(folder, calls("Bash", command=HOLDS))
        async with editor(folder, *script, greet=False) as it:
            ours = {"agentls": {"version": 1, "clientName": "Test Editor"}}
            await it.client.initialize(
                processId=parent.pid, rootUri=folder.as_uri(), initializationOptions=ours
            )
            await it.new_session()
            await it.prompt("Hold.")
            await it.answer("allow")
            pids = await pids_of_the_command(folder)
            parent.kill()
            await parent.wait()
            assert await it.client.exit_code(SECONDS) == 1
            await all_gone(*pids)
    finally:
        if parent.returncode is None:
            parent.kill()
            await parent.wait()


async def test_a_broken_pipe_ends_the_server_though_its_input_stays_open(folder: Path) -> None:
    endless = {"text": "on and on " * 20_000, "chunk": 10, "delayMs": 1}
    async with editor(folder, *scripted(folder, endless)) as it:
        await it.new_session()
        await it.prompt("Go.")
        await it.event("partStarted")
        # asyncio has no public way to close one pipe of a process.
        it.client.process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]
        assert await it.client.exit_code(SECONDS) == 1
    finished = log_of(folder)[-1]["event"]
    assert (finished["type"], finished["status"]) == ("turnFinished", "interrupted")
