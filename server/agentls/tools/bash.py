"""The Bash tool: runs a shell command to its end, or beside the conversation."""

import os
import secrets
import signal
from typing import ClassVar

from pydantic import Field

from agentls.errors import WrongPhase
from agentls.protocol.tasks import Task
from agentls.tasks.command import Command
from agentls.tasks.output import CommandOutput
from agentls.tools.tool import Tool, ToolContext, ToolInput, ToolResult

MOST_OUTPUT = 30_000
"""Bytes that the model gets to see, half from the beginning, half from the end."""
DEFAULT_TIMEOUT = 120_000
LONGEST_TIMEOUT = 600_000
SECRETS = frozenset({"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"})
"""What a command's environment never holds."""


class BashInput(ToolInput):
    """What Bash takes."""

    command: str = Field(min_length=1)
    """The command, for bash."""
    timeout: int = Field(default=DEFAULT_TIMEOUT, ge=1, le=LONGEST_TIMEOUT)
    """Milliseconds after which it goes on in the background; at most 600,000."""
    description: str | None = None
    """What the command does, in a few words, for the person who watches."""
    run_in_background: bool = False
    """Return at once, and let the command run beside the conversation, without a timeout."""


class Bash(Tool[BashInput]):
    """Runs a command; what it leaves behind is ended with it."""

    name: ClassVar[str] = "Bash"
    description: ClassVar[str] = (
        "Runs a command in bash, in the working folder, and returns its output (standard error "
        "included) and exit code. Each call is a new shell: a `cd` or a variable does not last. "
        "Nothing can be typed in. When the shell ends, so does what it started with `&`: to run a "
        "server, a watcher or a long build, set run_in_background instead. That returns a task id "
        "at once; TaskOutput reads what the task writes, TaskStop ends it, and you are told when "
        "it has ended. A command that is not done by its timeout is not ended: it becomes such a "
        f"task. Output beyond {MOST_OUTPUT:,} bytes is cut in the middle, and a file that Read "
        "can open holds all of it. To read, search or change files, use Read, Grep, Glob, Edit "
        "and Write instead."
    )
    input_type = BashInput
    timeout: ClassVar[float | None] = None

    async def execute(self, arguments: BashInput, context: ToolContext) -> ToolResult:
        """Run the command; cancelled, nothing that it started stays, but for a task."""
        if not context.cwd.is_dir():
            return ToolResult.error(f"The working folder {context.cwd} is not there any more.")
        try:
            if arguments.run_in_background:
                return await _begin(arguments, context)
            return await _run(arguments, context)
        except (OSError, ValueError, WrongPhase) as error:
            return ToolResult.error(f"The command could not be started: {error}.")

    def subject(self, arguments: BashInput) -> str:
        """Name the command."""
        return short(arguments.command)

    def command(self, arguments: BashInput) -> str | None:
        """Return the command."""
        return arguments.command

    async def preview(self, arguments: BashInput, context: ToolContext) -> str:
        """Return the command whole."""
        return arguments.command


def command_environment() -> dict[str, str]:
    """Return what commands find in their environment: ours, without credentials."""
    return {key: value for key, value in os.environ.items() if key not in SECRETS}


def exit_in_words(code: int) -> str:
    """Say how a command ended, in the shell's terms."""
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"exit code {128 - code}, ended by {name}"


def short(command: str) -> str:
    """Return the command in one line of at most 80 characters."""
    first, _, rest = command.strip().partition("\n")
    return first if len(first) <= 80 and not rest else f"{first[:77].rstrip()}..."


async def _begin(arguments: BashInput, context: ToolContext) -> ToolResult:
    if context.background is None:
        return ToolResult.error(
            "Nothing can run in the background here. "
            "Run the command without run_in_background, with a timeout that is long enough."
        )
    task = await context.background.start(
        arguments.command, description=_described(arguments), call_id=context.call_id
    )
    return ToolResult.ok(
        f"Started in the background as task {task.id}. {_how_to_go_on(task)}",
        f"Started {short(arguments.command)} in the background ({task.id})",
    )


