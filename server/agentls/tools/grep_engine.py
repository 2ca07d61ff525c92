"""Searches file contents with ripgrep where it is on PATH, else with a process of our own.

Both answer in the lines of `rg --json`, so that everything after is the same.
"""

import asyncio
import base64
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from agentls.tools.globs import compile_glob, name_glob

TIME_LIMIT = 20
"""Seconds."""
MOST_LINES = 5_000
"""Lines, context included, or files; a search that has found as many is ended."""
LONGEST_MESSAGE = 1024 * 1024
"""Bytes; what is said of a longer line than that is passed over."""
ERROR_TEXT = 2_000


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for, and where."""

    pattern: str
    root: Path
    """A folder or a file."""
    glob: str | None = None
    """Only files whose path under `root` matches."""
    type_globs: tuple[str, ...] = ()
    """Only files whose name matches one of these."""
    ignore_case: bool = False
    before: int = 0
    after: int = 0
    first_only: bool = False
    """One match in a file is enough."""
    leaves_out: Callable[[Path], bool] = lambda path: False
    """Files whose content must not be shown."""


@dataclass(slots=True)
class FileMatches:
    """What was found in one file."""

    path: Path
    lines: list[tuple[int, str, bool]] = field(default_factory=list[tuple[int, str, bool]])
    """Number, text, and whether it is a match or stands beside one."""
    matched_lines: int = 0


@dataclass(frozen=True, slots=True)
class Findings:
    """What a search brought."""

    files: list[FileMatches]
    """In no order."""
    partial: str | None = None
    """Why there may be more."""
    error: str | None = None
    """What is wrong with the pattern; nothing was searched."""


async def search(query: Query) -> Findings:
    """Run the query. On cancellation the process that searches is ended."""
    ripgrep = shutil.which("rg")
    if ripgrep:
        # Imported late: it brings a library that nothing else needs at start.
        from agentls.tools.walk import is_left_out

        left_out = query.root.is_dir() and await asyncio.to_thread(is_left_out, query.root)
        return await _run(_ripgrep(ripgrep, query, left_out), b"", query)
    worker = [sys.executable, "-P", "-m", "agentls.tools.grep_worker"]
    return await _run(worker, _worker_query(query), query)


def _ripgrep(program: str, query: Query, left_out: bool) -> list[str]:
    """Return a command line that searches as the worker does, whatever the user's own settings."""
    command = [
        *(program, "--json", "--no-config", "--no-messages", "--hidden", "--no-require-git"),
        *("--no-ignore-global", "--no-ignore-exclude", "--no-ignore-dot"),
        *("--glob", "!.git", "--crlf", "--max-filesize", "64M"),
        *("--before-context", str(query.before), "--after-context", str(query.after)),
    ]
    if query.ignore_case:
        command.append("--ignore-case")
    if query.first_only:
        command += ("--max-count", "1")
    if left_out:
        command.append("--no-ignore-parent")
    # As a type, because `--glob` would also bring back what is ignored.
    for name in _names(query):
        command += ("--type-add", f"wanted:{name}")
    if _names(query):
        command += ("--type", "wanted")
    return [*command, f"--regexp={query.pattern}", "--", str(query.root)]


def _worker_query(query: Query) -> bytes:
    return orjson.dumps(
        {
            "pattern": query.pattern,
            "root": str(query.root),
            "names": _names(query),
            "ignore_case": query.ignore_case,
            "before": query.before,
            "after": query.after,
            "first_only": query.first_only,
            "seconds": TIME_LIMIT,
        }
    )


def _names(query: Query) -> list[str]:
    """Return globs for file names that let through all that is wanted, and perhaps more."""
    if query.type_globs:
        return list(query.type_globs)
    name = name_glob(query.glob) if query.glob and not query.glob.startswith("!") else None
    return [name] if name else []


async def _run(command: Sequence[str], query_bytes: bytes, query: Query) -> Findings:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    collector = _Collector(query)
    errors = bytearray()
    partial = None
    try:
        async with asyncio.timeout(TIME_LIMIT), asyncio.TaskGroup() as group:
            group.create_task(_drain(process.stderr, errors))
            await _send(process.stdin, query_bytes)
            await _collect(process.stdout, collector)
            if not collector.full:
                await process.wait()
            _end(process)
    except TimeoutError:
        partial = f"the search was stopped after {TIME_LIMIT} s"
    finally:
        _end(process)
        await _drain(process.stdout, bytearray())
        await process.wait()
    if collector.full:
        partial = f"the search was stopped at {MOST_LINES:,} results"
    elif process.returncode == 2 and errors:
        text = errors.decode("utf-8", "replace").strip()
        return Findings([], error=text[:ERROR_TEXT])
    return Findings(collector.files(), partial)


