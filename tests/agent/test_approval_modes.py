from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agentls.agent import approvals
from agentls.agent.approval_answers import answer_approval
from agentls.agent.chat import Chat
from agentls.agent.surroundings import Surroundings
from agentls.errors import ApprovalAlreadyAnswered, InvalidRequest, UnknownCall
from agentls.permissions.policy import Verdict
from agentls.protocol.events.approvals import ApprovalAnswered, ApprovalRequested
from agentls.protocol.events.envelope import Origin
from agentls.protocol.events.questions import QuestionsAsked
from agentls.protocol.events.settings import ModeChanged
from agentls.protocol.session_state import Permissions, Rule, SessionState
from agentls.protocol.tool_calls import (
    Approval,
    ApprovalOption,
    Decision,
    Mode,
    Question,
    QuestionOption,
    Questions,
    ToolCall,
)
from agentls.tools.ask import AskUserQuestion
from agentls.tools.plan import EnterPlanMode, EnterPlanModeInput, ExitPlanMode, ExitPlanModeInput
from agentls.tools.tool import Tool, ToolInput
from tests.support.lives import META, Life, lived
from tests.support.workbench import Workbench

PLAN = ExitPlanModeInput(plan="1. Move it")
CODE = Origin(client_id="code")
QUESTION = {
    "question": "Which?",
    "header": "Which",
    "options": [{"label": "A"}, {"label": "B"}],
}


def around(folder: Path, *, can_ask: bool = True, rules: tuple[Rule, ...] = ()) -> Surroundings:
    """Return what a verdict and an approval need, and nothing else."""
    unused: Any = None
    return Surroundings(
        roots=(folder,),
        store=unused,
        catalog=unused,
        toolbox=unused,
        host=cast(Any, SimpleNamespace(can_ask=lambda: can_ask)),
        settings=cast(Any, lambda: SimpleNamespace(rules=rules)),
        output_folder=unused,
        index=unused,
    )


def judged(
    tool: Tool[Any],
    arguments: ToolInput,
    mode: Mode,
    surroundings: Surroundings,
) -> Verdict:
    state = SessionState(meta=META, permissions=Permissions(mode=mode))
    return approvals.judge(tool, arguments, state, surroundings)


# --- what is asked


async def asked(tool: Tool[Any], arguments: ToolInput, verdict: Verdict, folder: Path) -> Approval:
    call = ToolCall(
        id="c1", message_id="m1", name=tool.name, invocation="i", input={}, status="ready"
    )
    context = Workbench(folder).context()
    return await approvals.question(call, tool, arguments, verdict, context, around(folder))


async def test_a_plan_is_asked_about_with_its_own_options(folder: Path) -> None:
    verdict = judged(ExitPlanMode(), PLAN, "plan", around(folder))
    assert verdict.behaviour == "ask"

    approval = await asked(ExitPlanMode(), PLAN, verdict, folder)

    assert approval.title == "Leave plan mode and carry out the plan"
    assert approval.detail == "1. Move it"
    assert approval.reason == "The user decides on a plan before anything is changed."
    assert approval.options == ExitPlanMode().approval_options(PLAN)


@pytest.mark.parametrize(
    ("session_rule", "ids"),
    [(None, ["allow", "deny"]), ("Edit(/a)", ["allow", "allowSession", "deny"])],
)
async def test_other_calls_are_asked_about_as_ever(
    folder: Path, session_rule: str | None, ids: list[str]
) -> None:
    verdict = Verdict("ask", "mode", "because", session_rule=session_rule)

    approval = await asked(EnterPlanMode(), EnterPlanModeInput(), verdict, folder)

    assert [option.id for option in approval.options] == ids
    assert all(option.mode is None for option in approval.options)


# --- where nobody is there


async def test_plan_mode_is_not_entered_where_nobody_could_agree_to_a_plan(folder: Path) -> None:
    nobody = around(folder, can_ask=False)

    verdict = judged(EnterPlanMode(), EnterPlanModeInput(), "default", nobody)

    assert verdict.behaviour == "deny"
    assert approvals.decided(verdict).decided_by == "host"
    assert "Go on without plan mode" in verdict.reason
    somebody = judged(EnterPlanMode(), EnterPlanModeInput(), "default", around(folder))
    assert somebody.behaviour == "allow"
    # Where the user began in plan mode, the tool itself says that it holds already.
    assert judged(EnterPlanMode(), EnterPlanModeInput(), "plan", nobody).behaviour == "allow"


async def test_a_rule_that_denies_plan_mode_is_named_even_where_nobody_is_there(
    folder: Path,
) -> None:
    rules = (Rule(behaviour="deny", rule="EnterPlanMode", source="settings"),)
    nobody = around(folder, can_ask=False, rules=rules)

    verdict = judged(EnterPlanMode(), EnterPlanModeInput(), "default", nobody)

    assert verdict.rule == "EnterPlanMode"


