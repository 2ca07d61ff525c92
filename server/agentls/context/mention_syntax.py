"""Finds what a prompt mentions with an @: files, lines, symbols, folders. Pure."""

import re
from dataclasses import dataclass

from agentls.context.code_spans import spans

LONGEST = 4_096
"""Characters behind an @; nothing longer is a path."""


@dataclass(frozen=True, slots=True)
class Mention:
    """What stands behind an @. Whether there is such a file is not known here."""

    text: str
    """As it is written, the @ included."""
    start: int
    """Where in the prompt."""
    path: str
    """As it is written, without quotes, lines and symbol; empty for a symbol anywhere."""
    literal: str
    """The same with them, for names that hold a `#` or a `:`."""
    first_line: int | None = None
    """From 1."""
    last_line: int | None = None
    symbol: str | None = None
    """A name, or several with dots between them."""
    in_word: bool = False
    """A word goes on in it, as in an e-mail address."""


def find_mentions(text: str) -> tuple[Mention, ...]:
    """Return what is written like a mention, in order; in code nothing is.

    `@src/main.py`, `@"my file.py"`, `@src/`; behind a file's name `:10`, `:10-20`, `#L10`,
    `#L10-L20` or `#Class.method`; `@#name` for a symbol wherever it is.
    """
    found: list[Mention] = []
    for span in spans(text):
        if span.kind == "code":
            continue
        for match in _MENTION.finditer(text, span.start, span.end):
            mention = _mention(match)
            if mention is not None:
                found.append(mention)
    return tuple(found)


_MENTION = re.compile(
    r"(?<![@\\])@(?!@)"
    r'(?:"(?P<quoted>[^"\n]+)"(?P<behind>[:#][^\s"\'`<>|,;]*)?'
    r"|(?P<bare>[^\s\"'`<>|,;\u2018-\u201d\u3001\u3002\u300a-\u3011\uff01\uff08\uff09\uff0c"
    r"\uff1a\uff1b\uff1f]+))"
)
"""Quotes, commas and the punctuation of Chinese and Japanese end a name that is not quoted."""
_BETWEEN_WORDS = re.compile(r"[\w.+%/~-]")
_SENTENCE_ENDS = ".,;:!?*"
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_LINES = re.compile(
    r"(?P<path>.+?)(?::(?P<first>\d{1,9})(?:-(?P<last>\d{1,9})|:\d{1,9})?"
    r"|#L(?P<first_l>\d{1,9})(?:C\d{1,9})?(?:-L?(?P<last_l>\d{1,9})(?:C\d{1,9})?)?)"
)
_LONGEST_LINES = 48
"""Characters of the longest end that says which lines are meant."""
_SYMBOL = re.compile(r"[^\W\d][\w$]*(?:(?:\.|::)[^\W\d][\w$]*)*|\$[\w$]+")


def _mention(match: re.Match[str]) -> Mention | None:
    start = match.start()
    in_word = start > 0 and _BETWEEN_WORDS.match(match.string[start - 1]) is not None
    if match["quoted"] is not None:
        behind = _trimmed(match["behind"] or "")
        end = match.end("quoted") + 1 + len(behind)
        literal = match["quoted"] + behind
    else:
        literal = _trimmed(match["bare"])
        end = start + 1 + len(literal)
    if not literal or len(literal) > LONGEST:
        return None
    path, first, last, symbol = _parts(literal)
    if not path and symbol is None:
        return None
    text = match.string[start:end]
    return Mention(text, start, path, literal, first, last, symbol, in_word)


def _trimmed(bare: str) -> str:
    """Take off the punctuation of the sentence around, and brackets that were opened before."""
    if bare in ("..", "."):
        return ""
    surplus = {
        closing: bare.count(closing) - bare.count(opening) for closing, opening in _BRACKETS.items()
    }
    end = len(bare)
    while end:
        last = bare[end - 1]
        if surplus.get(last, 0) > 0:
            surplus[last] -= 1
        elif last not in _SENTENCE_ENDS:
            break
        end -= 1
    return bare[:end]


def _parts(literal: str) -> tuple[str, int | None, int | None, str | None]:
    """Return path, first and last line, and symbol."""
    # Only the end is looked at, so that no name is slow to take apart.
    cut = max(0, len(literal) - _LONGEST_LINES)
    if lines := _LINES.fullmatch(literal, cut):
        first = int(lines["first"] or lines["first_l"])
        last = int(lines["last"] or lines["last_l"] or first)
        first, last = max(1, min(first, last)), max(1, first, last)
        return literal[: lines.end("path")], first, last, None
    path, mark, symbol = literal.rpartition("#")
    if mark and _SYMBOL.fullmatch(symbol):
        return path, None, None, symbol.replace("::", ".")
    return literal, None, None, None
