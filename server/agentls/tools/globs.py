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
    pieces: list[str] = []
    braces = _balanced(glob)
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
        elif character == "," and depth:
            piece = "|"
        else:
            piece = re.escape(character)
        pieces.append(piece)
        position += length
    return "".join(pieces)


def _choice(rest: str) -> tuple[str, int] | None:
    """Return `[...]` at the beginning of `rest` as a pattern, and its length."""
    # A bracket right at the beginning is one of the characters.
    end = rest.find("]", 3 if rest[1:2] in ("!", "^") else 2)
    if end < 0:
        return None
    inside = rest[1:end]
    negated = inside[0] in "!^"
    escaped = re.sub(r"([\\\[\]^&~|])", r"\\\1", inside[1:] if negated else inside)
    piece = f"(?!/)[{'^' if negated else ''}{escaped}]"
    try:
        re.compile(piece)
    except re.error:
        return None
    return piece, end + 1


def _balanced(glob: str) -> bool:
    """Whether every brace has its other half; otherwise braces are plain characters."""
    depth = 0
    for character in re.sub(r"\\.|\[[^\]]+\]", "", glob):
        depth += (character == "{") - (character == "}")
        if depth < 0:
            return False
    return depth == 0
