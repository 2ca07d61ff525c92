"""What became of Claude Code's tool calls: outcomes, decisions, changed files, plans."""

from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Any, cast

from agentls.protocol.content import FileChange, TextBlock, Todo, TodoStatus, ToolCallPart, text_of
from agentls.protocol.events.conversation import ToolCallFinished
from agentls.protocol.tool_calls import CallOutcome, Decision
from agentls.protocol.wire_model import JsonObject
from agentls.sessions.interop.blocks import content_of
from agentls.sessions.interop.lines import Line, object_in, text_in
from agentls.sessions.interop.report import Tally
from agentls.sessions.interop.tree import Result

_REJECTED = "The user doesn't want to "
_SPILLED = "<persisted-output>"
_INTERRUPTED = "[Request interrupted by user"
_TODO_STATUS: dict[str, TodoStatus] = {
    "pending": "pending",
    "in_progress": "inProgress",
    "completed": "completed",
}
_PATHS = ("file_path", "notebook_path", "path")
_TELLING = (
    "command",
    *_PATHS,
    "pattern",
    "url",
    "query",
    "description",
    "subject",
    "skill",
    "prompt",
)
"""Inputs that say in a line what a call does, the most telling first."""
_SUMMARY_LENGTH = 120


def finished(answer: str, call: ToolCallPart, result: Result, tally: Tally) -> ToolCallFinished:
    """Return the end of a call, as its result tells it."""
    line, block = result.line, result.block
    content = content_of(block.get("content"), line, tally)
    text = text_of(content)
    if _SPILLED in text:
        tally.leave_out("results that are cut, the rest in a file of its own", line.number)
    outcome = _outcome(line, block, text)
    return ToolCallFinished(
        parent=answer,
        call_id=call.id,
        outcome=outcome,
        summary=summary_of(call, line),
        content=content,
        changes=_changes(line) if outcome == "ok" else (),
        decision=_decision(line, text) if outcome == "denied" else None,
    )


def without_result(answer: str, call: ToolCallPart, line: Line) -> ToolCallFinished:
    """Return the end of a call whose result is not there."""
    text = "The imported session holds no result of this call, so what came of it is not known."
    return ToolCallFinished(
        parent=answer,
        call_id=call.id,
        outcome="cancelled",
        summary=summary_of(call, line),
        content=(TextBlock(text=text),),
    )


def summary_of(call: ToolCallPart, line: Line) -> str:
    """Return in one line what a call does."""
    told = ((key, text) for key in _TELLING if (text := text_in(call.input, key)))
    key, said = next(told, ("", ""))
    if key in _PATHS:
        said = _shown_path(said, text_in(line.record, "cwd"))
    summary = " ".join(f"{call.name} {said}".split())
    return summary if len(summary) <= _SUMMARY_LENGTH else summary[: _SUMMARY_LENGTH - 1] + "…"


def todos_of(call: ToolCallPart) -> tuple[Todo, ...] | None:
    """Return the plan that a call writes; None for another call."""
    written = call.input.get("todos")
    if call.name != "TodoWrite" or not isinstance(written, list):
        return None
    todos = (_todo(todo) for todo in written if isinstance(todo, dict))
    return tuple(todo for todo in todos if todo is not None)


def _outcome(line: Line, block: JsonObject, text: str) -> CallOutcome:
    kind = text_in(line.record, "toolDenialKind")
    if kind in ("interrupted", "cancelled") or text.startswith(_INTERRUPTED):
        return "cancelled"
    if kind or text.startswith(_REJECTED):
        return "denied"
    if object_in(line.record, "toolUseResult").get("interrupted") is True:
        return "cancelled"
    return "error" if block.get("is_error") is True else "ok"


def _decision(line: Line, text: str) -> Decision:
    kind = text_in(line.record, "toolDenialKind") or "user-rejected"
    by_user = "user" in kind or text.startswith(_REJECTED)
    return Decision(
        behaviour="deny",
        decided_by="user" if by_user else "rule",
        reason="the user said no, in Claude Code" if by_user else f"{kind}, in Claude Code",
    )


def _changes(line: Line) -> tuple[FileChange, ...]:
    """Return the change of a file that a result tells of; its contents are not kept."""
    told = object_in(line.record, "toolUseResult")
    path, patch = text_in(told, "filePath"), told.get("structuredPatch")
    if not path or not isinstance(patch, list):
        return ()
    created = text_in(told, "type") == "create"
    changed = [text for hunk in patch if isinstance(hunk, dict) for text in _lines_of(hunk)]
    added = sum(text.startswith("+") for text in changed)
    if created and not changed:
        added = len((text_in(told, "content") or "").splitlines())
    return (
        FileChange(
            path=_shown_path(path, text_in(line.record, "cwd")),
            kind="created" if created else "modified",
            before_sha256=None,
            after_sha256=None,
            added_lines=added,
            removed_lines=sum(text.startswith("-") for text in changed),
            restorable=False,
        ),
    )


def _lines_of(hunk: JsonObject) -> list[str]:
    lines: Any = hunk.get("lines")
    if not isinstance(lines, list):
        return []
    return [line for line in cast(list[Any], lines) if isinstance(line, str)]


def _shown_path(path: str, cwd: str | None) -> str:
    """Return a path as changes name it; it is shown, never followed."""
    pure: type[PurePath] = PureWindowsPath if "\\" in path else PurePosixPath
    if not cwd:
        return path
    try:
        return pure(path).relative_to(pure(cwd)).as_posix()
    except ValueError:
        return path


def _todo(todo: JsonObject) -> Todo | None:
    content = text_in(todo, "content")
    if not content:
        return None
    return Todo(
        content=content,
        active_form=text_in(todo, "activeForm") or content,
        status=_TODO_STATUS.get(text_in(todo, "status") or "", "pending"),
    )
