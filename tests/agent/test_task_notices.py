"""What the model is told of tasks that have ended."""

from agentls.agent.task_notices import notice
from agentls.protocol.tasks import Task
from tests.support.task_bench import TaskBench


async def test_notice_says_how_each_ended(bench: TaskBench) -> None:
    task = await bench.start("seq 100; exit 2")
    stopped = await bench.start("sleep 1000", "c2")
    await bench.ended(task.id)
    await bench.background.stop(stopped.id)
    text = bench.background.notice(bench.background.finished_unseen())
    assert text == (
        f"Task {task.id} (seq 100; exit 2) has failed, exit code 2; output: {task.output_path}, "
        "292 bytes; last lines:\n96\n97\n98\n99\n100\n"
        f"Task {stopped.id} (sleep 1000) was ended: it was stopped; output: "
        f"{stopped.output_path}, 0 bytes."
    )


def test_notice_is_bounded() -> None:
    tasks = [
        Task(id=f"b{n}", kind="shell", description="x" * 1_000, call_id=None, status="completed")
        for n in range(1_000)
    ]
    text = notice(tasks, {task.id: "y" * 10_000 for task in tasks})
    assert len(text) < 25_000
    assert "980 more: b20, b21" in text
