"""From a tool call to a verdict, and from a verdict to the question a person is asked."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentls.agent.surroundings import Surroundings
from agentls.permissions.policy import CallFacts, Verdict, decide, unreadable
from agentls.protocol.session_state import Rule, SessionState
from agentls.protocol.tool_calls import Approval, ApprovalOption, Decision, ToolCall
from agentls.state.event_store import timestamp
from agentls.tools.paths import absolute
from agentls.tools.plan import EnterPlanMode
from agentls.tools.tool import Tool, ToolContext


def judge(
    tool: Tool[Any], arguments: Any, state: SessionState, surroundings: Surroundings
) -> Verdict:
    """Return what the mode, the settings' rules and the session's rules say of a call.

    Plan mode is not entered where nobody could agree to a plan: there would be no way out of it.
    """
    facts = CallFacts(
        tool_name=tool.name,
        read_only=tool.read_only,
        command=tool.command(arguments),
        read_paths=_absolute(tool.read_paths(arguments), surroundings.cwd),
        written_paths=_absolute(tool.written_paths(arguments), surroundings.cwd),
        cwd=surroundings.cwd,
        roots=surroundings.roots,
        filters_reads=tool.filters_reads,
        protected=surroundings.protected,
    )
    mode = state.permissions.mode
    verdict = decide(facts, mode, _rules(state, surroundings))
    enters = tool.name == EnterPlanMode.name and mode != "plan" and verdict.behaviour == "allow"
    if enters and not surroundings.host.can_ask():
        return Verdict("deny", "host", _NOBODY_AGREES)
    return verdict


def must_not_see(state: SessionState, surroundings: Surroundings) -> Callable[[Path], bool]:
    """Return which files a search leaves out, as the rules have it."""
    return unreadable(_rules(state, surroundings), surroundings.cwd, surroundings.roots)


async def question(
    call: ToolCall,
    tool: Tool[Any],
    arguments: Any,
    verdict: Verdict,
    context: ToolContext,
    surroundings: Surroundings,
) -> Approval:
    """Return what a person is asked about a call."""
    return Approval(
        call_id=call.id,
        tool_name=tool.name,
        title=tool.wish(arguments),
        detail=await tool.preview(arguments, context),
        reason=verdict.reason,
        options=tool.approval_options(arguments) or _options(verdict),
        requested_at=timestamp(surroundings.clock()),
    )


def decided(verdict: Verdict) -> Decision:
    """Return the decision of a verdict that lets nobody be asked."""
    assert verdict.behaviour != "ask"
    return Decision(
        behaviour=verdict.behaviour,
        decided_by=verdict.decided_by,
        reason=verdict.reason,
        rule=verdict.rule,
    )


def nobody_to_ask(reason: str) -> Decision:
    """Return the decision where a person would have to be asked, and nobody is there."""
    return Decision(
        behaviour="deny",
        decided_by="host",
        reason=f"{reason} It needs an approval, and nobody is there to give one.".strip(),
    )


_NOBODY_AGREES = (
    "Nobody is there who could agree to a plan. Go on without plan mode, and say what you did and"
    " why."
)


def _options(verdict: Verdict) -> tuple[ApprovalOption, ...]:
    allow = ApprovalOption(id="allow", kind="allowOnce", label="Allow")
    deny = ApprovalOption(id="deny", kind="deny", label="Deny")
    if not verdict.session_rule:
        return (allow, deny)
    for_session = ApprovalOption(
        id="allowSession",
        kind="allowSession",
        label="Allow for this session",
        rule=verdict.session_rule,
    )
    return (allow, for_session, deny)


def _rules(state: SessionState, surroundings: Surroundings) -> tuple[Rule, ...]:
    return (*surroundings.settings().rules, *state.permissions.rules)


def _absolute(paths: tuple[str, ...], cwd: Path) -> tuple[Path, ...]:
    return tuple(absolute(path, cwd) for path in paths)
