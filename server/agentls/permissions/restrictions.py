"""Finds what forbids a call or makes it ask: deny rules, ask rules, protected places."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from agentls.permissions import programs
from agentls.permissions.calls import Call
from agentls.permissions.paths import PathPattern
from agentls.permissions.rules import (
    BadRule,
    ParsedRule,
    domain_matches,
    family_of,
    parse_rule,
)
from agentls.permissions.shell import program_name
from agentls.protocol.session_state import Rule
from agentls.protocol.tool_calls import Mode

_NAMES_ONLY = frozenset({"Glob", "LS"})
"""Readers that show the names of files, never what is in them."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A deny or ask rule that speaks of a call. A denial that is not certain asks."""

    behaviour: Literal["deny", "ask"]
    rule: Rule
    reason: str


def hits(call: Call, rules: Sequence[Rule]) -> Iterator[Hit]:
    """Yield the deny and ask rules that speak of `call`, in the order of `rules`."""
    for rule in rules:
        if rule.behaviour == "allow":
            continue
        found = _speaks_of(parse_rule(rule.behaviour, rule.rule), call)
        if found is None:
            continue
        certain, why = found
        if rule.behaviour == "deny" and certain:
            yield Hit("deny", rule, f"Denied by {named(rule)}{why}.")
        else:
            yield Hit("ask", rule, f"It asks because of {named(rule)}{why}.")


def named(rule: Rule) -> str:
    """Return how a reason speaks of a rule."""
    return f"rule {rule.rule} of {rule.source}"


def read_patterns(rules: Iterable[Rule]) -> Iterator[PathPattern]:
    """Yield the patterns of files that are not to be read without asking."""
    for rule in rules:
        parsed = None if rule.behaviour == "allow" else parse_rule(rule.behaviour, rule.rule)
        if isinstance(parsed, ParsedRule) and parsed.path and parsed.tool == "Read":
            yield parsed.path


def always_asks(call: Call, mode: Mode, rules: Sequence[Rule]) -> str | None:
    """Return why no mode and no allow rule opens this call, or None."""
    for path in (*call.writes, *call.redirected):
        if call.is_protected(path):
            return _PROTECTED.format(path.given)
    if call.shell is None:
        return None
    names = {program_name(sequence.words[0]) for sequence in call.shell.sequences}
    if not names <= programs.READ_FILES:
        touched = next((path for path in call.words if call.is_protected(path)), None)
        if touched is not None:
            return _PROTECTED.format(touched.given)
    if mode == "bypassPermissions" and call.shell.opaque:
        rule = next(_command_rules(rules), None)
        if rule is not None:
            return f"Not all it runs is written in the command, so {named(rule)} may speak of it."
    return None


_PROTECTED = "{} may change what runs or is allowed later, so writing it always asks."


def _command_rules(rules: Iterable[Rule]) -> Iterator[Rule]:
    for rule in rules:
        parsed = None if rule.behaviour == "allow" else parse_rule(rule.behaviour, rule.rule)
        if isinstance(parsed, ParsedRule) and parsed.command is not None:
            yield rule


def _speaks_of(parsed: ParsedRule | BadRule, call: Call) -> tuple[bool, str] | None:
    """Return whether the rule certainly speaks of the call, and what to add; None: it does not."""
    if isinstance(parsed, BadRule):
        about = parsed.tool is not None and _is_about(parsed.tool, call)
        return (False, f", which cannot be read: {parsed.message}") if about else None
    if parsed.command is not None:
        return _command_found(parsed, call)
    if parsed.path is not None:
        return _path_found(parsed, parsed.path, call)
    if parsed.domain is not None:
        return _domain_found(parsed, parsed.domain, call)
    return (True, "") if _is_about(parsed.tool, call) else None


def _is_about(rule_tool: str, call: Call) -> bool:
    """Return whether a rule for all calls of `rule_tool` holds for this one."""
    tool = call.facts.tool_name
    if fnmatchcase(tool, rule_tool) or tool in family_of(rule_tool, forbidding=True):
        return True
    return rule_tool == "Bash" and call.shell is not None


def _command_found(parsed: ParsedRule, call: Call) -> tuple[bool, str] | None:
    if call.shell is None or parsed.command is None:
        return None
    found = {parsed.command.find(sequence) for sequence in call.shell.sequences}
    if "runs" in found:
        return True, ""
    return (False, ", whose words are in the command") if "mentions" in found else None


def _domain_found(parsed: ParsedRule, domain: str, call: Call) -> tuple[bool, str] | None:
    if not parsed.names(call.facts.tool_name):
        return None
    if not call.host:
        return False, ", as where the call leads is not known"
    return (True, "") if domain_matches(domain, call.host) else None


def _path_found(parsed: ParsedRule, pattern: PathPattern, call: Call) -> tuple[bool, str] | None:
    own = call.reads if parsed.names(call.facts.tool_name) else ()
    paths = {
        "Read": (*call.reads, *call.writes, *call.words),
        "Edit": (*call.writes, *call.redirected),
    }.get(parsed.tool, own)
    for path in paths:
        if pattern.forbids(path, call.scope):
            return True, f": {path.given}"
    if parsed.tool == "Edit":
        for path in call.words:
            if pattern.forbids(path, call.scope):
                return False, f": {path.given} is in the command"
    if parsed.tool == "Read" and not call.facts.filters_reads:
        return _reached(pattern, call)
    return None


def _reached(pattern: PathPattern, call: Call) -> tuple[bool, str] | None:
    """Return whether reading a folder may come to a file that the rule names."""
    if call.facts.tool_name in _NAMES_ONLY:
        return None
    for folder in call.reads:
        if folder.is_folder and pattern.reaches_into(folder, call.scope):
            return False, f", which may speak of files in {folder.given}"
    return None
