"""A session as its clients drive it: prompts, answers, choices."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agentls.agent.approval_answers import answer_approval
from agentls.agent.background import BackgroundTasks
from agentls.agent.chat import Chat
from agentls.agent.gate_keeping import keep_gates
from agentls.agent.prompts import PromptTaken, new_turn_id
from agentls.agent.question_answers import answer_questions
from agentls.agent.saving import Saving
from agentls.agent.subagents import Subagents
from agentls.agent.surroundings import Surroundings
from agentls.agent.upkeep import keep_up
from agentls.agent.worker import Worker
from agentls.agent.workplace import Workplace
from agentls.errors import (
    EmptyPrompt,
    LogNotWritten,
    NoFastMode,
    NothingToCompact,
    SessionBusy,
    SessionClosed,
    SessionReadOnly,
    StorageError,
    UnknownQueueItem,
)
from agentls.protocol.content import Content, TextBlock
from agentls.protocol.events.conversation import (
    Delivery,
    PromptDequeued,
    PromptQueued,
    TagChanged,
    TitleChanged,
)
from agentls.protocol.events.envelope import Origin
from agentls.protocol.events.settings import FastModeChanged, ModeChanged, ModelChanged
from agentls.protocol.kept_sessions import RewindScope, SessionRewindResult
from agentls.protocol.session_state import ModelChoice, SessionState
from agentls.protocol.tasks import Task
from agentls.protocol.tool_calls import Decision, Mode, QuestionAnswer
from agentls.protocol.wire_model import JsonObject
from agentls.sessions.tenure import Tenure
from agentls.state.event_store import Moment, MomentListener

if TYPE_CHECKING:
    from agentls.agent.following import Following
    from agentls.agent.rewind import Rewinder


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
        self.tasks = BackgroundTasks(
            chat,
            surroundings.output_folder(chat.state.meta.id),
            self._saving.secure,
            most_on_disk=surroundings.settings().settings.tasks.output_megabytes << 20,
        )
        """What runs in the background."""
        place = Workplace(
            chat=chat,
            saving=self._saving,
            surroundings=surroundings,
            background=self.tasks,
            agents=Subagents(chat, surroundings, self.tasks, tenure),
            warn=warn,
        )
        self._worker = Worker(place)
        keep_gates(chat, surroundings)
        self._tenure = tenure
        self._following = following
        self._rewound = asyncio.Event()
        """No rewind is under way."""
        self._rewound.set()
        upkeep = following.run() if following else keep_up(self._saving, tenure)
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
        self._worker.wake()

    def prompt(
        self,
        text: str,
        *,
        turn_id: str | None = None,
        delivery: Delivery = "queue",
        attached: tuple[Content, ...] = (),
        origin: Origin | None = None,
    ) -> PromptTaken:
        """Take a prompt, with what is attached to it; it is in the queue when this returns.

        Sent again with a turn id that is known, it is answered again and not run twice. Raises
        `EmptyPrompt`, and what `ModelCatalog.resolve` raises where no model can answer it.
        """
        if not text.strip() and not attached:
            raise EmptyPrompt("the prompt has no text; write what the agent should do")
        said = (TextBlock(text=text),) if text.strip() else ()
        queued = PromptQueued(
            item_id=turn_id or new_turn_id(), content=(*said, *attached), delivery=delivery
        )
        return self._enqueue(queued, origin)

    def compact(
        self,
        instructions: str | None = None,
        *,
        turn_id: str | None = None,
        origin: Origin | None = None,
    ) -> PromptTaken:
        """Have a summary take the place of the conversation, when what runs and waits is done.

        `instructions` say what it should heed. Raises `NothingToCompact`, and as `prompt` does.
        """
        if self.state.head is None and not self.state.queue:
            raise NothingToCompact(f"nothing has been said in session {self.id} yet")
        content = (TextBlock(text=instructions),) if instructions else ()
        queued = PromptQueued(item_id=turn_id or new_turn_id(), content=content, kind="compact")
        return self._enqueue(queued, origin)

    def _enqueue(self, queued: PromptQueued, origin: Origin | None) -> PromptTaken:
        self._check_open()
        self._check_no_rewind()
        self._surroundings.catalog.resolve(self.state.model.effective or "")
        turn_id = queued.item_id
        busy = self.state.turn is not None or bool(self.state.queue)
        if self._chat.is_turn_taken(turn_id):
            return PromptTaken(turn_id, queued=False)
        self._chat.emit(queued, turn_id=turn_id, origin=origin)
        self._worker.work()
        return PromptTaken(turn_id, queued=busy)

    def cancel(self, turn_id: str, *, origin: Origin | None = None) -> bool:
        """Stop the turn of this id, running or queued; return whether there was one."""
        self._check_open()
        if any(item.id == turn_id for item in self.state.queue):
            self.remove_queued(turn_id, origin=origin)
            return True
        return self._worker.cancel(turn_id)

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

    def answer_questions(
        self,
        call_id: str,
        answers: tuple[QuestionAnswer, ...] | None,
        *,
        origin: Origin | None = None,
    ) -> None:
        """Answer what a call asks the user; None: the user would not answer.

        Raises as `agentls.agent.question_answers.answer_questions` does.
        """
        self._check_open()
        answer_questions(self._chat, call_id, answers, origin=origin)

    async def stop_task(self, task_id: str) -> Task:
        """End a task and all that it started, and return how it ended. Raises `UnknownTask`."""
        self._check_open()
        return await self.tasks.stop(task_id)

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

    def set_fast_mode(self, enabled: bool, *, origin: Origin | None = None) -> ModelChoice:
        """Have a lighter model answer, or the chosen one again. Raises `NoFastMode`."""
        self._check_open()
        model = self.state.gates.fast_model if enabled else None
        if enabled and model is None and self.state.model.fast is None:
            raise NoFastMode(
                f"there is no lighter model than {self.state.model.effective} here; "
                "name one in the user's settings, as fastModel"
            )
        if model is not None:
            self._surroundings.catalog.resolve(model)
        if not enabled or model is not None:
            self._chat.emit(FastModeChanged(model=model), origin=origin)
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

    async def clear(self, *, origin: Origin | None = None) -> int:
        """Begin the conversation anew; return how many entries were left behind.

        Files stay as they are, and a redo brings the conversation back. Raises `SessionBusy`.
        """
        with self._alone():
            left_behind = await self._rewinder().clear(origin=origin)
            self._chat.renew_system_prompt()
            await self.save(durable=True)
        return left_behind

    @contextmanager
    def _alone(self) -> Generator[None]:
        """Keep prompts and other rewinds out while one is done."""
        self._check_open()
        self._check_no_rewind()
        self._rewound.clear()
        try:
            yield
        finally:
            self._rewound.set()

    def _rewinder(self) -> "Rewinder":
        # Imported when it is needed: an editor waits for the server's start.
        from agentls.agent.rewind import Rewinder

        return Rewinder(self._chat, self._surroundings)

    async def user_saved(self, path: Path) -> None:
        """Note that a file is as the user has it now, and no doing of a task that runs."""
        await self._chat.files.disown([path])

    def continue_unsaved(self) -> None:
        """Let work go on although it cannot be written just now; it is when it can be."""
        self._saving.accept()

    async def idle(self) -> None:
        """Return when no turn runs and nothing is queued; tasks may go on in the background."""
        await self._worker.idle()

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
        # What a rewind has done to files must get into the log.
        await asyncio.gather(self._worker.aclose(), self.tasks.aclose(), self._rewound.wait())
        try:
            await self._chat.aclose()
        except LogNotWritten:
            self._closed = False  # what is not written is not let go of
            self.tasks.reopen()
            self._worker.reopen()
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

    def _check_no_rewind(self) -> None:
        if not self._rewound.is_set():
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
