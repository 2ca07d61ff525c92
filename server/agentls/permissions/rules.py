"""Reads permission rules: `Bash(git diff:*)`, `Edit(src/**)`, `WebFetch(domain:x.org)`, `mcp__*`.

A rule that cannot be read is a value, `BadRule`. It never allows; where it was to deny or ask,
every call of its tool asks.
"""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from agentls.permissions.command_pattern import Behaviour, CommandPattern
from agentls.permissions.paths import PathPattern

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
    command: CommandPattern | None = None
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