def _end(process: asyncio.subprocess.Process) -> None:
    """End it where it still runs.

    Not by its own `kill`, which may reap it before asyncio does: then the exit code is lost.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


async def _send(stdin: asyncio.StreamWriter | None, data: bytes) -> None:
    assert stdin is not None
    # It may have ended already, which its exit code will tell.
    with suppress(BrokenPipeError, ConnectionResetError):
        stdin.write(data)
        await stdin.drain()
    stdin.close()


async def _drain(stream: asyncio.StreamReader | None, kept: bytearray) -> None:
    assert stream is not None
    while data := await stream.read(4096):
        if len(kept) < ERROR_TEXT:
            kept += data


async def _collect(stdout: asyncio.StreamReader | None, collector: "_Collector") -> None:
    assert stdout is not None
    rest = bytearray()
    skipping = False
    while not collector.full and (data := await stdout.read(64 * 1024)):
        *lines, last = data.split(b"\n")
        for line in lines:
            if not skipping:
                collector.take(bytes(rest) + line)
            rest.clear()
            skipping = False
        rest += last
        if len(rest) > LONGEST_MESSAGE:
            rest.clear()
            skipping = True


class _Collector:
    """Puts the messages together, file by file."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._by_path: dict[Path, FileMatches] = {}
        self._count = 0
        self._glob, self._negated = _filter(query.glob)
        self._types = [compile_glob(glob) for glob in query.type_globs]
        self._wanted: dict[Path, bool] = {}

    @property
    def full(self) -> bool:
        """Whether enough was found."""
        return self._count >= MOST_LINES

    def files(self) -> list[FileMatches]:
        """Return the files with matches."""
        return [found for found in self._by_path.values() if found.matched_lines]

    def take(self, message: bytes) -> None:
        """Add what one line says."""
        kind, data = _parsed(message)
        if kind not in ("match", "context", "end"):
            return
        path = Path(os.fsdecode(_bytes(data["path"])))
        if not self._is_wanted(path):
            return
        if kind == "end" and data.get("binary_offset") is not None:
            # Its first part looked like text.
            self._by_path.pop(path, None)
            return
        found = self._by_path.setdefault(path, FileMatches(path))
        if kind == "end":
            found.matched_lines = data["stats"]["matched_lines"]
            return
        found.matched_lines += kind == "match"
        if not self._query.first_only or kind == "match":
            text = _bytes(data["lines"]).decode("utf-8", "replace").rstrip("\r\n")
            found.lines.append((data["line_number"], text, kind == "match"))
            self._count += 1

    def _is_wanted(self, path: Path) -> bool:
        if path not in self._wanted:
            fits = path == self._query.root or self._fits(path)
            self._wanted[path] = fits and not self._query.leaves_out(path)
        return self._wanted[path]

    def _fits(self, path: Path) -> bool:
        relative = path.relative_to(self._query.root).as_posix()
        if self._glob and bool(self._glob.fullmatch(relative)) == self._negated:
            return False
        return not self._types or any(glob.fullmatch(relative) for glob in self._types)


def _filter(glob: str | None) -> tuple[re.Pattern[str] | None, bool]:
    """Return the pattern of a glob, and whether it says what is not wanted: `!*.md`."""
    if not glob:
        return None, False
    return compile_glob(glob.removeprefix("!")), glob.startswith("!")


def _parsed(message: bytes) -> tuple[str, dict[str, Any]]:
    """Return a message's kind and data; an empty kind for what is none."""
    try:
        parsed = orjson.loads(message)
    except orjson.JSONDecodeError:
        return "", {}
    return parsed["type"], parsed["data"]


def _bytes(text: dict[str, str]) -> bytes:
    """Return what ripgrep gives as text or, where it is not UTF-8, as base64."""
    if "text" in text:
        return text["text"].encode()
    return base64.b64decode(text["bytes"])
