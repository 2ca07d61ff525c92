"""Works a session's queue off: one turn at a time, the next when the one before is over."""

import asyncio

from agentls.agent.prompts import Prompts
from agentls.agent.settle import settle_compaction, settle_cut_answer, settle_interrupted
from agentls.agent.turn import Turn, finish_turn, is_parked
from agentls.agent.workplace import Workplace
from agentls.errors import StorageError
from agentls.protocol.content import Content, text_of
from agentls.protocol.events.conversation import PromptDequeued, TurnStarted, UserMessageReceived
from agentls.protocol.events.envelope import SessionEvents
from agentls.protocol.session_state import QueuedPrompt, SessionState


class Worker:
    """The one task that runs a session's turns, and comes and goes with them."""

    def __init__(self, place: Workplace) -> None:
        self._place = place
        self._chat = place.chat
        self._prompts = Prompts(place.chat, place.surroundings)
        self._working: asyncio.Task[None] | None = None
        self._beginning: asyncio.Task[tuple[Content, ...]] | None = None
        self._turn: Turn | None = None
        self._turn_task: asyncio.Task[None] | None = None
        self._unwanted: str | None = None
        """The turn that was stopped before its task was made."""
        self._syncing: asyncio.Task[None] | None = None
        self._closed = False

    def wake(self) -> None:
        """Go on where the log stops: settle what a crash cut off, then work on what is left."""
        chat = self._chat
        turn = chat.state.turn
        settle_compaction(chat)
        self._place.background.mark_dead()
        if turn:
            settle_cut_answer(chat, turn.id)
        if turn and not settle_interrupted(chat, turn.id) and not is_parked(chat):
            finish_turn(chat, self._place.surroundings, "interrupted")
        self.work()

    def work(self) -> None:
        """Begin to work off what there is, where that is not done already.

        Looked for by the task: what is sent from inside a subscriber is in the queue only then.
        """
        if not self._is_working():
            name = f"session {self._state.meta.id}"
            self._working = asyncio.create_task(self._work_off(), name=name)

    def cancel(self, turn_id: str) -> bool:
        """Stop the turn of this id, where it runs; return whether it does."""
        running = self._state.turn
        if running is None or running.id != turn_id or not self._is_working():
            return False
        if self._turn_task is None:
            self._unwanted = turn_id
        else:
            self._turn_task.cancel()
        return True

    async def idle(self) -> None:
        """Return when nothing runs and nothing is queued."""
        while self._working is not None and not self._working.done():
            await asyncio.wait([self._working])

    async def aclose(self) -> None:
        """Stop working; what waits for a person or its time stays open for later."""
        self._closed = True
        if self._beginning is not None:
            self._beginning.cancel()
        if self._turn is not None and self._turn_task is not None:
            self._turn.leave()
            self._turn_task.cancel()
        await self.idle()
        if self._syncing is not None:
            await asyncio.wait([self._syncing])

    def reopen(self) -> None:
        """Take work again: the session could not be closed after all."""
        self._closed = False
        self.work()

    def _is_working(self) -> bool:
        return self._working is not None and not self._working.done()

    @property
    def _state(self) -> SessionState:
        return self._chat.state

    async def _work_off(self) -> None:
        while not self._closed:
            if self._state.turn is None:
                if not self._state.queue:
                    return
                await self._begin(self._state.queue[0])
            if self._state.turn is None or self._closed:
                continue
            await self._run_turn()
            # Not awaited: the next prompt need not wait for the disk to have it all.
            name = f"sync {self._state.meta.id}"
            self._syncing = asyncio.create_task(self._sync(self._syncing), name=name)

    async def _begin(self, item: QueuedPrompt) -> None:
        """Make a turn of what is first in the queue; while that takes, it can be taken out."""
        content = item.content
        if item.kind == "prompt" and self._prompts.may_mention(content):
            reading = self._beginning = asyncio.create_task(self._prompts.expanded(content))
            await asyncio.wait([reading])
            self._beginning = None
            if self._closed or reading.cancelled() or item not in self._state.queue:
                return
            content = reading.result()
        self._emit(item, PromptDequeued(item_id=item.id, reason="started"))
        model, head = self._state.model.effective or "", self._state.head
        if item.kind == "prompt":
            message_id = self._chat.new_message_id()
            self._emit(item, UserMessageReceived(id=message_id, parent=head, content=content))
            self._emit(item, TurnStarted(parent=message_id, model=model))
        elif head is not None:  # else the conversation was cleared meanwhile
            told = text_of(content) or None
            self._emit(
                item, TurnStarted(parent=head, model=model, kind="compact", instructions=told)
            )

    def _emit(self, item: QueuedPrompt, event: SessionEvents) -> None:
        self._chat.emit(event, turn_id=item.id)

    async def _run_turn(self) -> None:
        assert self._state.turn is not None
        turn = self._turn = Turn(self._state.turn.id, self._place, self._prompts)
        task = self._turn_task = asyncio.create_task(turn.run(), name=f"turn {turn.id}")
        if self._unwanted == turn.id:
            task.cancel()
        try:
            await asyncio.wait([task])
            if task.cancelled():
                turn.stop()  # cancelled before its first step, it could not do so itself
        finally:
            self._turn = self._turn_task = None

    async def _sync(self, before: asyncio.Task[None] | None) -> None:
        """Have the disk itself hold the turn that is over."""
        if before is not None:
            await asyncio.wait([before])
        try:
            await self._place.saving.save(durable=True)
        except StorageError as error:
            self._place.warn(str(error))
