"""Splits shell text into words: strictly, or as well as it goes."""

import re
from dataclasses import dataclass, field


class NotUnderstood(Exception):
    """The strict reading met something beyond simple commands; the text says what."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word with its quotes removed."""

    text: str
    has_globs: bool = False
    is_dynamic: bool = False
    """It holds a variable, a substitution or braces, so that its text is not what is run."""


@dataclass(slots=True)
class LooseWords:
    """What the loose reading found."""

    commands: list[tuple[Word, ...]] = field(default_factory=list[tuple[Word, ...]])
    redirected: list[Word] = field(default_factory=list[Word])
    """Targets of redirections of every kind."""
    written: list[Word] = field(default_factory=list[Word])
    """Those of them that output goes to."""


def split(text: str, wildcard: str = "*") -> tuple[list[tuple[Word, ...]], tuple[str, ...]]:
    """Return the simple commands in `text` and the operators between them.

    `wildcard` stands in for each unquoted `*`. Raises NotUnderstood at anything but words, quotes,
    `&& || | ;`, newlines and output thrown away or joined.
    """
    if match := _STRANGE.search(text):
        raise NotUnderstood(f"the character {match[0]!r}")
    splitter = _Splitter(wildcard)
    position = 0
    while position < len(text):
        position = splitter.take(text, position)
    return splitter.finish()


def scan(text: str) -> LooseWords:
    """Return every sequence of words that stands between the shell's marks; never fails."""
    scanner = _Scanner(text)
    while scanner.position < len(text):
        scanner.take()
    scanner.end_command()
    return scanner.found


_STRANGE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]|[^\S \t\n]")
_TOKEN = re.compile(
    r"""
      (?P<blank>[ \t]+|\\\n)
    | (?P<numbered>[012](?:>{1,2}[ \t]*/dev/null|>&[12]|<[ \t]*/dev/null)(?=[\s;|]|&&|$))
    | (?P<redirect>(?:&?>{1,2}[ \t]*/dev/null|>&[12]|<[ \t]*/dev/null)(?=[\s;|]|&&|$))
    | (?P<operator>&&|\|\||\|(?!&)|;|\n)
    | '(?P<single>[^']*)'
    | "(?P<double>(?:[^"\\$`]|\\[\s\S])*)"
    | \\(?P<escaped>[\s\S])
    | (?P<glob>[*?\[]|(?P<tilde>~))
    | (?P<plain>[^\s'"\\$`;&|<>(){}\#*?\[~]+)
    | (?P<hash>\#)
    """,
    re.VERBOSE,
)
_NAMES = {
    "$": "a variable or substitution",
    "`": "a substitution",
    '"': "a variable or substitution in quotes, or a quote without its end",
    "'": "a quote without its end",
    "<": "a redirection",
    ">": "a redirection",
    "(": "a subshell or function",
    ")": "a subshell or function",
    "{": "braces",
    "}": "braces",
    "&": "a command in the background",
    "|": "the operator |&",
    "\\": "a backslash at the end",
}


class _Splitter:
    """The strict reading's state."""

    def __init__(self, wildcard: str) -> None:
        self._wildcard = wildcard
        self._word: list[str] | None = None
        self._has_globs = False
        self._words: list[Word] = []
        self._commands: list[tuple[Word, ...]] = []
        self._operators: list[str] = []

    def take(self, text: str, position: int) -> int:
        """Take one token at `position` and return where the next begins."""
        match = _TOKEN.match(text, position)
        if match is None:
            raise NotUnderstood(_NAMES.get(text[position], f"the character {text[position]!r}"))
        kind = match.lastgroup
        if kind == "numbered" and self._word is not None:
            self._add(text[position])
            return position + 1
        match kind:
            case "blank":
                if match[0] != "\\\n":
                    self._end_word()
            case "numbered" | "redirect":
                if self._word is not None and "".join(self._word).isdigit():
                    raise NotUnderstood("a redirection of another descriptor")
                self._end_word()
            case "operator":
                self._end_command(match[0])
            case "double":
                self._add(_DOUBLE_ESCAPE.sub(r"\1", match["double"].replace("\\\n", "")))
            case "glob" | "tilde":
                self._add_glob(match[0])
            case "hash" if self._word is None:
                raise NotUnderstood("a comment")
            case _:
                self._add(match[kind or 0])
        return match.end()

    def finish(self) -> tuple[list[tuple[Word, ...]], tuple[str, ...]]:
        """Return what was read; a separator at the end separates nothing."""
        self._end_word()
        if self._words:
            self._commands.append(tuple(self._words))
        elif self._operators and self._operators[-1] == ";":
            self._operators.pop()
        if not self._commands or len(self._operators) != len(self._commands) - 1:
            raise NotUnderstood("a command that is empty")
        return self._commands, tuple(self._operators)

    def _add(self, text: str) -> None:
        if self._word is None:
            self._word = []
        self._word.append(text)

    def _add_glob(self, mark: str) -> None:
        if mark != "~" or self._word is None:
            self._has_globs = True
        self._add(self._wildcard if mark == "*" else mark)

    def _end_word(self) -> None:
        if self._word is not None:
            self._words.append(Word("".join(self._word), self._has_globs))
        self._word, self._has_globs = None, False

    def _end_command(self, operator: str) -> None:
        self._end_word()
        if self._words:
            self._commands.append(tuple(self._words))
            self._operators.append(";" if operator == "\n" else operator)
            self._words = []
        elif operator != "\n":
            raise NotUnderstood("a command that is empty")


