"""What `.gitignore` files leave out, as git reads them."""

import functools
import os
import re
from dataclasses import dataclass
from pathlib import Path

IGNORE_FILE = ".gitignore"
GIT = ".git"
LARGEST = 1024 * 1024
"""Bytes; of a longer file the rest is not read."""
_NOTHING = r"(?!)"


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """What one `.gitignore` says of what lies below its folder."""

    base: str
    """The folder it lies in, with `/` at its end."""
    patterns: "Patterns"

    def verdict(self, path: str) -> bool | None:
        """Whether `path`, absolute and with `/` at a folder's end, is left out; None: not said.

        The folders above are taken to be looked into: git never looks into one that is left out.
        """
        return self.patterns.verdict(path[len(self.base) :])


def is_ignored(path: str, rules: tuple[IgnoreRules, ...]) -> bool:
    """Whether the rules leave `path` out; the nearest file that mentions it decides."""
    for rule in reversed(rules):
        verdict = rule.verdict(path)
        if verdict is not None:
            return verdict
    return False


def is_within_ignored(path: str, rules: tuple[IgnoreRules, ...]) -> bool:
    """Whether `path` or a folder above it, below the outermost rules, is left out."""
    if not rules:
        return False
    end = len(rules[0].base) - 1
    while (end := path.find("/", end + 1)) >= 0 and end < len(path) - 1:
        above = path[: end + 1]
        if is_ignored(above, tuple(rule for rule in rules if len(rule.base) < len(above))):
            return True
    return is_ignored(path, rules)


def rules_above(root: Path) -> tuple[IgnoreRules, ...]:
    """Read the files in the folders above, up to the one that holds `.git`; outermost first."""
    found: list[IgnoreRules] = []
    folder = root
    while not os.path.lexists(folder / GIT) and folder.parent != folder:
        folder = folder.parent
        if rules := rules_in(f"{folder.as_posix().rstrip('/')}/"):
            found.append(rules)
    return tuple(reversed(found))


