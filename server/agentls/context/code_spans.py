"""Tells code from prose in Markdown, so that what looks like a mention in code is not one."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from typing import Literal, NamedTuple


class Span(NamedTuple):
    """A piece of a text, from `start` to before `end`."""

    kind: Literal["prose", "code", "comment"]
    start: int
    end: int


def spans(text: str, *, comments: bool = False) -> Iterator[Span]:
    """Yield the pieces of `text` in order, without gaps: prose, fenced and inline code.

    With `comments` HTML comments are pieces of their own, else they are prose. A fence that is not
    closed goes on to the end; backticks and comments without their other half are prose. Source:
    CommonMark 0.31, 4.5, 6.1 and 6.6, but for indented code, which is prose here, and fences, which
    may be indented or quoted at will.
    """
    closers = _Closers(text)
    start = at = 0
    while token := _TOKEN.search(text, at):
        end, kind = _end(text, token, closers, comments)
        if end is None:
            at = token.end()
            continue
        if start < token.start():
            yield Span("prose", start, token.start())
        yield Span(kind, token.start(), end)
        start = at = end
    if start < len(text):
        yield Span("prose", start, len(text))


_FENCE = r"^[ \t>]*(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})[^\n]*$"
_TOKEN = re.compile(rf"{_FENCE}|(?P<ticks>`+)|(?P<comment><!--)", re.MULTILINE)
_BREAK = re.compile(rf"{_FENCE}|^[ \t\r>]*$", re.MULTILINE)
_COMMENT_END = "-->"


class _Closers:
    """Where runs of backticks and paragraphs end, looked up once: no text may be slow to scan."""

    def __init__(self, text: str) -> None:
        self._runs: defaultdict[int, list[int]] = defaultdict(list)
        for run in re.finditer("`+", text):
            self._runs[len(run[0])].append(run.start())
        self._breaks = [found.start() for found in _BREAK.finditer(text)] if self._runs else []
        self.no_comment_ends_after = len(text)

    def end_of_code(self, length: int, after: int) -> int | None:
        """Return where inline code ends whose opening run of so many backticks ends at `after`."""
        closing = _next(self._runs[length], after)
        ends = _next(self._breaks, after)
        if closing is None or (ends is not None and ends < closing):
            return None
        return closing + length


def _next(places: list[int], after: int) -> int | None:
    index = bisect_left(places, after)
    return places[index] if index < len(places) else None


def _end(
    text: str, token: re.Match[str], closers: _Closers, comments: bool
) -> tuple[int | None, Literal["code", "comment"]]:
    """Return where what `token` opens ends, and what it is; None where it opens nothing."""
    if fence := token["fence"]:
        mark = re.escape(fence[0])
        closing = rf"^[ \t>]*{mark}{{{len(fence)},}}[ \t\r]*$"
        closed = re.compile(closing, re.MULTILINE).search(text, token.end())
        return closed.end() if closed else len(text), "code"
    if token["ticks"]:
        return closers.end_of_code(len(token["ticks"]), token.end()), "code"
    if not comments or token.start() >= closers.no_comment_ends_after:
        return None, "comment"
    found = text.find(_COMMENT_END, token.end())
    if found < 0:
        closers.no_comment_ends_after = token.start()
        return None, "comment"
    return found + len(_COMMENT_END), "comment"
