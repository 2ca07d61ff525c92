"""Histories to be compacted: rounds of prompts, answers and results, each with its own ids."""

from collections.abc import Sequence
from itertools import count
from typing import Any

from hypothesis import strategies as st

from agentls.context.room import Room
from agentls.protocol.content import (
    Author,
    Content,
    FileChange,
    TextBlock,
    TextPart,
    ToolCallPart,
    Usage,
)
from agentls.protocol.events.conversation import SessionMeta
from agentls.protocol.history import Answer, CallResult, Entry, Summary, UserMessage
from agentls.protocol.session_state import SessionState
from agentls.protocol.tool_calls import CallOutcome, ToolCall

AT = "2026-11-30T15:00:00.000Z"
ROOM = Room(window=200_000, overhead=10_000, answer=16_384)
SMALL = Room(window=16_000, overhead=5_000, answer=4_096)
_numbers = count(1)


def prompt(*content: str | Content, author: Author = "user") -> UserMessage:
    blocks = tuple(TextBlock(text=item) if isinstance(item, str) else item for item in content)
    return UserMessage(id=_id("u"), at=AT, turn_id="t", content=blocks, author=author)


def answer(text: str = "I look.", calls: Sequence[ToolCall] = ()) -> Answer:
    parts = (
        TextPart(id=_id("p"), text=text),
        *(ToolCallPart(id=call.id, name=call.name, input=call.input) for call in calls),
    )
    return Answer(
        id=_id("a"),
        at=AT,
        turn_id="t",
        model="m",
        parts=parts,
        stop_reason="toolUse" if calls else "endTurn",
        usage=Usage(),
    )


def tool_call(
    name: str = "Bash",
    output: str | Content = "done",
    outcome: CallOutcome = "ok",
    changes: tuple[FileChange, ...] = (),
    invocation: str | None = None,
    **arguments: Any,
) -> ToolCall:
    return ToolCall(
        id=_id("c"),
        message_id="a",
        name=name,
        invocation=invocation or f"{name}ing {next(iter(arguments.values()), '')}",
        input=arguments,
        status="finished",
        outcome=outcome,
        content=(TextBlock(text=output) if isinstance(output, str) else output,),
        changes=changes,
    )


def one_round(*calls: ToolCall, text: str = "I look.") -> list[Entry]:
    return [answer(text, calls), *(CallResult(call=call) for call in calls)]


def change(path: str, after: str | None = "f" * 64) -> FileChange:
    return FileChange(
        path=path,
        kind="modified" if after else "deleted",
        before_sha256="0" * 64,
        after_sha256=after,
        added_lines=1,
        removed_lines=1,
    )


def summary(text: str = "What was done.", put_back: str = "") -> Summary:
    return Summary(id=_id("s"), at=AT, text=text, message_count=9, put_back=put_back)


def state(**fields: Any) -> SessionState:
    meta = SessionMeta(id="s1", created_at=AT, cwd=".", agentls_version="1")
    return SessionState(meta=meta, **fields)


def _id(kind: str) -> str:
    return f"{kind}{next(_numbers)}"


words = st.text(
    alphabet=st.sampled_from("abc né日`\n.-*#:!?/\\'\"<>~_0 "), min_size=0, max_size=400
) | st.sampled_from(["x" * 9_000, "Never do this. " * 300, "word " * 4_000, "\U0001f600" * 800])
_names = st.sampled_from(["src/a.py", "/work/src/b.py", "./c.py", "deep/" * 40 + "d.py"])
_calls = st.builds(
    tool_call,
    name=st.sampled_from(["Bash", "Read", "Edit"]),
    output=words,
    outcome=st.sampled_from(["ok", "error", "denied", "cancelled"]),
    changes=st.lists(st.builds(change, _names, st.sampled_from(["a" * 64, None])), max_size=3).map(
        tuple
    ),
    file_path=_names,
) | st.builds(
    tool_call,
    output=words,
    outcome=st.sampled_from(["ok", "error"]),
    command=words | st.sampled_from(["make", "pytest -q", "ls"]),
)
_rounds = st.lists(_calls, max_size=3).map(lambda calls: one_round(*calls)) | st.builds(
    prompt, words, author=st.sampled_from(["user", "agentls"])
).map(lambda message: [message])
histories = st.lists(_rounds, max_size=12).map(lambda rounds: [e for r in rounds for e in r])
"""Any order of prompts, notices and rounds, small and large."""
rooms = st.builds(
    Room,
    window=st.sampled_from([8_000, 16_000, 200_000, 1_000_000]),
    overhead=st.sampled_from([1_000, 3_000]),
    answer=st.sampled_from([1_000, 64_000]),
)
