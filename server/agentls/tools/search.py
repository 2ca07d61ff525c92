"""The search tools: Glob finds files by name, Grep by content."""

import asyncio
import heapq
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from agentls.tools.globs import compile_glob, has_magic
from agentls.tools.grep_engine import TIME_LIMIT, FileMatches, Findings, Query, search
from agentls.tools.paths import absolute, exists, printable, shown
from agentls.tools.read import unreadable
from agentls.tools.tool import Tool, ToolContext, ToolInput, ToolResult

MOST_FILES = 100
MOST_ENTRIES = 250
MOST_TEXT = 30_000
"""Characters of a result."""
LONGEST_LINE = 500
TYPES: dict[str, tuple[str, ...]] = {
    "c": ("*.c", "*.h"),
    "cpp": ("*.cpp", "*.cc", "*.cxx", "*.hpp", "*.hh", "*.hxx", "*.h", "*.inl"),
    "css": ("*.css", "*.scss", "*.sass", "*.less"),
    "go": ("*.go",),
    "html": ("*.html", "*.htm"),
    "java": ("*.java",),
    "js": ("*.js", "*.jsx", "*.mjs", "*.cjs", "*.vue"),
    "json": ("*.json", "*.jsonl"),
    "kotlin": ("*.kt", "*.kts"),
    "lua": ("*.lua",),
    "md": ("*.md", "*.markdown", "*.mdx"),
    "php": ("*.php",),
    "py": ("*.py", "*.pyi"),
    "rst": ("*.rst",),
    "ruby": ("*.rb", "Rakefile", "Gemfile", "*.gemspec"),
    "rust": ("*.rs",),
    "sh": ("*.sh", "*.bash", "*.zsh"),
    "sql": ("*.sql",),
    "swift": ("*.swift",),
    "toml": ("*.toml",),
    "ts": ("*.ts", "*.tsx", "*.mts", "*.cts"),
    "txt": ("*.txt",),
    "xml": ("*.xml", "*.xsd", "*.xsl"),
    "yaml": ("*.yaml", "*.yml"),
}


class GlobInput(ToolInput):
    """What Glob takes."""

    pattern: str = Field(min_length=1)
    """Such as `**/*.py`, `src/*.{ts,tsx}`; without a `/` it matches names at any depth."""
    path: str | None = None
    """The folder to look in; the working folder if left out."""


class Glob(Tool[GlobInput]):
    """Lists files by name."""

    name: ClassVar[str] = "Glob"
    description: ClassVar[str] = (
        f"Finds files by name, the latest changed first, at most {MOST_FILES}. Files that "
        ".gitignore leaves out come only where no other matches."
    )
    input_type = GlobInput
    verbs: ClassVar[tuple[str, str]] = ("Find", "Finding")
    read_only: ClassVar[bool] = True

    async def execute(self, arguments: GlobInput, context: ToolContext) -> ToolResult:
        """Return the files, one a line."""
        folder, pattern = _split(arguments.pattern)
        root = absolute(str(Path(arguments.path or ".", folder)), context.cwd)
        if not exists(root):
            return unreadable(root, FileNotFoundError(), context.cwd)
        stop = threading.Event()
        try:
            listing = await asyncio.to_thread(_list, root, pattern, stop)
        finally:
            # A thread cannot be cancelled, only told.
            stop.set()
        return _listed(arguments.pattern, listing, context.cwd)

    def subject(self, arguments: GlobInput) -> str:
        """Name the pattern."""
        return arguments.pattern

    def read_paths(self, arguments: GlobInput) -> tuple[str, ...]:
        """Return the folder."""
        return (str(Path(arguments.path or ".", _split(arguments.pattern)[0])),)


