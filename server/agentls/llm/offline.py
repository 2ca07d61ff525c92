"""The model with no model behind it: it carries out a few kinds of request, word for word.

A pure function of the request: what it has done so far, it reads in the conversation.
"""

import asyncio
import zlib
from collections.abc import AsyncGenerator, Generator, Iterator
from dataclasses import dataclass

from agentls.llm.model import ModelRequest, StreamEvent
from agentls.llm.offline_requests import UNDERSTOOD, NotUnderstood, read_steps
from agentls.llm.offline_steps import PLAN_THE_STEPS, Call, Step, plan_call, short
from agentls.llm.stream_events import Block, WrittenAnswer, answer_events, estimated_usage
from agentls.llm.transcript import Outcome, this_turn

BANNER = (
    "Offline model: no language model is behind this; "
    "I carry out find, read, replace, create, run, list and plan."
)


@dataclass(frozen=True, slots=True)
class Move:
    """One answer: what it says, and the calls it makes; without any, the turn is over."""

    text: str
    calls: tuple[Call, ...] = ()


Moves = Generator[Move, tuple[Outcome, ...], None]
"""Answers, each resumed with the outcomes of its calls; the last makes none."""


class OfflineModel:
    """Answers from the words of the prompt alone."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Yield the answer's events; see `Model.stream`. Never fails."""
        for event in answer_events(_answer(request)):
            await asyncio.sleep(0)
            yield event


def next_move(request: ModelRequest) -> Move:
    """Return what to do next: play the turn again from its start, with the results it has had."""
    turn = this_turn(request.messages)
    moves = _moves(turn.prompt, frozenset(tool.name for tool in request.tools))
    move = next(moves)
    try:
        for outcomes in turn.rounds:
            if len(outcomes) != len(move.calls):
                return Move("Another model began this turn, so I cannot go on with it. Ask again.")
            move = moves.send(outcomes)
    except StopIteration:
        return Move("That was all.")
    return move if turn.rounds else Move(f"{BANNER}\n\n{move.text}", move.calls)


def _answer(request: ModelRequest) -> WrittenAnswer:
    move = next_move(request)
    last = repr(request.messages[-1:]).encode("utf-8", "replace")
    serial = f"off_{len(request.messages)}_{zlib.crc32(last):08x}"
    blocks: list[Block] = [{"type": "text", "text": move.text}] if move.text else []
    for index, (name, arguments) in enumerate(move.calls):
        call_id = f"toolu_{serial}_{index}"
        blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": arguments})
    return WrittenAnswer(
        message_id=f"msg_{serial}",
        model=request.model,
        blocks=tuple(blocks),
        stop_reason="tool_use" if move.calls else "end_turn",
        usage=estimated_usage(request, tuple(blocks)),
    )


def _moves(prompt: str, offered: frozenset[str]) -> Moves:
    try:
        asked_for = read_steps(prompt)
    except NotUnderstood as error:
        said = short(str(error))
        yield Move(f'I do not understand "{said}", so I have done nothing.\n\n{UNDERSTOOD}')
        return
    steps = tuple(step for step in asked_for if step != PLAN_THE_STEPS)
    if not steps:
        yield Move("There is nothing to plan: write `plan: STEP; STEP`, or add the steps.")
        return
    needed = {name for step in steps for phase in step.phases for name, _ in phase}
    if missing := ", ".join(sorted(needed - offered)):
        yield Move(f"This takes {missing}, which is not to be had here; I have done nothing.")
        return
    # A plan that the user has worded is not written over with the steps.
    planned = "TodoWrite" in offered - needed and len(asked_for) > 1
    yield from _CarryingOut(steps, planned=planned).moves()


class _CarryingOut:
    """Carries out steps in order; neighbours that only read go together.

    A step that changes something and fails is the last one; one that only reads is not.
    """

    def __init__(self, steps: tuple[Step, ...], *, planned: bool) -> None:
        self._steps = steps
        self._planned = planned
        self._completed: set[int] = set()
        self._reports: list[str] = []

    def moves(self) -> Moves:
        if self._planned:
            titles = "\n".join(f"{n}. {step.title}" for n, step in enumerate(self._steps, 1))
            outcomes = yield Move(titles, self._plan(0))
            self._planned = not outcomes[0].failed
        for group in _groups(self._steps):
            yield from self._group(group)
            first = self._steps[group.start]
            if not first.reads_only and group.start not in self._completed:
                break
        if self._planned:
            yield Move("", self._plan(None))
        yield Move(self._summary())

    def _group(self, group: range) -> Moves:
        """Carry out one step, phase by phase, or several that have a single phase of reading."""
        steps = [self._steps[index] for index in group]
        text = "; ".join(step.active_title for step in steps) + "."
        # The first step was marked as begun when the plan was written.
        update = self._plan(group.start) if self._planned and group.start else ()
        outcomes: tuple[Outcome, ...] = ()
        for phase in zip(*(step.phases for step in steps), strict=True):
            calls = tuple(call for part in phase for call in part)
            outcomes = (yield Move(text, (*update, *calls)))[len(update) :]
            if any(outcome.failed for outcome in outcomes):
                break
            text, update = "", ()
        for index, step in zip(group, steps, strict=True):
            count = len(step.phases[-1])
            self._judge(index, outcomes[:count])
            outcomes = outcomes[count:]

    def _judge(self, index: int, outcomes: tuple[Outcome, ...]) -> None:
        """Note what came of a step, by the outcomes of the last phase it came to."""
        step = self._steps[index]
        failed = [outcome for outcome in outcomes if outcome.failed]
        if failed:
            reasons = "; ".join(_why(outcome) for outcome in failed)
            self._reports.append(f"{step.title}: not done. {reasons}")
            return
        self._completed.add(index)
        self._reports.append(step.report(outcomes))

    def _plan(self, current: int | None) -> tuple[Call, ...]:
        """Return the call that says how far the steps have come."""
        lines = [
            (
                step.title,
                step.active_title,
                "completed"
                if index in self._completed
                else "in_progress"
                if index == current
                else "pending",
            )
            for index, step in enumerate(self._steps)
        ]
        return (plan_call(lines),)

    def _summary(self) -> str:
        parts = list(self._reports)
        begun = len(parts)
        if len(self._steps) > 1:
            parts.insert(0, f"{len(self._completed)} of {len(self._steps)} steps are done.")
        if begun < len(self._steps):
            left = "\n".join(f"- {step.title}" for step in self._steps[begun:])
            parts.append(f"I stopped there. Not begun:\n\n{left}")
        return "\n\n".join(parts)


def _groups(steps: tuple[Step, ...]) -> Iterator[range]:
    """Yield the steps that go together, as indexes: neighbours that only read, others alone."""
    start = 0
    for index in range(1, len(steps) + 1):
        if index < len(steps) and steps[index].reads_only and steps[start].reads_only:
            continue
        yield range(start, index)
        start = index


def _why(outcome: Outcome) -> str:
    """Return the first line of what a tool says went wrong."""
    return outcome.text.strip().partition("\n")[0] or "No reason was given."