def rules_in(folder: str) -> IgnoreRules | None:
    """Read the file in `folder`, which ends in `/`; None where there is none that says anything.

    The same text makes the same patterns, so that rules that did not change are equal. Git follows
    no link here, and neither does this.
    """
    try:
        descriptor = os.open(folder + IGNORE_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    try:
        data = _read(descriptor)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    patterns = parse_patterns(data)
    return IgnoreRules(folder, patterns) if patterns.any else None


def _read(descriptor: int) -> bytes:
    pieces = list[bytes]()
    left = LARGEST
    while left and (piece := os.read(descriptor, left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


@functools.lru_cache(maxsize=1024)
def parse_patterns(data: bytes) -> "Patterns":
    """Return the patterns of a `.gitignore` that holds `data`."""
    return Patterns(os.fsdecode(data.removeprefix(b"\xef\xbb\xbf")))


class Patterns:
    """The patterns of one file. The last that matches decides.

    Most names match none, so a few cheap questions come before the exact one.
    """

    def __init__(self, text: str) -> None:
        patterns = [pattern for line in text.split("\n") if (pattern := _parse(line))]
        self.any = bool(patterns)
        """There is at least one."""
        self._names = frozenset(end for p in patterns for end in p.ends(p.name))
        self._suffixes = tuple({end for p in patterns for end in p.ends(p.suffix)})
        odd = {p.name_regex for p in patterns if p.name is None and p.suffix is None}
        self._odd_names = re.compile("|".join(f"(?:{regex})/?" for regex in odd)) if odd else None
        self._exact = [(re.compile(p.regex).fullmatch, p.by_path, not p.negated) for p in patterns]
        self._exact.reverse()

    def may_match(self, name: str) -> bool:
        """Whether some path that ends in `name`, with `/` at a folder's end, may be mentioned."""
        return (
            name in self._names
            or name.endswith(self._suffixes)
            or (self._odd_names is not None and self._odd_names.fullmatch(name) is not None)
        )

    def verdict(self, relative: str) -> bool | None:
        """Whether `relative`, with `/` at a folder's end, is left out; None: no pattern matches."""
        name = relative[relative.rfind("/", 0, -1) + 1 :]
        if not self.may_match(name):
            return None
        for matches, by_path, ignored in self._exact:
            if matches(relative if by_path else name):
                return ignored
        return None


@dataclass(frozen=True, slots=True)
class _Pattern:
    """One line of the file."""

    regex: str
    """Matches a whole path or name, `/` at a folder's end included."""
    by_path: bool
    """Matched on the path below the file's folder, else on the name alone."""
    negated: bool
    folder_only: bool
    name: str | None
    """The one name that a path must end in for it to match."""
    suffix: str | None
    """Else what that name must end in, and nothing more."""
    name_regex: str
    """What it must match in any case."""

    def ends(self, text: str | None) -> tuple[str, ...]:
        if text is None:
            return ()
        return (f"{text}/",) if self.folder_only else (text, f"{text}/")


def _parse(line: str) -> _Pattern | None:
    """Return what a line means; None for a remark and for what can match nothing."""
    text = _without_end(line.removesuffix("\r"))
    negated = text.startswith("!")
    if text.startswith("#"):
        return None
    text = text.removeprefix("!")
    folder_only = text.endswith("/")
    text = text.removesuffix("/")
    if not text:
        return None
    by_path = "/" in text
    segments = _split(text.removeprefix("/")) if by_path else [text]
    last = segments[-1]
    regex = _path_regex(segments) if by_path else _glob_regex(last)
    rest = last[1:]
    return _Pattern(
        regex + ("/" if folder_only else "/?"),
        by_path,
        negated,
        folder_only,
        name=None if _is_special(last) else last,
        suffix=rest if last[:1] == "*" and rest and not _is_special(rest) else None,
        name_regex="[^/]+" if _is_any_folders(last) else _glob_regex(last),
    )


def _is_any_folders(segment: str) -> bool:
    return len(segment) > 1 and not segment.strip("*")


def _is_special(text: str) -> bool:
    return any(character in text for character in "*?[\\")


def _without_end(line: str) -> str:
    r"""Take spaces off the end; one after a backslash stays."""
    stripped = line.rstrip(" ")
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    if backslashes % 2 and stripped != line:
        return f"{stripped} "
    return stripped


def _path_regex(segments: list[str]) -> str:
    """Translate a pattern that is matched on whole paths, where `**` stands for any folders.

    What lies between two of them is best matched where it is first found, so no other place is
    ever tried: a long pattern cannot be made slow.
    """
    groups: list[list[str]] = [[]]
    for segment in segments:
        if _is_any_folders(segment):
            groups.append([])
        else:
            groups[-1].append(_glob_regex(segment))
    first, *others = ["/".join(group) for group in groups]
    if not others:
        return first
    pieces = [f"{first}/" if first else ""]
    pieces += [f"(?>(?:[^/]+/)*?{group}/)" for group in others[:-1] if group]
    pieces.append(f"(?:[^/]+/)*{others[-1]}" if others[-1] else ".+")
    return "".join(pieces)


def _split(text: str) -> list[str]:
    """Split at each `/` that stands in no set."""
    segments = list[str]()
    start = at = 0
    while at < len(text):
        character = text[at]
        at += 1
        if character == "/":
            segments.append(text[start : at - 1])
            start = at
        elif character == "[":
            _, at = _bracket_regex(text, at)
        elif character == "\\":
            at += 1
    return [*segments, text[start:]]


def _glob_regex(text: str) -> str:
    """Translate a pattern for one name; what is malformed matches nothing."""
    between_stars = [""]
    at = 0
    while at < len(text):
        character = text[at]
        at += 1
        if character == "*":
            between_stars.append("")
            continue
        if character == "?":
            piece = "[^/]"
        elif character == "[":
            piece, at = _bracket_regex(text, at)
        elif character == "\\":
            piece = re.escape(text[at]) if at < len(text) else _NOTHING
            at += 1
        else:
            piece = re.escape(character)
        between_stars[-1] += piece
    first, *others = between_stars
    if not others:
        return first
    middle = "".join(f"(?>[^/]*?{piece})" for piece in others[:-1] if piece)
    # No name is empty: without the question first, `a/*` would match the folder `a/` itself.
    return f"{first or '(?=[^/])'}{middle}[^/]*{others[-1]}"


_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \\t\\n\\r\\f\\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


_NAMED_SET = re.compile(r"\[:([^\]]+):\]")


def _bracket_regex(text: str, at: int) -> tuple[str, int]:
    """Translate the set that begins before `at`; return it and where it ends."""
    negated = text[at : at + 1] in ("!", "^")
    at += negated
    pieces = list[str]()
    first = at
    while at < len(text):
        character = text[at]
        if character == "]" and at > first:
            return _set_regex(pieces, negated), at + 1
        if named := _NAMED_SET.match(text, at):
            if named[1] not in _CLASSES:
                break
            pieces.append(_CLASSES[named[1]])
            at = named.end()
            continue
        start, at = _set_member(text, at)
        end = start
        if text[at : at + 1] == "-" and text[at + 1 : at + 2] not in ("", "]"):
            end, at = _set_member(text, at + 1)
        if start and end:
            # Of a range that runs backwards git takes the start.
            last = end if start <= end else start
            pieces.append(f"{re.escape(start)}-{re.escape(last)}")
    return _NOTHING, len(text)


def _set_member(text: str, at: int) -> tuple[str, int]:
    if text[at] == "\\":
        at += 1
    return text[at : at + 1], at + 1


def _set_regex(pieces: list[str], negated: bool) -> str:
    if not pieces:
        return "[^/]" if negated else _NOTHING
    return f"(?!/)[{'^' if negated else ''}{''.join(pieces)}]"
