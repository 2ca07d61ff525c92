"""Matches the pattern of a `Bash(...)` rule against the words of commands."""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import accumulate
from typing import Literal

from agentls.permissions import shell_words
from agentls.permissions.shell import Part, Sequence, program_name

Behaviour = Literal["allow", "ask", "deny"]

MOST_OPTIONS = 32
"""Options between a program and its sub-command that are looked past."""


@dataclass(frozen=True, slots=True)
class CommandPattern:
    """The words of a command. An unquoted `*` stands for any text, spaces included.

    ` *` or `:*` at the end stands for any further words, or none: `git log:*` is not `git logs`.
    """

    commands: tuple[tuple[str, ...], ...]
    """More than one only where the pattern is a whole compound command, word by word."""
    operators: tuple[str, ...]
    any_tail: bool

    @classmethod
    def parse(cls, text: str, behaviour: Behaviour) -> "CommandPattern":
        """Read a pattern. Raises ValueError, with what is wrong, where it can match no command."""
        body, any_tail = _without_tail(text.strip())
        try:
            commands, operators = shell_words.split(body, wildcard=_WILDCARD)
        except shell_words.NotUnderstood as error:
            raise ValueError(f"it holds {error}, which no pattern can match") from error
        if len(commands) > 1 and (behaviour != "allow" or any_tail or _WILDCARD in body):
            raise ValueError(
                "it names several commands; write a rule for each, they are tried one by one"
            )
        if _OPEN_END.search(body):
            raise ValueError("it ends in the middle of a command")
        words = tuple(tuple(word.text for word in command) for command in commands)
        return cls(words, operators, any_tail)

    @property
    def is_exact(self) -> bool:
        """Whether it is a command word by word."""
        return not self.any_tail and not any(
            _WILDCARD in word for words in self.commands for word in words
        )

    def allows_whole(self, parts: tuple[Part, ...], operators: tuple[str, ...]) -> bool:
        """Return whether the pattern is this very command, all of it."""
        return (
            self.is_exact
            and operators == self.operators
            and tuple(part.words for part in parts) == self.commands
            and not any(self._mistakes_globs(part) for part in parts)
        )

    def allows_part(self, part: Part) -> bool:
        """Return whether one simple command matches."""
        if self.operators or self._mistakes_globs(part):
            return False
        if part.runs_others and not self.is_exact:
            return False
        return self._fits(self.commands[0], "\0".join(part.words), 0)

    def find(self, sequence: Sequence) -> Literal["runs", "mentions"] | None:
        """Return whether words the pattern matches are in `sequence`, and surely run.

        Takes time in proportion to the words, whatever they are.
        """
        first = self.commands[0][0]
        words = sequence.words
        text = "\0".join(words)
        # Where each word begins in the text; the last entry is one past the end.
        offsets = [0, *accumulate(len(word) + 1 for word in words)]
        mentioned = False
        # A pattern that begins with `*` fits from the first word if it fits from any.
        starts = words[:1] if first.startswith(_WILDCARD) else words
        for start, word in enumerate(starts):
            if _WILDCARD not in first and first not in (word, program_name(word)):
                continue
            begins = [start + 1] if _WILDCARD in first else _begins_of_rest(words, start)
            if self._runs_from(text, offsets, start, begins):
                if not (sequence.head_is_data or (start > 0 and sequence.tail_is_data)):
                    return "runs"
                mentioned = True
            mentioned = (
                mentioned
                or len(begins) > MOST_OPTIONS
                or any(self._may_match(sequence, at) for at in begins)
            )
        return "mentions" if mentioned else None

    def _runs_from(self, text: str, offsets: list[int], start: int, begins: list[int]) -> bool:
        """Whether the word at `start`, in whatever folder, and words after it match."""
        first, *rest = self.commands[0]
        if _WILDCARD in first:
            word = text[offsets[start] : offsets[start + 1] - 1]
            name_at = offsets[start] + len(word) - len(program_name(word))
            return any(self._fits(self.commands[0], text, at) for at in (offsets[start], name_at))
        if not rest:
            return self.any_tail or any(offsets[at] > len(text) for at in begins)
        return any(self._fits(tuple(rest), text, offsets[at]) for at in begins)

    def _may_match(self, sequence: Sequence, start: int) -> bool:
        """Whether the words from `start` on may become the pattern's, after its first."""
        wanted = self.commands[0][1:]
        last_dynamic = max(sequence.dynamic, default=-1)
        for at, text in enumerate(wanted, start):
            if at in sequence.dynamic:
                return True
            if _WILDCARD in text:
                return last_dynamic >= at
            if at >= len(sequence.words):
                return False
            word = sequence.words[at]
            if word != text and not (_GLOB.search(word) and fnmatchcase(text, word)):
                return False
        # A word that is not known yet may become none at all.
        rest = range(start + len(wanted), len(sequence.words))
        return self.any_tail or all(at in sequence.dynamic for at in rest)

    def _mistakes_globs(self, part: Part) -> bool:
        """Whether a quoted `*` of the pattern would be taken for a pattern of the shell's."""
        return part.has_globs and any(
            mark in word for words in self.commands for word in words for mark in "*?[~"
        )

    def _fits(self, wanted: tuple[str, ...], text: str, at: int) -> bool:
        """Whether all of `text` from `at` on, words set apart by NUL, is what is wanted."""
        first, *rest = "\0".join(wanted).split(_WILDCARD)
        if at > len(text) or not text.startswith(first, at):
            return False
        position = at + len(first)
        if not rest:
            return position == len(text) or (self.any_tail and text[position] == "\0")
        for piece in rest[:-1]:
            found = text.find(piece, position)
            if found < 0:
                return False
            position = found + len(piece)
        last = rest[-1]
        if text.endswith(last) and len(text) - len(last) >= position:
            return True
        return self.any_tail and text.find(last + "\0", position) >= 0


def _without_tail(text: str) -> tuple[str, bool]:
    for tail in (":*", " *"):
        if text.endswith(tail) and not text.endswith("\\" + tail):
            return text.removesuffix(tail), True
    return text, False


def _begins_of_rest(words: tuple[str, ...], start: int) -> list[int]:
    """Return where what follows the word at `start` may begin: past options and their values.

    More than MOST_OPTIONS of them means that there may be others.
    """
    begins, pending = {start + 1}, [start + 1]
    while pending and len(begins) <= MOST_OPTIONS:
        at = pending.pop()
        if at < len(words) and words[at].startswith("-"):
            later = {at + 1, min(at + 2, len(words))} - begins
            begins |= later
            pending += later
    return sorted(begins)


_GLOB = re.compile(r"[*?\[]")
_OPEN_END = re.compile(r"(?<!\\)[;\n]\s*$")
_WILDCARD = "\x01"
