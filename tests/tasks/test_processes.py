import asyncio
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from agentls.tasks import processes
from agentls.tasks.processes import CommandResult, kill_all, run_command


async def run(
    command: str,
    cwd: Path,
    *,
    seconds: float = 60,
    progress: Callable[[str], None] = lambda text: None,
) -> CommandResult:
    return await run_command(
        command,
        cwd=cwd,
        environment=dict(os.environ),
        seconds=seconds,
        most_output=10_000,
        progress=progress,
    )


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


def pids_in(file: Path) -> list[int]:
    return [int(pid) for pid in file.read_text().split()] if file.exists() else []


async def written(file: Path, count: int) -> list[int]:
    """Wait until a command has written down the ids of its processes."""
    await until(lambda: len(pids_in(file)) == count and file.read_text().endswith("\n"))
    return pids_in(file)


async def test_output_and_exit_code_are_returned(tmp_path: Path) -> None:
    result = await run("echo out; echo err >&2; exit 3", tmp_path)
    assert result == CommandResult(3, "out\nerr\n", timed_out=False, ended=())


async def test_signal_that_ended_it_is_the_exit_code(tmp_path: Path) -> None:
    assert (await run("kill -KILL $$", tmp_path)).exit_code == -9


async def test_whoever_waits_for_input_is_told_there_is_none(tmp_path: Path) -> None:
    assert (await run("cat; read line; echo $?", tmp_path)).output == "1\n"


async def test_it_returns_when_the_shell_ends_though_the_output_is_kept_open(
    tmp_path: Path,
) -> None:
    command = "(while :; do echo x; sleep 1; done) & echo $! > pids; sleep 0.2; echo ok"
    result = await run(command, tmp_path)
    assert result.exit_code == 0
    assert "ok\n" in result.output
    assert not result.timed_out
    assert any("sleep 1" in ended for ended in result.ended)
    assert not lives(*pids_in(tmp_path / "pids"))


async def test_background_job_with_its_own_output_is_ended_too(tmp_path: Path) -> None:
    result = await run("sleep 1000 > /dev/null 2>&1 & echo $! > pids; sleep 0.2", tmp_path)
    (pid,) = pids_in(tmp_path / "pids")
    assert result.ended == (f"sleep 1000 ({pid})",)
    assert not lives(pid)


async def test_job_in_a_group_of_its_own_is_ended_too(tmp_path: Path) -> None:
    await run("set -m; sleep 1000 & echo $! > pids", tmp_path)
    assert not lives(*pids_in(tmp_path / "pids"))


async def test_output_that_comes_a_moment_after_the_shell_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "LAST_OUTPUT", 60.0)
    result = await run("echo a > >(sleep 0.05; cat)", tmp_path)
    assert result.output == "a\n"
    assert result.ended == ()


async def test_daemon_that_left_the_session_outlives_a_command_that_ended(
    tmp_path: Path,
) -> None:
    await run("setsid sleep 1000 > /dev/null 2>&1 & echo $! > pids; sleep 0.2", tmp_path)
    (pid,) = pids_in(tmp_path / "pids")
    assert lives(pid)
    os.kill(pid, 9)


async def test_time_out_ends_it_and_keeps_the_output(tmp_path: Path) -> None:
    result = await run("echo begun; sleep 1000; echo never", tmp_path, seconds=0.3)
    assert result.timed_out
    assert result.output == "begun\n"
    assert result.exit_code == -15
    assert any(ended.startswith("sleep 1000") for ended in result.ended)


async def test_command_that_ignores_being_asked_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "GRACE", 0.2)
    command = "trap '' TERM; echo $$ > pids; while :; do sleep 0.1; done"
    result = await run(command, tmp_path, seconds=0.3)
    assert result.timed_out
    assert result.exit_code == -9
    assert not lives(*pids_in(tmp_path / "pids"))


async def test_command_is_asked_before_it_is_ended(tmp_path: Path) -> None:
    command = "trap 'echo cleaned up; exit 7' TERM; while :; do sleep 0.05; done"
    result = await run(command, tmp_path, seconds=0.3)
    assert result.output.endswith("cleaned up\n")
    assert result.exit_code == 7


ESCAPES = {
    "a child in its own session": "setsid sleep 1000 & echo $! > pids; wait",
    "an orphan in its own session": (
        "(setsid sh -c 'echo $$ > pids; exec sleep 1000' &) ; sleep 1000; echo x"
    ),
    "a stopped child": "sleep 1000 & kill -STOP $!; echo $! > pids; wait",
    "a child that ignores being asked": (
        "sh -c 'trap \"\" TERM; echo $$ > pids; while :; do sleep 0.1; done'; echo x"
    ),
}


