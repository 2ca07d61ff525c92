"""The reducer of tasks: pending, running, then one final status and no other."""

from typing import assert_never

from agentls.protocol.events.envelope import Envelope
from agentls.protocol.events.tasks import (
    TaskAdded,
    TaskFinished,
    TaskProgressed,
    TasksEvicted,
    TaskStarted,
)
from agentls.protocol.session_state import SessionState
from agentls.protocol.tasks import FINAL_STATUSES
from agentls.state.changed import changed

TaskEvent = TaskAdded | TaskStarted | TaskProgressed | TaskFinished | TasksEvicted


def reduce_task(state: SessionState, envelope: Envelope, event: TaskEvent) -> SessionState:
    """Return the state after something happened to a task; see `reduce`."""
    match event:
        case TaskAdded():
            known = any(task.id == event.task.id for task in state.tasks)
            return state if known else changed(state, tasks=(*state.tasks, event.task))
        case TaskStarted():
            return _with_task(state, event.task_id, status="running", started_at=envelope.at)
        case TaskProgressed():
            return _with_task(
                state, event.task_id, output_bytes=event.output_bytes, last_lines=event.last_lines
            )
        case TaskFinished():
            return _with_task(
                state,
                event.task_id,
                status=event.status,
                ended_at=envelope.at,
                exit_code=event.exit_code,
                reason=event.reason,
                output_bytes=event.output_bytes,
                last_lines="",
            )
        case TasksEvicted():
            gone = frozenset(event.task_ids)
            return changed(state, tasks=tuple(task for task in state.tasks if task.id not in gone))
        case _ as never:
            assert_never(never)


def _with_task(state: SessionState, task_id: str, **update: object) -> SessionState:
    """Change one task that has not ended; a late word about another changes nothing."""
    tasks = tuple(
        changed(task, **update)
        if task.id == task_id and task.status not in FINAL_STATUSES
        else task
        for task in state.tasks
    )
    return changed(state, tasks=tasks)
