"""Follows one prompt's run: prints its lines, and remembers what the result will say."""

from agentls.headless.lines import PermissionDenial, ResultLine
from agentls.headless.outcome import Outcome
from agentls.headless.output import Output
from agentls.headless.transcribe import api_usage, cost_usd, lines_of
from agentls.protocol.content import Usage
from agentls.protocol.events.conversation import AnswerFinished, ToolCallFinished, UsageRecorded
from agentls.protocol.session_state import SessionState
from agentls.state.event_store import Moment


class Recorder:
    """A listener of a session, from the prompt to its result."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self.rounds = 0
        """How often the model answered."""
        self.denials: list[PermissionDenial] = []
        self.unasked: list[str] = []
        """The tools of the calls that were denied because nobody was there to be asked."""
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
                self._deny(new.state, finished.call_id)
            case _:
                pass
        for line in lines_of(new):
            self._output.write_line(line)

    def result(self, session_id: str, outcome: Outcome, duration_ms: int) -> ResultLine:
        """Return the result line of what was followed."""
        return ResultLine(
            subtype=outcome.subtype,
            is_error=outcome.reason != "completed",
            result=outcome.text,
            session_id=session_id,
            num_turns=self.rounds,
            duration_ms=duration_ms,
            total_cost_usd=cost_usd(self.usage),
            usage=api_usage(self.usage),
            modelUsage={model: api_usage(usage) for model, usage in self.by_model.items()},
            permission_denials=tuple(self.denials),
            terminal_reason=outcome.reason,
        )

    def _deny(self, state: SessionState, call_id: str) -> None:
        call = state.calls[call_id]
        self.denials.append(
            PermissionDenial(tool_name=call.name, tool_use_id=call.id, tool_input=call.input)
        )
        if call.decision is not None and call.decision.decided_by == "host":
            self.unasked.append(call.name)
