"""A conversation as a terminal shows it: text alone, a line for each tool call."""

from collections.abc import Iterable, Iterator

from agentls.cli.sessions_table import fitted
from agentls.protocol.content import ContentBlock, TextBlock, TextPart, text_of
from agentls.protocol.history import Answer, CallResult, Entry, Gap, Summary, UserMessage
from agentls.protocol.session_state import SessionState
from agentls.protocol.tool_calls import ToolCall
from agentls.state.transcript import (
    attached_text,
    cut_note,
    decision_text,
    ending_of,
    moment,
    outcome_of,
    questions_of,
    session_facts,
    title,
)
from agentls.state.transcript_text import one_line, printable

_NOTICE_CELLS = 200
_TODO_MARKS = {"pending": " ", "inProgress": ">", "completed": "x"}


def as_text(state: SessionState) -> str:
    """Return a conversation in short: no thinking, no outputs but those of failures."""
    lines = [title(state), " · ".join((*session_facts(state), f"session {state.meta.id}"))]
    if state.meta.imported_from:
        lines.append(f"imported from {one_line(state.meta.imported_from)}")
    writer = _Text()
    for entry in state.history:
        lines += writer.entry(entry)
    lines += writer.now(state)
    if state.todos:
        lines += ["", "Plan"]
        lines += [
            f"  [{_TODO_MARKS[todo.status]}] {one_line(todo.content)}" for todo in state.todos
        ]
    return "\n".join(lines) + "\n"


class _Text:
    def __init__(self) -> None:
        self._agent_speaks = False

    def entry(self, entry: Entry) -> Iterator[str]:
        """Yield the lines of an entry of the history."""
        match entry:
            case UserMessage() if entry.author == "agentls":
                yield f"  [agentls, to the model: {fitted(_content(entry.content), _NOTICE_CELLS)}]"
            case UserMessage():
                self._agent_speaks = False
                yield from ("", f"You · {moment(entry.at)} · {one_line(entry.id)}")
                yield from _indented(_content(entry.content))
            case Answer():
                yield from self._speaker(entry.model)
                for part in entry.parts:
                    if isinstance(part, TextPart):
                        yield from _indented(part.text)
                if note := cut_note(entry.stop_reason):
                    yield f"  [{note}]"
            case CallResult():
                yield from _call(entry.call)
            case Summary():
                self._agent_speaks = False
                yield from ("", f"[Compacted: a summary of {entry.message_count} messages]")
                yield from _indented(entry.text)
                if lines := len(entry.put_back.strip().splitlines()):
                    yield f"  [Behind it the model is told {lines} more lines]"
            case Gap():
                yield from ("", "[Messages are missing here: the log was damaged]")

    def now(self, state: SessionState) -> Iterator[str]:
        """Yield what is not history yet."""
        if state.live is not None:
            yield from self._speaker(state.live.model)
            for part in state.live.parts:
                if part.type == "text":
                    yield from _indented(part.text)
            yield "  [Being written]" if state.turn else f"  [{cut_note('interrupted')}]"
        for call in state.calls.values():
            if call.outcome is None:
                yield from _call(call)
        if not state.turn and (ending := ending_of(state.last_turn)):
            yield f"[{one_line(ending)}]"
        for prompt in state.queue:
            what = "waiting" if prompt.kind == "prompt" else "a compaction, waiting"
            yield from ("", f"You · {moment(prompt.queued_at)} · {what}")
            yield from _indented(_content(prompt.content))

    def _speaker(self, model: str) -> Iterator[str]:
        if not self._agent_speaks:
            self._agent_speaks = True
            yield from ("", f"Agent · {one_line(model)}")


def _call(call: ToolCall) -> Iterator[str]:
    said = one_line(call.summary or call.invocation)
    name = "" if said.startswith(call.name) else f"{one_line(call.name)}: "
    yield f"  - {name}{said} ({outcome_of(call)})"
    if call.decision is not None and call.decision.behaviour == "deny":
        yield f"      {one_line(decision_text(call.decision))}"
    for question, answered in questions_of(call):
        yield f"      {one_line(question)} - {one_line(answered)}"
    if call.outcome == "error":
        first = text_of(call.content).strip().split("\n")[0]
        yield f"      {one_line(first)}"
    for change in call.changes:
        yield (
            f"      {change.kind} {one_line(change.path)} "
            f"+{change.added_lines} -{change.removed_lines}"
        )


def _content(content: Iterable[ContentBlock]) -> str:
    return "\n\n".join(
        block.text if isinstance(block, TextBlock) else f"[{attached_text(block)}]"
        for block in content
    )


def _indented(text: str) -> Iterator[str]:
    for line in printable(text).strip("\n").split("\n"):
        yield f"  {line}".rstrip()
