"""A session as its clients drive it: prompts, answers, choices; one turn at a time."""

import asyncio
import secrets
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agentls.agent.approval_answers import answer_approval
from agentls.agent.chat import Chat
from agentls.agent.saving import Saving
from agentls.agent.settle import settle_cut_answer, settle_interrupted
from agentls.agent.surroundings import Surroundings
from agentls.agent.turn import Turn, finish_turn
from agentls.errors import (
    EmptyPrompt,
    LogNotWritten,
    SessionBusy,
    SessionClosed,
    SessionReadOnly,
    StorageError,
    UnknownQueueItem,
)
from agentls.protocol.content import TextBlock
from agentls.protocol.events.conversation import (
    PromptDequeued,
    PromptQueued,
    TagChanged,
    TitleChanged,
    TurnStarted,
    UserMessageReceived,
)
from agentls.protocol.events.envelope import Origin
from agentls.protocol.events.settings import ModeChanged, ModelChanged
from agentls.protocol.kept_sessions import RewindScope, SessionRewindResult
from agentls.protocol.session_state import ModelChoice, QueuedPrompt, SessionState
from agentls.protocol.tool_calls import Decision, Mode
from agentls.protocol.wire_model import JsonObject
from agentls.sessions.owner import BEAT_SECONDS
from agentls.sessions.tenure import Tenure
from agentls.state.event_store import Moment, MomentListener

if TYPE_CHECKING:
    from agentls.agent.following import Following
    from agentls.agent.rewind import Rewinder


@dataclass(frozen=True, slots=True)
class PromptTaken:
    """A prompt is in the queue."""

    turn_id: str
    queued: bool
    """Another turn runs first."""


