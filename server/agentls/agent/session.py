"""A session as its clients drive it: prompts, answers, choices; one turn at a time."""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from agentls.agent.chat import Chat
from agentls.agent.settle import settle_interrupted
from agentls.agent.surroundings import Surroundings
from agentls.agent.turn import Turn, finish_turn
from agentls.errors import (
    ApprovalAlreadyAnswered,
    EmptyPrompt,
    InvalidRequest,
    SessionClosed,
    StorageError,
    UnknownCall,
    UnknownQueueItem,
)
from agentls.protocol.content import TextBlock
from agentls.protocol.events.approvals import ApprovalAnswered
from agentls.protocol.events.conversation import (
    PromptDequeued,
    PromptQueued,
    TitleChanged,
    TurnStarted,
    UserMessageReceived,
)
from agentls.protocol.events.envelope import Origin
from agentls.protocol.events.settings import ModeChanged, ModelChanged, RuleAdded
from agentls.protocol.history import CallResult
from agentls.protocol.session_state import ModelChoice, QueuedPrompt, SessionState
from agentls.protocol.tool_calls import ApprovalOption, Decision, Mode, ToolCall
from agentls.protocol.wire_model import JsonObject
from agentls.state.event_store import Moment, MomentListener


@dataclass(frozen=True, slots=True)
class PromptTaken:
    """A prompt is in the queue."""

    turn_id: str
    queued: bool
    """Another turn runs first."""


class Session:
    """One conversation in memory, and the task that works on it."""

    def __init__(self, chat: Chat, surroundings: Surroundings, warn: Callable[[str], None]) -> None:
        self._chat = chat
        self._surroundings = surroundings
        self._warn = warn
        self._turn: Turn | None = None
        self._turn_task: asyncio.Task[None] | None = None
        self._worker: asyncio.Task[None] | None = None
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

    def subscribe(self, listener: MomentListener) -> Callable[[], None]:
        """Call `listener` after every event, in order; returns the way out."""
        return self._chat.subscribe(listener)

    def wake(self) -> None:
        """Go on where the log stops: settle what a crash cut off, then work on what is left."""
        turn = self.state.turn
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
        call = self._waiting_call(call_id)
        option = _option(call, option_id)
        who = origin.client_id if origin else None
        if option.kind == "deny":
            text = f"the user said no: {reason}" if reason else "the user said no"
            decision = Decision(behaviour="deny", decided_by="user", reason=text, client_id=who)
        else:
            decision = Decision(
                behaviour="allow",
                decided_by="user",
                reason=f"the user chose “{option.label}”",
                rule=option.rule,
                client_id=who,
            )
        if option.kind == "allowSession" and option.rule:
            source = f"approval in {who}" if who else "approval"
            self._chat.emit(RuleAdded(behaviour="allow", rule=option.rule, source=source))
        self._chat.emit(
            ApprovalAnswered(
                parent=call.message_id,
                call_id=call_id,
                option_id=option_id,
                decision=decision,
                edited_input=edited_input,
            ),
            turn_id=self.state.turn and self.state.turn.id,
            origin=origin,
        )
        return decision

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

    async def idle(self) -> None:
        """Return when nothing runs and nothing is queued."""
        while self._worker is not None and not self._worker.done():
            await asyncio.wait([self._worker])

    async def flush(self) -> None:
        """Return when every event so far is on disk. Raises `LogNotWritten`."""
        await self._chat.flush()

    async def aclose(self) -> None:
        """Stop working, write what is left, let go. An open approval stays open for later."""
        if self._closed:
            return
        self._closed = True
        if self._turn is not None and self._turn_task is not None:
            self._turn.leave()
            self._turn_task.cancel()
        await self.idle()
        await self._chat.aclose()

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
            try:
                await self._chat.flush()
            except StorageError as error:
                self._warn(str(error))
                return

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
        turn = self._turn = Turn(self.state.turn.id, self._chat, self._surroundings)
        task = self._turn_task = asyncio.create_task(turn.run(), name=f"turn {turn.id}")
        try:
            await asyncio.wait([task])
            if task.cancelled():
                turn.stop()  # cancelled before its first step, it could not do so itself
        finally:
            self._turn = self._turn_task = None

    def _waiting_call(self, call_id: str) -> ToolCall:
        call = self.state.calls.get(call_id) or self._finished_call(call_id)
        if call is None:
            raise UnknownCall(f"no tool call {call_id!r} in session {self.id}")
        if call.status == "waiting":
            return call
        if call.approval is None:
            raise UnknownCall(f"tool call {call_id!r} does not wait for an approval")
        said = call.decision
        how = f"{said.behaviour} ({said.reason})" if said else call.outcome
        wish = call.approval.title
        raise ApprovalAlreadyAnswered(f"the approval of “{wish}” is settled already: {how}")

    def _finished_call(self, call_id: str) -> ToolCall | None:
        for entry in reversed(self.state.history):
            if isinstance(entry, CallResult) and entry.call.id == call_id:
                return entry.call
        return None

    def _check_open(self) -> None:
        if self._closed:
            raise SessionClosed(f"session {self.id} is closed; load it again")


def _option(call: ToolCall, option_id: str) -> ApprovalOption:
    options = call.approval.options if call.approval else ()
    for option in options:
        if option.id == option_id:
            return option
    known = ", ".join(option.id for option in options)
    raise InvalidRequest(f"optionId {option_id!r} is none of this approval's options: {known}")
