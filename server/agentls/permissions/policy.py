"""Says of a tool call whether it is allowed, denied or must be asked about.

A pure function of mode, rules and call, but for where paths lead, which paths.py looks up.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agentls.permissions.calls import Call, CallFacts
from agentls.permissions.grants import allowing_rules, session_rule
from agentls.permissions.paths import Scope, locate
from agentls.permissions.restrictions import always_asks, hits, named, read_patterns
from agentls.permissions.rules import EDITORS
from agentls.protocol.session_state import Rule
from agentls.protocol.tool_calls import Mode

__all__ = ["CallFacts", "Verdict", "decide", "unreadable"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to become of a call."""

    behaviour: Literal["allow", "deny", "ask"]
    decided_by: Literal["rule", "mode", "host"]
    """`host`: nobody is there to be asked, now or later."""
    reason: str
    """For the model where it is a denial, for a person where it asks."""
    rule: str | None = None
    session_rule: str | None = None
    """What an "allow for this session" would add; None where nothing safe would do."""


def decide(facts: CallFacts, mode: Mode, rules: Sequence[Rule]) -> Verdict:
    """Decide: deny rules, then ask rules, then the mode, then allow rules; else ask.

    Where a rule comes from, its place in the list and how narrow it is make no difference.
    """
    call = Call.of(facts)
    found = [*hits(call, rules)]
    for hit in found:
        if hit.behaviour == "deny":
            return Verdict("deny", "rule", hit.reason, hit.rule.rule)
    if (verdict := _of_the_talk(facts.tool_name, mode)) is not None:
        return verdict
    own = _OF_THE_SESSION.get(facts.tool_name)
    if mode == "plan" and not call.only_reads and own is None:
        return Verdict("deny", "mode", _PLAN_MODE)
    if found:
        return _asked(mode, Verdict("ask", "rule", found[0].reason, found[0].rule.rule))
    if own is not None:
        return Verdict("allow", "mode", own)
    if (reason := always_asks(call, mode, rules)) is not None:
        return _asked(mode, Verdict("ask", "mode", reason))
    if (reason := _mode_allows(call, mode)) is not None:
        return Verdict("allow", "mode", reason)
    if (allowing := allowing_rules(call, rules)) is not None:
        reason = f"Allowed by {' and '.join(named(rule) for rule in allowing)}."
        return Verdict("allow", "rule", reason, ", ".join(rule.rule for rule in allowing))
    verdict = Verdict("ask", "mode", _why_it_asks(call), session_rule=session_rule(call, rules))
    return _asked(mode, verdict)


def unreadable(rules: Sequence[Rule], cwd: Path, roots: tuple[Path, ...]) -> Callable[[Path], bool]:
    """Return a test for the files that a search must leave out: a rule denies or asks for them."""
    scope = Scope.of(cwd, roots)
    patterns = [*read_patterns(rules)]

    def is_unreadable(path: Path) -> bool:
        located = locate(path, cwd)
        return any(pattern.forbids(located, scope) for pattern in patterns)

    return is_unreadable


_PLAN_MODE = (
    "Plan mode: only reading and planning are possible, nothing may be changed or run. Stay in"
    " plan mode: go on reading, then put what you would do before the user with ExitPlanMode."
)
_OF_THE_SESSION = {
    "Task": "An agent may do no more than its session, and what it does is judged call by call.",
    "TaskStop": "What it ends was begun by the session.",
}
"""Why calls are let through that reach nothing but the session."""
_NO_TALK = (
    "The mode is dontAsk: the user is not to be asked anything. Go on with what you know, and say"
    " what you assumed."
)


def _of_the_talk(tool_name: str, mode: Mode) -> Verdict | None:
    """Return the verdict on a call that only touches how agent and user work together, or None.

    Only a person leaves plan mode, so no rule and no mode allows it. The other calls do no harm: an
    ask rule would only ask whether to ask.
    """
    match tool_name:
        case "AskUserQuestion" | "EnterPlanMode" if mode == "dontAsk":
            return Verdict("deny", "mode", _NO_TALK)
        case "ExitPlanMode" if mode == "plan":
            return Verdict("ask", "mode", "The user decides on a plan before anything is changed.")
        case "ExitPlanMode":
            return Verdict("allow", "mode", "There is no plan mode to leave.")
        case "EnterPlanMode":
            return Verdict("allow", "mode", "In plan mode nothing is changed.")
        case "AskUserQuestion":
            return Verdict("allow", "mode", "A question changes nothing.")
        case "TodoWrite":
            return Verdict("allow", "mode", "The plan is the agent's own.")
        case _:
            return None


def _asked(mode: Mode, verdict: Verdict) -> Verdict:
    """Return `verdict`, or the denial it becomes where the mode is never to ask."""
    if mode != "dontAsk":
        return verdict
    reason = f"{verdict.reason} The mode is dontAsk, so it is denied."
    return Verdict("deny", verdict.decided_by, reason, verdict.rule)


def _mode_allows(call: Call, mode: Mode) -> str | None:
    if mode == "bypassPermissions":
        return "The mode is bypassPermissions."
    if call.outside:
        return None
    if call.only_reads and not call.reaches_out:
        return "It only reads, and only in the workspace."
    if mode == "acceptEdits" and call.facts.tool_name in EDITORS and call.writes:
        return "The mode is acceptEdits, and the file is in the workspace."
    return None


def _why_it_asks(call: Call) -> str:
    if call.shell is not None and call.shell.obstacle is not None:
        return f"The command holds {call.shell.obstacle}, so no allow rule is tried on it."
    if call.shell is not None:
        return "No rule allows all of this command."
    if call.outside:
        path = call.outside[0]
        leads = "" if path.given == path.target else f", which leads to {path.target},"
        return f"{path.given}{leads} is outside of the workspace."
    return f"No rule allows {call.facts.tool_name} here."
