from dataclasses import replace

import pytest

from agentls.protocol.content import ToolCallPart, Usage
from agentls.protocol.history import Answer
from agentls.protocol.session_state import Permissions, SessionState
from agentls.protocol.tool_calls import Approval, Decision, Mode, ToolCall
from agentls.tools.plan import (
    EnterPlanMode,
    EnterPlanModeInput,
    ExitPlanMode,
    ExitPlanModeInput,
)
from agentls.tools.tool import ToolContext
from tests.support.workbench import Workbench, told

enter, leave = EnterPlanMode(), ExitPlanMode()
NOW = "2026-11-30T12:00:00.000Z"
YES = Decision(behaviour="allow", decided_by="user", reason="the user chose it")
NO = Decision(behaviour="deny", decided_by="user", reason="the user said no")
NO_APPROVAL = Decision(behaviour="allow", decided_by="rule", reason="a rule allows it")


def in_mode(bench: Workbench, mode: Mode, call: ToolCall | None = None) -> ToolContext:
    context = bench.context()
    state = context.state.model_copy(update={"permissions": Permissions(mode=mode)})
    if call is not None:
        state = state.model_copy(update={"calls": {"c1": call}})
    return replace(context, state=state)


def put_forward(plan: str, decision: Decision | None, *, asked: bool = True) -> ToolCall:
    """Return a call that leaves plan mode, as it is when it runs."""
    approval = Approval(
        call_id="c1",
        tool_name="ExitPlanMode",
        title="t",
        detail=plan,
        reason="r",
        options=leave.approval_options(ExitPlanModeInput(plan=plan)),
        requested_at=NOW,
    )
    return ToolCall(
        id="c1",
        message_id="m1",
        name="ExitPlanMode",
        invocation="Leaving plan mode",
        input={"plan": plan},
        status="running",
        approval=approval if asked else None,
        decision=decision,
    )


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
async def test_plan_mode_is_entered_from_any_other(bench: Workbench, mode: Mode) -> None:
    result = await enter.execute(EnterPlanModeInput(), in_mode(bench, mode))
    assert not result.is_error
    assert result.mode == "plan"
    assert "ExitPlanMode" in told(result)


async def test_plan_mode_is_not_entered_twice(bench: Workbench) -> None:
    result = await enter.execute(EnterPlanModeInput(), in_mode(bench, "plan"))
    assert result.is_error
    assert result.mode is None
    assert "in plan mode already" in told(result)


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "dontAsk", "bypassPermissions"])
async def test_without_plan_mode_there_is_none_to_leave(bench: Workbench, mode: Mode) -> None:
    call = put_forward("1. x", None, asked=False)
    result = await leave.execute(ExitPlanModeInput(plan="1. x"), in_mode(bench, mode, call))
    assert result.is_error
    assert f"not in plan mode (the mode is {mode})" in told(result)


@pytest.mark.parametrize(
    "call",
    [
        None,
        put_forward("x", NO_APPROVAL, asked=False),
        put_forward("x", None),
        put_forward("x", NO),
    ],
    ids=["unknown", "allowed by a rule", "open", "refused"],
)
async def test_a_plan_that_no_person_approved_leaves_plan_mode_as_it_is(
    bench: Workbench, call: ToolCall | None
) -> None:
    result = await leave.execute(ExitPlanModeInput(plan="x"), in_mode(bench, "plan", call))
    assert result.is_error
    assert result.mode is None
    assert "plan mode stays" in told(result)


@pytest.mark.parametrize(
    ("mode", "then"),
    [
        (
            "acceptEdits",
            "The mode is acceptEdits: carry it out; edits in the workspace need no",
        ),
        ("default", "The mode is default: carry it out; the user is asked before each change"),
        ("plan", "the mode is plan again: change nothing until the user leaves it"),
    ],
)
async def test_the_model_is_told_which_mode_holds_after_the_approval(
    bench: Workbench, mode: Mode, then: str
) -> None:
    context = in_mode(bench, mode, put_forward("1. x", YES))
    result = await leave.execute(ExitPlanModeInput(plan="1. x"), context)
    assert not result.is_error
    assert told(result).startswith("The user approved the plan.")
    assert then in told(result)
    assert result.summary == f"Plan approved; the mode is {mode}"


async def test_the_model_reads_a_plan_that_the_user_changed(bench: Workbench) -> None:
    written, changed = put_forward("1. x", YES), put_forward("1. y", YES)
    context = in_mode(bench, "default", changed)
    state = _after_answer(context.state, written)
    result = await leave.execute(ExitPlanModeInput(plan="1. y"), replace(context, state=state))
    assert told(result).endswith("The user has changed it; it reads now:\n\n1. y")

    context = in_mode(bench, "default", written)
    state = _after_answer(context.state, written)
    result = await leave.execute(ExitPlanModeInput(plan="1. x"), replace(context, state=state))
    assert "changed it" not in told(result)


async def test_an_empty_plan_is_a_mistake(bench: Workbench) -> None:
    assert "plan: string should have at least 1 character" in told(await bench.run(leave, plan=" "))


def test_a_plan_is_answered_with_a_mode_or_with_more_planning() -> None:
    options = leave.approval_options(ExitPlanModeInput(plan="x"))
    assert [(option.label, option.mode, option.kind) for option in options] == [
        ("Accept edits", "acceptEdits", "allowOnce"),
        ("Ask for each edit", "default", "allowOnce"),
        ("Keep planning", None, "deny"),
    ]
    assert options[-1].id == "deny"
    assert len({option.id for option in options}) == 3


async def test_the_plan_itself_is_what_there_is_to_see(bench: Workbench) -> None:
    plan = "# Move it\n\n1. `a.py`"
    arguments = ExitPlanModeInput(plan=plan)
    assert await leave.preview(arguments, bench.context()) == plan
    assert leave.wish(arguments) == "Leave plan mode and carry out the plan"


def test_both_run_alone_so_that_what_follows_is_judged_under_the_mode() -> None:
    assert not enter.read_only
    assert not leave.read_only


def _after_answer(state: SessionState, call: ToolCall) -> SessionState:
    part = ToolCallPart(id=call.id, name=call.name, input=call.input)
    answer = Answer(
        id="m1",
        at=NOW,
        turn_id="t1",
        model="m",
        parts=(part,),
        stop_reason="toolUse",
        usage=Usage(),
    )
    return state.model_copy(update={"history": state.history.append(answer)})
