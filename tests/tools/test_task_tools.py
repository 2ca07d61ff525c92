import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentls.tools.bash import MOST_OUTPUT
from agentls.tools.task_tools import TaskOutput, TaskStop
from tests.support.commands import lives, written
from tests.support.task_bench import TaskBench
from tests.support.workbench import Workbench, told

output, stop = TaskOutput(), TaskStop()


@pytest.fixture
async def tasks(tmp_path: Path) -> AsyncIterator[TaskBench]:
    folder = tmp_path / "project"
    folder.mkdir()
    bench = TaskBench(folder)
    yield bench
    await bench.aclose()


async def test_blocking_waits_for_the_end_and_says_how_it_ended(tasks: TaskBench) -> None:
    task = await tasks.start("echo out; sleep 0.2; echo err >&2; exit 3")
    result = await tasks.call(output, task_id=task.id)
    assert not result.is_error
    assert told(result).split("\n") == [
        "out",
        "err",
        f"[Task {task.id} (echo out; sleep 0.2; echo err >&2; exit 3): failed, exit code 3.]",
        f"[Bytes 0 to 8 of 8, from {task.output_path}. Next offset: 8.]",
    ]


async def test_without_blocking_it_returns_what_there_is(tasks: TaskBench) -> None:
    task = await tasks.start("sleep 1000")
    result = await tasks.call(output, task_id=task.id, block=False)
    assert told(result).startswith(f"(nothing new)\n[Task {task.id} (sleep 1000): running.]")


async def test_blocking_ends_with_its_timeout(tasks: TaskBench) -> None:
    task = await tasks.start("sleep 1000")
    assert "running" in told(await tasks.call(output, task_id=task.id, timeout=50))


async def test_each_call_returns_what_is_new(tasks: TaskBench) -> None:
    task = await tasks.start(
        "echo one > /dev/stdout; until [ -e go ]; do sleep 0.02; done; echo €2"
    )
    first = ""
    while "one" not in first:
        first = told(await tasks.call(output, task_id=task.id, timeout=50))
    (tasks.folder / "go").touch()
    second = told(await tasks.call(output, task_id=task.id))
    assert second.startswith("€2\n[")
    assert told(await tasks.call(output, task_id=task.id)).startswith("(nothing new)\n[")
    assert told(await tasks.call(output, task_id=task.id, offset=2)).startswith("e\n€2\n[")


async def test_long_output_comes_in_pieces_that_give_the_whole(tasks: TaskBench) -> None:
    task = await tasks.start("seq 20000 | sed s/0/€/g")
    whole, done = "", False
    while not done:
        text = told(await tasks.call(output, task_id=task.id))
        body, _, notes = text.rpartition(f"\n[Task {task.id}")
        assert len(body.encode()) <= MOST_OUTPUT
        # The line's end is left out where a piece ends with one.
        whole += body
        done = "Next offset" in notes
        assert done or re.search(
            r"More from offset \d+ on; its last part from offset \d+ on", notes
        )
    wanted = "".join(f"{n}\n" for n in range(1, 20_001)).replace("0", "€")
    assert whole.replace("\n", "") == wanted.replace("\n", "")


async def test_model_that_has_seen_the_end_is_not_told_again(tasks: TaskBench) -> None:
    task = await tasks.start("echo x")
    await tasks.ended(task.id)
    assert [ended.id for ended in tasks.background.finished_unseen()] == [task.id]
    await tasks.call(output, task_id=task.id)
    assert tasks.background.finished_unseen() == ()
    assert tasks.chat.state.tasks == ()
    # It has left the state; its output is still there.
    again = told(await tasks.call(output, task_id=task.id, offset=0))
    assert again.startswith("x\n[Task ")


@pytest.mark.parametrize("tool", [output, stop])
async def test_unknown_task_is_answered_with_those_there_are(
    tasks: TaskBench, tool: TaskOutput | TaskStop
) -> None:
    result = await tasks.call(tool, task_id="b00000000")
    assert result.is_error
    assert told(result) == "There is no task 'b00000000'; there are none."
    task = await tasks.start("sleep 1000")
    result = await tasks.call(tool, task_id="../etc")
    assert told(result) == f"There is no task '../etc'; the tasks are: {task.id}."


async def test_stopping_ends_the_task_and_says_so(tasks: TaskBench) -> None:
    task = await tasks.start("echo $$ > pids; echo x; sleep 1000; echo y")
    (pid,) = await written(tasks.folder / "pids", 1)
    result = await tasks.call(stop, task_id=task.id)
    assert not lives(pid)
    assert (
        f"Task {task.id} (echo $$ > pids; echo x; sleep 1000; echo y): killed, it was stopped."
        in (told(result))
    )
    assert tasks.background.get(task.id).status == "killed"


async def test_stopping_what_has_ended_changes_nothing(tasks: TaskBench) -> None:
    task = await tasks.start("exit 4")
    await tasks.ended(task.id)
    result = await tasks.call(stop, task_id=task.id)
    assert told(result).startswith("There was nothing to stop: Task ")
    assert tasks.background.get(task.id).status == "failed"


async def test_output_file_that_is_gone_is_an_error_that_says_how_the_task_stands(
    tasks: TaskBench,
) -> None:
    task = await tasks.start("echo x")
    await tasks.ended(task.id)
    (tasks.output_folder / f"{task.id}.output").unlink()
    result = await tasks.call(output, task_id=task.id)
    assert result.is_error
    assert "completed, exit code 0. Its output cannot be read: No such file" in told(result)


async def test_without_a_background_there_is_no_task(bench: Workbench) -> None:
    for tool in (output, stop):
        result = await bench.run(tool, task_id="b00000000")
        assert result.is_error
        assert told(result).startswith("Nothing runs in the background here")


def test_what_the_tools_are() -> None:
    assert output.read_only
    assert not stop.read_only
    assert output.invocation(output.input_type(task_id="b1")) == "Reading the output of task b1"
    assert stop.wish(stop.input_type(task_id="b1")) == "Stop task b1"
    assert set(output.input_schema()["properties"]) == {"task_id", "block", "timeout", "offset"}
