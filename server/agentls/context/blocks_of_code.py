"""Finds where a block of code ends, by its brackets or its indentation. Pure."""

import re

MOST_LINES = 2_000
"""How far the end of a block is looked for."""
_INDENTED = frozenset(
    {".py", ".pyi", ".rb", ".rake", ".lua", ".ex", ".exs", ".jl", ".nim", ".hs", ".ml", ".elm"}
)
"""Languages in which brackets are not what holds a block together."""
_CLOSERS = re.compile(r"(?:end|done|fi|esac|[)\]}]+)\b|[)\]}]")
_CHARACTER = r"'(?:\\(?:u\{[^}']*\}|x..|.)|[^\\'])'"
_STRING = r"'(?:\\.|[^'\\\n])*'"
_REST = r'"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`|//[^\n]*|/\*.*?\*/|[{}()\[\];]|\n'
_TOKEN = re.compile(f"{_STRING}|{_REST}", re.DOTALL)
_RUST_TOKEN = re.compile(f"{_CHARACTER}|{_REST}", re.DOTALL)
"""A lone quote is a lifetime there."""
_GOES_ON = re.compile(r"\s*(?:\{|where\b|->|=|:|\||&|\?|\.|,|throws\b|extends\b|implements\b)")


def end_of_block(
    lines: list[str], first: int, column: int, suffix: str, *, needs_block: bool = False
) -> int | None:
    """Return the last line of what begins on line `first`, whose name ends before `column`.

    With `needs_block` None where no block follows: then it is no definition.
    """
    if suffix in _INDENTED:
        return None if needs_block else _by_indentation(lines, first)
    return _by_brackets(lines, first, column, suffix, needs_block=needs_block)


def _by_indentation(lines: list[str], first: int) -> int:
    depth = _indentation(lines[first - 1])
    last = first
    for number in range(first + 1, min(len(lines), first + MOST_LINES) + 1):
        line = lines[number - 1]
        if not line.strip():
            continue
        indentation = _indentation(line)
        if indentation <= depth:
            closes = indentation == depth and _CLOSERS.match(line.strip())
            return number if closes else last
        last = number
    return last


def _indentation(line: str) -> int:
    expanded = line.expandtabs(8)
    return len(expanded) - len(expanded.lstrip())


def _by_brackets(
    lines: list[str], first: int, column: int, suffix: str, *, needs_block: bool
) -> int | None:
    text = "\n".join(lines[first - 1 : first - 1 + MOST_LINES])
    pattern = _RUST_TOKEN if suffix == ".rs" else _TOKEN
    depth, number, in_block = 0, first, False
    for token in pattern.finditer(text, column):
        mark = token[0]
        if mark in ("{", "(", "["):
            in_block = in_block or (mark == "{" and not depth)
            depth += 1
        elif mark in ("}", ")", "]"):
            depth -= 1
            if depth < 0 or (not depth and in_block and mark == "}"):
                return number if in_block or not needs_block else None
        elif depth:
            number += mark.count("\n")
        elif mark == ";":
            return None if needs_block else number
        elif mark == "\n":
            if not _goes_on(lines, number):
                return None if needs_block else number
            number += 1
        else:
            number += mark.count("\n")
    return None if needs_block and not in_block else min(number, len(lines))


def _goes_on(lines: list[str], number: int) -> bool:
    """Whether a line that ends outside of all brackets is not the end of its statement."""
    if number >= len(lines):
        return False
    line, following = lines[number - 1].rstrip(), lines[number]
    if not following.strip():
        return False
    deeper = _indentation(following) > _indentation(lines[number - 1])
    return deeper or line.endswith(("=", ",", "|", "&", "=>")) or bool(_GOES_ON.match(following))
