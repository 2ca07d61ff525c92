"""The Read tool: a file's lines with their numbers, a page at a time."""

import asyncio
import codecs
import difflib
import errno
import os
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from agentls.tools.files import FileContent
from agentls.tools.paths import absolute, printable, read_variable, shown
from agentls.tools.tool import Tool, ToolContext, ToolInput, ToolResult

MOST_LINES = 2_000
MOST_BYTES = 100 * 1024
LONGEST_LINE = 2_000
"""Characters; the rest of a line is cut."""
LOOKED_AT = 8 * 1024
"""Bytes in which a NUL means that the file is no text."""
IN_A_THREAD = 1024 * 1024
"""Bytes from which counting lines is too slow for the event loop."""
PASSING = frozenset((errno.EAGAIN, errno.EBUSY, errno.EINTR, errno.ESTALE, errno.ETIMEDOUT))
"""What a file system may say now and not a moment later, as those over a network do."""


class ReadInput(ToolInput):
    """What Read takes."""

    file_path: str = Field(min_length=1)
    """The file, absolute or relative to the working folder."""
    offset: int | None = Field(default=None, ge=1)
    """The line to start at, from 1; for files too long for one call."""
    limit: int | None = Field(default=None, ge=1)
    """How many lines to read; at most 2,000 come at once."""


class Read(Tool[ReadInput]):
    """Shows a text file and records what was read."""

    name: ClassVar[str] = "Read"
    description: ClassVar[str] = (
        "Reads a text file. Every line comes with its number and a tab before it, which are not "
        f"part of the file. At most {MOST_LINES:,} lines or {MOST_BYTES // 1024} KB come at once, "
        "and a note says where to read on; longer lines than "
        f"{LONGEST_LINE:,} characters are cut. A file must be read before Edit or Write may "
        "change it."
    )
    input_type = ReadInput
    verbs: ClassVar[tuple[str, str]] = ("Read", "Reading")
    read_only: ClassVar[bool] = True

    async def execute(self, arguments: ReadInput, context: ToolContext) -> ToolResult:
        """Return one page of the file."""
        path = absolute(arguments.file_path, context.cwd)
        try:
            content = await context.files.read(path)
        except (OSError, ValueError) as error:
            return unreadable(path, error, context.cwd)
        name = shown(path, context.cwd)
        if refusal := not_text(name, content.data):
            return refusal
        first, limit = arguments.offset or 1, min(arguments.limit or MOST_LINES, MOST_LINES)
        if len(content.data) > IN_A_THREAD:
            page = await asyncio.to_thread(_page, content.data, first, limit)
        else:
            page = _page(content.data, first, limit)
        return _result(path, name, content, page)

    def subject(self, arguments: ReadInput) -> str:
        """Name the file."""
        return arguments.file_path

    def read_paths(self, arguments: ReadInput) -> tuple[str, ...]:
        """Return the file."""
        return (arguments.file_path,)


def unreadable(path: Path, error: OSError | ValueError, cwd: Path) -> ToolResult:
    """Return the result for a file that cannot be read, with a way out."""
    name = shown(path, cwd)
    match error:
        case FileNotFoundError():
            return ToolResult.error(f"{name} does not exist.{_nearby(path, cwd)}")
        case IsADirectoryError():
            return ToolResult.error(f"{name} is a folder. Use LS or Glob to see what is in it.")
        case PermissionError():
            return ToolResult.error(f"{name} may not be read by this user: permission denied.")
        case OSError():
            return ToolResult.error(
                f"{name} cannot be read: {error.strerror}. A shell command may help.",
                may_pass=error.errno in PASSING,
            )
        case _:
            return ToolResult.error(f"{name!r} is not a path: {error}.")


def not_text(name: str, data: bytes) -> ToolResult | None:
    """Return the result for a file that is no text, None for one that is."""
    if b"\0" not in data[:LOOKED_AT]:
        return None
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ToolResult.error(
            f"{name} is UTF-16 text, which this tool does not handle. "
            "Convert it to UTF-8 with a shell command, such as iconv."
        )
    return ToolResult.error(
        f"{name} is a binary file of {len(data):,} bytes, not text. "
        "Use a shell command that understands its format."
    )


