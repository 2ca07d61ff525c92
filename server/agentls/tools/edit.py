"""The Edit tool: replaces exact text in a file and leaves every other byte alone."""

import asyncio
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from agentls.tools.files import FileChangedMeanwhile, FileContent
from agentls.tools.line_diff import unified
from agentls.tools.near_matches import ambiguous, line_number, not_found
from agentls.tools.paths import absolute, read_variable, shown
from agentls.tools.read import not_text, unreadable
from agentls.tools.splice import Splice, find_splices, spliced
from agentls.tools.tool import Tool, ToolContext, ToolInput, ToolResult
from agentls.tools.write import as_seen, change_of, unwritable

SNIPPET_CONTEXT = 4
"""Lines shown before and after an edit."""
SNIPPET_LINES = 40
SNIPPET_WIDTH = 300


class EditInput(ToolInput):
    """What Edit takes."""

    file_path: str = Field(min_length=1)
    """The file, absolute or relative to the working folder."""
    old_string: str
    """The text to replace, exactly as it is in the file, without line numbers."""
    new_string: str
    """What takes its place."""
    replace_all: bool = False
    """Replace every occurrence; otherwise there must be exactly one."""


class Edit(Tool[EditInput]):
    """Replaces exact text."""

    name: ClassVar[str] = "Edit"
    description: ClassVar[str] = (
        "Replaces text in a file that has been read with Read. old_string must match exactly, "
        "white space included, and occur once; give surrounding lines to make it unique, or set "
        "replace_all. Give line ends as \\n: in a file with CRLF they match, and the new text "
        "gets CRLF. Nothing but the matched text changes."
    )
    input_type = EditInput
    variable_owner: ClassVar[str | None] = "Read"
    verbs: ClassVar[tuple[str, str]] = ("Edit", "Editing")

    async def execute(self, arguments: EditInput, context: ToolContext) -> ToolResult:
        """Edit the file, if the match leaves no doubt."""
        if refusal := _senseless(arguments):
            return refusal
        path = absolute(arguments.file_path, context.cwd)
        try:
            before = await context.files.read(path)
        except (OSError, ValueError) as error:
            return unreadable(path, error, context.cwd)
        name = shown(path, context.cwd)
        seen = context.variables.get(read_variable(name))
        if seen is None:
            return ToolResult.error(f"{name} has not been read. Read it before editing it.")
        # Searching a large file, or for a near miss, is too slow for the event loop.
        found = await asyncio.to_thread(_find, name, before.data, arguments)
        if isinstance(found, ToolResult):
            return found
        stale = seen != before.sha256
        if stale and len(found) > 1:
            return ToolResult.error(
                f"{name} has changed since it was read, and old_string occurs {len(found)} times "
                "in it; nothing was edited. Read it again."
            )
        try:
            after = await context.files.write(
                path, spliced(before.data, found), expected_sha256=before.sha256
            )
        except (OSError, ValueError, FileChangedMeanwhile) as error:
            return unwritable(path, error, context.cwd)
        return await asyncio.to_thread(_result, path, name, before, after, found, stale)

    def subject(self, arguments: EditInput) -> str:
        """Name the file."""
        return arguments.file_path

    def written_paths(self, arguments: EditInput) -> tuple[str, ...]:
        """Return the file."""
        return (arguments.file_path,)

    async def preview(self, arguments: EditInput, context: ToolContext) -> str:
        """Return a unified diff of the file; of the two strings where that cannot be."""
        path = absolute(arguments.file_path, context.cwd)
        name = shown(path, context.cwd)
        before = await as_seen(path, context)
        if before is None or _senseless(arguments):
            return unified(arguments.old_string.encode(), arguments.new_string.encode(), name)
        found = find_splices(before, arguments.old_string, arguments.new_string)
        if not found or (len(found) > 1 and not arguments.replace_all):
            places = "nowhere" if not found else f"in {len(found)} places"
            return f"{self.wish(arguments)}\n(will fail: old_string matches {places})"
        return unified(before, spliced(before, found), name)


def _senseless(arguments: EditInput) -> ToolResult | None:
    if not arguments.old_string:
        return ToolResult.error(
            "old_string is empty. Use Write to create a file or to fill an empty one."
        )
    if arguments.old_string == arguments.new_string:
        return ToolResult.error("old_string and new_string are the same: nothing to do.")
    return None


def _find(name: str, data: bytes, arguments: EditInput) -> list[Splice] | ToolResult:
    """Return the places to change, or the reason why there are none."""
    old, new = arguments.old_string, arguments.new_string
    found = find_splices(data, old, new, overlapping=not arguments.replace_all)
    if not found:
        return not_text(name, data) or ToolResult.error(
            not_found(name, data, old), f"old_string was not found in {name}"
        )
    if len(found) > 1 and not arguments.replace_all:
        # Without a new text the splices begin where the matches do.
        matches = find_splices(data, old, "", overlapping=True)
        return ToolResult.error(
            ambiguous(name, data, matches), f"old_string is not unique in {name}"
        )
    return found


def _result(
    path: Path,
    name: str,
    before: FileContent,
    after: FileContent,
    found: list[Splice],
    stale: bool,
) -> ToolResult:
    change = change_of(name, before, after)
    counts = f"+{change.added_lines:,} -{change.removed_lines:,} lines"
    places = "1 place" if len(found) == 1 else f"{len(found):,} places"
    notes = [f"Edited {name} in {places} ({counts})."]
    if stale:
        notes.append(
            "The file had changed since it was read, but old_string still matched exactly once; "
            "read it again to see the rest."
        )
    if any(splice.crlf for splice in found):
        notes.append("Its line ends are CRLF, and the new text has been given the same.")
    if len(found) > 1:
        notes.append("The first of them:")
    return ToolResult.ok(
        "\n".join([" ".join(notes), _snippet(after.data, found[0])]),
        f"Edited {name} ({counts})",
        changes=(change,),
        # What the model has not seen it has not read: Write must still refuse.
        variables={} if stale else {read_variable(name): after.sha256},
    )


def _snippet(after: bytes, splice: Splice) -> str:
    """Return the lines around the first edit, numbered as Read does."""
    start = splice.start
    end = start + len(splice.new)
    first = max(1, line_number(after, start) - SNIPPET_CONTEXT)
    last = line_number(after, end) + SNIPPET_CONTEXT
    lines = after.removesuffix(b"\n").split(b"\n")[first - 1 : last]
    shown_lines = [_snippet_line(number, raw) for number, raw in enumerate(lines, first)]
    if len(shown_lines) <= SNIPPET_LINES:
        return "\n".join(shown_lines)
    half = SNIPPET_LINES // 2
    left_out = f"[... {len(shown_lines) - 2 * half:,} lines]"
    return "\n".join([*shown_lines[:half], left_out, *shown_lines[-half:]])


def _snippet_line(number: int, raw: bytes) -> str:
    line = raw.removesuffix(b"\r").decode("utf-8", "replace")
    if len(line) > SNIPPET_WIDTH:
        line = f"{line[:SNIPPET_WIDTH]} [... {len(line) - SNIPPET_WIDTH:,} characters cut]"
    return f"{number:>6}\t{line}"
