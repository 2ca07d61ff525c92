"""The tools into plan mode and out of it: a plan is agreed to before anything is changed."""

from typing import Annotated, ClassVar

from pydantic import StringConstraints

from agentls.protocol.history import Answer
from agentls.protocol.session_state import SessionState
from agentls.protocol.tool_calls import ApprovalOption, Mode, ToolCall
from agentls.tools.tool import Tool, ToolContext, ToolInput, ToolResult


class EnterPlanModeInput(ToolInput):
    """EnterPlanMode takes nothing."""


class EnterPlanMode(Tool[EnterPlanModeInput]):
    """Takes the session into plan mode."""

    name: ClassVar[str] = "EnterPlanMode"
    description: ClassVar[str] = (
        "Enters plan mode, in which nothing can be changed or run: you look around, and then put a "
        "plan before the user with ExitPlanMode. Use it for work that can be done in several ways "
        "or touches much, where the user should agree to the way first; not for small, clear "
        "changes, and not where only a question is to be answered."
    )
    input_type = EnterPlanModeInput

    async def execute(self, arguments: EnterPlanModeInput, context: ToolContext) -> ToolResult:
        """Return plan mode as the session's new one."""
        if context.state.permissions.mode == "plan":
            return ToolResult.error(
                "The session is in plan mode already. Go on reading, then put the plan before the "
                "user with ExitPlanMode.",
                "Already in plan mode",
            )
        return ToolResult.ok(
            "The session is in plan mode now: nothing can be changed or run. Read what the plan "
            "depends on, ask with AskUserQuestion what only the user can say, then put the plan "
            "before the user with ExitPlanMode.",
            "Entered plan mode",
            mode="plan",
        )

    def wish(self, arguments: EnterPlanModeInput) -> str:
        """Say that it plans first."""
        return "Enter plan mode"

    def invocation(self, arguments: EnterPlanModeInput) -> str:
        """Say that plan mode begins."""
        return "Entering plan mode"


class ExitPlanModeInput(ToolInput):
    """What ExitPlanMode takes."""

    plan: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    """The whole plan in Markdown: what is to be changed, where, in which order, how to check it."""


class ExitPlanMode(Tool[ExitPlanModeInput]):
    """Puts a plan before the user, whose approval ends plan mode."""

    name: ClassVar[str] = "ExitPlanMode"
    description: ClassVar[str] = (
        "Puts your plan before the user, who agrees to it and ends plan mode, or says what to "
        "change in it. Use it in plan mode, when the plan is whole and no question about it is "
        "open; clear those with AskUserQuestion before. Do not ask in another way whether the plan "
        "is good."
    )
    input_type = ExitPlanModeInput
    after_denial: ClassVar[str] = (
        "Stay in plan mode. Where it is said what to change, put the changed plan forward again "
        "with ExitPlanMode; otherwise end with the plan as your answer."
    )

    async def execute(self, arguments: ExitPlanModeInput, context: ToolContext) -> ToolResult:
        """Tell the model that its plan is agreed to; the approval has changed the mode already."""
        mode = context.state.permissions.mode
        call = context.state.calls.get(context.call_id)
        if call is not None and _is_approved(call):
            text = f"The user approved the plan. {_WHAT_HOLDS[mode]}"
            if _is_edited(call, context.state):
                text += f"\n\nThe user has changed it; it reads now:\n\n{arguments.plan}"
            return ToolResult.ok(text, f"Plan approved; the mode is {mode}")
        if mode == "plan":
            return ToolResult.error(
                "The plan was not put before the user, so plan mode stays. Call ExitPlanMode "
                "again.",
                "The plan is not approved",
            )
        return ToolResult.error(
            f"The session is not in plan mode (the mode is {mode}), so there is no plan to agree "
            "to. Go on with the work; where the user should agree to a plan first, call "
            "EnterPlanMode.",
            "Not in plan mode",
        )

    def wish(self, arguments: ExitPlanModeInput) -> str:
        """Say what agreeing means."""
        return "Leave plan mode and carry out the plan"

    def invocation(self, arguments: ExitPlanModeInput) -> str:
        """Say that the plan is being taken up."""
        return "Leaving plan mode"

    def approval_options(self, arguments: ExitPlanModeInput) -> tuple[ApprovalOption, ...]:
        """Return the ways to go on after a plan."""
        return _PLAN_OPTIONS

    async def preview(self, arguments: ExitPlanModeInput, context: ToolContext) -> str:
        """Return the plan."""
        return arguments.plan


_PLAN_OPTIONS = (
    ApprovalOption(
        id="acceptEdits",
        kind="allowOnce",
        label="Accept edits",
        mode="acceptEdits",
    ),
    ApprovalOption(
        id="askForEdits",
        kind="allowOnce",
        label="Ask for each edit",
        mode="default",
    ),
    ApprovalOption(id="deny", kind="deny", label="Keep planning"),
)
_WHAT_HOLDS: dict[Mode, str] = {
    "default": "The mode is default: carry it out; the user is asked before each change.",
    "acceptEdits": (
        "The mode is acceptEdits: carry it out; edits in the workspace need no further approval, "
        "commands may."
    ),
    "plan": "But the mode is plan again: change nothing until the user leaves it.",
    "dontAsk": "The mode is dontAsk: carry it out, with what the rules allow.",
    "bypassPermissions": "The mode is bypassPermissions: carry it out.",
}


def _is_approved(call: ToolCall) -> bool:
    decision = call.decision
    return call.approval is not None and decision is not None and decision.behaviour == "allow"


def _is_edited(call: ToolCall, state: SessionState) -> bool:
    """Whether the user approved something else than what the model wrote and remembers."""
    for entry in reversed(state.history):
        if isinstance(entry, Answer) and entry.id == call.message_id:
            return any(
                part.type == "toolCall" and part.id == call.id and part.input != call.input
                for part in entry.parts
            )
    return False
