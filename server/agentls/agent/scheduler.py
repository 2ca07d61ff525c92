"""Carries out tool calls in the order the model wrote them.

Neighbouring calls that only read run together; anything that writes runs alone. So `[Edit, Read]`
reads the edited file, and two Reads side by side cost the time of one.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue

from agentls.agent import approvals
from agentls.agent.recollection import Recollections
from agentls.agent.workplace import Workplace
from agentls.protocol.content import TextBlock
from agentls.protocol.events.approvals import ApprovalAnswered, ApprovalRequested
from agentls.protocol.events.conversation import (
    TodosChanged,
    ToolCallFinished,
    ToolCallProgressed,
    ToolCallStarted,
)
from agentls.protocol.events.envelope import SessionEvents
from agentls.protocol.events.questions import QuestionsAnswered, QuestionsAsked
from agentls.protocol.events.settings import ModeChanged
from agentls.protocol.tool_calls import CallOutcome, Decision, Questions, ToolCall
from agentls.protocol.wire_model import JsonObject
from agentls.state.event_store import timestamp
from agentls.tools.files import Files
from agentls.tools.registry import parse_input
from agentls.tools.tool import Tool, ToolContext, ToolResult
from agentls.tools.variables import named, outputs

AGAIN_SECONDS = 0.2
"""After how long a call is tried again that only reads and failed for a reason that may pass."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Ready:
    """A call that may run."""

    call: ToolCall
    tool: Tool[Any]
    arguments: Any
    decision: Decision


