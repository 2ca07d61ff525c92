"""Text of anybody's in a Markdown document: whatever it holds, what is around it stays as it is."""

import re

SHIFTED_BY = 2
"""How many levels a heading in a message is moved down, below those of the document."""

_FENCE = re.compile(r"(?P<before>[ \t>*+0-9.)-]*)(?P<mark>`{3,}|~{3,})(?P<after>.*)")
_ESCAPED = r"\g<escapes>\\<"
_BACKTICKS = re.compile(r"`+")
_TAG = re.compile(r"(?<!\\)(?P<escapes>(?:\\\\)*)<(?=[A-Za-z/!?])")
"""What begins HTML: not where an odd number of backslashes stands before it."""
_HEADING = re.compile(r"#{1,6}(?=[ \t]|$)")
_CONTROLS = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
}
"""Control characters as pictures of themselves; those that have none as a replacement character."""


def printable(text: str) -> str:
    r"""Return `text` with one kind of line end, `\n`, and no character that a terminal obeys."""
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS)


def one_line(text: str) -> str:
    """Return `text` in one line."""
    return " ".join(printable(text).split())


def quoted(text: str) -> str:
    """Return Markdown as a block quote, in which all that it begins also ends."""
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def fenced(text: str, language: str = "text") -> str:
    """Return `text` word for word, in a fence longer than any inside of it."""
    text = printable(text).rstrip("\n")
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def code(text: str) -> str:
    """Return `text` word for word as a code span, in one line."""
    text = one_line(text)
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if text.startswith("`") or text.endswith("`") or not text else ""
    return f"{fence}{padding}{text}{padding}{fence}"


def html(text: str) -> str:
    """Return `text` in one line as HTML shows it word for word."""
    text = one_line(text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def inline(text: str) -> str:
    """Return somebody's Markdown so that it can stand behind other words, in one line."""
    return _TAG.sub(_ESCAPED, one_line(text))


def prose(text: str) -> str:
    """Return somebody's Markdown so that it can stand in a document.

    Its HTML is shown, not obeyed, its headings move down, and a block of code that it leaves open
    is closed.
    """
    text = printable(text).strip("\n")
    writer = _Prose()
    lines = [writer.line(line) for line in text.split("\n")]
    if writer.fence:
        lines.append(writer.fence)
    safe = "\n".join(lines)
    return quoted(safe) if writer.may_be_open else safe


class _Prose:
    """Goes through a text line by line and knows where code is.

    A fence that is not at a line's very beginning may lie in a list that ends before it does. From
    the first such on nothing is taken for code, which at worst shows a backslash too many, and a
    block counts as closed only where no reading of the text leaves it open.
    """

    def __init__(self) -> None:
        self.fence = ""
        """Of the block of code that is open."""
        self._inner: tuple[str, str] | None = None
        """Of a block that is open further in: what its lines begin with, and its fence."""
        self._is_broken = False
        """Where such a block ends cannot be said."""
        self._uncertain = False
        self._dangling = False
        """A backtick before, in this paragraph, may begin a code span that ends in this line."""

    @property
    def may_be_open(self) -> bool:
        """Whether a block further in may have no end."""
        return self._is_broken or self._inner is not None

    def line(self, line: str) -> str:
        if self.fence:
            if _closes(line, self.fence):
                self.fence = ""
            return line
        if self._inner is not None:
            self._go_on_inside(line, *self._inner)
            return _TAG.sub(_ESCAPED, line)
        fence = _FENCE.fullmatch(line)
        if fence and not (fence["mark"][0] == "`" and "`" in fence["after"]):
            return self._fence(line, fence["before"], fence["mark"])
        if not line.strip():
            self._dangling = False
            return line
        if not self._uncertain and _HEADING.match(line):
            level = len(line) - len(line.lstrip("#"))
            line = "#" * min(6, level + SHIFTED_BY) + line[level:]
        return self._escaped(line)

    def _fence(self, line: str, before: str, mark: str) -> str:
        self._dangling = False
        if before or self._uncertain:
            self._uncertain = True
            self._is_broken = self._is_broken or bool(before.strip("- "))
            self._inner = (" " * len(before), mark)
            return _TAG.sub(_ESCAPED, line)
        self.fence = mark
        return line

    def _go_on_inside(self, line: str, before: str, mark: str) -> None:
        """Take a line of a block further in; one that is less far in may end what it lies in."""
        if not line.strip():
            return
        if not line.startswith(before):
            self._is_broken, self._inner = True, None
        elif _closes(line.lstrip(" \t"), mark):
            self._is_broken = self._is_broken or line[len(before)] != mark[0]
            self._inner = None

    def _escaped(self, line: str) -> str:
        if self._uncertain or self._dangling or "\\`" in line:
            self._dangling = self._dangling or "`" in line
            return _TAG.sub(_ESCAPED, line)
        pieces: list[str] = []
        place = 0
        while opening := _BACKTICKS.search(line, place):
            closing = _same_run(line, opening)
            if closing is None:
                self._dangling = True
                pieces.append(_TAG.sub(_ESCAPED, line[place : opening.end()]))
                place = opening.end()
                continue
            pieces += [_TAG.sub(_ESCAPED, line[place : opening.start()])]
            pieces += [line[opening.start() : closing.end()]]
            place = closing.end()
        return "".join([*pieces, _TAG.sub(_ESCAPED, line[place:])])


def _closes(line: str, fence: str) -> bool:
    inner = line.strip(" \t")
    spaced = line.expandtabs(4)
    indent = len(spaced) - len(spaced.lstrip(" "))
    return indent <= 3 and len(inner) >= len(fence) and set(inner) == {fence[0]}


def _same_run(line: str, opening: re.Match[str]) -> re.Match[str] | None:
    runs = _BACKTICKS.finditer(line, opening.end())
    return next((run for run in runs if len(run[0]) == len(opening[0])), None)