@dataclass(frozen=True, slots=True)
class _Page:
    lines: list[str]
    first: int
    total: int
    """Lines in the file; a last one without `\\n` counts."""
    undecodable: bool
    crlf: bool


def _page(data: bytes, first: int, limit: int) -> _Page:
    r"""Take at most `limit` lines from line `first` on. Only `\n` ends a line."""
    start = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    total = data.count(b"\n") + (len(data) > start and not data.endswith(b"\n"))
    for _ in range(first - 1):
        start = data.find(b"\n", start) + 1
        if not start:
            return _Page([], first, total, undecodable=False, crlf=False)
    lines: list[str] = []
    size, undecodable, crlf = 0, False, False
    while start < len(data) and len(lines) < limit:
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        raw = data[start:end]
        crlf = crlf or raw.endswith(b"\r")
        line, damaged = _decoded(raw.removesuffix(b"\r"))
        size += len(line.encode()) + 8
        if lines and size > MOST_BYTES:
            break
        undecodable = undecodable or damaged
        lines.append(line)
        start = end + 1
    return _Page(lines, first, total, undecodable, crlf)


def _decoded(raw: bytes) -> tuple[str, bool]:
    """Return a line as text, cut where it is too long, and whether it was not UTF-8."""
    try:
        line, damaged = raw.decode(), False
    except UnicodeDecodeError:
        line, damaged = raw.decode("utf-8", "replace"), True
    if len(line) > LONGEST_LINE:
        line = f"{line[:LONGEST_LINE]} [... {len(line) - LONGEST_LINE:,} characters cut]"
    return line, damaged


def _result(path: Path, name: str, content: FileContent, page: _Page) -> ToolResult:
    variables = {read_variable(name): content.sha256}
    if not page.total:
        return ToolResult.ok(
            f"{name} is empty ({len(content.data)} bytes).",
            f"Read {name}, which is empty",
            variables=variables,
        )
    if not page.lines:
        return ToolResult.error(
            f"{name} has {page.total:,} lines; there is no line {page.first:,} to start at."
        )
    numbered = [f"{number:>6}\t{line}" for number, line in enumerate(page.lines, page.first)]
    text = "\n".join(numbered) + "".join(f"\n[{note}]" for note in _notes(page, content.data))
    count = len(page.lines)
    return ToolResult.ok(
        text, f"Read {count:,} {'line' if count == 1 else 'lines'} of {name}", variables=variables
    )


def _notes(page: _Page, data: bytes) -> list[str]:
    notes: list[str] = []
    last = page.first + len(page.lines) - 1
    if last < page.total:
        notes.append(
            f"PARTIAL view: lines {page.first:,} to {last:,} of {page.total:,}. "
            f"Read on with offset={last + 1}."
        )
    elif page.first > 1:
        notes.append(f"PARTIAL view: lines {page.first:,} to {last:,}, the end of the file.")
    if page.undecodable:
        notes.append("Bytes that are not UTF-8 are shown as \ufffd.")
    if page.crlf:
        notes.append("Lines end in CRLF; Edit and Write keep that, so give \\n alone.")
    if data.startswith(codecs.BOM_UTF8):
        notes.append("The file begins with a byte order mark, which Edit and Write keep.")
    return notes


def _nearby(path: Path, cwd: Path) -> str:
    """Say which names in the same folder come near; where the folder is missing, say that."""
    parent = path.parent
    try:
        with os.scandir(parent) as entries:
            names = [printable(entry.name) for entry in islice(entries, 10_000)]
    except OSError:
        return f" Nor does the folder {shown(parent, cwd)}." if not parent.exists() else ""
    by_lower = {name.lower(): name for name in names}
    near = difflib.get_close_matches(printable(path.name).lower(), list(by_lower), n=3, cutoff=0.6)
    if not near:
        return ""
    found = ", ".join(shown(parent / by_lower[name], cwd) for name in near)
    return f" Is it one of these? {found}"
