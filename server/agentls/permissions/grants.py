"""Finds the allow rules that open a call, and the rule that would open it again."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from agentls.permissions import shell
from agentls.permissions.calls import MOST_WORDS, Call
from agentls.permissions.paths import Located, Scope, escape_pattern
from agentls.permissions.restrictions import read_patterns
from agentls.permissions.rules import (
    EDITORS,
    READERS,
    ParsedRule,
    domain_matches,
    family_of,
    parse_rule,
)
from agentls.protocol.session_state import Rule

_Grant = tuple[Rule, ParsedRule]


def allowing_rules(call: Call, rules: Sequence[Rule]) -> tuple[Rule, ...] | None:
    """Return the allow rules that together cover all of `call`, or None."""
    grants = tuple(_grants(call, rules))
    if call.shell is not None:
        return _all_parts_allowed(call, call.shell, grants, rules)
    for rule, parsed in grants:
        if parsed.is_bare:
            return (rule,)
        if parsed.domain is not None and domain_matches(parsed.domain, call.host):
            return (rule,)
    return _all_paths_allowed(call, grants)


def session_rule(call: Call, rules: Sequence[Rule]) -> str | None:
    """Return the narrowest rule that opens `call` when added to `rules`; None where none does."""
    text = _narrowest_rule(call)
    if text is None:
        return None
    added = Rule(behaviour="allow", rule=text, source="this session")
    return text if allowing_rules(call, (*rules, added)) else None


def _grants(call: Call, rules: Sequence[Rule]) -> Iterator[_Grant]:
    """Yield the allow rules that can be read and speak of the call's tool."""
    tool = call.facts.tool_name
    for rule in rules:
        parsed = parse_rule("allow", rule.rule) if rule.behaviour == "allow" else None
        if not isinstance(parsed, ParsedRule):
            continue
        if parsed.names(tool) or tool in family_of(parsed.tool, forbidding=False):
            yield rule, parsed


def _all_parts_allowed(
    call: Call, command: shell.ShellCommand, grants: Sequence[_Grant], rules: Sequence[Rule]
) -> tuple[Rule, ...] | None:
    if command.obstacle is not None or call.writes or len(call.words) >= MOST_WORDS:
        return None
    if _reads_unknown_files(command) and any(read_patterns(rules)):
        return None
    for rule, parsed in grants:
        pattern = parsed.command
        if pattern is None or pattern.allows_whole(command.parts, command.operators):
            return (rule,)
    found: dict[str, Rule] = {}
    for part in command.parts:
        rule = next((r for r, p in grants if p.command and p.command.allows_part(part)), None)
        if rule is None:
            return None
        found[rule.rule] = rule
    return tuple(found.values())


def _reads_unknown_files(command: shell.ShellCommand) -> bool:
    """Whether its words do not tell which files it reads, so a rule on reading cannot be tried."""
    return any(part.has_globs or part.words[0] in ("cd", "pushd", "popd") for part in command.parts)


def _all_paths_allowed(call: Call, grants: Sequence[_Grant]) -> tuple[Rule, ...] | None:
    tool = call.facts.tool_name
    if tool in EDITORS:
        paths = (*call.writes, *(path for path in call.outside if path not in call.writes))
    elif tool in READERS and not call.writes:
        paths = call.outside
    else:
        return None
    found: dict[str, Rule] = {}
    for path in paths:
        rule = next((r for r, p in grants if p.path and p.path.allows(path, call.scope)), None)
        if rule is None:
            return None
        found[rule.rule] = rule
    return tuple(found.values()) or None


def _narrowest_rule(call: Call) -> str | None:
    tool = call.facts.tool_name
    if call.shell is not None:
        return _exact_command(tool, call.shell)
    if call.facts.url is not None:
        return f"{tool}(domain:{call.host})" if call.host else None
    if tool.startswith("mcp__"):
        return tool
    paths = call.writes if tool in EDITORS else call.outside
    if len(paths) != 1 or paths[0].given == Path("/"):
        return None
    return _path_rule("Edit" if tool in EDITORS else "Read", paths[0], call.scope)


def _exact_command(tool: str, command: shell.ShellCommand) -> str | None:
    words = [word for part in command.parts for word in part.words]
    # Quoted or not, these would make one rule of two different commands.
    if not words or any(mark in word for word in words for mark in "*?[~\n"):
        return None
    return f"{tool}({shell.written_out(command)})"


def _path_rule(tool: str, path: Located, scope: Scope) -> str | None:
    below_root = scope.below_first_root(path.given)
    pattern = escape_pattern(below_root or path.given.as_posix().removeprefix("/"))
    if pattern is None:
        return None
    return f"{tool}(/{pattern})" if below_root else f"{tool}(//{pattern})"
