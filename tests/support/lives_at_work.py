"""What a random life does at work: steering, questions, tasks, retries, room in the window."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from agentls.protocol.content import TextBlock, Usage
from agentls.protocol.events import (
    compaction,
    conversation,
    questions,
    retries,
    settings,
    tasks,
)
from agentls.protocol.tasks import FINAL_STATUSES, Task
from agentls.protocol.tool_calls import Question, QuestionAnswer, QuestionOption, Questions

if TYPE_CHECKING:
    from tests.support.lives import Life

AT = "2026-11-30T12:00:00.000Z"
_CAUSES = ("rateLimited", "overloaded", "streamBroken")


def used(seed: int) -> Usage:
    """Return what a response used, priced or not."""
    return Usage(
        input_tokens=seed,
        output_tokens=1,
        cache_read_tokens=seed // 2,
        cost_nano_usd=seed * 1_000_000_007 if seed % 3 else 0,
        unpriced_responses=0 if seed % 3 else 1,
    )


def settled_task(task: Task) -> Task:
    """Return what a load can know of a task: not what it has written while it runs."""
    if task.status in FINAL_STATUSES:
        return task
    return task.model_copy(update={"output_bytes": 0, "last_lines": ""})


def steer(life: "Life", seed: int) -> None:
    """Send a prompt to the running turn, or have it take in the ones that wait for it."""
    if not life.may_answer() or life.state.live:
        return
    if seed % 2:
        item_id = life.new_id("turn")
        content = (TextBlock(text=f"rather {seed}"),)
        life.emit(conversation.PromptQueued(item_id=item_id, content=content, delivery="steer"))
    for item in life.state.queue:
        if item.delivery == "steer":
            life.emit(conversation.PromptDequeued(item_id=item.id, reason="steered"))
            life.put_before_model("rather that")


def notice(life: "Life", seed: int) -> None:
    if life.state.turn is None or (life.may_answer() and not life.state.live):
        life.put_before_model(f"task {seed} has ended", author="agentls")


def ask_questions(life: "Life", seed: int) -> None:
    for call in life.calls("ready"):
        question = Question(
            question="Which?",
            header="Way",
            options=(QuestionOption(label="this"), QuestionOption(label="that")),
            multi_select=bool(seed % 2),
        )
        asked = Questions(call_id=call.id, questions=(question,), asked_at=AT)
        life.emit(questions.QuestionsAsked(parent=call.message_id, questions=asked))
        return


def answer_questions(life: "Life", seed: int) -> None:
    for call in life.calls("waiting"):
        if call.questions is None:
            continue
        answers = (QuestionAnswer(selected=("this",), other=f"{seed}"),) if seed % 3 else None
        life.emit(
            questions.QuestionsAnswered(
                parent=call.message_id, call_id=call.id, answers=answers, client_id="c1"
            )
        )
        return


def add_task(life: "Life", seed: int) -> None:
    """Put a task on record, at times one that is there."""
    known = [task.id for task in life.state.tasks]
    task_id = known[0] if known and seed % 4 == 0 else life.new_id("b")
    task = Task(id=task_id, kind="shell", description=f"{seed}", command="x", call_id=None)
    life.emit(tasks.TaskAdded(task=task))


def start_task(life: "Life", seed: int) -> None:
    life.emit(tasks.TaskStarted(task_id=_some_task(life, seed)))


def progress_task(life: "Life", seed: int) -> None:
    event = tasks.TaskProgressed(task_id=_some_task(life, seed), output_bytes=seed, last_lines="l")
    life.emit(event)


def finish_task(life: "Life", seed: int) -> None:
    life.emit(
        tasks.TaskFinished(
            task_id=_some_task(life, seed),
            status=sorted(FINAL_STATUSES)[seed % 3],
            exit_code=seed % 3 or None,
            output_bytes=seed,
        )
    )


def evict_tasks(life: "Life", seed: int) -> None:
    ended = [task.id for task in life.state.tasks if task.status in FINAL_STATUSES]
    life.emit(tasks.TasksEvicted(task_ids=(*ended[: 1 + seed % 2], *(["b0"] if seed % 5 else []))))


def retry(life: "Life", seed: int) -> None:
    """Wait for the model's side; what it had streamed is void."""
    turn = life.state.turn
    if turn is None or turn.retry or life.calls("ready", "waiting", "running"):
        return
    cause = _CAUSES[seed % 3]
    wait = retries.RetryWait(
        cause=cause,
        error=conversation.ErrorInfo(kind="Overloaded", message="busy", retryable=True),
        attempt=turn.failed_tries.get(cause, 0) + 1,
        max_attempts=9,
        delay_ms=seed,
        resumes_at=AT,
        parked=seed % 4 == 0,
    )
    life.emit(retries.RetryScheduled(parent=turn.message_id, retry=wait))


