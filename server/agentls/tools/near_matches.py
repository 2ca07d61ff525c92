"""Tells the model why its text did not match exactly once, and where it may have meant."""

import difflib
import re

from agentls.tools.splice import MOST_PLACES, Splice, find_splices

MOST_SHOWN = 10
MOST_COMPARED = 20_000
"""Lines of the file that are compared with the text."""
WIDTH = 200
READ_PREFIX = re.compile(r"\s*\d+\t")


def line_number(data: bytes, position: int) -> int:
    """Return the line, from 1, that holds the byte at `position`."""
    return data.count(b"\n", 0, position) + 1


def ambiguous(name: str, data: bytes, found: list[Splice]) -> str:
    """Say where a text occurs that should occur once."""
    count = f"{len(found):,}" if len(found) < MOST_PLACES else f"at least {MOST_PLACES:,}"
    numbers = list(dict.fromkeys(line_number(data, splice.start) for splice in found))
    lines = _lines(data)
    listed = [_numbered(number, lines) for number in numbers[:MOST_SHOWN]]
    more = len(numbers) - len(listed)
    return "\n".join(
        [
            f"old_string occurs {count} times in {name}; nothing was edited. Give more of the "
            "surrounding text, or set replace_all. It is on these lines:",
            *listed,
            *([f"[... {more:,} more lines]"] if more else []),
        ]
    )


def not_found(name: str, data: bytes, old: str) -> str:
    """Say that a text does not occur, and what comes nearest."""
    intro = f"old_string was not found in {name}; nothing was edited."
    if "\r" in old and find_splices(data, old.replace("\r\n", "\n"), ""):
        return f"{intro} It matches when line ends are given as \\n."
    wanted = old.strip("\n").split("\n")
    if all(READ_PREFIX.match(line) for line in wanted):
        return f"{intro} It begins with line numbers, which Read adds and the file does not have."
    lines = _lines(data)[:MOST_COMPARED]
    if spaced := _but_for_space(lines, wanted):
        first, last = spaced, spaced + len(wanted) - 1
        listed = [_numbered(number, lines) for number in range(first, last + 1)][:MOST_SHOWN]
        where = f"Line {first} differs" if first == last else f"Lines {first} to {last} differ"
        return "\n".join([f"{intro} {where} from it in white space alone:", *listed])
    if near := _nearest(lines, wanted):
        listed = [_numbered(number, lines) for number in near]
        return "\n".join([f"{intro} These lines come nearest:", *listed])
    return f"{intro} No line resembles it; read the file again."


def _lines(data: bytes) -> list[str]:
    text = data.decode("utf-8-sig", "replace").removesuffix("\n")
    return [line.removesuffix("\r") for line in text.split("\n")]


def _numbered(number: int, lines: list[str]) -> str:
    line = lines[number - 1] if number <= len(lines) else ""
    return f"{number:>6}\t{line if len(line) <= WIDTH else line[:WIDTH] + ' [...]'}"


def _but_for_space(lines: list[str], wanted: list[str]) -> int | None:
    """Return the first line of a block that equals `wanted` but for white space."""
    target = ["".join(line.split()) for line in wanted]
    if not any(target):
        return None
    bare = ["".join(line.split()) for line in lines]
    for index in range(len(bare) - len(target) + 1):
        if bare[index] == target[0] and bare[index : index + len(target)] == target:
            return index + 1
    return None


def _nearest(lines: list[str], wanted: list[str]) -> list[int]:
    """Return up to three lines that resemble the longest line of `wanted`."""
    longest = max((line.strip() for line in wanted), key=len)[:WIDTH]
    numbers: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        numbers.setdefault(line.strip()[:WIDTH], number)
    near = difflib.get_close_matches(longest, list(numbers), n=3, cutoff=0.6)
    return sorted(numbers[line] for line in near)
