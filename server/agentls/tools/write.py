"""The Write tool: a whole file at once, with the line ends and the byte order mark it had."""

import asyncio
import codecs
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from agentls.protocol.content import FileChange
from agentls.tools.files import FileChangedMeanwhile, FileContent
from agentls.tools.line_diff import count_changes, unified
from agentls.tools.paths import absolute, exists, read_variable, shown
from agentls.tools.read import unreadable
from agentls.tools.tool import Tool, ToolContext, ToolInput, ToolResult

PREVIEWED = 1024 * 1024
"""Bytes; a preview does not read a bigger file, since it must not keep others waiting."""


class WriteInput(ToolInput):
    """What Write takes."""

    file_path: str = Field(min_length=1)
    """The file, absolute or relative to the working folder; missing folders are made."""
    content: str
    """The whole new content."""


class Write(Tool[WriteInput]):
    """Creates a file or replaces all of it."""

    name: ClassVar[str] = "Write"
    description: ClassVar[str] = (
        "Creates a file, or replaces all of its content. An existing file must have been read "
        "with Read, and not have changed since. To change a part of a file use Edit. Where the "
        "file had CRLF line ends or a byte order mark, it keeps them."
    )
    input_type = WriteInput
    variable_owner: ClassVar[str | None] = "Read"
    verbs: ClassVar[tuple[str, str]] = ("Write", "Writing")

    async def execute(self, arguments: WriteInput, context: ToolContext) -> ToolResult:
        """Write the file, if nothing is lost by it that was not seen."""
        path = absolute(arguments.file_path, context.cwd)
        try:
            before = await context.files.read(path)
        except FileNotFoundError:
            before = None
        except (OSError, ValueError) as error:
            return unreadable(path, error, context.cwd)
        if before and (refusal := _not_seen(path, before, context)):
            return refusal
        data, kept = _in_the_style_of(before, arguments.content)
        if before and data == before.data:
            name = shown(path, context.cwd)
            return ToolResult.ok(f"{name} holds exactly this already.", f"{name} was as wanted")
        try:
            after = await context.files.write(
                path, data, expected_sha256=before.sha256 if before else None
            )
        except (OSError, ValueError, FileChangedMeanwhile) as error:
            return unwritable(path, error, context.cwd)
        return await _result(path, before, after, kept, context)

    def subject(self, arguments: WriteInput) -> str:
        """Name the file."""
        return arguments.file_path

    def written_paths(self, arguments: WriteInput) -> tuple[str, ...]:
        """Return the file."""
        return (arguments.file_path,)

    async def preview(self, arguments: WriteInput, context: ToolContext) -> str:
        """Return a unified diff against what the file holds."""
        path = absolute(arguments.file_path, context.cwd)
        data = await as_seen(path, context)
        if data is None and exists(path):
            return f"{self.wish(arguments)}\n(too large or not readable for a preview)"
        before = None if data is None else FileContent.of(data)
        after, _ = _in_the_style_of(before, arguments.content)
        return unified(data or b"", after, shown(path, context.cwd))


def unwritable(
    path: Path, error: OSError | ValueError | FileChangedMeanwhile, cwd: Path
) -> ToolResult:
    """Return the result for a file that cannot be written, with a way out."""
    name = shown(path, cwd)
    match error:
        case FileChangedMeanwhile():
            return ToolResult.error(
                f"{name} was changed by something else at the same moment; nothing was written. "
                "Read it again, then decide."
            )
        case PermissionError():
            return ToolResult.error(f"{name} may not be written by this user: permission denied.")
        case OSError():
            return ToolResult.error(f"{name} cannot be written: {error.strerror}.")
        case _:
            return ToolResult.error(f"{name!r} is not a path: {error}.")


def change_of(name: str, before: FileContent | None, after: FileContent) -> FileChange:
    """Return what happened to a file, named as `shown` does."""
    added, removed = count_changes(before.data if before else b"", after.data)
    return FileChange(
        path=name,
        kind="modified" if before else "created",
        before_sha256=before.sha256 if before else None,
        after_sha256=after.sha256,
        added_lines=added,
        removed_lines=removed,
    )


async def as_seen(path: Path, context: ToolContext) -> bytes | None:
    """Return a file's bytes for a preview; None where it is missing, too large, not readable."""
    try:
        data = (await context.files.read(path)).data
    except (OSError, ValueError):
        return None
    return data if len(data) <= PREVIEWED else None


def _not_seen(path: Path, before: FileContent, context: ToolContext) -> ToolResult | None:
    """Return the refusal where the model does not know what the file holds."""
    name = shown(path, context.cwd)
    seen = context.variables.get(read_variable(name))
    if seen is None:
        return ToolResult.error(f"{name} exists and has not been read. Read it before writing it.")
    if seen != before.sha256:
        return ToolResult.error(
            f"{name} has changed since it was read; nothing was written. Read it again."
        )
    return None


def _in_the_style_of(before: FileContent | None, content: str) -> tuple[bytes, list[str]]:
    """Return the bytes to write, and what they keep of the old file's style.

    Read shows neither CRLF nor a byte order mark, so the model cannot know that it drops them.
    """
    data, kept = content.encode(), list[str]()
    if before is None:
        return data, kept
    ends = before.data.count(b"\n")
    if ends and b"\r" not in data and before.data.count(b"\r\n") == ends:
        data = data.replace(b"\n", b"\r\n")
        kept.append("Its line ends stay CRLF.")
    if before.data.startswith(codecs.BOM_UTF8) and not data.startswith(codecs.BOM_UTF8):
        data = codecs.BOM_UTF8 + data
        kept.append("Its byte order mark stays.")
    return data, kept


async def _result(
    path: Path,
    before: FileContent | None,
    after: FileContent,
    kept: list[str],
    context: ToolContext,
) -> ToolResult:
    name = shown(path, context.cwd)
    change = await asyncio.to_thread(change_of, name, before, after)
    lines = after.data.count(b"\n") + (not after.data.endswith(b"\n") and after.data != b"")
    if before:
        counts = f"+{change.added_lines:,} -{change.removed_lines:,} lines"
        text, summary = f"Replaced {name} ({counts}).", f"Wrote {name} ({counts})"
    else:
        text, summary = f"Created {name} ({lines:,} lines).", f"Created {name}"
    return ToolResult.ok(
        " ".join([text, *kept]),
        summary,
        changes=(change,),
        variables={read_variable(name): after.sha256},
    )
