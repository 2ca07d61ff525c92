"""Reads permission rules: `Bash(git diff:*)`, `Edit(src/**)`, `WebFetch(domain:x.org)`, `mcp__*`.

A rule that cannot be read is a value, `BadRule`. It never allows; where it was to deny or ask,
every call of its tool asks.
"""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal

from agentls.permissions import shell_words
from agentls.permissions.paths import PathPattern
from agentls.permissions.shell import Part, Sequence, program_name

Behaviour = Literal["allow", "ask", "deny"]

READERS = frozenset({"Read", "Glob", "Grep", "LS"})
"""What `Read(...)` rules speak of; as deny and ask rules they hold for every tool and command."""
EDITORS = frozenset({"Edit", "Write", "NotebookEdit"})
"""What `Edit(...)` rules speak of; as deny and ask rules they hold for every tool that writes."""


@dataclass(frozen=True, slots=True)
class BadRule:
    """A rule that cannot be read."""

    text: str
    tool: str | None
    """Whose calls ask because of it."""
    message: str


@dataclass(frozen=True, slots=True)
class ParsedRule:
    """A rule that can be tried on calls. With no pattern of any kind it speaks of every call."""

    tool: str
    """A tool's name; `*` stands for anything."""
    command: "CommandPattern | None" = None
    path: PathPattern | None = None
    domain: str | None = None

    @property
    def is_bare(self) -> bool:
        """Whether it speaks of every call of its tool."""
        return self.command is None and self.path is None and self.domain is None

    def names(self, tool: str) -> bool:
        """Return whether the rule's tool is this one, by its own name."""
        return fnmatchcase(tool, self.tool)


def family_of(rule_tool: str, *, forbidding: bool) -> frozenset[str]:
    """Return the tools that rules for `rule_tool` speak of, besides the tool itself."""
    if rule_tool == "Read":
        return READERS | EDITORS if forbidding else READERS
    return EDITORS if rule_tool == "Edit" else frozenset()


def check_rule(behaviour: Behaviour, text: str) -> str | None:
    """Return what is wrong with a rule, or None."""
    rule = parse_rule(behaviour, text)
    return rule.message if isinstance(rule, BadRule) else None


@lru_cache(maxsize=2048)
def parse_rule(behaviour: Behaviour, text: str) -> ParsedRule | BadRule:
    """Read a rule. What is well formed depends on what the rule is to do: allowing takes more."""
    match = _RULE.fullmatch(text.strip())
    if match is None:
        return BadRule(text, _leading_name(text), "a rule looks like Tool or Tool(pattern)")
    tool, pattern = match["tool"], match["pattern"]
    tool = f"{tool}__*" if _MCP_SERVER.fullmatch(tool) else tool
    if "*" in tool and behaviour == "allow" and not _MCP_TOOLS.fullmatch(tool):
        return BadRule(text, None, "an allow rule must name its tool, or its MCP server, in full")
    if pattern is None or pattern in ("*", "**"):
        return ParsedRule(tool)
    try:
        return _with_pattern(behaviour, tool, pattern)
    except ValueError as error:
        return BadRule(text, tool, str(error))


def _with_pattern(behaviour: Behaviour, tool: str, pattern: str) -> ParsedRule:
    if tool == "Bash":
        return ParsedRule(tool, command=CommandPattern.parse(pattern, behaviour))
    if tool in READERS | EDITORS:
        # To forbid one way of writing a file is to forbid them all.
        wider = "Edit" if tool in EDITORS and behaviour != "allow" else tool
        return ParsedRule(wider, path=PathPattern.parse(pattern))
    if tool == "WebFetch":
        domain = pattern.removeprefix("domain:").strip().lower().rstrip(".")
        if not pattern.startswith("domain:") or not _DOMAIN.fullmatch(domain):
            raise ValueError("a pattern for WebFetch looks like domain:example.org")
        return ParsedRule(tool, domain=domain)
    raise ValueError(f"rules for {tool} take no pattern; write {tool} alone")


