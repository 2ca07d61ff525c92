"""Writes a run to stdout in one of three formats, and always ends it with a result."""

import os
from collections.abc import Callable
from typing import Literal

from agentls.headless.lines import Line, PermissionDenial, ResultLine
from agentls.headless.outcome import Outcome
from agentls.headless.transcribe import api_usage, lines_of
from agentls.protocol.content import Usage
from agentls.protocol.events.conversation import AnswerFinished, ToolCallFinished, UsageRecorded
from agentls.state.event_store import Moment

OutputFormat = Literal["text", "json", "stream-json"]


class OutputClosed(Exception):
    """Nobody reads stdout any more."""


class Output:
    """Stdout of one run. Every line is written whole and at once."""

    def __init__(self, fd: int, output_format: OutputFormat) -> None:
        self._fd = fd
        self._format = output_format
        self.began = False
        """Whether a line was written."""
        self.closed = False
        """Whether the reader went away."""

    def write_line(self, line: Line) -> None:
        """Write a line of stream-json; the other formats have none."""
        self.began = True
        if self._format == "stream-json":
            self._write(line.model_dump_json() + "\n")

    def write_result(self, result: ResultLine) -> None:
        """Write the end of a prompt's run: its text, or the result as one JSON object."""
        if self._format != "text":
            self._write(result.model_dump_json() + "\n")
        elif not result.is_error:
            self._write(result.result + "\n")

    def _write(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except BrokenPipeError:
            self.closed = True
        if self.closed:
            raise OutputClosed


class Recorder:
    """Follows one prompt's run: prints its lines, and remembers what the result will say."""

    def __init__(self, output: Output, on_closed: Callable[[], object]) -> None:
        self._output = output
        self._on_closed = on_closed
        self.rounds = 0
        self.denials: list[PermissionDenial] = []
        self.usage = Usage()
        self.by_model: dict[str, Usage] = {}

    def __call__(self, new: Moment, old: Moment) -> None:
        """Take an event."""
        if new.envelope is None:
            return
        match new.envelope.event:
            case AnswerFinished():
                self.rounds += 1
            case UsageRecorded() as recorded:
                self.usage += recorded.usage
                known = self.by_model.get(recorded.model, Usage())
                self.by_model[recorded.model] = known + recorded.usage
            case ToolCallFinished(outcome="denied") as finished:
                call = new.state.calls[finished.call_id]
                self.denials.append(
                    PermissionDenial(
                        tool_name=call.name, tool_use_id=call.id, tool_input=call.input
                    )
                )
            case _:
                pass
        if self._output.closed:
            return
        try:
            for line in lines_of(new):
                self._output.write_line(line)
        except OutputClosed:
            self._on_closed()

    def result(self, session_id: str, outcome: Outcome, duration_ms: int) -> ResultLine:
        """Return the result line of what was followed."""
        return ResultLine(
            subtype=outcome.subtype,
            is_error=outcome.reason != "completed",
            result=outcome.text,
            session_id=session_id,
            num_turns=self.rounds,
            duration_ms=duration_ms,
            usage=api_usage(self.usage),
            modelUsage={model: api_usage(usage) for model, usage in self.by_model.items()},
            permission_denials=tuple(self.denials),
            terminal_reason=outcome.reason,
        )
