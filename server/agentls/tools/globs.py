"""Globs as all tools understand them, matched against paths with `/`, relative to a folder.

A glob without `/` matches a name at any depth; one with `/` matches from the folder on. `*` and `?`
stay within a name, `**` crosses folders, `[a-z]`, `[!a]` and `{one,other}` choose, and a backslash
takes the next character as it is.
"""

import re


def compile_glob(glob: str) -> re.Pattern[str]:
    """Return a pattern to `fullmatch` paths with. Every string is a glob; none raises."""
    anchored = glob.removeprefix("./")
    if anchored.endswith("/"):
        anchored += "**"
    prefix = "" if "/" in anchored else "(?:.*/)?"
    return re.compile(prefix + _translated(anchored.removeprefix("/")), re.DOTALL)


def name_glob(glob: str) -> str | None:
    """Return a glob for the names alone of what `glob` matches; None where there is none."""
    name = glob.rpartition("/")[2]
    if not name or "**" in name or name.count("{") != name.count("}") or name.count("{") > 1:
        return None
    return name


def has_magic(part: str) -> bool:
    """Whether a part of a path is more than a name."""
    return any(character in part for character in "*?[{\\")


def _translated(glob: str) -> str:
    with_braces = _pattern(glob, braces=True)
    if with_braces is not None:
        return with_braces
    # A brace without its other half makes plain characters of all of them.
    return _pattern(glob, braces=False) or ""


def _pattern(glob: str, *, braces: bool) -> str | None:
    """Return a regular expression; None where braces do not pair."""
    pieces: list[str] = []
    depth = position = 0
    while position < len(glob):
        character = glob[position]
        rest = glob[position:]
        length = 1
        if rest.startswith("**/") and (not position or glob[position - 1] == "/"):
            piece, length = "(?:.*/)?", 3
        elif rest.startswith("**"):
            piece, length = ".*", len(rest) - len(rest.lstrip("*"))
        elif character == "*":
            piece = "[^/]*"
        elif character == "?":
            piece = "[^/]"
        elif character == "[" and (choice := _choice(rest)):
            piece, length = choice
        elif character == "\\" and len(rest) > 1:
            piece, length = re.escape(rest[1]), 2
        elif character == "{" and braces:
            piece, depth = "(?:", depth + 1
        elif character == "}" and braces:
            piece, depth = ")", depth - 1
            if depth < 0:
                return None
        elif character == "," and depth:
            piece = "|"
        else:
            piece = re.escape(character)
        pieces.append(piece)
        position += length
    return None if depth else "".join(pieces)


def _choice(rest: str) -> tuple[str, int] | None:
    """Return `[...]` at the beginning of `rest` as a pattern, and its length."""
    # A bracket right at the beginning is one of the characters.
    end = rest.find("]", 3 if rest[1:2] in ("!", "^") else 2)
    if end < 0:
        return None
    inside = rest[1:end]
    negated = inside[0] in "!^"
    characters = _characters(inside[1:] if negated else inside)
    if not characters:
        return ("[^/]" if negated else "(?!)"), end + 1
    return f"(?!/)[{'^' if negated else ''}{characters}]", end + 1


def _characters(inside: str) -> str:
    """Return the characters and ranges of a choice, escaped; `z-a` holds none."""
    pieces: list[str] = []
    position = 0
    while position < len(inside):
        low, dash, high = inside[position], inside[position + 1 :][:1], inside[position + 2 :]
        if dash != "-" or not high:
            pieces.append(re.escape(low))
            position += 1
            continue
        if low <= high[0]:
            pieces.append(f"{re.escape(low)}-{re.escape(high[0])}")
        position += 3
    return "".join(pieces)
