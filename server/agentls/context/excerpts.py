"""Cuts out of a file what a prompt has room for, and says what is missing."""

import codecs
from dataclasses import dataclass

from agentls.state.measure import BYTES_PER_TOKEN
from agentls.tools.read import LONGEST_LINE

MOST_LINES = 2_000
MOST_TOKENS = 25_000


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some lines of a text."""

    text: str
    first_line: int | None
    """From 1; null where there is no line in it."""
    last_line: int | None
    left_out: str | None = None
    """What was asked for and is missing, and why: sentences for the model."""


def excerpt(
    data: bytes,
    first: int = 1,
    last: int | None = None,
    *,
    most_lines: int = MOST_LINES,
    most_tokens: int = MOST_TOKENS,
) -> Excerpt:
    r"""Return lines `first` to `last`, or to the end, as far as they are there and there is room.

    Only `\n` ends a line; a `\r` before it is not shown, nor is a byte order mark. What is not
    UTF-8 is U+FFFD.
    """
    start = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    total = data.count(b"\n") + (len(data) > start and not data.endswith(b"\n"))
    if not total:
        return Excerpt("", None, None, "It is empty.")
    wanted = total if last is None else min(last, total)
    if first > total:
        missing = f"It has {_counted(total)}; there is no line {first:,}."
        return Excerpt("", None, None, missing)
    lines = _Lines(room=int(most_tokens * BYTES_PER_TOKEN))
    for number in range(1, min(wanted, first + most_lines - 1) + 1):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        if number >= first and not lines.take(data[start:end].removesuffix(b"\r")):
            break
        start = end + 1
    return _excerpt(lines, first, wanted, total, last)


class _Lines:
    """The lines that there is room for."""

    def __init__(self, room: int) -> None:
        self.taken: list[str] = []
        self.cut = 0
        """How many were too long."""
        self._room = room

    def take(self, raw: bytes) -> bool:
        # Of a line of many megabytes only the beginning is decoded; four bytes are a character.
        line = raw[: 4 * (LONGEST_LINE + 1)].decode("utf-8", "replace")
        is_long = len(line) > LONGEST_LINE
        line = line[:LONGEST_LINE]
        self._room -= len(line.encode()) + 1
        if self._room < 0:
            return False
        self.cut += is_long
        self.taken.append(line)
        return True


def _excerpt(lines: _Lines, first: int, wanted: int, total: int, last: int | None) -> Excerpt:
    reached = first + len(lines.taken) - 1
    notes: list[str] = []
    if not lines.taken:
        notes.append(f"There is no room for it: {_counted(wanted - first + 1)} left out.")
    elif reached < wanted:
        notes.append(
            f"Lines {reached + 1:,} to {wanted:,} are left out, as they are too long for a prompt; "
            f"the file has {_counted(total)}. Read shows them with offset={reached + 1}."
        )
    if last is not None and last > total:
        notes.append(f"The file has {_counted(total)}, no more.")
    if lines.cut:
        notes.append(f"{_counted(lines.cut)} cut after {LONGEST_LINE:,} characters.")
    left_out = " ".join(notes) or None
    if not lines.taken:
        return Excerpt("", None, None, left_out)
    return Excerpt("\n".join(lines.taken), first, reached, left_out)


def _counted(lines: int) -> str:
    return "1 line" if lines == 1 else f"{lines:,} lines"