class GrepInput(ToolInput):
    """What Grep takes."""

    pattern: str = Field(min_length=1)
    """A regular expression, matched against single lines."""
    path: str | None = None
    """The file or folder to search; the working folder if left out."""
    glob: str | None = None
    """Only files that match, such as `*.py` or `src/**/*.{ts,tsx}`; `!*.md` for all others."""
    type: str | None = None
    """Only files of a kind: py, js, ts, go, rust, java, md, ..."""
    output_mode: Literal["files_with_matches", "content", "count"] = "files_with_matches"
    """The files, the lines, or the number of matching lines in each file."""
    ignore_case: bool = Field(default=False, alias="-i")
    """Upper and lower case are the same."""
    line_numbers: bool = Field(default=True, alias="-n")
    """With content: show line numbers."""
    after: int = Field(default=0, ge=0, le=100, alias="-A")
    """With content: lines to show after each match."""
    before: int = Field(default=0, ge=0, le=100, alias="-B")
    """With content: lines to show before each match."""
    around: int = Field(default=0, ge=0, le=100, alias="-C")
    """With content: lines to show before and after each match."""
    head_limit: int = Field(default=MOST_ENTRIES, ge=1)
    """How many lines or files to return."""


class Grep(Tool[GrepInput]):
    """Searches file contents."""

    name: ClassVar[str] = "Grep"
    description: ClassVar[str] = (
        "Searches the contents of files for a regular expression. Binary files, files over 64 MB, "
        "`.git` and what .gitignore leaves out are not searched. Returns the files with matches, "
        "the latest changed first, or with output_mode the lines or the counts."
    )
    input_type = GrepInput
    verbs: ClassVar[tuple[str, str]] = ("Search for", "Searching for")
    read_only: ClassVar[bool] = True
    filters_reads: ClassVar[bool] = True

    async def execute(self, arguments: GrepInput, context: ToolContext) -> ToolResult:
        """Search, and return what was found in the form asked for."""
        if arguments.type is not None and arguments.type not in TYPES:
            return ToolResult.error(
                f"{arguments.type!r} is no type known here. Use glob, or one of: "
                f"{', '.join(TYPES)}."
            )
        root = absolute(arguments.path or ".", context.cwd)
        if not exists(root):
            return unreadable(root, FileNotFoundError(), context.cwd)
        try:
            findings = await search(_query(arguments, root, context.unreadable))
        except (OSError, ValueError) as error:
            return ToolResult.error(f"The search could not be started: {error}.")
        if findings.error:
            return ToolResult.error(
                f"{arguments.pattern!r} is not a pattern that can be searched for: "
                f"{findings.error}",
                f"{arguments.pattern!r} is not a valid pattern",
            )
        return await asyncio.to_thread(_found, arguments, findings, context.cwd)

    def subject(self, arguments: GrepInput) -> str:
        """Name the pattern."""
        where = f" in {arguments.path}" if arguments.path else ""
        return f"{arguments.pattern!r}{where}"

    def read_paths(self, arguments: GrepInput) -> tuple[str, ...]:
        """Return the file or folder."""
        return (arguments.path or ".",)


def _split(pattern: str) -> tuple[str, str]:
    """Take off the folder that a pattern begins with, where it leads out of the search's root."""
    if not pattern.startswith(("/", "~", "../")) and "/../" not in pattern:
        return ".", pattern
    parts = pattern.split("/")
    literal = 0
    while literal < len(parts) - 1 and not has_magic(parts[literal]):
        literal += 1
    return "/".join(parts[:literal]) or "/", "/" + "/".join(parts[literal:])


class _Listing:
    """The latest changed files that match."""

    def __init__(self) -> None:
        self.newest: list[tuple[int, str]] = []
        self.total = 0
        self.ignored = False
        self.timed_out = False


def _list(root: Path, pattern: str, stop: threading.Event) -> _Listing:
    """List what matches; where nothing does, also among what `.gitignore` leaves out."""
    # Imported late: it brings a library that nothing needs at start.
    from agentls.tools.walk import walk

    glob = compile_glob(pattern)
    listing = _Listing()
    deadline = time.monotonic() + TIME_LIMIT
    for ignored_too in (False, True):
        listing.ignored = ignored_too
        for relative, entry in walk(root, ignored_too=ignored_too):
            if stop.is_set() or time.monotonic() > deadline:
                listing.timed_out = True
                return listing
            if glob.fullmatch(relative):
                _keep(listing, entry.path)
        if listing.total:
            break
    return listing


def _keep(listing: _Listing, path: str) -> None:
    try:
        changed = Path(path).lstat().st_mtime_ns
    except OSError:
        return
    listing.total += 1
    if len(listing.newest) < MOST_FILES:
        heapq.heappush(listing.newest, (changed, path))
    else:
        heapq.heappushpop(listing.newest, (changed, path))


