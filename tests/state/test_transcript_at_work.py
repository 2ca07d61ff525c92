"""What people read of steering, notices, questions, compactions, and what was paid."""

from typing import Any

import pytest

from agentls.protocol.content import (
    DocumentBlock,
    FileBlock,
    TextBlock,
    TextPart,
    Usage,
)
from agentls.protocol.events.compaction import Carried
from agentls.protocol.events.conversation import SessionMeta
from agentls.protocol.history import Answer, CallResult, History, Summary, UserMessage
from agentls.protocol.session_state import (
    CompactionState,
    QueuedPrompt,
    SessionState,
    UsageTotals,
)
from agentls.protocol.tool_calls import (
    Question,
    QuestionAnswer,
    QuestionOption,
    Questions,
    ToolCall,
)
from agentls.state.transcript import as_markdown, attached_text, cost_text, title

AT = "2026-11-30T14:56:35.123Z"
META = SessionMeta(id="s1", created_at=AT, cwd=".", agentls_version="1")


def state(*entries: Any, **fields: Any) -> SessionState:
    return SessionState(meta=META, history=History(entries), **fields)


def said(text: str, author: Any = "user") -> UserMessage:
    content = (TextBlock(text=text),)
    return UserMessage(id="u", at=AT, turn_id="t", content=content, author=author)


def asks(status: Any = "finished", **fields: Any) -> ToolCall:
    options = (QuestionOption(label="Left"), QuestionOption(label="Right"))
    questions = (
        Question(question="Which way?", header="Way", options=options),
        Question(question="How fast?", header="Pace", options=options),
    )
    asked = Questions(call_id="c1", questions=questions, asked_at=AT)
    return ToolCall(
        id="c1", message_id="a", name="AskUserQuestion", invocation="Asking about Way", input={},
        status=status, questions=asked, **fields,
    )  # fmt: skip


def test_notice_is_not_shown_as_the_users_words() -> None:
    shown = as_markdown(state(said("Go."), said("Task b1 has <ended>.", "agentls")))
    assert shown.count("## You") == 1
    assert "<summary>agentls, to the model · 2026-11-30 14:56</summary>" in shown
    assert "> Task b1 has \\<ended>." in shown


def test_title_is_of_the_users_first_words() -> None:
    assert title(state(said("A task has ended.", "agentls"), said("Fix it"))) == "Fix it"
    carried = CompactionState(carried=Carried(goal="Build\nthe shed"))
    assert title(state(said("And paint it"), compaction=carried)) == "Build the shed"


def test_agent_goes_on_behind_a_notice_without_a_second_heading() -> None:
    answer = Answer(
        id="a", at=AT, turn_id="t", model="m", parts=(TextPart(id="p", text="Yes."),),
        stop_reason="endTurn", usage=Usage(),
    )  # fmt: skip
    shown = as_markdown(state(said("Go."), answer, said("Task b1 has ended.", "agentls"), answer))
    assert shown.count("## Agent") == 1


def test_what_is_put_back_behind_a_summary_is_folded() -> None:
    summary = Summary(id="s", at=AT, text="Half done.", message_count=9, put_back="The goal: x")
    shown = as_markdown(state(summary))
    assert "<summary>Summary</summary>" in shown
    fold = shown.split("<summary>What the model is told behind the summary</summary>")[1]
    assert fold.strip().startswith("> The goal: x")
    assert "told behind" not in as_markdown(state(summary.model_copy(update={"put_back": " "})))


def test_answers_of_the_user_stand_with_their_questions() -> None:
    answers = (QuestionAnswer(selected=("Left",), other="but\nslowly"), QuestionAnswer())
    shown = as_markdown(state(CallResult(call=asks(outcome="ok", answers=answers))))
    assert "Asked: Which way?\n\nAnswered: Left, but slowly" in shown
    assert "Asked: How fast?\n\nAnswered: no answer" in shown


def test_questions_that_were_declined_are_said_to_be() -> None:
    shown = as_markdown(state(CallResult(call=asks(outcome="ok"))))
    assert shown.count("Answered: not answered") == 2


def test_question_that_waits_shows_what_is_offered() -> None:
    shown = as_markdown(state(calls={"c1": asks("waiting")}))
    assert "waits for an answer" in shown
    assert "Answered: not answered yet; offered: Left, Right" in shown


def test_answer_that_broke_off_is_marked() -> None:
    cut = Answer(
        id="a", at=AT, turn_id="t", model="m", parts=(TextPart(id="p", text="The fi"),),
        stop_reason="cut", usage=Usage(),
    )  # fmt: skip
    assert "*The answer was cut: the model's side broke off.*" in as_markdown(state(cut))


def test_compaction_that_waits_is_no_prompt() -> None:
    heed = (TextBlock(text="Keep the names."),)
    queued = QueuedPrompt(id="t", content=heed, queued_at=AT, kind="compact")
    assert "· a compaction, waiting" in as_markdown(state(queue=(queued,)))


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (
            DocumentBlock(media_type="application/pdf", data="AAAA", name="Plan.pdf", pages=3),
            "Document: Plan.pdf, application/pdf, 3 pages, 1 KB",
        ),
        (
            DocumentBlock(media_type="application/pdf", data="AAAA"),
            "Document: application/pdf, 1 KB",
        ),
        (FileBlock(what="file", path="README.md", text="secret"), "File: README.md"),
        (
            FileBlock(what="range", path="a.py", text="x", first_line=2, last_line=4),
            "Range: a.py:2-4",
        ),
        (FileBlock(what="symbol", path="a.py", text="x", symbol="Slug"), "Symbol: a.py#Slug"),
    ],
)
def test_what_goes_with_a_prompt_is_a_line(block: Any, text: str) -> None:
    assert attached_text(block) == text
    message = UserMessage(id="u", at=AT, turn_id="t", content=(block,))
    shown = as_markdown(state(message))
    assert f"> *{text}*" in shown
    assert "secret" not in shown


@pytest.mark.parametrize(
    ("usage", "text"),
    [
        (Usage(), None),
        (Usage(unpriced_responses=2), None),
        (Usage(cost_nano_usd=1), "less than $0.01"),
        (Usage(cost_nano_usd=1_234_567_890_123), "about $1,234.57"),
        (
            Usage(cost_nano_usd=120_000_000, unpriced_responses=1),
            "about $0.12 and 1 response of unknown price",
        ),
    ],
)
def test_cost_is_told_as_far_as_it_is_known(usage: Usage, text: str | None) -> None:
    assert cost_text(usage) == text
    heading = as_markdown(state(usage=UsageTotals(total=usage))).split("\n")[2]
    assert heading == " · ".join(
        part for part in ("2026-11-30 14:56 UTC", "0 messages", text, "session `s1`") if part
    )
