"""A conversation as people read it: Markdown, good to look at as it is and rendered.

It takes a state and returns text; where it goes is others' business.
"""

import json
from collections.abc import Iterable, Iterator
from typing import assert_never

from agentls.protocol.content import (
    ContentBlock,
    DocumentBlock,
    FileBlock,
    FileChange,
    ImageBlock,
    LivePart,
    RedactedThinkingPart,
    StopReason,
    TextBlock,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    Usage,
    block_label,
)
from agentls.protocol.history import Answer, CallResult, Entry, Gap, Summary, UserMessage
from agentls.protocol.session_state import SessionState, TurnResult
from agentls.protocol.tool_calls import Decision, QuestionAnswer, ToolCall
from agentls.protocol.wire_model import JsonObject
from agentls.state.transcript_text import code, fenced, html, inline, one_line, prose, quoted

TOOL_OUTPUT_CHARS = 4_000
_TITLE_LENGTH = 80
_TODO_MARKS = {"pending": "[ ]", "inProgress": "[ ]", "completed": "[x]"}
_OUTCOMES = {"ok": "done", "error": "failed", "denied": "denied", "cancelled": "cancelled"}
_OPEN = {"ready": "has not run", "waiting": "waits for approval", "running": "runs"}
_DECIDERS = {
    "user": "the user",
    "rule": "a rule",
    "mode": "the mode",
    "host": "nobody being there to ask",
}
_CUTS: dict[StopReason, str] = {
    "maxTokens": "The answer was cut: it reached the longest length the model may write.",
    "contextWindow": "The answer was cut: the conversation filled the model's window.",
    "refusal": "The model refused to go on.",
    "cancelled": "The answer was cut: the user stopped it.",
    "interrupted": "The answer was cut: the server ended in the middle of it.",
    "cut": "The answer was cut: the model's side broke off.",
}


def as_markdown(state: SessionState, *, tool_output_chars: int = TOOL_OUTPUT_CHARS) -> str:
    """Return a conversation as Markdown, thinking and tool calls folded.

    Of what a tool was given or gave back, no more than `tool_output_chars` code points of a value
    are shown.
    """
    writer = _Transcript(tool_output_chars)
    blocks = (
        *heading(state),
        *(block for entry in state.history for block in writer.entry(entry)),
        *writer.now(state),
        *_plan(state),
    )
    return "\n\n".join(block for block in blocks if block) + "\n"


def heading(state: SessionState) -> Iterator[str]:
    """Yield the title, and a line of what there is to know of the session."""
    yield f"# {inline(title(state))}"
    facts = (*session_facts(state), f"session {code(state.meta.id)}")
    yield " · ".join(facts)
    if state.meta.forked_from:
        yield f"A fork of session {code(state.meta.forked_from.session_id)}."
    if state.meta.imported_from:
        yield f"Imported from {code(state.meta.imported_from)}."


def title(state: SessionState) -> str:
    """Return the session's title, else the beginning of its first prompt, in one line."""
    if state.title:
        return one_line(state.title)
    text = next(_first_words(state), None)
    if text is None:
        return f"Session {state.meta.id}"
    return text if len(text) <= _TITLE_LENGTH else text[: _TITLE_LENGTH - 1] + "…"


def session_facts(state: SessionState) -> Iterator[str]:
    """Yield when, with which model, on which branch, how long: what stands below the title."""
    yield f"{moment(state.meta.created_at)} UTC"
    answers = (entry.model for entry in reversed(state.history) if isinstance(entry, Answer))
    if model := next(answers, None) or state.model.effective:
        yield one_line(model)
    if state.meta.git_branch:
        yield f"branch {one_line(state.meta.git_branch)}"
    if state.tag:
        yield f"tag {one_line(state.tag)}"
    count = len(state.history)
    yield f"{count} message{'' if count == 1 else 's'}"
    if cost := cost_text(state.usage.total):
        yield cost


def cost_text(usage: Usage) -> str | None:
    """Return about what was paid, in dollars; None where no price is known."""
    if not usage.cost_nano_usd:
        return None
    dollars = usage.cost_nano_usd / 1e9
    paid = "less than $0.01" if dollars < 0.005 else f"about ${dollars:,.2f}"
    unpriced = usage.unpriced_responses
    more = f" and {unpriced} response{'' if unpriced == 1 else 's'} of unknown price"
    return paid + more if unpriced else paid


def moment(at: str) -> str:
    """Return a time of an event to the minute."""
    return at[:16].replace("T", " ")


def cut_note(reason: StopReason) -> str | None:
    """Return how an answer was cut, in words; None for one that was not."""
    return _CUTS.get(reason)


