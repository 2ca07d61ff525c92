import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentls.tasks.output_file import read_output
from agentls.tools.bash import MOST_OUTPUT, Bash
from agentls.tools.tool import ToolResult
from tests.support.commands import lives, marked, until, written
from tests.support.task_bench import TaskBench
from tests.support.workbench import Workbench, told

tool = Bash()


@pytest.fixture
async def tasks(tmp_path: Path) -> AsyncIterator[TaskBench]:
    folder = tmp_path / "project"
    folder.mkdir(exist_ok=True)
    bench = TaskBench(folder)
    yield bench
    await bench.aclose()


async def bash(bench: Workbench, command: str, **rest: object) -> ToolResult:
    return await bench.run(tool, command=command, **rest)


async def test_output_and_exit_code_are_told(bench: Workbench) -> None:
    result = await bash(bench, "echo out; echo err >&2")
    assert told(result) == "out\nerr\n[exit code 0]"
    assert not result.is_error
    assert result.summary == "Ran echo out; echo err >&2"


async def test_command_that_fails_is_an_error(bench: Workbench) -> None:
    result = await bash(bench, "echo no; exit 3")
    assert result.is_error
    assert told(result) == "no\n[exit code 3]"
    assert result.summary == "echo no; exit 3 failed (exit code 3)"


async def test_command_without_output_says_so(bench: Workbench) -> None:
    assert told(await bash(bench, "true")) == "(no output)\n[exit code 0]"


async def test_signal_is_named(bench: Workbench) -> None:
    assert told(await bash(bench, "kill -SEGV $$")).endswith("[exit code 139, ended by SIGSEGV]")


async def test_command_runs_in_bash_in_the_working_folder(bench: Workbench) -> None:
    bench.write("a file", "")
    result = await bash(bench, "[[ -n $BASH_VERSION ]] && pwd && ls")
    assert told(result) == f"{bench.cwd}\na file\n[exit code 0]"


