"""What tasks do to files is told apart from what calls and users do."""

from agentls.tools.bash import Bash
from tests.support.commands import until
from tests.support.task_bench import TaskBench


async def test_what_a_task_does_to_files_after_its_call_is_its_own(bench: TaskBench) -> None:
    command = (
        "echo 1 > early.txt; touch ready; until [ -e go ]; do sleep 0.02; done; "
        "echo 2 > late.txt; rm a.txt"
    )
    result = await bench.call(Bash(), command=command, timeout=700)
    (task,) = bench.chat.state.tasks
    other = await bench.call(Bash(), "c2", command="echo 3 > other.txt; rm b.txt")
    (bench.folder / "go").touch()
    await bench.ended(task.id)
    (finished,) = bench.finished(task.id)
    assert {change.path for change in result.changes} == {"early.txt", "ready"}
    assert {change.path for change in other.changes} == {"other.txt", "b.txt"}
    assert {change.path for change in finished.changes} == {"go", "late.txt", "a.txt"}
    assert finished.left_out is None
    assert all(change.restorable for change in finished.changes)


async def test_task_that_ends_before_its_call_leaves_its_changes_to_it(bench: TaskBench) -> None:
    class Slow(Bash):
        async def execute(self, arguments, context):  # type: ignore[no-untyped-def]
            result = await super().execute(arguments, context)
            (task,) = bench.chat.state.tasks
            await bench.ended(task.id)
            return result

    result = await bench.call(Slow(), command="echo 1 > new.txt", run_in_background=True)
    (task,) = bench.chat.state.tasks
    assert [change.path for change in result.changes] == ["new.txt"]
    assert bench.finished(task.id)[0].changes == ()


async def test_what_the_user_saves_meanwhile_is_not_the_doing_of_a_task(bench: TaskBench) -> None:
    command = "until [ -e go ]; do sleep 0.02; done; sleep 0.3; echo 1 > new.txt"
    await bench.call(Bash(), command=command, run_in_background=True)
    (task,) = bench.chat.state.tasks
    for name in ("a.txt", "mine.txt", "go"):
        (bench.folder / name).write_text("the user's own\n")
        await bench.chat.files.disown([bench.folder / name])
    await bench.ended(task.id)
    assert [change.path for change in bench.finished(task.id)[0].changes] == ["new.txt"]


async def test_what_was_stopped_tells_its_changes_too(bench: TaskBench) -> None:
    await bench.call(
        Bash(),
        command="until [ -e go ]; do sleep 0.02; done; echo 1 > new.txt; touch pids; sleep 1000",
        run_in_background=True,
    )
    (task,) = bench.chat.state.tasks
    (bench.folder / "go").touch()
    await until((bench.folder / "pids").exists)
    await bench.background.stop(task.id)
    assert {change.path for change in bench.finished(task.id)[0].changes} == {
        "go",
        "new.txt",
        "pids",
    }
