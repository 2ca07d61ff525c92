import re
from pathlib import Path
from typing import Any

import pytest

from agentls.cli.sessions_plain import as_text
from agentls.protocol.content import FileBlock, LivePart, TextBlock, TextPart, Todo, Usage
from agentls.protocol.events.conversation import SessionMeta
from agentls.protocol.history import Answer, CallResult, Gap, History, Summary, UserMessage
from agentls.protocol.session_state import LiveAnswer, QueuedPrompt, SessionState
from agentls.protocol.tool_calls import Question, QuestionAnswer, Questions, ToolCall
from agentls.sessions.chain import replay
from agentls.sessions.interop.imports import read_import

AT = "2026-11-30T14:56:35.123Z"
META = SessionMeta(id="s1", created_at=AT, cwd=".", agentls_version="1")


def state(*entries: Any, **fields: Any) -> SessionState:
    return SessionState(meta=META, history=History(entries), **fields)


def user(text: str) -> UserMessage:
    return UserMessage(id="u", at=AT, turn_id="t", content=(TextBlock(text=text),))


def lines(shown: SessionState) -> list[str]:
    """The lines below the heading."""
    return as_text(shown).split("\n")[3:-1]


def test_what_is_open_and_what_is_missing_are_seen() -> None:
    waiting = ToolCall(
        id="c1", message_id="a", name="Bash", invocation="Running rm", input={}, status="waiting"
    )
    live = LiveAnswer(
        message_id="b", model="m", parts=(LivePart(type="text", id="p", text="The fir"),)
    )
    queued = QueuedPrompt(id="q", content=(TextBlock(text="Next."),), queued_at=AT)
    shown = state(
        Summary(id="s", at=AT, text="Before.", message_count=9),
        Gap(id="g", at=AT, missing="x"),
        user("Go."),
        live=live,
        calls={"c1": waiting},
        queue=(queued,),
        todos=(Todo(content="Read", active_form="Reading", status="inProgress"),),
    )
    assert lines(shown) == [
        "[Compacted: a summary of 9 messages]",
        "  Before.",
        "",
        "[Messages are missing here: the log was damaged]",
        "",
        "You · 2026-11-30 14:56 · u",
        "  Go.",
        "",
        "Agent · m",
        "  The fir",
        "  [The answer was cut: the server ended in the middle of it.]",
        "  - Bash: Running rm (waits for approval)",
        "",
        "You · 2026-11-30 14:56 · waiting",
        "  Next.",
        "",
        "Plan",
        "  [>] Read",
    ]


def test_notices_questions_and_what_is_put_back_are_a_line_each() -> None:
    notice = user("Task b1\nhas ended.").model_copy(update={"author": "agentls"})
    question = Question(question="Which way?", header="Way", options=())
    asked = ToolCall(
        id="c", message_id="a", name="AskUserQuestion", invocation="Asking", input={},
        status="finished", outcome="ok", summary="Answered: Left",
        questions=Questions(call_id="c", questions=(question,), asked_at=AT),
        answers=(QuestionAnswer(selected=("Left",)),),
    )  # fmt: skip
    mentioned = (TextBlock(text="See"), FileBlock(what="file", path="README.md", text="secret"))
    shown = state(
        Summary(id="s", at=AT, text="Before.", message_count=9, put_back="The goal:\nx"),
        UserMessage(id="u", at=AT, turn_id="t", content=mentioned),
        notice,
        CallResult(call=asked),
        queue=(QueuedPrompt(id="q", content=(), queued_at=AT, kind="compact"),),
    )
    assert [line for line in lines(shown) if line.strip()] == [
        "[Compacted: a summary of 9 messages]",
        "  Before.",
        "  [Behind it the model is told 2 more lines]",
        "You · 2026-11-30 14:56 · u",
        "  See",
        "  [File: README.md]",
        "  [agentls, to the model: Task b1 has ended.]",
        "  - AskUserQuestion: Answered: Left (done)",
        "      Which way? - Left",
        "You · 2026-11-30 14:56 · a compaction, waiting",
    ]


def test_terminal_is_given_no_orders() -> None:
    hostile = "\x1b]0;x\x07\x9b2J\r\n"
    call = ToolCall(
        id="c", message_id="a", name=hostile, invocation=hostile, input={}, status="finished",
        outcome="error", content=(TextBlock(text=hostile),),
    )  # fmt: skip
    answer = Answer(
        id="a", at=AT, turn_id="t", model=hostile, parts=(TextPart(id="p", text=hostile),),
        stop_reason="endTurn", usage=Usage(),
    )  # fmt: skip
    shown = state(user(hostile), answer, CallResult(call=call), title=hostile, tag=hostile)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", as_text(shown))


@pytest.mark.parametrize("name", ["plain", "many_shapes", "branches", "compacted", "subagents"])
def test_imported_sessions_can_be_shown(name: str) -> None:
    file = Path(__file__).parents[1] / "sessions" / "interop" / "claude_code" / f"{name}.jsonl"
    text = as_text(replay(read_import(file)[0]["main"]))
    assert "You · 2026-10-01" in text
