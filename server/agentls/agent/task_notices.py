"""What the model is told of tasks that have ended."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from agentls.protocol.tasks import Task
from agentls.tools.bash import exit_in_words, short

MOST_NOTICED = 20
"""Of how many tasks a notice tells singly."""
LAST_LINES_NOTICED = 500
"""Characters of a task's last lines in a notice."""


def notice(tasks: Iterable[Task], last_lines: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return what the model is told of tasks that have ended; `last_lines` is by their ids."""
    ended = list(tasks)
    words = [_noticed(task, last_lines.get(task.id, "")) for task in ended[:MOST_NOTICED]]
    if rest := ended[MOST_NOTICED:]:
        words.append(f"{len(rest)} more: {', '.join(task.id for task in rest)}.")
    return "\n".join(words)


def _noticed(task: Task, last_lines: str) -> str:
    where = f"; output: {task.output_path}, {task.output_bytes:,} bytes"
    lines = last_lines.strip("\n")[-LAST_LINES_NOTICED:]
    end = f"; last lines:\n{lines}" if lines else "."
    name = short(task.command or task.description)
    return f"Task {task.id} ({name}) {_ended(task)}{where}{end}"


def _ended(task: Task) -> str:
    if task.status == "killed":
        return f"was ended: {task.reason}"
    how = f", {exit_in_words(task.exit_code)}" if task.exit_code is not None else ""
    why = f": {task.reason}" if task.reason else ""
    return f"has {task.status}{how}{why}"