async def test_a_plan_without_a_reader_stays_a_question_for_a_person(folder: Path) -> None:
    rules = (Rule(behaviour="allow", rule="*", source="settings"),)
    nobody = around(folder, can_ask=False, rules=rules)

    verdict = judged(ExitPlanMode(), PLAN, "plan", nobody)

    assert verdict.behaviour == "ask"
    assert "nobody is there to give one" in approvals.nobody_to_ask(verdict.reason).reason


@pytest.mark.parametrize(
    ("mode", "behaviour"), [("plan", "allow"), ("default", "allow"), ("dontAsk", "deny")]
)
async def test_a_question_is_judged_without_an_approval(
    folder: Path, mode: Mode, behaviour: str
) -> None:
    arguments = AskUserQuestion.input_type.model_validate({"questions": [QUESTION]})

    assert judged(AskUserQuestion(), arguments, mode, around(folder)).behaviour == behaviour


# --- what an answer does


BYPASS = ApprovalOption(id="sly", kind="allowOnce", label="Sure", mode="bypassPermissions")


def waiting(*options: ApprovalOption) -> tuple[Life, str]:
    """Return a life in plan mode in which a call waits for one of the options."""
    life = lived([("prompt", 0), ("answer_with_calls", 0)])
    life.store.emit(ModeChanged(mode="plan"))
    (call,) = life.state.calls.values()
    approval = Approval(
        call_id=call.id,
        tool_name="ExitPlanMode",
        title="Leave plan mode",
        detail="1. Move it",
        reason="r",
        options=options or ExitPlanMode().approval_options(PLAN),
        requested_at="2026-11-30T12:00:00.000Z",
    )
    life.store.emit(ApprovalRequested(parent=call.message_id, approval=approval))
    return life, call.id


def answer(life: Life, call_id: str, option: str, *, reason: str | None = None) -> Decision:
    # The store holds the state and lets events happen, which is all that is needed of a chat.
    chat = cast(Chat, life.store)
    return answer_approval(chat, call_id, option, reason=reason, edited_input=None, origin=CODE)


@pytest.mark.parametrize(("option", "mode"), [("acceptEdits",) * 2, ("askForEdits", "default")])
def test_the_mode_of_an_option_holds_before_the_call_is_let_go(option: str, mode: Mode) -> None:
    life, call_id = waiting()
    turn = life.state.turn
    assert turn is not None

    decision = answer(life, call_id, option)

    changed, answered = life.told[-2:]
    assert changed.event == ModeChanged(mode=mode)
    assert isinstance(answered.event, ApprovalAnswered)
    assert [told.origin for told in (changed, answered)] == [CODE, CODE]
    assert [told.turn_id for told in (changed, answered)] == [turn.id, turn.id]
    assert life.state.permissions.mode == mode
    assert life.state.calls[call_id].decision == decision
    assert (decision.behaviour, decision.decided_by) == ("allow", "user")


def test_keeping_on_planning_leaves_the_mode_and_carries_the_reason() -> None:
    life, call_id = waiting()

    decision = answer(life, call_id, "deny", reason="Start with the tests")

    assert decision.behaviour == "deny"
    assert decision.reason == "the user chose “Keep planning”: Start with the tests"
    assert life.state.permissions.mode == "plan"
    assert life.state.calls[call_id].status == "ready"


def test_a_plain_no_reads_as_one() -> None:
    for label, reason in (("Deny", "the user said no"), ("Not yet", "the user chose “Not yet”")):
        life, call_id = waiting(ApprovalOption(id="deny", kind="deny", label=label))
        assert answer(life, call_id, "deny").reason == reason


def test_no_answer_switches_every_approval_off() -> None:
    deny = ApprovalOption(id="deny", kind="deny", label="Deny")
    life, call_id = waiting(BYPASS, deny)
    state = life.state

    with pytest.raises(InvalidRequest, match="“Sure” would let every call through unasked"):
        answer(life, call_id, "sly")

    assert life.state is state
    assert answer(life, call_id, "deny").behaviour == "deny"


def test_the_first_of_two_modes_wins() -> None:
    life, call_id = waiting()
    answer(life, call_id, "askForEdits")

    with pytest.raises(ApprovalAlreadyAnswered, match="“Leave plan mode” is settled already"):
        answer(life, call_id, "acceptEdits")

    assert life.state.permissions.mode == "default"


def test_a_call_that_asks_questions_is_not_answered_with_an_option() -> None:
    life = lived([("prompt", 0), ("answer_with_calls", 0)])
    (call,) = life.state.calls.values()
    options = (QuestionOption(label="A"), QuestionOption(label="B"))
    questions = (Question(question="Which?", header="Which", options=options),)
    asked_for = Questions(call_id=call.id, questions=questions, asked_at=call.id)
    life.store.emit(QuestionsAsked(parent=call.message_id, questions=asked_for))

    with pytest.raises(UnknownCall, match="it asks questions"):
        answer(life, call.id, "allow")
