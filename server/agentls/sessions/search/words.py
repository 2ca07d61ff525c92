"""The words by which text is found: how the index takes text, and what a typed query asks of it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from string import ascii_lowercase, ascii_uppercase, digits
from unicodedata import combining, normalize

LONGEST_NAME = 80
"""Longer runs of letters are no names that a person wrote."""
LONGEST_QUERY = 2_000
MOST_TERMS = 64
MOST_MATCHES = 100
"""Matches of a term that are looked at to choose what is shown of a text."""

_NO_LETTERS = re.compile("[\0\ue000-\uf8ff\U000f0000-\U0010ffff]")
_UNSPACED_LETTERS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Of scripts that put no spaces between words, or glue endings to them. Each counts as a word."""
_NOT_ASCII = re.compile(r"[^\0-\x7f]+")
_UNSPACED = re.compile(f"([{_UNSPACED_LETTERS}])")
_SHAPES = bytes(
    ord("A" if letter in ascii_uppercase else "a" if letter in ascii_lowercase + digits else " ")
    for letter in map(chr, range(256))
)
"""A table for `bytes.translate` that leaves of letters whether they are large."""
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
_TERM = re.compile(r'"([^"]*)"?(\*?)|([^\s"]+)')
_WORD = re.compile(r"[^\W_]+")
_MARKS = "[\u0300-\u036f]*+"


def spaced(text: str) -> str:
    """Return `text` as the index takes it, with spaces where its tokenizer needs them."""
    if text.isascii():
        return text.replace("\0", " ")
    return _UNSPACED.sub(r" \1 ", _NO_LETTERS.sub(" ", normalize("NFC", text)))


def camel_pieces(text: str) -> str:
    """Return the words inside of the names in camel case in `text`: `get User Name`."""
    names = dict.fromkeys(_camel_names(text))
    return " ".join(
        piece for name in names if len(name) <= LONGEST_NAME for piece in _PIECE.findall(name)
    )


def _camel_names(text: str) -> Iterator[str]:
    # Looking for two bytes in a row is several times faster than a pattern of the whole name.
    # Each character becomes one byte, whatever it is.
    shape = text.encode("latin-1", "replace").translate(_SHAPES)
    for edge in (b"aA", b"AAa"):
        found = shape.find(edge)
        while found >= 0:
            begin, end = shape.rfind(b" ", 0, found) + 1, shape.find(b" ", found)
            end = end if end >= 0 else len(text)
            yield text[begin:end]
            found = shape.find(edge, end)


@dataclass(frozen=True, slots=True)
class Snippet:
    """Some of a text around what was found in it."""

    text: str
    marks: tuple[tuple[int, int], ...]
    """Where the query's words begin and end in it, in code points."""


@dataclass(frozen=True, slots=True)
class Query:
    """What a person typed: words that must all occur, "phrases" whole, beginnings with a `*`."""

    expression: str
    """For FTS5's MATCH; empty where nothing was typed that could be found."""
    patterns: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]
    """For each term, how it looks in a text, and how it looks inside of a longer word."""

    @classmethod
    def parse(cls, typed: str) -> "Query":
        """Understand any string at all."""
        # Half of a surrogate pair is no character, and SQLite takes none.
        valid = typed[:LONGEST_QUERY].encode("utf-8", "replace").decode()
        terms = list(islice(_terms(valid), MOST_TERMS))
        return cls(
            expression=" AND ".join(f'"{words}"{star}' for words, star in terms),
            patterns=tuple((_pattern(words, star), _loose_pattern(words)) for words, star in terms),
        )

    def snippet(self, text: str, length: int) -> Snippet:
        """Return about `length` characters of `text`, where most of the terms stand together."""
        found = self._matches(text)
        start = _best_start(found, length)
        # A third of what there is room for leads up to it.
        start = max(0, min(start - length // 3, len(text) - length))
        end = min(len(text), start + length)
        before, after = "…" if start else "", "…" if end < len(text) else ""
        shift = len(before) - start
        inside = sorted({(a, b) for a, b, _ in found if start <= a and b <= end})
        marks = tuple((a + shift, b + shift) for a, b in _disjoint(inside))
        return Snippet(f"{before}{text[start:end]}{after}", marks)

    def _matches(self, text: str) -> list[tuple[int, int, int]]:
        """Return beginning, end and number of the term of each match."""
        folded = text if text.isascii() else _NOT_ASCII.sub(_without_diacritics, text)
        found: list[tuple[int, int, int]] = []
        for number, (exact, loose) in enumerate(self.patterns):
            matches = list(islice(exact.finditer(folded), MOST_MATCHES))
            matches = matches or list(islice(loose.finditer(folded), MOST_MATCHES))
            found += [(match.start(), match.end(), number) for match in matches]
        return sorted(found)


def _without_diacritics(match: re.Match[str]) -> str:
    return match[0].translate(_FOLDED)


def _terms(typed: str) -> Iterator[tuple[str, str]]:
    """Yield the words of each term, with a space between them, and its star."""
    for phrase, phrase_star, word in _TERM.findall(typed):
        star = phrase_star or ("*" if word.endswith("*") else "")
        words = " ".join(_WORD.findall(spaced(phrase or word)))
        if words:
            yield words, star


def _pattern(words: str, star: str) -> re.Pattern[str]:
    end = "" if star else r"(?![^\W_])"
    return re.compile(rf"(?<![^\W_]){_joined(words, '++')}{end}", re.IGNORECASE)


def _loose_pattern(words: str) -> re.Pattern[str]:
    return re.compile(_joined(words, "*+"), re.IGNORECASE)


def _joined(words: str, between: str) -> str:
    return rf"[\W_]{between}".join(_letters(word) for word in words.split(" "))


def _letters(word: str) -> str:
    return "".join(f"{re.escape(letter)}{_MARKS}" for letter in word.translate(_FOLDED))


def _best_start(found: list[tuple[int, int, int]], length: int) -> int:
    """Return where the match stands that has the most different terms close behind it."""
    best, start = 0, 0
    for index, (begin, _, _) in enumerate(found):
        terms = _terms_before(begin + length * 2 // 3, islice(found, index, None))
        if len(terms) > best:
            best, start = len(terms), begin
    return start


def _terms_before(limit: int, matches: Iterable[tuple[int, int, int]]) -> set[int]:
    terms: set[int] = set()
    for begin, end, term in matches:
        if begin >= limit:
            break
        if end <= limit:
            terms.add(term)
    return terms


def _disjoint(marks: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    last = 0
    for begin, end in marks:
        if begin >= last:
            yield begin, end
            last = end


class _Folding(dict[int, str]):
    """A table for `str.translate` that takes diacritics off letters, one character for one."""

    def __missing__(self, code: int) -> str:
        base = normalize("NFD", chr(code))
        plain = base[0] if all(combining(mark) for mark in base[1:]) else chr(code)
        self[code] = plain
        return plain


_FOLDED = _Folding()