@pytest.mark.parametrize("command", ESCAPES.values(), ids=ESCAPES.keys())
async def test_cancellation_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(processes, "GRACE", 0.2)
    running = asyncio.create_task(run(command, tmp_path))
    (pid,) = await written(tmp_path / "pids", 1)
    assert lives(pid)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not lives(pid)
    assert not processes._running


async def test_second_cancellation_does_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "GRACE", 1_000.0)
    command = "trap 'echo asked > asked' TERM; echo $$ > pids; while :; do sleep 0.05; done"
    running = asyncio.create_task(run(command, tmp_path))
    (pid,) = await written(tmp_path / "pids", 1)
    running.cancel()
    await until((tmp_path / "asked").exists)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not lives(pid)


async def test_cancellation_before_it_began_to_run_leaves_no_process(tmp_path: Path) -> None:
    running = asyncio.create_task(run("echo $$ > pids; exec sleep 1000", tmp_path))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not any(lives(pid) for pid in pids_in(tmp_path / "pids"))


async def test_200_mb_of_output_take_little_memory_and_do_not_block(tmp_path: Path) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.001)
            ticks += 1

    ticking = asyncio.create_task(tick())
    tracemalloc.start()
    result = await run("head -c 200000000 /dev/zero | tr '\\0' 'x'; echo end", tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    ticking.cancel()
    assert result.output.startswith("xxx")
    assert result.output.endswith("xend\n")
    assert "[... 199,990,004 bytes left out ...]" in result.output
    assert peak < 2_000_000
    assert ticks > 10


async def test_progress_shows_what_came_last_and_not_too_often(tmp_path: Path) -> None:
    shown: list[str] = []

    def progress(text: str) -> None:
        shown.append(text)
        if text.endswith("8"):
            (tmp_path / "seen").touch()

    loop = asyncio.get_running_loop()
    began = loop.time()
    command = "for n in 1 2 3 4 5 6 7 8; do echo $n; sleep 0.1; done; "
    await run(f"{command} until [ -e seen ]; do sleep 0.05; done", tmp_path, progress=progress)
    assert shown[0].startswith("1")
    assert shown[-1].endswith("4\n5\n6\n7\n8")
    assert len(shown) <= (loop.time() - began) / processes.PROGRESS_EVERY + 1


async def test_progress_that_fails_does_not_stop_the_command(tmp_path: Path) -> None:
    reported: list[str] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda loop, context: reported.append(str(context["exception"]))
    )

    def progress(text: str) -> None:
        raise RuntimeError("nobody listens")

    result = await run("echo a; sleep 0.1; echo b", tmp_path, progress=progress)
    assert result.output == "a\nb\n"
    assert set(reported) == {"nobody listens"}


async def test_command_that_cannot_be_started_leaves_nothing_open(tmp_path: Path) -> None:
    before = psutil.Process().num_fds()
    with pytest.raises(FileNotFoundError):
        await run("true", tmp_path / "nowhere")
    with pytest.raises(ValueError, match="null"):
        await run("echo \0", tmp_path)
    after = psutil.Process().num_fds()
    assert after == before
    assert not processes._running


async def test_kill_all_ends_every_command_and_their_calls_return(tmp_path: Path) -> None:
    commands = [
        "trap '' TERM; echo $$ > pids1; while :; do sleep 0.1; done",
        "(setsid sh -c 'echo $$ > pids2; exec sleep 1000' &) ; sleep 1000; echo x",
    ]
    running = [asyncio.create_task(run(command, tmp_path)) for command in commands]
    pids = [*await written(tmp_path / "pids1", 1), *await written(tmp_path / "pids2", 1)]
    kill_all()
    results = await asyncio.gather(*running)
    assert [result.exit_code for result in results] == [-9, -9]
    assert not any(lives(pid) for pid in pids)


def test_kill_all_with_nothing_to_end_does_nothing() -> None:
    kill_all()
    kill_all()


def test_commands_end_with_an_interpreter_that_ends_in_the_middle(tmp_path: Path) -> None:
    script = f"""
import asyncio, os, sys
from pathlib import Path
from agentls.tasks.processes import run_command

async def main():
    command = "trap '' TERM; echo $$ > pids; while :; do sleep 0.1; done"
    running = asyncio.ensure_future(run_command(
        command, cwd=Path({str(tmp_path)!r}), environment=dict(os.environ), seconds=100,
        most_output=100, progress=lambda text: None,
    ))
    while not os.path.exists({str(tmp_path / "pids")!r}):
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    asyncio.get_running_loop().stop()

loop = asyncio.new_event_loop()
task = loop.create_task(main())
loop.run_forever()
sys.exit(5)
"""
    server = subprocess.run([sys.executable, "-c", script], timeout=60, capture_output=True)
    assert server.returncode == 5
    (pid,) = pids_in(tmp_path / "pids")
    assert not lives(pid)
