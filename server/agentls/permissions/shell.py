"""Takes a shell command apart, so that rules can be tried on what it runs.

One text is read twice. The strict reading gives the simple commands in it, or says what it does not
understand: allow rules are tried on it. The loose reading never gives up and finds every sequence
of words that might run, quoted and nested ones too: deny and ask rules are tried on it.
"""

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from agentls.permissions import programs, shell_words

LONGEST_UNDERSTOOD = 10_000
"""Characters; nobody reads a longer command before allowing it."""
LONGEST_SCANNED = 100_000
DEEPEST_NESTING = 5
MOST_SEQUENCES = 5_000


@dataclass(frozen=True, slots=True)
class Part:
    """One simple command, quotes removed."""

    words: tuple[str, ...]
    has_globs: bool
    """A word holds an unquoted `*`, `?`, `[` or leading `~`, which the shell would replace."""

    @property
    def runs_others(self) -> bool:
        """Whether it exists to run a command given in its arguments, as `sudo` and `xargs` do."""
        name = program_name(self.words[0])
        if name == "find":
            return any(_FIND_ACTION.match(word) for word in self.words)
        return name in programs.RUN_ANOTHER


@dataclass(frozen=True, slots=True)
class Sequence:
    """Words in a row that may be run as a command, from any of them on."""

    words: tuple[str, ...]
    head_is_data: bool = False
    """They stand in an argument of a program that runs no other, so they may be mere text."""
    tail_is_data: bool = False
    """The first word is such a program."""
    dynamic: frozenset[int] = frozenset()
    """Where the words stand whose text may be another when the command runs."""


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """What is known of a command."""

    parts: tuple[Part, ...]
    """The simple commands in order; empty where there is an obstacle."""
    operators: tuple[str, ...]
    """What stands between the parts: `&&`, `||`, `|` or `;`, which a newline counts as."""
    obstacle: str | None
    """What the strict reading does not understand."""
    sequences: tuple[Sequence, ...]
    written: tuple[str, ...]
    """What output is redirected to, as written."""
    opaque: bool
    """It may run words that are not written in it: through variables, patterns, scripts."""


@lru_cache(maxsize=128)
def read_command(text: str) -> ShellCommand:
    """Read a command both ways."""
    scan = _Scan()
    scan.read(text[:LONGEST_SCANNED], depth=0, is_data=False)
    try:
        parts, operators = _strict_parts(text)
        obstacle = None
    except shell_words.NotUnderstood as error:
        parts, operators, obstacle = (), (), str(error)
    return ShellCommand(
        parts=parts,
        operators=operators,
        obstacle=obstacle,
        sequences=tuple(dict.fromkeys(scan.sequences)),
        written=tuple(scan.written),
        opaque=scan.opaque or len(text) > LONGEST_SCANNED,
    )


def program_name(word: str) -> str:
    """Return the name a program goes by, whatever folder it is called from."""
    return word.rstrip("/").rpartition("/")[2] or word


def written_out(command: ShellCommand) -> str:
    """Return an understood command as text with the same parts and operators."""
    parts = [shlex.join(part.words) for part in command.parts]
    pairs = zip(parts, (*command.operators, ""), strict=True)
    return " ".join(f"{part} {operator}".strip() for part, operator in pairs)


def _strict_parts(text: str) -> tuple[tuple[Part, ...], tuple[str, ...]]:
    if len(text) > LONGEST_UNDERSTOOD:
        raise shell_words.NotUnderstood("a command of more than 10,000 characters")
    commands, operators = shell_words.split(text)
    return tuple(_simple_command(words) for words in commands), operators


def _simple_command(words: tuple[shell_words.Word, ...]) -> Part:
    """Return the part that `words` make, without assignments that change only how output looks.

    Raises NotUnderstood where the shell would do more than run the first word.
    """
    start = 0
    while start < len(words) and (name := _assigned_name(words[start].text)) is not None:
        if not _HARMLESS_VARIABLE.fullmatch(name):
            raise shell_words.NotUnderstood(f"an assignment to {name}")
        start += 1
    command = words[start:]
    if not command:
        raise shell_words.NotUnderstood("an assignment without a command")
    head = command[0]
    if head.has_globs:
        raise shell_words.NotUnderstood("a pattern in place of a command's name")
    texts = tuple(word.text for word in command)
    _refuse_builtins(texts)
    return Part(texts, any(word.has_globs for word in command))