_DOUBLE_ESCAPE = re.compile(r'\\([$`"\\])')


class _Scanner:
    """The loose reading's state. What it cannot know it marks as dynamic."""

    def __init__(self, text: str) -> None:
        self.found = LooseWords()
        self.position = 0
        self._text = text
        self._word: list[str] | None = None
        self._has_globs = False
        self._is_dynamic = False
        self._in_backticks = False
        self._words: list[Word] = []
        self._redirection = ""

    def take(self) -> None:
        """Take what stands at the position and move past it."""
        mark = self._text[self.position]
        if mark == "\\":
            self._take_escape()
        elif mark in "'\"":
            self._take_quoted(mark)
        elif mark == "$":
            self._take_dollar()
        elif mark == "`":
            self.position += 1
            self._take_backtick()
        elif mark in "{}":
            self._take_brace(mark)
        elif mark in "<>":
            self._take_redirection()
        elif mark in "\n;&|()" or (mark == "#" and self._word is None):
            self.end_command()
            self.position += 1
        elif mark.isspace():
            self._end_word()
            self.position += 1
        else:
            self._has_globs |= mark in "*?["
            self._add(mark)
            self.position += 1

    def end_command(self) -> None:
        """End the sequence of words."""
        self._end_word()
        self._redirection = ""
        if self._words:
            self.found.commands.append(tuple(self._words))
        self._words = []

    def _add(self, text: str) -> None:
        if self._word is None:
            self._word = []
        self._word.append(text)

    def _end_word(self) -> None:
        if self._word is None:
            return
        word = Word("".join(self._word), self._has_globs, self._is_dynamic)
        self._word, self._has_globs, self._is_dynamic = None, False, False
        if not self._redirection:
            self._words.append(word)
            return
        self.found.redirected.append(word)
        if ">" in self._redirection and not word.text.isdigit():
            self.found.written.append(word)
        self._redirection = ""

    def _take_escape(self) -> None:
        escaped = self._text[self.position + 1 : self.position + 2]
        self.position += 2
        if escaped == "`":
            self._take_backtick()
        elif escaped != "\n":
            self._add(escaped)

    def _take_quoted(self, quote: str) -> None:
        pattern = _SINGLE_QUOTED if quote == "'" else _DOUBLE_QUOTED
        match = pattern.match(self._text, self.position)
        inside = match[1] if match else self._text[self.position + 1 :]
        if quote == '"':
            self._is_dynamic |= bool(_EXPANSION.search(inside))
            inside = _DOUBLE_ESCAPE.sub(r"\1", inside.replace("\\\n", ""))
        self._add(inside)
        self.position = match.end() if match else len(self._text)

    def _take_dollar(self) -> None:
        following = self._text[self.position + 1 : self.position + 2]
        self._is_dynamic = True
        self._add("" if following in ("'", '"') else "$")
        self.position += 1

    def _take_backtick(self) -> None:
        """Begin or end a substitution; which of them it is can only be guessed."""
        self._in_backticks = not self._in_backticks
        if self._in_backticks:
            if self._words and self._word is None:
                self.found.commands.append(tuple(self._words))
            self._is_dynamic = True
            self._add("" if self._word else "`")
        self.end_command()

    def _take_brace(self, mark: str) -> None:
        if self._text.startswith("{}", self.position):
            self._add("{}")
            self.position += 2
            return
        following = self._text[self.position + 1 : self.position + 2]
        stands_alone = self._word is None and (not following or following in " \t\n;&|)")
        self.position += 1
        if stands_alone:
            self.end_command()
            return
        self._is_dynamic = True
        self._add(mark)

    def _take_redirection(self) -> None:
        if self._word is not None and "".join(self._word).isdigit():
            self._word = None
        self._end_word()
        match = _REDIRECTION.match(self._text, self.position)
        self._redirection = match[0] if match else ">"
        self.position += len(self._redirection)


_SINGLE_QUOTED = re.compile(r"'([^']*)'")
_DOUBLE_QUOTED = re.compile(r'"((?:[^"\\]|\\[\s\S])*)"')
_EXPANSION = re.compile(r"(?<!\\)[$`]")
_REDIRECTION = re.compile(r"[<>]+[&|-]?")
