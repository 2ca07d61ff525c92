"""One turn: prompt, model, tools, model, until there is nothing left to do."""

import asyncio
import logging
from datetime import datetime
from typing import TYPE_CHECKING, assert_never

from agentls.agent.calling import ModelCaller
from agentls.agent.chat import Chat
from agentls.agent.prompts import Prompts
from agentls.agent.retrying import Retries, asked_wait
from agentls.agent.scheduler import Scheduler
from agentls.agent.settle import CANCELLED, FAILED, settle_all, settle_interrupted
from agentls.agent.step import (
    AwaitPerson,
    AwaitRetry,
    CallModel,
    Compact,
    FinishTurn,
    RunCalls,
    Steer,
    TellOfTasks,
    next_step,
)
from agentls.agent.surroundings import Surroundings
from agentls.agent.workplace import Workplace
from agentls.errors import (
    AgentError,
    NothingToCompact,
    PromptTooLong,
    RequestRefused,
    TryAgainLater,
)
from agentls.llm.server_errors import refuses_thinking
from agentls.protocol.content import Author, Content, TextBlock
from agentls.protocol.events.conversation import (
    ErrorInfo,
    PromptDequeued,
    TurnFinished,
    TurnStatus,
    UserMessageReceived,
)
from agentls.protocol.events.envelope import SessionEvents
from agentls.protocol.events.settings import GatesChanged
from agentls.protocol.events.tasks import TasksEvicted
from agentls.protocol.session_state import QueuedPrompt
from agentls.protocol.tasks import Task
from agentls.state.event_store import Moment
from agentls.state.selectors import message_count

if TYPE_CHECKING:
    from agentls.agent.compacting import Compactor

logger = logging.getLogger(__name__)


class Turn:
    """Carries out what `next_step` says, until the turn is finished, stopped or fails."""

    def __init__(self, turn_id: str, place: Workplace, prompts: Prompts) -> None:
        self.id = turn_id
        self._place = place
        self._chat = place.chat
        self._saving = place.saving
        self._surroundings = place.surroundings
        self._prompts = prompts
        self._retries = Retries(turn_id, place.chat, place.surroundings)
        self._caller = ModelCaller(turn_id, place, self._retries)
        self._scheduler = Scheduler(turn_id, place)
        self._compactor: Compactor | None = None
        self._too_long: PromptTooLong | None = None
        """What the model's side said last, where it said that."""
        self._was_shortened = False
        """For being too long, since the model last answered."""
        self._leaving = False

    def leave(self) -> None:
        """Have the cancellation that follows mean that the server ends, not that the user stops.

        What waits for a person, or for its time to come, then stays open, to go on when the
        session is opened again.
        """
        self._leaving = True

    async def run(self) -> None:
        """Run to the end. Every way out but leaving what waits ends in `TurnFinished`."""
        try:
            self._finish(await self._steps())
        except asyncio.CancelledError:
            self.stop()
        except AgentError as error:
            kind = type(error).__name__
            message = f"{error}{asked_wait(error)}"
            self._fail(ErrorInfo(kind=kind, message=message, retryable=_may_pass(error)))
        except Exception as error:
            logger.exception("turn %s failed", self.id)
            message = f"a fault in agentls: {type(error).__name__}: {error}"
            self._fail(ErrorInfo(kind="Bug", message=message))

    async def _steps(self) -> TurnStatus:
        while True:
            step = next_step(self._chat.state, max_rounds=self._surroundings.max_rounds)
            match step:
                case CallModel():
                    await self._ask_model(Compact("tooLong") if self._too_long else step)
                case Compact():
                    await self._ask_model(step)
                case RunCalls():
                    await self._scheduler.run(step.calls)
                case AwaitPerson():
                    if not self._surroundings.host.can_ask():
                        self._scheduler.give_up_asking(step.call_id)
                    await self._saving.secure(durable=True)
                    await self._answer_for(step.call_id)
                case AwaitRetry():
                    await self._saving.secure(durable=step.retry.parked)
                    await self._retries.wait(step.retry)
                case Steer():
                    await self._take_in(step.items)
                case TellOfTasks():
                    self._tell_of(step.tasks)
                case FinishTurn():
                    return step.status
                case _ as never:
                    assert_never(never)

    async def _ask_model(self, step: CallModel | Compact) -> None:
        """Have the model answer, or write a summary; what may pass is tried again later."""
        try:
            if isinstance(step, Compact):
                await self._made_compactor().compact(step.reason)
                self._was_shortened |= self._too_long is not None
                self._too_long = None
            else:
                await self._made_compactor().make_room()
                await self._caller.call()
                self._was_shortened = False
        except PromptTooLong as error:
            if self._was_shortened or isinstance(step, Compact):
                raise
            self._too_long = error
        except NothingToCompact:
            if self._too_long is None:
                raise
            raise self._too_long from None
        except RequestRefused as error:
            gates = self._chat.state.gates
            if not gates.thinking or not refuses_thinking(error):
                raise
            # A server before the model does not know of it: it is asked again without.
            self._emit(GatesChanged(gates=gates.model_copy(update={"thinking": False})))
        except TryAgainLater as error:
            if not self._retries.schedule(error):
                raise

    async def _take_in(self, items: tuple[QueuedPrompt, ...]) -> None:
        """Put what the user has sent to the running turn before the model."""
        for item in items:
            content = await self._prompts.expanded(item.content)
            if item not in self._chat.state.queue:
                continue  # it was taken out meanwhile
            self._emit(PromptDequeued(item_id=item.id, reason="steered"))
            self._put_before_model(content, "user")

    def _tell_of(self, tasks: tuple[Task, ...]) -> None:
        """Tell the model how tasks have ended, once."""
        self._put_before_model((TextBlock(text=self._place.background.notice(tasks)),), "agentls")
        self._emit(TasksEvicted(task_ids=tuple(task.id for task in tasks)))

    def _put_before_model(self, content: tuple[Content, ...], author: Author) -> None:
        self._emit(
            UserMessageReceived(
                id=self._chat.new_message_id(),
                parent=self._chat.state.head,
                content=content,
                author=author,
            )
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
        elif not is_parked(self._chat) and not settle_interrupted(self._chat, self.id):
            self._finish("interrupted")

    def _made_compactor(self) -> "Compactor":
        if self._compactor is None:
            # Imported for the first turn: an editor waits for the server's start.
            from agentls.agent.compacting import Compactor

            self._compactor = Compactor(self.id, self._place)
        return self._compactor

    def _fail(self, error: ErrorInfo) -> None:
        settle_all(self._chat, self.id, FAILED)
        self._finish("failed", error)

    def _finish(self, status: TurnStatus, error: ErrorInfo | None = None) -> None:
        finish_turn(self._chat, self._surroundings, status, error)

    def _emit(self, event: SessionEvents) -> None:
        self._chat.emit(event, turn_id=self.id)


def is_parked(chat: Chat) -> bool:
    """Whether the turn is put aside until the model's side takes requests again."""
    turn = chat.state.turn
    return turn is not None and turn.retry is not None and turn.retry.parked


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
            usage=turn.usage,
        ),
        turn_id=turn.id,
    )


def _may_pass(error: AgentError) -> bool:
    return isinstance(error, TryAgainLater)