def go_on(life: "Life", seed: int) -> None:
    turn = life.state.turn
    if turn is not None and turn.retry is not None:
        life.emit(retries.RetryEnded(parent=turn.message_id))


def cut(life: "Life", seed: int) -> None:
    life.finish_answer(seed, calls=seed % 2, cut=True)


def stall(life: "Life", seed: int) -> None:
    if life.state.live is not None:
        message_id = life.state.live.message_id
        life.emit(retries.AnswerStalled(message_id=message_id, silent_since=AT))


def miss_cache(life: "Life", seed: int) -> None:
    life.emit(
        retries.CacheMissed(
            response_id="r", cause="tools", expected_tokens=seed + 1, read_tokens=seed
        )
    )


def pay_subagent(life: "Life", seed: int) -> None:
    life.pay(seed, "subagent")


def fast(life: "Life", seed: int) -> None:
    life.emit(settings.FastModeChanged(model=f"f{seed % 2}" if seed % 3 else None))


def gates(life: "Life", seed: int) -> None:
    life.emit(settings.GatesChanged(gates=settings.Gates(parallel_reads=1 + seed % 4)))


def clear_outputs(life: "Life", seed: int) -> None:
    ids = [entry.id for entry in life.state.history if entry.type in ("user", "answer")]
    if life.state.head is not None and ids and life.may_answer() and not life.state.live:
        before = ids[seed % len(ids)]
        parent = life.state.head
        life.emit(compaction.ToolOutputsCleared(parent=parent, before=before, tokens=seed))


def compact_turn(life: "Life", seed: int) -> None:
    """Begin a turn that does nothing but compact."""
    if life.state.turn is not None or life.state.head is None:
        return
    turn_id = life.new_id("turn")
    queued = conversation.PromptQueued(
        item_id=turn_id, content=(TextBlock(text="heed it"),), kind="compact"
    )
    life.emit(queued, turn_id)
    life.emit(conversation.PromptDequeued(item_id=turn_id, reason="started"), turn_id)
    started = conversation.TurnStarted(
        parent=life.state.head, model="m", kind="compact", instructions="heed it"
    )
    life.emit(started, turn_id)


def begin_compaction(life: "Life", seed: int) -> None:
    turn = life.state.turn
    is_busy = bool(life.state.live or life.calls("ready", "waiting", "running"))
    if turn is not None and not turn.retry and not is_busy and not life.state.compaction.running:
        reason = ("automatic", "requested", "tooLong")[seed % 3]
        life.emit(compaction.CompactionStarted(reason=reason))


def fail_compaction(life: "Life", seed: int) -> None:
    if life.state.compaction.running:
        error = conversation.ErrorInfo(kind="CompactionRejected", message="no summary")
        life.emit(compaction.CompactionFailed(error=error, counts=bool(seed % 2)))


def _some_task(life: "Life", seed: int) -> str:
    """Return a task's id, at times of one that is not there."""
    known = [task.id for task in life.state.tasks]
    return ["b0", *known][seed % (len(known) + 1)]


AT_WORK: dict[str, Callable[["Life", int], None]] = {
    action.__name__: action
    for action in (
        steer, notice, ask_questions, answer_questions, add_task, start_task, progress_task,
        finish_task, evict_tasks, retry, go_on, cut, stall, miss_cache, pay_subagent, fast, gates,
        clear_outputs, compact_turn, begin_compaction, fail_compaction,
    )
}  # fmt: skip
