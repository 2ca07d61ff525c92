"""Commands that run beside the conversation: on record before they begin, ended once."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from agentls.agent import background as background_module
from agentls.agent.background import BackgroundTasks
from agentls.errors import SessionClosed, TooManyTasks, UnknownTask
from agentls.protocol.events.tasks import (
    TaskAdded,
    TaskFinished,
    TaskProgressed,
    TasksEvicted,
    TaskStarted,
)
from agentls.protocol.tasks import Task, TaskStatus
from tests.support.commands import lives, pids_in, until, written
from tests.support.task_bench import TaskBench

REPOSITORY = Path(__file__).parents[2]
STUBBORN = (
    "trap '' TERM; (setsid sh -c 'trap \"\" TERM; echo $$ > escaped; "
    "while :; do sleep 0.1; done' &); echo $$ > pids; while :; do sleep 0.1; done"
)


def kinds(bench: TaskBench) -> list[type]:
    return [type(event) for event in bench.events if not isinstance(event, TaskProgressed)]


def recorded(task_id: str, status: TaskStatus, output_path: str | None = None) -> Task:
    return Task(
        id=task_id,
        kind="shell",
        description="",
        call_id=None,
        status=status,
        output_path=output_path,
    )


async def test_task_goes_from_record_to_end(bench: TaskBench) -> None:
    task = await bench.start("echo hello; exit 3")
    assert task.status == "running"
    assert re.fullmatch("b[0-9a-z]{8}", task.id)
    assert task.output_path == str(bench.output_folder / f"{task.id}.output")
    ended = await bench.ended(task.id)
    assert (ended.status, ended.exit_code, ended.reason) == ("failed", 3, None)
    assert ended.output_bytes == 6
    assert ended.started_at
    assert ended.ended_at
    assert (await bench.text(task.id)) == "hello\n"
    assert kinds(bench) == [TaskAdded, TaskStarted, TaskFinished]


async def test_command_does_not_begin_before_its_record_is_on_disk(bench: TaskBench) -> None:
    saved = asyncio.Event()

    async def secure() -> None:
        await saved.wait()

    tasks = bench.made(secure)
    starting = asyncio.create_task(tasks.start("touch begun", description="", call_id="c1"))
    await until(lambda: bench.chat.state.tasks)
    assert bench.chat.state.tasks[0].status == "pending"
    assert not (bench.folder / "begun").exists()
    saved.set()
    task = await starting
    assert (await tasks.wait(task.id, 60)).status == "completed"
    assert (bench.folder / "begun").exists()


async def test_command_whose_record_cannot_be_written_has_failed(bench: TaskBench) -> None:
    async def secure() -> None:
        raise OSError("the disk is full")

    tasks = bench.made(secure)
    with pytest.raises(OSError, match="full"):
        await tasks.start("touch begun", description="", call_id="c1")
    (task,) = bench.chat.state.tasks
    assert (task.status, task.reason) == ("failed", "it was not begun: the disk is full")
    assert not (bench.folder / "begun").exists()


async def test_cancelling_before_the_begin_leaves_a_task_that_was_killed(bench: TaskBench) -> None:
    tasks = bench.made(asyncio.Event().wait)  # type: ignore[arg-type]
    starting = asyncio.create_task(tasks.start("touch begun", description="", call_id="c1"))
    await until(lambda: bench.chat.state.tasks)
    starting.cancel()
    await asyncio.wait([starting])
    assert bench.chat.state.tasks[0].status == "killed"
    assert not (bench.folder / "begun").exists()


async def test_command_that_cannot_be_started_has_failed(bench: TaskBench) -> None:
    with pytest.raises(ValueError, match="null"):
        await bench.start("echo \0")
    (task,) = bench.chat.state.tasks
    assert task.status == "failed"
    assert task.reason == "it was not begun: embedded null byte"


async def test_progress_is_told_with_what_is_new(
    bench: TaskBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_module, "PROGRESS_EVERY", 0.05)
    task = await bench.start("echo one; until [ -e go ]; do sleep 0.02; done; echo two; sleep 1000")

    def progress() -> list[TaskProgressed]:
        return [event for event in bench.events if isinstance(event, TaskProgressed)]

    await until(progress)
    await asyncio.sleep(0.3)
    assert [(event.output_bytes, event.last_lines) for event in progress()] == [(4, "one")]
    (bench.folder / "go").touch()
    await until(lambda: len(progress()) == 2)
    assert progress()[1].last_lines == "one\ntwo"
    assert bench.background.get(task.id).last_lines == "one\ntwo"


async def test_output_is_read_while_it_grows(bench: TaskBench) -> None:
    task = await bench.start("for n in $(seq 200); do echo €$n; sleep 0.002; done")
    text, offset = "", 0
    while bench.background.get(task.id).status == "running":
        piece = await bench.background.output(task.id, offset, 7)
        text, offset = text + piece.text, piece.next_offset
    while (piece := await bench.background.output(task.id, offset, 7)).text:
        text, offset = text + piece.text, piece.next_offset
    assert text == "".join(f"€{n}\n" for n in range(1, 201))


async def test_stopping_ends_what_ignores_being_asked_and_what_escaped(bench: TaskBench) -> None:
    task = await bench.start(STUBBORN)
    pids = [*await written(bench.folder / "pids", 1), *await written(bench.folder / "escaped", 1)]
    one, two = await asyncio.gather(
        bench.background.stop(task.id, "the user stopped it"),
        bench.background.stop(task.id, "too late"),
    )
    assert one == two
    assert (one.status, one.exit_code, one.reason) == ("killed", None, "the user stopped it")
    assert not any(map(lives, pids))
    assert len(bench.finished(task.id)) == 1


async def test_stopping_a_flood(bench: TaskBench) -> None:
    task = await bench.start("yes")
    await until(lambda: bench.background.get(task.id).output_bytes > 1_000_000)
    ended = await bench.background.stop(task.id)
    assert ended.status == "killed"
    assert task.output_path is not None
    assert (await bench.background.output(task.id, 0, 10)).size < 70_000_000


async def test_1_gb_is_bounded_on_disk_and_both_ends_are_read_by_offset(bench: TaskBench) -> None:
    before = psutil.Process().memory_info().rss
    task = await bench.start("yes | head -c 1G; echo the end")
    ended = await bench.ended(task.id)
    grown = psutil.Process().memory_info().rss - before
    sys.stdout.write(f"memory grew by {grown / 1e6:.1f} MB\n")
    assert ended.output_bytes == 2**30 + 8
    first = await bench.background.output(task.id, 0, 10)
    assert first.text == "y\n" * 5
    assert first.size < 70_000_000
    last = await bench.background.output(task.id, first.size - 12, 100)
    assert last.text == "y\ny\nthe end\n"
    assert grown < 100_000_000


async def test_whoever_waits_for_input_ends_at_once(bench: TaskBench) -> None:
    task = await bench.start("cat; read line; echo $?")
    assert (await bench.ended(task.id)).status == "completed"
    assert await bench.text(task.id) == "1\n"


async def test_planted_output_folder_is_refused_and_the_command_unharmed(bench: TaskBench) -> None:
    elsewhere = bench.folder.parent / "elsewhere"
    elsewhere.mkdir()
    bench.output_folder.symlink_to(elsewhere)
    task = await bench.start("echo hello")
    assert (await bench.ended(task.id)).status == "completed"
    assert list(elsewhere.iterdir()) == []
    assert await bench.text(task.id) == "hello\n"
    trouble = bench.background.trouble(task.id)
    assert trouble is not None
    assert task.id in trouble


async def test_no_more_than_so_many_run_at_once(
    bench: TaskBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_module, "MOST_RUNNING", 2)
    tasks = [await bench.start("sleep 1000", f"c{n}") for n in range(2)]
    with pytest.raises(TooManyTasks, match="2 tasks run already, which is the most; end one with"):
        await bench.start("sleep 1000")
    await bench.background.stop(tasks[0].id)
    await bench.start("sleep 1000", "c3")


async def test_closing_ends_all_at_the_same_time(bench: TaskBench) -> None:
    loop = asyncio.get_running_loop()
    tasks = [await bench.start(STUBBORN.replace("pids", f"pids{n}"), f"c{n}") for n in range(6)]
    pids = [pid for n in range(6) for pid in await written(bench.folder / f"pids{n}", 1)]
    await until(lambda: pids_in(bench.folder / "escaped"))
    began = loop.time()
    await bench.background.aclose()
    sys.stdout.write(f"six commands that ignore TERM ended in {loop.time() - began:.2f} s\n")
    assert not any(map(lives, pids))
    for task in tasks:
        ended = bench.background.get(task.id)
        assert (ended.status, ended.reason) == ("killed", "agentls ended while it ran")
    with pytest.raises(SessionClosed, match="closing"):
        await bench.start("true")


async def test_tasks_that_ran_when_agentls_ended_are_marked(folder: Path) -> None:
    (folder.parent / "output").mkdir(mode=0o700)
    (folder.parent / "output" / "b1.output").write_text("seven..")
    bench = TaskBench(
        folder,
        [
            recorded("b1", "running", "/moved/b1.output"),
            recorded("b2", "pending"),
            recorded("b3", "completed"),
        ],
    )
    live = await bench.start("sleep 1000")
    bench.background.mark_dead()
    bench.background.mark_dead()
    found = {
        task.id: (task.status, task.reason, task.output_bytes) for task in bench.chat.state.tasks
    }
    dead = "agentls ended while it ran"
    assert found["b1"] == ("killed", dead, 7)
    assert found["b2"] == ("killed", dead, 0)
    assert found["b3"] == ("completed", None, 0)
    assert found[live.id][0] == "running"
    assert len([event for event in bench.events if isinstance(event, TaskFinished)]) == 2
    assert await bench.text("b1") == "seven.."
    await bench.aclose()


async def test_log_cannot_have_files_read_that_are_no_output(folder: Path) -> None:
    task = recorded("b1", "completed", str(folder / "a.txt"))
    bench = TaskBench(folder, [task])
    with pytest.raises(FileNotFoundError):
        await bench.text("b1")
    await bench.aclose()


async def test_what_the_model_was_told_leaves_the_state_and_stays_known(bench: TaskBench) -> None:
    task = await bench.start("echo x")
    running = await bench.start("sleep 1000", "c2")
    await bench.ended(task.id)
    (ended,) = bench.background.finished_unseen()
    bench.background.told(ended.id, running.id, "b00000000")
    bench.background.told(ended.id)
    assert [one.id for one in bench.chat.state.tasks] == [running.id]
    assert bench.events.count(TasksEvicted(task_ids=(ended.id,))) == 1
    assert bench.background.get(ended.id) == ended
    assert await bench.text(ended.id) == "x\n"
    assert await bench.background.stop(ended.id) == ended


async def test_unknown_tasks_are_said_to_be(bench: TaskBench) -> None:
    for ask in (bench.background.stop, bench.ended, bench.text):
        with pytest.raises(UnknownTask, match="There is no task 'b0'; there are none"):
            await ask("b0")


async def test_ids_are_not_used_twice(bench: TaskBench, monkeypatch: pytest.MonkeyPatch) -> None:
    letters = iter("00000000" + "00000000" + "00000000" + "11111111" + "22222222")

    def choose(alphabet: str) -> str:
        return next(letters)

    monkeypatch.setattr("secrets.choice", choose)
    first = await bench.start("true")
    await bench.ended(first.id)
    bench.background.told(first.id)
    bench.output_folder.joinpath("b11111111.output").touch()
    second = await bench.start("true", "c2")
    assert (first.id, second.id) == ("b00000000", "b22222222")


def test_tasks_end_where_the_server_was_killed(folder: Path) -> None:
    """SIGKILL gives nobody a chance to clean up; the guard is another process."""
    script = f"""
import asyncio
from pathlib import Path
from tests.support.task_bench import TaskBench
async def main():
    bench = TaskBench(Path({str(folder)!r}))
    await bench.start({STUBBORN!r})
    await asyncio.sleep(100)
asyncio.run(main())
"""
    server = subprocess.Popen([sys.executable, "-c", script], cwd=REPOSITORY)

    async def see() -> None:
        pids = [*await written(folder / "pids", 1), *await written(folder / "escaped", 1)]
        assert all(map(lives, pids))
        os.kill(server.pid, 9)
        server.wait()
        await until(lambda: not any(map(lives, pids)))

    asyncio.run(see())


async def test_port_is_satisfied(bench: TaskBench) -> None:
    from agentls.tools.background import Background

    port: Background = bench.background
    assert isinstance(port, BackgroundTasks)


async def test_fault_of_our_own_ends_the_task_and_says_so(
    bench: TaskBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(call_id: str) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(bench.chat.files, "of_task", fail)
    task = await bench.start("true")
    ended = await bench.ended(task.id)
    assert (ended.status, ended.reason) == ("failed", "a fault of agentls: RuntimeError: a bug")
