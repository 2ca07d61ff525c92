"""Searches files for a regular expression, in a process of its own: `python -m` this module.

A regular expression can take forever, and Python's `re` keeps the whole interpreter to itself
meanwhile; a process can be ended. It takes a query as JSON on stdin and answers in the lines of
`rg --json`, as far as they are read here. It stands in where ripgrep is not installed.
"""

import base64
import codecs
import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentls.tools.globs import compile_glob
from agentls.tools.walk import walk

LARGEST_FILE = 64 * 1024 * 1024
LONGEST_LINE = 4_000
"""Characters of a line that are reported."""


def main() -> int:
    """Answer one query; 0 for matches, 1 for none, 2 for a pattern that is none."""
    query: dict[str, Any] = json.load(sys.stdin)
    if hasattr(signal, "alarm"):
        # Should whoever asked be gone, nobody else would end this.
        signal.alarm(query["seconds"] + 5)
    try:
        pattern = _compiled(query["pattern"], query["ignore_case"])
    except re.error as error:
        sys.stderr.write(f"{error}\n")
        return 2
    found = False
    for path in _files(Path(query["root"]), query["names"]):
        for line in _search(path, pattern, query):
            found = True
            sys.stdout.write(f"{json.dumps(line)}\n")
        sys.stdout.flush()
    return 0 if found else 1


def _compiled(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    if "\n" in pattern or re.search(r"(?<!\\)(?:\\\\)*\\n", pattern):
        raise re.error("a pattern is matched against single lines, so it cannot hold a line end")
    return re.compile(pattern, re.IGNORECASE if ignore_case else 0)


def _files(root: Path, names: list[str]) -> Iterator[str]:
    """List what is searched: `root` where it is a file, else files whose name fits one glob."""
    if not root.is_dir():
        yield str(root)
        return
    globs = [compile_glob(name) for name in names]
    for relative, entry in walk(root):
        if not entry.is_file(follow_symlinks=False):
            continue
        if not globs or any(glob.fullmatch(relative) for glob in globs):
            yield entry.path


def _search(path: str, pattern: re.Pattern[str], query: dict[str, Any]) -> Iterator[dict[str, Any]]:
    text = _text(path)
    if text is None:
        return
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    hits = (number for number, line in enumerate(lines) if pattern.search(line))
    if query["first_only"]:
        hits = iter([number for number in [next(hits, None)] if number is not None])
    matched = 0
    done = -1
    for number in hits:
        matched += 1
        # What stands before this match, and after the one before, goes first.
        yield from _context(path, lines, range(max(done + 1, number - query["before"]), number))
        yield _message("match", path, lines, number)
        done = number
        following = _following(lines, number, query["after"], pattern)
        yield from _context(path, lines, following)
        done = following.stop - 1
    if matched:
        yield {"type": "end", "data": {"path": _encoded(path), "stats": {"matched_lines": matched}}}


def _following(lines: list[str], number: int, after: int, pattern: re.Pattern[str]) -> range:
    """Return the lines after a match that are no match themselves, as many as are wanted."""
    stop = number + 1
    while stop < min(len(lines), number + 1 + after) and not pattern.search(lines[stop]):
        stop += 1
    return range(number + 1, stop)


def _context(path: str, lines: list[str], numbers: range) -> Iterator[dict[str, Any]]:
    for number in numbers:
        yield _message("context", path, lines, number)


def _message(kind: str, path: str, lines: list[str], number: int) -> dict[str, Any]:
    text = lines[number][:LONGEST_LINE]
    data = {"path": _encoded(path), "lines": {"text": text}, "line_number": number + 1}
    return {"type": kind, "data": data}


def _text(path: str) -> str | None:
    """Return a file's text; None for a binary file, a very large one, or one that is not there."""
    try:
        if Path(path).stat().st_size > LARGEST_FILE:
            return None
        data = Path(path).read_bytes()
    except OSError:
        return None
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    if not data or b"\0" in data:
        return None
    return data.decode("utf-8-sig", "replace")


def _encoded(path: str) -> dict[str, str]:
    raw = os.fsencode(path)
    try:
        return {"text": raw.decode()}
    except UnicodeDecodeError:
        return {"bytes": base64.b64encode(raw).decode()}


if __name__ == "__main__":
    sys.exit(main())