def _leading_name(text: str) -> str | None:
    match = _NAME.match(text.strip())
    return match[0] if match else None


def domain_matches(pattern: str, host: str) -> bool:
    """Return whether `host` is the domain, or with `*.` before it, one below the domain."""
    host = host.lower().rstrip(".")
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    return host == pattern


_NAME = re.compile(r"[A-Za-z_][\w-]*")
_RULE = re.compile(r"(?P<tool>[A-Za-z_*][\w*-]*)(?:\((?P<pattern>.*)\))?", re.DOTALL)
_MCP_SERVER = re.compile(r"mcp__(?:(?!__)[^*])+")
_MCP_TOOLS = re.compile(r"mcp__(?:(?!__)[^*])+__.*")
_DOMAIN = re.compile(r"(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*")


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
        """Whether it is one command, word by word."""
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
        if len(self.commands) > 1 or self._mistakes_globs(part):
            return False
        if part.runs_others and not self.is_exact:
            return False
        return self._matches(part.words)

    def find(self, sequence: Sequence) -> Literal["runs", "mentions"] | None:
        """Return whether words the pattern matches are in `sequence`, and surely run."""
        first = self.commands[0][0]
        words = sequence.words
        mentioned = False
        for start, word in enumerate(words):
            heads = {word, program_name(word)}
            if _WILDCARD not in first and first not in heads:
                continue
            tails = _tails(words, start)
            if any(self._matches((head, *words[at:])) for head in heads for at in tails):
                if not (sequence.head_is_data or (start > 0 and sequence.tail_is_data)):
                    return "runs"
                mentioned = True
            mentioned = mentioned or any(self._may_match(sequence, at) for at in tails)
        return "mentions" if mentioned else None

    def _may_match(self, sequence: Sequence, start: int) -> bool:
        """Whether the words from `start` on may become the pattern's, after its first."""
        wanted = self.commands[0][1:]
        end = len(sequence.words)
        for at, text in enumerate(wanted, start):
            if at in sequence.dynamic:
                return True
            if _WILDCARD in text:
                return any(later in sequence.dynamic for later in range(at, end))
            if at >= end:
                return False
            word = sequence.words[at]
            if word != text and not (_GLOB.search(word) and fnmatchcase(text, word)):
                return False
        # A word that is not known yet may become none at all.
        rest = range(start + len(wanted), end)
        return self.any_tail or all(later in sequence.dynamic for later in rest)

    def _mistakes_globs(self, part: Part) -> bool:
        """Whether a quoted `*` of the pattern would be taken for a pattern of the shell's."""
        return part.has_globs and any(
            mark in word for words in self.commands for word in words for mark in "*?[~"
        )

    def _matches(self, words: tuple[str, ...]) -> bool:
        text = "\0".join(words)
        first, *rest = "\0".join(self.commands[0]).split(_WILDCARD)
        if not text.startswith(first):
            return False
        if not rest:
            return text == first or (self.any_tail and text.startswith(first + "\0"))
        position = len(first)
        for piece in rest[:-1]:
            found = text.find(piece, position)
            if found < 0:
                return False
            position = found + len(piece)
        last = rest[-1]
        if self.any_tail:
            return (text + "\0").find(last + "\0", position) >= 0
        return text.endswith(last) and len(text) - len(last) >= position


def _without_tail(text: str) -> tuple[str, bool]:
    for tail in (":*", " *"):
        if text.endswith(tail) and not text.endswith("\\" + tail):
            return text.removesuffix(tail), True
    return text, False


def _tails(words: tuple[str, ...], start: int) -> list[int]:
    """Return where what follows the word at `start` may begin: past options and their values."""
    begins, pending = {start + 1}, [start + 1]
    while pending:
        at = pending.pop()
        if at < len(words) and words[at].startswith("-"):
            later = {at + 1, min(at + 2, len(words))} - begins
            begins |= later
            pending += later
    return sorted(begins)


_GLOB = re.compile(r"[*?\[]")
_OPEN_END = re.compile(r"(?<!\\)[;\n]\s*$")
_WILDCARD = "\x01"
