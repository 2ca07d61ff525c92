"""The Bash tool: runs a shell command to its end."""

import os
import signal
from typing import ClassVar

from pydantic import Field

from agentls.tasks.processes import CommandResult, run_command
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
    """Milliseconds after which it is ended; at most 600,000."""
    description: str | None = None
    """What the command does, in a few words, for the person who watches."""


class Bash(Tool[BashInput]):
    """Runs a command and ends whatever it leaves behind."""

    name: ClassVar[str] = "Bash"
    description: ClassVar[str] = (
        "Runs a command in bash, in the working folder, and returns its output (standard error "
        "included) and exit code. Each call is a new shell: a `cd` or a variable does not last. "
        "Nothing can be typed in. When the shell ends, so does what it started in the "
        f"background. Output beyond {MOST_OUTPUT:,} bytes is cut in the middle. To read, search "
        "or change files, use Read, Grep, Glob, Edit and Write instead."
    )
    input_type = BashInput
    timeout: ClassVar[float | None] = None

    async def execute(self, arguments: BashInput, context: ToolContext) -> ToolResult:
        """Run the command; cancelled, nothing that it started stays."""
        if not context.cwd.is_dir():
            return ToolResult.error(f"The working folder {context.cwd} is not there any more.")
        try:
            result = await run_command(
                arguments.command,
                cwd=context.cwd,
                environment={k: v for k, v in os.environ.items() if k not in SECRETS},
                seconds=arguments.timeout / 1_000,
                most_output=MOST_OUTPUT,
                progress=context.progress,
            )
        except (OSError, ValueError) as error:
            return ToolResult.error(f"The command could not be started: {error}.")
        return _result(arguments, result)

    def subject(self, arguments: BashInput) -> str:
        """Name the command."""
        return _short(arguments.command)

    def command(self, arguments: BashInput) -> str | None:
        """Return the command."""
        return arguments.command

    async def preview(self, arguments: BashInput, context: ToolContext) -> str:
        """Return the command whole."""
        return arguments.command


def _result(arguments: BashInput, result: CommandResult) -> ToolResult:
    name = _short(arguments.command)
    output = result.output.rstrip("\n")
    text = "\n".join(
        [output or "(no output)", *(f"[{note}]" for note in _notes(arguments, result))]
    )
    if result.timed_out:
        return ToolResult.error(text, f"{name} timed out")
    if result.exit_code:
        return ToolResult.error(text, f"{name} failed ({_exit(result.exit_code)})")
    return ToolResult.ok(text, f"Ran {name}")


def _notes(arguments: BashInput, result: CommandResult) -> list[str]:
    notes: list[str] = []
    if result.timed_out:
        notes.append(
            f"Timed out after {arguments.timeout / 1_000:g} s and was ended. "
            f"A longer timeout may help, up to {LONGEST_TIMEOUT} ms."
        )
    else:
        notes.append(_exit(result.exit_code))
    if result.ended:
        when = "with it" if result.timed_out else "when the shell was done"
        notes.append(f"Still running {when}, and ended: {', '.join(result.ended)}")
    return notes


def _exit(code: int) -> str:
    """Say how a command ended, in the shell's terms."""
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"exit code {128 - code}, ended by {name}"


def _short(command: str) -> str:
    """Return the command in one line of at most 80 characters."""
    first, _, rest = command.strip().partition("\n")
    return first if len(first) <= 80 and not rest else f"{first[:77].rstrip()}..."