def _refuse_builtins(words: tuple[str, ...]) -> None:
    name = program_name(words[0])
    if words[0] in programs.RESERVED or words[0] == "":
        raise shell_words.NotUnderstood(f"the shell's word {words[0]!r}")
    if name in programs.CHANGE_THE_SHELL:
        raise shell_words.NotUnderstood(f"{name}, which changes what later words mean")
    if name in programs.SHELLS and (len(words) == 1 or words[1].startswith(("-", "+"))):
        raise shell_words.NotUnderstood(f"{name} with a script that is not a file")
    if name == "printf" and any(word.startswith("-v") for word in words[1:]):
        raise shell_words.NotUnderstood("printf -v, which sets a variable")


def _assigned_name(word: str) -> str | None:
    match = _ASSIGNMENT.match(word)
    return match[1] if match else None


_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=")
_HARMLESS_VARIABLE = re.compile(
    r"LANG|LANGUAGE|LC_\w+|TZ|NO_COLOR|FORCE_COLOR|CLICOLOR|COLUMNS|LINES|CI|RUST_BACKTRACE"
    r"|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE"
)
_FIND_ACTION = re.compile(r"-(exec|execdir|ok|okdir|delete|fprint0?|fprintf|fls)$")


class _Scan:
    """The loose reading: what is found in one text, and in the texts quoted in it."""

    def __init__(self) -> None:
        self.sequences: list[Sequence] = []
        self.written: list[str] = []
        self.opaque = False

    def read(self, text: str, depth: int, is_data: bool) -> None:
        """Add what `text` may run. `is_data`: it stands in an argument that is likely mere text."""
        if depth > DEEPEST_NESTING or len(self.sequences) > MOST_SEQUENCES:
            self.opaque = True
            return
        loose = shell_words.scan(text)
        if depth == 0:
            self.written += [word.text for word in loose.written]
        for index, words in enumerate(loose.commands):
            self._add_sequence(words, is_data)
            plain = self.sequences[-1].tail_is_data
            # A quoted text begins as an argument; what follows a `$(` in it is run.
            if (depth == 0 or index > 0) and not is_data:
                self.opaque |= _runs_unwritten_words(words, plain)
            for word in words:
                self._read_inside(word, text, depth, is_data or plain)
        for word in loose.redirected:
            self._read_inside(word, text, depth, is_data)

    def _add_sequence(self, words: tuple[shell_words.Word, ...], is_data: bool) -> None:
        texts = tuple(word.text for word in words)
        plain = program_name(texts[0]) in programs.RUN_NO_OTHER
        dynamic = frozenset(at for at, word in enumerate(words) if word.is_dynamic)
        self.sequences.append(Sequence(texts, is_data, plain, dynamic))

    def _read_inside(self, word: shell_words.Word, source: str, depth: int, is_data: bool) -> None:
        """Read a word that holds more than one word: a script, a list, an assignment."""
        flat = _PUNCTUATION.sub(" ", word.text)
        if flat == word.text and " " not in flat:
            return
        is_data = is_data and not word.is_dynamic
        self.read(flat, DEEPEST_NESTING, is_data)
        if word.text != source and _SHELL_MARK.search(word.text):
            self.read(word.text, depth + 1, is_data)


def _runs_unwritten_words(words: Iterable[shell_words.Word], plain: bool) -> bool:
    head, *rest = words
    if head.is_dynamic or head.has_globs:
        return True
    if plain:
        return False
    names = {program_name(word.text) for word in (head, *rest)}
    runs_scripts = head.text == "." or names & {*programs.SHELLS, "eval", "source"}
    return bool(runs_scripts) or any(word.is_dynamic for word in rest)


_PUNCTUATION = re.compile(r"[^\w./~:@%+*-]")
_SHELL_MARK = re.compile(r"""[\s'"`$;&|()<>\\]""")