def outcome_of(call: ToolCall) -> str:
    """Return what became of a call, in a word or three."""
    if call.outcome:
        return _OUTCOMES[call.outcome]
    if call.status == "waiting" and call.questions:
        return "waits for an answer"
    return _OPEN.get(call.status, call.status)


def decision_text(decision: Decision) -> str:
    """Return who or what let a call run or not, and why."""
    done = "Allowed" if decision.behaviour == "allow" else "Denied"
    who = _DECIDERS[decision.decided_by]
    rule = f" ({decision.rule})" if decision.rule else ""
    return f"{done} by {who}{rule}: {decision.reason}"


def questions_of(call: ToolCall) -> Iterator[tuple[str, str]]:
    """Yield each question that a call has put to the user, and what was answered, in words."""
    if call.questions is None:
        return
    asked = call.questions.questions
    answers = call.answers or ()
    for number, question in enumerate(asked):
        if number < len(answers):
            yield question.question, answer_text(answers[number])
        elif call.status == "waiting":
            offered = ", ".join(option.label for option in question.options)
            yield question.question, f"not answered yet; offered: {offered}"
        else:
            yield question.question, "not answered"


def answer_text(answer: QuestionAnswer) -> str:
    """Return an answer to a question in a line."""
    own = one_line(answer.other or "")
    return ", ".join(part for part in (*answer.selected, own) if part) or "no answer"


def changes_text(changes: Iterable[FileChange]) -> str:
    """Return what happened to files, a line each."""
    return "\n".join(
        f"{change.kind} {code(change.path)} +{change.added_lines} -{change.removed_lines}"
        for change in changes
    )


def attached_text(block: ImageBlock | DocumentBlock | FileBlock) -> str:
    """Return what goes with a prompt or a result in a line: name, type and size."""
    if isinstance(block, FileBlock):
        label = one_line(block_label(block))
        return label[:1].upper() + label[1:]
    kilobytes = max(1, round(len(block.data) * 3 / 4 / 1024))
    name = f"{one_line(block.name)}, " if block.name else ""
    pages = ""
    if isinstance(block, DocumentBlock) and block.pages:
        pages = f", {block.pages} page{'' if block.pages == 1 else 's'}"
    return f"{block.type.capitalize()}: {name}{one_line(block.media_type)}{pages}, {kilobytes} KB"


def ending_of(turn: TurnResult | None) -> str | None:
    """Return how the last turn ended, where that is worth a word."""
    if turn is None:
        return None
    match turn.status:
        case "completed":
            return None
        case "failed":
            return f"The turn failed: {turn.error.message if turn.error else 'no reason was given'}"
        case "cancelled":
            return "The user stopped the turn."
        case "maxTurns":
            return "The turn ended at the most answers it may have."
        case "interrupted":
            return "The server ended while the turn ran."