async def _run(arguments: BashInput, context: ToolContext) -> ToolResult:
    running = Command.start(
        arguments.command,
        cwd=context.cwd,
        environment=command_environment(),
        output=CommandOutput(
            MOST_OUTPUT,
            folder=context.output_folder,
            name=f"bash-{secrets.token_hex(8)}",
            most_on_disk=context.output_bytes,
        ),
        progress=context.progress,
    )
    try:
        in_time = await running.ends_within(arguments.timeout / 1_000)
    except BaseException:
        await _stop(running)
        raise
    moved = None if in_time else _move(running, arguments, context)
    if isinstance(moved, Task):
        return _moved(arguments, running, moved)
    ended = await _to_its_end(running, everywhere=not in_time)
    notes = [exit_in_words(running.exit_code)] if in_time else _timed_out(arguments, moved)
    if ended:
        when = "when the shell was done" if in_time else "with it"
        notes.append(f"Still running {when}, and ended: {', '.join(ended)}")
    return _result(arguments, running, [*notes, *_where_all_is(running.output)], not in_time)


async def _to_its_end(running: Command, *, everywhere: bool) -> tuple[str, ...]:
    """End what is left of the command; return what it was."""
    try:
        ended = await running.end_gently(everywhere=everywhere)
    except BaseException:
        await _stop(running)
        raise
    running.close()
    return ended


async def _stop(running: Command) -> None:
    try:
        await running.end_gently(everywhere=True)
    finally:
        running.close()


def _move(running: Command, arguments: BashInput, context: ToolContext) -> Task | str | None:
    """Make the command a task, or say why it cannot be one; None where nothing can be."""
    if context.background is None:
        return None
    try:
        return context.background.take_over(
            running,
            arguments.command,
            description=_described(arguments),
            call_id=context.call_id,
        )
    except WrongPhase as error:
        return str(error)


def _moved(arguments: BashInput, running: Command, task: Task) -> ToolResult:
    note = (
        f"Not done after {arguments.timeout / 1_000:g} s; it runs on in the background as task "
        f"{task.id}. {_how_to_go_on(task)}"
    )
    return ToolResult.ok(
        _text(running.output, [note]),
        f"{short(arguments.command)} runs on in the background ({task.id})",
    )


def _result(
    arguments: BashInput, running: Command, notes: list[str], timed_out: bool
) -> ToolResult:
    text = _text(running.output, notes)
    name = short(arguments.command)
    if timed_out:
        return ToolResult.error(text, f"{name} timed out")
    if running.exit_code:
        return ToolResult.error(text, f"{name} failed ({exit_in_words(running.exit_code)})")
    return ToolResult.ok(text, f"Ran {name}")


def _text(output: CommandOutput, notes: list[str]) -> str:
    written = output.text().rstrip("\n") or "(no output)"
    return "\n".join([written, *(f"[{note}]" for note in notes)])


def _timed_out(arguments: BashInput, why_not_moved: str | None) -> list[str]:
    notes = [
        f"Timed out after {arguments.timeout / 1_000:g} s and was ended. "
        f"A longer timeout may help, up to {LONGEST_TIMEOUT} ms."
    ]
    if why_not_moved:
        notes.append(f"It could not go on in the background: {why_not_moved}")
    return notes


def _where_all_is(output: CommandOutput) -> list[str]:
    """Say where output is that the result leaves out, and what is nowhere."""
    if not output.is_cut or output.file is None:
        return []
    if output.file.trouble:
        return [f"What was left out is not kept whole either: {output.file.trouble}"]
    return [f"{output.size:,} bytes in all; Read can open them: {output.file.path}"]


def _how_to_go_on(task: Task) -> str:
    return (
        f"Its output goes to {task.output_path}. You are told when it ends. "
        f'TaskOutput(task_id="{task.id}") reads what it writes, TaskStop(task_id="{task.id}") '
        "ends it."
    )


def _described(arguments: BashInput) -> str:
    return arguments.description or short(arguments.command)
