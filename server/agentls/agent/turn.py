"""One turn: prompt, model, tools, model, until there is nothing left to do."""

import asyncio
import logging
from contextlib import aclosing
from datetime import datetime
from functools import cache
from typing import assert_never

from agentls.agent.assemble import AnswerAssembler
from agentls.agent.chat import Chat
from agentls.agent.keeping import AnswerKeeper
from agentls.agent.saving import Saving
from agentls.agent.scheduler import Scheduler
from agentls.agent.settle import CANCELLED, FAILED, settle_all, settle_interrupted
from agentls.agent.step import AwaitApproval, CallModel, FinishTurn, RunCalls, next_step
from agentls.agent.surroundings import Surroundings
from agentls.errors import AgentError, TryAgainLater
from agentls.llm.model import ModelRequest, ToolSpec
from agentls.protocol.events.conversation import (
    AnswerFinished,
    AnswerProgressed,
    AnswerStarted,
    ErrorInfo,
    PartDelta,
    PartStarted,
    TurnFinished,
    TurnStatus,
    UsageRecorded,
)
from agentls.state.event_store import Moment
from agentls.state.selectors import message_count
from agentls.tools.registry import ToolRegistry

logger = logging.getLogger(__name__)


class Turn:
    """Carries out what `next_step` says, until the turn is finished, stopped or fails."""

    def __init__(
        self, turn_id: str, chat: Chat, saving: Saving, surroundings: Surroundings
    ) -> None:
        self.id = turn_id
        self._chat = chat
        self._saving = saving
        self._surroundings = surroundings
        self._scheduler = Scheduler(chat, turn_id, saving, surroundings)
        self._leaving = False

    def leave(self) -> None:
        """Have the cancellation that follows mean that the server ends, not that the user stops.

        An approval then stays open, to be answered when the session is opened again.
        """
        self._leaving = True

    async def run(self) -> None:
        """Run to the end. Every way out but leaving an open approval ends in `TurnFinished`."""
        try:
            self._finish(await self._steps())
        except asyncio.CancelledError:
            self.stop()
        except AgentError as error:
            kind = type(error).__name__
            self._fail(ErrorInfo(kind=kind, message=str(error), retryable=_may_pass(error)))
        except Exception as error:
            logger.exception("turn %s failed", self.id)
            message = f"a fault in agentls: {type(error).__name__}: {error}"
            self._fail(ErrorInfo(kind="Bug", message=message))

    async def _steps(self) -> TurnStatus:
        while True:
            step = next_step(self._chat.state, max_rounds=self._surroundings.max_rounds)
            match step:
                case CallModel():
                    await self._call_model()
                case RunCalls():
                    await self._scheduler.run(step.calls)
                case AwaitApproval():
                    if not self._surroundings.host.can_ask():
                        self._scheduler.give_up_asking(step.call_id)
                    await self._saving.secure(durable=True)
                    await self._answer_for(step.call_id)
                case FinishTurn():
                    return step.status
                case _ as never:
                    assert_never(never)

    async def _call_model(self) -> None:
        chat = self._chat
        name = chat.state.model.effective or ""
        model = self._surroundings.catalog.resolve(name)
        await self._saving.secure()
        await chat.conversation.prepare(chat.state.history)
        messages = chat.conversation.messages(chat.state.history)
        request = ModelRequest(
            model=name,
            system=chat.system_prompt(),
            messages=messages,
            tools=tool_specs(self._surroundings.tools),
            encoded=messages.encoded,
        )
        parent, message_id = chat.state.head, chat.new_message_id()
        keeper = AnswerKeeper(message_id, name, parent or "", self._emit)
        assembler = AnswerAssembler(message_id, name, keeper, chat.is_call_taken)
        try:
            async with aclosing(model.stream(request)) as events:
                async for event in events:
                    assembler.feed(event)
        except BaseException:
            self._keep(assembler, assembler.cut(parent))
            raise
        finally:
            keeper.stop()
        self._keep(assembler, assembler.finish(parent))

    def _keep(self, assembler: AnswerAssembler, answer: AnswerFinished | None) -> None:
        if answer is not None:
            self._emit(answer)
        usage = assembler.usage
        if usage.input_tokens or usage.output_tokens:
            self._emit(
                UsageRecorded(response_id=assembler.response_id, model=assembler.model, usage=usage)
            )

    async def _answer_for(self, call_id: str) -> None:
        """Return when the call no longer waits, whoever answered, even before this was called."""
        answered = asyncio.get_running_loop().create_future()

        def look(new: Moment, old: Moment) -> None:
            call = new.state.calls.get(call_id)
            if (call is None or call.status != "waiting") and not answered.done():
                answered.set_result(None)

        unsubscribe = self._chat.subscribe(look)
        look(self._chat.now, self._chat.now)
        try:
            await answered
        finally:
            unsubscribe()

    def stop(self) -> None:
        """Leave no call without a result, and end the turn as stopped or interrupted."""
        if not self._leaving:
            settle_all(self._chat, self.id, CANCELLED)
            self._finish("cancelled")
        elif not settle_interrupted(self._chat, self.id):
            self._finish("interrupted")

    def _fail(self, error: ErrorInfo) -> None:
        settle_all(self._chat, self.id, FAILED)
        self._finish("failed", error)

    def _finish(self, status: TurnStatus, error: ErrorInfo | None = None) -> None:
        finish_turn(self._chat, self._surroundings, status, error)

    def _emit(
        self,
        event: AnswerStarted
        | PartStarted
        | PartDelta
        | AnswerProgressed
        | AnswerFinished
        | UsageRecorded,
    ) -> None:
        self._chat.emit(event, turn_id=self.id)


def finish_turn(
    chat: Chat, surroundings: Surroundings, status: TurnStatus, error: ErrorInfo | None = None
) -> None:
    """End the turn that the state says is running."""
    turn = chat.state.turn
    if turn is None:
        return
    elapsed = surroundings.clock() - datetime.fromisoformat(turn.started_at)
    chat.emit(
        TurnFinished(
            parent=turn.message_id,
            status=status,
            error=error,
            message_count=message_count(chat.state),
            duration_ms=max(0, round(elapsed.total_seconds() * 1000)),
        ),
        turn_id=turn.id,
    )


@cache
def tool_specs(registry: ToolRegistry) -> tuple[ToolSpec, ...]:
    """Return the tools as the model sees them; making a schema takes longer than using it."""
    return tuple(
        ToolSpec(tool.name, tool.description, tool.input_schema())
        for tool in registry.tools.values()
    )


def _may_pass(error: AgentError) -> bool:
    return isinstance(error, TryAgainLater)