class _Transcript:
    def __init__(self, most: int) -> None:
        self._most = most
        self._agent_speaks = False

    def entry(self, entry: Entry) -> Iterator[str]:
        """Yield what an entry of the history is in the document."""
        match entry:
            case UserMessage() if entry.author == "agentls":
                said = quoted("\n\n".join(_prompt(entry.content)))
                yield _details(f"agentls, to the model · {moment(entry.at)}", said)
            case UserMessage():
                self._agent_speaks = False
                yield "---"
                yield f"## You · {moment(entry.at)}"
                yield quoted("\n\n".join(_prompt(entry.content)))
            case Answer():
                yield from self._answer(entry)
            case CallResult():
                yield self._call(entry.call)
            case Summary():
                self._agent_speaks = False
                yield "---"
                yield (
                    f"**The conversation before this was compacted on {moment(entry.at)}**: a "
                    f"summary takes the place of {entry.message_count} messages."
                )
                yield _details("Summary", quoted(prose(entry.text)))
                if entry.put_back.strip():
                    behind = quoted(prose(entry.put_back))
                    yield _details("What the model is told behind the summary", behind)
            case Gap():
                yield quoted(
                    f"**Messages are missing here.** The log was damaged: {code(entry.missing)}, "
                    "which comes before the next message, is not in it."
                )
            case _ as never:
                assert_never(never)

    def now(self, state: SessionState) -> Iterator[str]:
        """Yield what is not history yet: an unfinished answer, open calls, how the turn ended."""
        if state.live is not None:
            yield from self._speaker(state.live.model)
            yield from (_live(part) for part in state.live.parts)
            yield f"*{'Being written.' if state.turn else _CUTS['interrupted']}*"
        yield from (self._call(call) for call in state.calls.values() if call.outcome is None)
        ending = None if state.turn else ending_of(state.last_turn)
        if ending:
            yield quoted(f"**{inline(ending)}**")
        for prompt in state.queue:
            what = "waiting" if prompt.kind == "prompt" else "a compaction, waiting"
            yield f"## You · {moment(prompt.queued_at)} · {what}"
            yield quoted("\n\n".join(_prompt(prompt.content)))

    def _speaker(self, model: str) -> Iterator[str]:
        if not self._agent_speaks:
            self._agent_speaks = True
            yield f"## Agent · {inline(model)}"

    def _answer(self, answer: Answer) -> Iterator[str]:
        yield from self._speaker(answer.model)
        for part in answer.parts:
            match part:
                case TextPart():
                    yield prose(part.text)
                case ThinkingPart() if part.text.strip():
                    yield _details("Thinking", quoted(prose(part.text)))
                case RedactedThinkingPart():
                    yield "*Thinking that came encrypted and cannot be shown.*"
                case ThinkingPart() | ToolCallPart():  # a call is shown with its result
                    continue
                case _ as never:
                    assert_never(never)
        if note := cut_note(answer.stop_reason):
            yield f"*{note}*"

    def _call(self, call: ToolCall) -> str:
        said = call.summary or call.invocation
        name = "" if said.startswith(call.name) else f"<b>{html(call.name)}</b> "
        return _details(f"{name}{html(said)} · {outcome_of(call)}", *self._inside(call), raw=True)

    def _inside(self, call: ToolCall) -> Iterator[str]:
        if call.approval is not None:
            yield f"Asked: {inline(call.approval.title)}"
        if call.decision is not None:
            yield inline(decision_text(call.decision))
        for question, answered in questions_of(call):
            yield f"Asked: {inline(question)}\n\nAnswered: {inline(answered)}"
        if call.malformed_input is not None:
            yield "Input, which is not a JSON object:"
            yield self._value(call.malformed_input)
        else:
            yield from self._input(call.input)
        if call.changes:
            yield "Changed:\n\n" + "\n".join(
                f"- {line}" for line in changes_text(call.changes).split("\n")
            )
        if call.left_out:
            yield f"Not looked at for changes: {inline(call.left_out)}"
        for block in call.content:
            if not isinstance(block, TextBlock):
                yield f"*{inline(attached_text(block))}*"
            elif block.text.strip():
                yield "Output:"
                yield self._value(block.text)

    def _input(self, given: JsonObject) -> Iterator[str]:
        """Yield the arguments: those of one line in a list, each longer one in a fence."""
        short = {key: _as_text(value) for key, value in given.items() if not _is_long(value)}
        if short:
            yield "\n".join(f"- {code(key)}: {code(value)}" for key, value in short.items())
        for key, value in given.items():
            if key not in short:
                yield f"{code(key)}:"
                is_text = isinstance(value, str)
                yield self._value(value) if is_text else self._value(_as_json(value), "json")

    def _value(self, text: str, language: str = "text") -> str:
        more = len(text) - self._most
        if more <= 0:
            return fenced(text, language)
        return (
            f"{fenced(text[: self._most], language)}\n\n*{more:,} more characters are not shown.*"
        )


def _first_words(state: SessionState) -> Iterator[str]:
    """Yield what the user said, a line for each text, oldest first."""
    if goal := one_line(state.compaction.carried.goal or ""):
        yield goal
    for entry in state.history:
        if not isinstance(entry, UserMessage) or entry.author != "user":
            continue
        for block in entry.content:
            if isinstance(block, TextBlock) and (text := one_line(block.text)):
                yield text


def _prompt(content: Iterable[ContentBlock]) -> Iterator[str]:
    for block in content:
        is_text = isinstance(block, TextBlock)
        yield prose(block.text) if is_text else f"*{inline(attached_text(block))}*"


def _live(part: LivePart) -> str:
    match part.type:
        case "text":
            return prose(part.text)
        case "thinking":
            return _details("Thinking", quoted(prose(part.text)))
        case "redactedThinking":
            return "*Thinking that came encrypted and cannot be shown.*"
        case "toolCall":
            return _details(f"{part.name or 'A tool call'} · being written", fenced(part.text))


def _plan(state: SessionState) -> Iterator[str]:
    if state.todos:
        yield "---"
        yield "## Plan"
        yield "\n".join(
            f"- {_TODO_MARKS[todo.status]} {inline(todo.content)}"
            + (" (in progress)" if todo.status == "inProgress" else "")
            for todo in state.todos
        )


def _details(summary: str, *inside: str, raw: bool = False) -> str:
    """Return something folded; `raw`: the summary is HTML already."""
    shown = summary if raw else html(summary)
    head = f"<details>\n<summary>{shown}</summary>"
    return "\n\n".join([head, *inside, "</details>"])


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _is_long(value: object) -> bool:
    text = _as_text(value)
    return len(text) > 120 or "\n" in text