def _listed(pattern: str, listing: _Listing, cwd: Path) -> ToolResult:
    notes: list[str] = []
    if listing.timed_out:
        notes.append(f"PARTIAL: stopped after {TIME_LIMIT} s; look in a smaller folder.")
    if not listing.total:
        text = "\n".join([f"No files match {pattern}.", *notes])
        return ToolResult.ok(text, f"Found no files for {pattern}")
    if listing.total > MOST_FILES:
        notes.append(f"The latest changed {MOST_FILES} of {listing.total:,} files.")
    if listing.ignored:
        notes.append("All of these are left out by .gitignore.")
    newest = sorted(listing.newest, key=lambda found: (-found[0], found[1]))
    lines = [shown(Path(path), cwd) for _, path in newest]
    text = "\n".join([*lines, *(f"[{note}]" for note in notes)])
    return ToolResult.ok(text, f"Found {_counted(listing.total, 'file')} for {pattern}")


def _query(arguments: GrepInput, root: Path, leaves_out: Callable[[Path], bool]) -> Query:
    content = arguments.output_mode == "content"
    return Query(
        pattern=arguments.pattern,
        root=root,
        glob=arguments.glob,
        type_globs=TYPES[arguments.type] if arguments.type else (),
        ignore_case=arguments.ignore_case,
        before=max(arguments.before, arguments.around) if content else 0,
        after=max(arguments.after, arguments.around) if content else 0,
        first_only=arguments.output_mode == "files_with_matches",
        leaves_out=leaves_out,
    )


def _found(arguments: GrepInput, findings: Findings, cwd: Path) -> ToolResult:
    pattern = arguments.pattern
    notes = [f"PARTIAL: {findings.partial}; narrow it down."] if findings.partial else []
    if not findings.files:
        text = "\n".join([f"No matches for {pattern!r}.", *notes])
        return ToolResult.ok(text, f"Found no matches for {pattern!r}")
    match arguments.output_mode:
        case "files_with_matches":
            entries = [shown(found.path, cwd) for found in _newest_first(findings.files)]
        case "count":
            entries = [f"{shown(f.path, cwd)}:{f.matched_lines}" for f in _by_path(findings.files)]
        case "content":
            entries = _content(arguments, findings.files, cwd)
    kept = _within(entries[: arguments.head_limit])
    if len(kept) < len(entries):
        notes.append(f"The first {len(kept):,} of {len(entries):,} lines; narrow it down.")
    text = "\n".join([*kept, *(f"[{note}]" for note in notes)])
    return ToolResult.ok(text, f"Found {pattern!r} in {_counted(len(findings.files), 'file')}")


def _newest_first(files: list[FileMatches]) -> list[FileMatches]:
    def changed(found: FileMatches) -> int:
        try:
            return found.path.stat().st_mtime_ns
        except OSError:
            return 0

    return sorted(_by_path(files), key=changed, reverse=True)


def _by_path(files: list[FileMatches]) -> list[FileMatches]:
    return sorted(files, key=lambda found: printable(found.path))


def _content(arguments: GrepInput, files: list[FileMatches], cwd: Path) -> list[str]:
    """Write lines as grep does: `path:12:match`, `path-13-beside`, `--` where lines are missing."""
    entries: list[str] = []
    apart = arguments.before or arguments.after or arguments.around
    for found in _by_path(files):
        name = shown(found.path, cwd)
        previous = None
        for number, text, is_match in found.lines:
            if apart and entries and number - 1 != previous:
                entries.append("--")
            previous = number
            mark = ":" if is_match else "-"
            position = f"{number}{mark}" if arguments.line_numbers else ""
            if len(text) > LONGEST_LINE:
                text = f"{text[:LONGEST_LINE]} [... {len(text) - LONGEST_LINE:,} characters cut]"
            entries.append(f"{name}{mark}{position}{text}")
    return entries


def _within(entries: list[str]) -> list[str]:
    """Return as many entries as fit the result."""
    size = 0
    for index, entry in enumerate(entries):
        size += len(entry) + 1
        if size > MOST_TEXT and index:
            return entries[:index]
    return entries


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
