r"""Finds text in bytes, and replaces it so that no other byte changes.

The model sees lines without their ends. So `\n` in the text it gives stands for the line end that
the file has at that place, be it `\n` or `\r\n`; text that holds a `\r` is taken literally.
"""

import re
from dataclasses import dataclass
from itertools import takewhile

MOST_PLACES = 1_000
LINE_END = rb"(?:\r\n|(?<!\r)\n)"


@dataclass(frozen=True, slots=True)
class Splice:
    """Bytes `start:end` of the file give way to `new`.

    The span is what really changes: a beginning or end that the old and the new text share is not
    in it.
    """

    start: int
    end: int
    new: bytes
    crlf: bool
    """A `\\n` of the old or the new text stands for `\\r\\n` here."""


def find_splices(data: bytes, old: str, new: str, *, overlapping: bool = False) -> list[Splice]:
    """Return where `old` is in the file, in order, and what takes its place.

    `overlapping` counts every place where a match begins, up to `MOST_PLACES`, not only those that
    can be replaced together. `old` must not be empty.
    """
    if "\r" in old:
        return [
            Splice(match.start(), match.end(), new.encode(), crlf=False)
            for match in _matches(re.compile(re.escape(old.encode())), data, overlapping)
        ]
    head, tail = _shared_ends(old, new)
    old_middle, new_middle = old[head : len(old) - tail], new[head : len(new) - tail]
    pattern = re.compile(
        b"".join(
            b"(" + _pattern(part) + b")"
            for part in (old[:head], old_middle, old[len(old) - tail :])
        )
    )
    return [_splice(data, match, new_middle) for match in _matches(pattern, data, overlapping)]


def spliced(data: bytes, splices: list[Splice]) -> bytes:
    """Return the file with all splices made; they are in order and do not overlap."""
    pieces: list[bytes] = []
    position = 0
    for splice in splices:
        pieces += (data[position : splice.start], splice.new)
        position = splice.end
    return b"".join([*pieces, data[position:]])


def _matches(pattern: re.Pattern[bytes], data: bytes, overlapping: bool) -> list[re.Match[bytes]]:
    if not overlapping:
        return list(pattern.finditer(data))
    found: list[re.Match[bytes]] = []
    position = 0
    while len(found) < MOST_PLACES and (match := pattern.search(data, position)):
        found.append(match)
        position = match.start() + 1
    return found


def _pattern(text: str) -> bytes:
    return LINE_END.join(re.escape(part.encode()) for part in text.split("\n"))


def _shared_ends(old: str, new: str) -> tuple[int, int]:
    """Return how many characters both texts share at the beginning and at the end.

    Nothing where the new text says itself how lines end: then it is taken whole.
    """
    if "\r" in new:
        return 0, 0
    head = _common(old, new)
    return head, _common(old[head:][::-1], new[head:][::-1])


def _common(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _splice(data: bytes, match: re.Match[bytes], new: str) -> Splice:
    start, end = match.span(2)
    if b"\n" not in match[0] and "\n" not in new:
        return Splice(start, end, new.encode(), crlf=False)
    crlf = _has_crlf(data, match)
    text = re.sub(r"(?<!\r)\n", "\r\n", new) if crlf else new
    return Splice(start, end, text.encode(), crlf)


def _has_crlf(data: bytes, match: re.Match[bytes]) -> bool:
    r"""Whether lines end in `\r\n` here: in the match, else after it, else before it."""
    newline = match[0].find(b"\n")
    if newline >= 0:
        newline += match.start()
    else:
        newline = data.find(b"\n", match.end())
    if newline < 0:
        newline = data.rfind(b"\n", 0, match.start())
    return newline > 0 and data[newline - 1] == ord("\r")