class Session:
    """One conversation in memory, and the task that works on it."""

    def __init__(
        self,
        chat: Chat,
        surroundings: Surroundings,
        warn: Callable[[str], None],
        *,
        tenure: Tenure | None = None,
        following: "Following | None" = None,
    ) -> None:
        """Work on `chat` under `tenure`, or go along with its owner through `following`."""
        self._chat = chat
        self._saving = Saving(chat, surroundings)
        self._surroundings = surroundings
        self._warn = warn
        self._turn: Turn | None = None
        self._turn_task: asyncio.Task[None] | None = None
        self._worker: asyncio.Task[None] | None = None
        self._syncing: asyncio.Task[None] | None = None
        self._tenure = tenure
        self._following = following
        self._rewinding = False
        upkeep = following.run() if following else self._keep_up()
        self._upkeep = asyncio.create_task(upkeep, name=f"upkeep {self.id}")
        self._closed = False

    @property
    def id(self) -> str:
        """The session's id."""
        return self._chat.state.meta.id

    @property
    def state(self) -> SessionState:
        """The state as it is now."""
        return self._chat.state

    @property
    def now(self) -> Moment:
        """State and number, taken together: what a late joiner starts from."""
        return self._chat.now

    @property
    def is_stale(self) -> bool:
        """Whether it is read-only here, and is to be loaded anew to be worked in or followed."""
        access = self.state.access
        is_lost = self._following is None
        return access.mode == "follower" and (is_lost or access.owner is None)

    def subscribe(self, listener: MomentListener) -> Callable[[], None]:
        """Call `listener` after every event, in order; returns the way out."""
        return self._chat.subscribe(listener)

    def wake(self) -> None:
        """Go on where the log stops: settle what a crash cut off, then work on what is left."""
        turn = self.state.turn
        if turn:
            settle_cut_answer(self._chat, turn.id)
        if turn and not settle_interrupted(self._chat, turn.id):
            finish_turn(self._chat, self._surroundings, "interrupted")
        self._work()

    def prompt(
        self, text: str, *, turn_id: str | None = None, origin: Origin | None = None
    ) -> PromptTaken:
        """Take a prompt; it is in the queue when this returns.

        Sent again with a turn id that is known, it is answered again and not run twice. Raises
        `EmptyPrompt`, and what `ModelCatalog.resolve` raises where no model can answer it.
        """
        self._check_open()
        self._check_no_rewind()
        if not text.strip():
            raise EmptyPrompt("the prompt has no text; write what the agent should do")
        self._surroundings.catalog.resolve(self.state.model.effective or "")
        turn_id = turn_id or f"turn_{secrets.token_hex(8)}"
        busy = self.state.turn is not None or bool(self.state.queue)
        if self._chat.is_turn_taken(turn_id):
            return PromptTaken(turn_id, queued=False)
        self._chat.emit(
            PromptQueued(item_id=turn_id, content=(TextBlock(text=text),)),
            turn_id=turn_id,
            origin=origin,
        )
        self._work()
        return PromptTaken(turn_id, queued=busy)

    def cancel(self, turn_id: str, *, origin: Origin | None = None) -> bool:
        """Stop the turn of this id, running or queued; return whether there was one."""
        self._check_open()
        if any(item.id == turn_id for item in self.state.queue):
            self.remove_queued(turn_id, origin=origin)
            return True
        running = self.state.turn
        if running is None or running.id != turn_id or self._turn_task is None:
            return False
        self._turn_task.cancel()
        return True

    def remove_queued(self, item_id: str, *, origin: Origin | None = None) -> None:
        """Take a prompt out of the queue. Raises `UnknownQueueItem`."""
        self._check_open()
        if not any(item.id == item_id for item in self.state.queue):
            raise UnknownQueueItem(f"no prompt {item_id!r} waits in the queue of {self.id}")
        self._chat.emit(PromptDequeued(item_id=item_id, reason="removed"), origin=origin)

    def answer_approval(
        self,
        call_id: str,
        option_id: str,
        *,
        reason: str | None = None,
        edited_input: JsonObject | None = None,
        origin: Origin | None = None,
    ) -> Decision:
        """Settle an approval with one of its options.

        Raises `UnknownCall`, `ApprovalAlreadyAnswered`, and `InvalidRequest` for an option it does
        not have.
        """
        self._check_open()
        return answer_approval(
            self._chat,
            call_id,
            option_id,
            reason=reason,
            edited_input=edited_input,
            origin=origin,
        )

    def set_model(
        self,
        model: str | None,
        scope: Literal["session", "user"],
        *,
        origin: Origin | None = None,
    ) -> ModelChoice:
        """Choose the model of the next calls. Raises what `ModelCatalog.resolve` raises."""
        self._check_open()
        if model is not None:
            self._surroundings.catalog.resolve(model)
        self._chat.emit(ModelChanged(model=model, scope=scope), origin=origin)
        return self.state.model

    def set_mode(self, mode: Mode, *, origin: Origin | None = None) -> Mode:
        """Choose the permission mode."""
        self._check_open()
        self._chat.emit(ModeChanged(mode=mode), origin=origin)
        return self.state.permissions.mode

    def rename(self, title: str, *, origin: Origin | None = None) -> None:
        """Give the session a title."""
        self._check_open()
        self._chat.emit(TitleChanged(title=title), origin=origin)

    def set_tag(self, tag: str | None, *, origin: Origin | None = None) -> None:
        """Give the session a tag, or take it away."""
        self._check_open()
        self._chat.emit(TagChanged(tag=tag), origin=origin)

    async def rewind(
        self,
        message_id: str,
        scope: RewindScope = "both",
        *,
        dry_run: bool = False,
        force: frozenset[str] = frozenset(),
        origin: Origin | None = None,
    ) -> SessionRewindResult:
        """Go back to before a prompt; see `Rewinder.rewind`."""
        with self._alone():
            result = await self._rewinder().rewind(
                message_id, scope, dry_run=dry_run, force=force, origin=origin
            )
        await self.save(durable=True)
        return result

    async def redo(
        self,
        *,
        dry_run: bool = False,
        force: frozenset[str] = frozenset(),
        origin: Origin | None = None,
    ) -> SessionRewindResult:
        """Undo the last rewind; see `Rewinder.redo`."""
        with self._alone():
            result = await self._rewinder().redo(dry_run=dry_run, force=force, origin=origin)
        await self.save(durable=True)
        return result

    @contextmanager
    def _alone(self) -> Generator[None]:
        """Keep prompts and other rewinds out while one is done."""
        self._check_open()
        self._check_no_rewind()
        self._rewinding = True
        try:
            yield
        finally:
            self._rewinding = False

    def _rewinder(self) -> "Rewinder":
        # Imported when it is needed: an editor waits for the server's start.
        from agentls.agent.rewind import Rewinder

        return Rewinder(self._chat, self._surroundings)

    def continue_unsaved(self) -> None:
        """Let work go on although it cannot be written just now; it is when it can be."""
        self._saving.accept()

    async def idle(self) -> None:
        """Return when nothing runs and nothing is queued."""
        while self._worker is not None and not self._worker.done():
            await asyncio.wait([self._worker])

    async def flush(self) -> None:
        """Return when every event so far is written. Raises as `SessionLog.flush` does."""
        await self._chat.flush()

    async def save(self, *, durable: bool = False) -> None:
        """Return when every event so far is written, or the state says why it is not.

        Raises `LeaseLost` or `LogConflict` where another process has become the owner.
        """
        await self._saving.save(durable=durable)

    async def aclose(self) -> None:
        """Stop working, write what is left, let go. An open approval stays open for later."""
        if self._closed:
            return
        self._closed = True
        if self._turn is not None and self._turn_task is not None:
            self._turn.leave()
            self._turn_task.cancel()
        await self.idle()
        if self._syncing is not None:
            await asyncio.wait([self._syncing])
        try:
            await self._chat.aclose()
        except LogNotWritten:
            self._closed = False  # what is not written is not let go of
            raise
        except StorageError:
            await self._let_go()
            raise
        await self._let_go()

    async def _let_go(self) -> None:
        self._upkeep.cancel()
        await asyncio.wait([self._upkeep])
        if self._tenure is not None:
            await asyncio.to_thread(self._tenure.release)

    async def _keep_up(self) -> None:
        """Do what a session needs for as long as it is open here."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._beat())
            group.create_task(self._saving.keep_trying())

    async def _beat(self) -> None:
        """Show, for as long as the session is open, that its owner lives."""
        while self._tenure is not None:
            await asyncio.sleep(BEAT_SECONDS)
            await asyncio.to_thread(self._tenure.beat)

    def _work(self) -> None:
        has_work = bool(self.state.queue) or self.state.turn is not None
        if has_work and (self._worker is None or self._worker.done()):
            self._worker = asyncio.create_task(self._work_off(), name=f"session {self.id}")

    async def _work_off(self) -> None:
        while not self._closed:
            if self.state.turn is None:
                if not self.state.queue:
                    return
                self._begin(self.state.queue[0])
            await self._run_turn()
            # Not awaited: the next prompt need not wait for the disk to have it all.
            self._syncing = asyncio.create_task(self._sync(self._syncing), name=f"sync {self.id}")

    async def _sync(self, before: asyncio.Task[None] | None) -> None:
        """Have the disk itself hold the turn that is over."""
        if before is not None:
            await asyncio.wait([before])
        try:
            await self._saving.save(durable=True)
        except StorageError as error:
            self._warn(str(error))

    def _begin(self, item: QueuedPrompt) -> None:
        message_id = self._chat.new_message_id()
        self._chat.emit(PromptDequeued(item_id=item.id, reason="started"), turn_id=item.id)
        self._chat.emit(
            UserMessageReceived(id=message_id, parent=self.state.head, content=item.content),
            turn_id=item.id,
        )
        model = self.state.model.effective or ""
        self._chat.emit(TurnStarted(parent=message_id, model=model), turn_id=item.id)

    async def _run_turn(self) -> None:
        assert self.state.turn is not None
        turn = self._turn = Turn(self.state.turn.id, self._chat, self._saving, self._surroundings)
        task = self._turn_task = asyncio.create_task(turn.run(), name=f"turn {turn.id}")
        try:
            await asyncio.wait([task])
            if task.cancelled():
                turn.stop()  # cancelled before its first step, it could not do so itself
        finally:
            self._turn = self._turn_task = None

    def _check_no_rewind(self) -> None:
        if self._rewinding:
            raise SessionBusy(f"session {self.id} is being rewound; try again in a moment")

    def _check_open(self) -> None:
        if self._closed:
            raise SessionClosed(f"session {self.id} is closed; load it again")
        access = self.state.access
        if access.mode == "follower":
            raise SessionReadOnly(
                f"session {self.id} is only followed here ({access.owner}); "
                "fork it to work on a copy, or close it there and load it again"
            )