async def test_credentials_are_not_in_the_environment(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret-key")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "secret-token")
    monkeypatch.setenv("SOMETHING_ELSE", "kept")
    text = told(await bash(bench, "env"))
    assert "secret" not in text
    assert "SOMETHING_ELSE=kept" in text


async def test_nothing_can_be_typed_in(bench: Workbench) -> None:
    assert told(await bash(bench, "cat; read x || echo none")) == "none\n[exit code 0]"


async def test_long_output_is_cut_in_the_middle(bench: Workbench) -> None:
    text = told(await bash(bench, "echo first; seq 100000; echo last"))
    assert text.startswith("first\n1\n2\n")
    assert text.endswith("\n99999\n100000\nlast\n[exit code 0]")
    assert "bytes left out ...]" in text
    assert len(text) < MOST_OUTPUT + 100


async def test_output_that_is_not_text_can_be_sent(bench: Workbench) -> None:
    assert told(await bash(bench, r"printf 'caf\xe9\n\xed\xa0\x80'")).startswith("caf\ufffd\n")


async def test_time_out_keeps_the_output_and_says_so(bench: Workbench) -> None:
    result = await bash(bench, "echo begun; sleep 1000; echo x", timeout=500)
    assert result.is_error
    text = told(result)
    assert text.startswith("begun\n[Timed out after 0.5 s and was ended.")
    assert "Still running with it, and ended: sleep 1000 (" in text
    assert result.summary == "echo begun; sleep 1000; echo x timed out"


async def test_what_is_left_in_the_background_is_ended_and_said(bench: Workbench) -> None:
    result = await bash(bench, "(while :; do echo x; sleep 1; done) & sleep 0.2; echo ok")
    assert not result.is_error
    assert "\nok\n[exit code 0]\n[Still running when the shell was done, and ended: " in told(
        result
    )


async def test_timeout_has_a_limit(bench: Workbench) -> None:
    result = await bash(bench, "true", timeout=600_001)
    assert result.is_error
    assert "timeout: input should be less than or equal to 600000" in told(result)


async def test_progress_shows_the_last_lines(bench: Workbench) -> None:
    await bash(bench, "seq 100; sleep 0.1")
    assert bench.progress[-1] == "96\n97\n98\n99\n100"


async def test_working_folder_that_is_gone_is_an_error(bench: Workbench) -> None:
    bench.cwd.rmdir()
    result = await bash(bench, "true")
    assert result.is_error
    assert told(result) == f"The working folder {bench.cwd} is not there any more."


async def test_command_that_cannot_be_started_is_an_error(bench: Workbench) -> None:
    for command in ("echo a\0b", "true " + "x" * 5_000_000):
        result = await bash(bench, command)
        assert result.is_error
        assert told(result).startswith("The command could not be started: ")
        assert len(told(result)) < 500


async def test_commands_side_by_side_do_not_mix(bench: Workbench) -> None:
    results = await asyncio.gather(*(bash(bench, f"echo {n}; exit {n}") for n in range(1, 9)))
    assert [told(result) for result in results] == [f"{n}\n[exit code {n}]" for n in range(1, 9)]


async def test_running_is_announced_and_judged_by_its_command(bench: Workbench) -> None:
    arguments = tool.input_type(command="pytest -q\necho done")
    assert tool.invocation(arguments) == "Running pytest -q..."
    assert tool.command(arguments) == "pytest -q\necho done"
    assert await tool.preview(arguments, bench.context()) == "pytest -q\necho done"
    assert len(tool.invocation(tool.input_type(command="x" * 500))) < 100
    assert not tool.read_only
    assert tool.timeout is None


async def test_long_output_is_whole_in_a_file_that_the_result_names(tasks: TaskBench) -> None:
    text = told(await tasks.call(tool, command="seq 100000"))
    assert "bytes left out ...]" in text
    found = re.search(r"\[588,895 bytes in all; Read can open them: (.*)\]", text)
    assert found is not None
    path = Path(found[1])
    assert path.parent == tasks.output_folder
    assert read_output(path, 0, 1_000_000).text == "".join(f"{n}\n" for n in range(1, 100_001))


async def test_output_that_could_not_be_kept_is_said(tasks: TaskBench) -> None:
    tasks.output_folder.symlink_to(tasks.folder)
    text = told(await tasks.call(tool, command="seq 100000"))
    assert "What was left out is not kept whole either: " in text
    assert "Read can open" not in text
    assert list(tasks.folder.glob("*.output")) == []


async def test_command_in_the_background_returns_at_once_and_goes_on(tasks: TaskBench) -> None:
    command = "echo begun; until [ -e go ]; do sleep 0.02; done; echo done"
    result = await tasks.call(tool, command=command, run_in_background=True)
    (task,) = tasks.chat.state.tasks
    assert task.status == "running"
    assert task.call_id == "c1"
    assert f"Started in the background as task {task.id}." in told(result)
    assert f"Its output goes to {task.output_path}." in told(result)
    assert f'TaskOutput(task_id="{task.id}")' in told(result)
    (tasks.folder / "go").touch()
    assert (await tasks.ended(task.id)).status == "completed"
    assert await tasks.text(task.id) == "begun\ndone\n"


async def test_command_past_its_timeout_goes_on_in_the_background(tasks: TaskBench) -> None:
    command = "echo é1; until [ -e go ]; do sleep 0.02; done; seq 20000; echo é2"
    result = await tasks.call(tool, command=command, timeout=300, description="Count")
    (task,) = tasks.chat.state.tasks
    assert not result.is_error
    assert told(result).startswith(
        f"é1\n[Not done after 0.3 s; it runs on in the background as task {task.id}. "
    )
    assert task.description == "Count"
    (tasks.folder / "go").touch()
    await tasks.ended(task.id)
    whole = "é1\n" + "".join(f"{n}\n" for n in range(1, 20_001)) + "é2\n"
    assert await tasks.text(task.id) == whole


async def test_long_output_that_is_moved_goes_on_in_the_file_it_is_in(tasks: TaskBench) -> None:
    command = "seq 20000; until [ -e go ]; do sleep 0.02; done; echo end"
    await tasks.call(tool, command=command, timeout=500)
    (task,) = tasks.chat.state.tasks
    (tasks.folder / "go").touch()
    await tasks.ended(task.id)
    assert await tasks.text(task.id) == "".join(f"{n}\n" for n in range(1, 20_001)) + "end\n"
    assert len(list(tasks.output_folder.iterdir())) == 1


async def test_command_that_cannot_be_moved_is_ended_as_before(
    tasks: TaskBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentls.agent.background.MOST_RUNNING", 0)
    result = await tasks.call(tool, command="echo begun; sleep 1000; echo x", timeout=300)
    assert result.is_error
    assert "[Timed out after 0.3 s and was ended." in told(result)
    assert "[It could not go on in the background: 0 tasks run already" in told(result)
    assert tasks.chat.state.tasks == ()
    assert not marked(tasks.folder)


async def test_nothing_can_be_put_in_the_background_where_there_is_none(bench: Workbench) -> None:
    result = await bash(bench, "true", run_in_background=True)
    assert result.is_error
    assert told(result).startswith("Nothing can run in the background here.")


async def test_cancelling_the_call_does_not_end_a_task_that_it_has_left(tasks: TaskBench) -> None:
    calling = asyncio.create_task(
        tasks.call(tool, command="echo $$ > pids; sleep 1000; echo x", timeout=300)
    )
    (pid,) = await written(tasks.folder / "pids", 1)
    await until(lambda: tasks.chat.state.tasks)
    calling.cancel()
    await asyncio.wait([calling])
    assert lives(pid)
    assert tasks.chat.state.tasks[0].status == "running"