class Scheduler:
    """Runs one group of calls at a time for a turn."""

    def __init__(self, turn_id: str, place: Workplace) -> None:
        self._turn_id = turn_id
        self._place = place
        self._chat = place.chat
        self._saving = place.saving
        self._surroundings = place.surroundings

    async def run(self, calls: Sequence[ToolCall]) -> None:
        """Judge and carry out the first group of `calls`; returns when each is finished or waits.

        Cancelled, it stops the tools and leaves the calls as they are.
        """
        ready = [found for call in self._first_group(calls) if (found := await self._prepare(call))]
        if not ready:
            return
        for item in ready:
            self._emit_started(item)
        await self._saving.secure()
        limit = asyncio.Semaphore(self._chat.state.gates.parallel_reads)
        async with asyncio.TaskGroup() as group:
            for item in ready:
                group.create_task(self._execute(item, limit))

    def give_up_asking(self, call_id: str) -> None:
        """Answer for the user who was asked, where somebody was, and is not here: it is a no."""
        call = self._chat.state.calls[call_id]
        if call.questions is not None:
            self._emit(QuestionsAnswered(parent=call.message_id, call_id=call_id, answers=None))
            return
        decision = approvals.nobody_to_ask(call.approval.reason if call.approval else "")
        self._emit(
            ApprovalAnswered(
                parent=call.message_id, call_id=call_id, option_id="deny", decision=decision
            )
        )

    def _finish(
        self,
        call: ToolCall,
        outcome: CallOutcome,
        text: str,
        *,
        summary: str,
        decision: Decision | None = None,
    ) -> None:
        result = ToolResult(content=(TextBlock(text=text),), summary=summary)
        self._emit_finished(call, outcome, result, decision)

    def _first_group(self, calls: Sequence[ToolCall]) -> list[ToolCall]:
        group = [calls[0]]
        if self._only_reads(calls[0]):
            for call in calls[1:]:
                if not self._only_reads(call) or call.status != "ready":
                    break
                group.append(call)
        return group

    def _only_reads(self, call: ToolCall) -> bool:
        tool = self._surroundings.tools.get(call.name)
        return tool is not None and tool.read_only

    async def _prepare(self, call: ToolCall) -> _Ready | None:
        """Return the call if it may run now; otherwise finish it, or ask about it."""
        tool = self._surroundings.tools.get(call.name)
        if tool is None:
            known = ", ".join(self._surroundings.tools.tools)
            text = f"There is no tool {call.name!r}. The tools are: {known}."
            self._finish(call, "error", text, summary=f"No tool {call.name}")
            return None
        if call.malformed_input is not None:
            text = "The arguments are not a JSON object. Write the call again, with valid JSON."
            self._finish(call, "error", text, summary=f"{call.name}: arguments are not JSON")
            return None
        arguments = parse_input(tool, call.input)
        if isinstance(arguments, ToolResult):
            self._emit_finished(call, "error", arguments)
            return None
        ready = await self._judge(call, tool, arguments)
        return None if ready and self._must_ask(ready) else ready

    def _must_ask(self, item: _Ready) -> bool:
        """Put a call's questions to the user; return whether it cannot run now, or not at all."""
        call, questions = item.call, item.tool.questions(item.arguments)
        if not questions or call.questions is not None:
            return False
        if not self._surroundings.host.can_ask():
            text = "Nobody is there to answer. Go on with what you know; say what you assumed."
            self._finish(call, "error", text, summary="Nobody is there to answer")
            return True
        asked_at = timestamp(self._surroundings.clock())
        asked = Questions(call_id=call.id, questions=questions, asked_at=asked_at)
        self._emit(QuestionsAsked(parent=call.message_id, questions=asked))
        return True

    async def _judge(self, call: ToolCall, tool: Tool[Any], arguments: Any) -> _Ready | None:
        verdict = approvals.judge(tool, arguments, self._chat.state, self._surroundings)
        answered = call.decision
        # Where the user has answered its questions, a mode chosen meanwhile comes too late.
        answers_are_in = call.answers is not None and verdict.decided_by == "mode"
        if verdict.behaviour == "deny" and not answers_are_in:
            return self._deny(call, approvals.decided(verdict))
        if answered is not None and answered.behaviour == "deny":
            return self._deny(call, answered)
        if answered is not None:
            return _Ready(call, tool, arguments, answered)
        if verdict.behaviour == "allow":
            return _Ready(call, tool, arguments, approvals.decided(verdict))
        if not self._surroundings.host.can_ask():
            return self._deny(call, approvals.nobody_to_ask(verdict.reason))
        context = self._context(call, self._surroundings.host.files)
        approval = await approvals.question(
            call, tool, arguments, verdict, context, self._surroundings
        )
        self._emit(ApprovalRequested(parent=call.message_id, approval=approval))
        return None

    def _deny(self, call: ToolCall, decision: Decision) -> None:
        tool = self._surroundings.tools.get(call.name)
        then = tool.after_denial if tool else Tool.after_denial
        who = "The user" if decision.decided_by == "user" else "The permission rules"
        text = f"{who} denied this call: {decision.reason.rstrip('.')}. {then}"
        summary = f"Denied: {decision.reason}"
        self._finish(call, "denied", text, summary=summary, decision=decision)

    async def _execute(self, item: _Ready, limit: asyncio.Semaphore) -> None:
        async with limit:
            result = await self._result_of(item)
        if result.todos is not None:
            self._emit(TodosChanged(parent=item.call.message_id, todos=result.todos))
        if result.mode == "plan":  # no tool may widen what is allowed
            self._emit(ModeChanged(mode="plan"))
        self._emit_finished(item.call, "error" if result.is_error else "ok", result)

    async def _result_of(self, item: _Ready) -> ToolResult:
        files = self._chat.files.files_for_call(item.call.id)
        context = self._context(item.call, files)

        async def execute() -> ToolResult:
            async with asyncio.timeout(item.tool.timeout):
                return await item.tool.execute(item.arguments, context)

        try:
            if item.tool.command(item.arguments) is None:
                result = await execute()
                if result.may_pass and item.tool.read_only:
                    await self._surroundings.pace.sleep(AGAIN_SECONDS)
                    result = await execute()
            else:
                result = await self._chat.files.around(item.call.id, execute)
            changes = files.completed(result.changes)
            return replace(result, changes=changes, variables=_variables(item.tool, result))
        except TimeoutError:
            seconds = f"{item.tool.timeout:g}"
            return ToolResult.error(f"{item.call.name} was stopped after {seconds} seconds.")
        except Exception as error:
            logger.exception("tool %s failed", item.call.name)
            return ToolResult.error(
                f"{item.call.name} failed from a fault of its own: {type(error).__name__}: {error}"
            )

    def _context(self, call: ToolCall, files: Files) -> ToolContext:
        def show(text: str) -> None:
            self._emit(ToolCallProgressed(call_id=call.id, text=_sendable(text)))

        return ToolContext(
            session_id=self._chat.state.meta.id,
            call_id=call.id,
            state=self._chat.state,
            cwd=self._surroundings.cwd,
            roots=self._surroundings.roots,
            files=files,
            memory=Recollections(self._surroundings.index, self._saving.save),
            background=self._place.background,
            agents=self._place.agents,
            output_folder=self._place.background.folder,
            output_bytes=self._place.background.most_on_disk,
            answers=call.answers,
            progress=show,
            unreadable=self._unreadable(call),
        )

    def _unreadable(self, call: ToolCall) -> Callable[[Path], bool]:
        tool = self._surroundings.tools.get(call.name)
        if tool is None or not tool.filters_reads:
            return lambda path: False
        return approvals.must_not_see(self._chat.state, self._surroundings)

    def _emit_started(self, item: _Ready) -> None:
        self._emit(
            ToolCallStarted(
                parent=item.call.message_id,
                call_id=item.call.id,
                invocation=_sendable(item.tool.invocation(item.arguments)),
                decision=item.decision,
            )
        )

    def _emit_finished(
        self,
        call: ToolCall,
        outcome: CallOutcome,
        result: ToolResult,
        decision: Decision | None = None,
    ) -> None:
        stopped = self._chat.files.of_stopped(call.id)
        self._chat.finish_call(
            ToolCallFinished(
                parent=call.message_id,
                call_id=call.id,
                outcome=outcome,
                summary=_sendable(result.summary),
                content=tuple(TextBlock(text=_sendable(block.text)) for block in result.content),
                changes=(*result.changes, *stopped.changes),
                left_out=result.left_out or stopped.left_out,
                variables=cast(JsonObject, result.variables),
                decision=decision,
            ),
            turn_id=self._turn_id,
        )

    def _emit(self, event: SessionEvents) -> None:
        self._chat.emit(event, turn_id=self._turn_id)


def _variables(tool: Tool[Any], result: ToolResult) -> dict[str, JsonValue]:
    declared = outputs(tool.outputs, result.data) if tool.outputs and not result.is_error else {}
    return named(tool.variable_owner or tool.name, {**declared, **result.variables})


def _sendable(text: str) -> str:
    """Return `text` without lone surrogates, which neither JSON nor the API can carry."""
    return text.encode("utf-8", "replace").decode()
