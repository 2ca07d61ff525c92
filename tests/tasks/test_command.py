import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from agentls.tasks import command as command_module
from agentls.tasks import family
from agentls.tasks.command import kill_all
from agentls.tasks.output import CommandOutput
from agentls.tasks.output_file import OutputFile
from agentls.tasks.pipe_reader import PROGRESS_EVERY
from tests.support.commands import Ended, lives, marked, pids_in, run, until, written

REPOSITORY = Path(__file__).parents[2]


async def test_output_and_exit_code_are_returned(tmp_path: Path) -> None:
    result = await run("echo out; echo err >&2; exit 3", tmp_path)
    assert result == Ended(3, "out\nerr\n", timed_out=False, ended=())


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
    monkeypatch.setattr(family, "LAST_OUTPUT", 60.0)
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
    monkeypatch.setattr(family, "GRACE", 0.2)
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
    "a daemon that forked twice": (
        "python3 -c 'import os, time\n"
        "if os.fork(): os.wait(); time.sleep(1000)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        'open("pids", "w").write(str(os.getpid()) + chr(10))\n'
        "time.sleep(1000)'"
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
    monkeypatch.setattr(family, "GRACE", 0.2)
    running = asyncio.create_task(run(command, tmp_path))
    (pid,) = await written(tmp_path / "pids", 1)
    assert lives(pid)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not lives(pid)
    assert not command_module._running


async def test_second_cancellation_does_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(family, "GRACE", 1_000.0)
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


async def test_1_gb_of_output_takes_little_memory_and_disk_and_does_not_block(
    tmp_path: Path,
) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.001)
            ticks += 1

    ticking = asyncio.create_task(tick())
    output = CommandOutput(10_000, folder=tmp_path / "output", name="x", most_on_disk=1_000_000)
    before = psutil.Process().memory_info().rss
    result = await run("yes | head -c 1G; echo end", tmp_path, output=output)
    grown = psutil.Process().memory_info().rss - before
    ticking.cancel()
    sys.stdout.write(f"memory grew by {grown / 1e6:.1f} MB; the loop went round {ticks} times\n")
    assert result.output.startswith("y\ny\n")
    assert result.output.endswith("y\nend\n")
    assert output.size == 2**30 + 4
    assert "[... 1,073,731,828 bytes left out ...]" in result.output
    assert output.file is not None
    assert 1_000_000 < output.file.path.stat().st_size < 1_100_000
    assert output.file.path.read_bytes().endswith(b"y\nend\n")
    assert grown < 100_000_000
    assert ticks > 10


async def test_output_goes_to_its_file_as_it_comes(tmp_path: Path) -> None:
    output = CommandOutput(10)
    file = output.keep_whole(tmp_path / "output", "x")
    command = "echo one; until [ -e seen ]; do sleep 0.02; done; echo two"
    running = asyncio.create_task(run(command, tmp_path, output=output))
    await until(lambda: file.path.exists() and file.path.read_text() == "one\n")
    (tmp_path / "seen").touch()
    await running
    assert file.path.read_text() == "one\ntwo\n"


async def test_flood_can_be_stopped(tmp_path: Path) -> None:
    output = CommandOutput(10_000, folder=tmp_path / "output", name="x")
    result = await run("yes", tmp_path, seconds=0.3, output=output)
    assert result.timed_out
    assert result.exit_code == -15
    assert output.file is not None
    assert output.file.path.stat().st_size >= min(output.size, 64 * 1024 * 1024)


async def test_disk_that_hangs_does_not_keep_a_command_from_being_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = threading.Event()

    def hang(file: OutputFile, data: bytes) -> None:
        goes_on.wait(60)

    monkeypatch.setattr(OutputFile, "append", hang)
    output = CommandOutput(10)
    output.keep_whole(tmp_path / "output", "x")
    async with asyncio.timeout(30):
        result = await run("echo $$ > pids; yes", tmp_path, seconds=0.3, output=output)
    goes_on.set()
    assert result.timed_out
    assert not any(map(lives, pids_in(tmp_path / "pids")))


async def test_cancelling_takes_less_than_a_second(tmp_path: Path) -> None:
    """How long is printed, not asserted: a busy machine may take longer."""
    command = (
        "trap '' TERM; (setsid sh -c 'trap \"\" TERM; echo $$ > escaped; "
        "while :; do sleep 0.1; done' &); echo $$ > pids; while :; do sleep 0.1; done"
    )
    running = asyncio.create_task(run(command, tmp_path))
    pids = [*await written(tmp_path / "pids", 1), *await written(tmp_path / "escaped", 1)]
    loop = asyncio.get_running_loop()
    began = loop.time()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    sys.stdout.write(f"a command that ignores TERM was gone after {loop.time() - began:.2f} s\n")
    assert not any(map(lives, pids))
    assert not marked(tmp_path)


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
    assert len(shown) <= (loop.time() - began) / PROGRESS_EVERY + 1


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
    assert not command_module._running


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
from tests.support.commands import run

async def main():
    command = "trap '' TERM; echo $$ > pids; while :; do sleep 0.1; done"
    running = asyncio.ensure_future(run(command, Path({str(tmp_path)!r}), seconds=100))
    while not os.path.exists({str(tmp_path / "pids")!r}):
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    asyncio.get_running_loop().stop()

loop = asyncio.new_event_loop()
task = loop.create_task(main())
loop.run_forever()
sys.exit(5)
"""
    server = subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, timeout=60, capture_output=True
    )
    assert server.returncode == 5
    (pid,) = pids_in(tmp_path / "pids")
    assert not lives(pid)
