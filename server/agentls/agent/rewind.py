"""Goes back to before a prompt, and forth again: the conversation, the files, or both.

Nothing is taken out of the log. A rewind appends where the conversation goes on from, and what was
done to files; a redo appends the same for the way back.
"""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from agentls.agent.chat import Chat
from agentls.agent.file_history import changes_of
from agentls.agent.surroundings import Surroundings
from agentls.checkpoints.applying import Outcome, Restorer
from agentls.checkpoints.present import Look
from agentls.checkpoints.restore import Plan, plan
from agentls.errors import SessionBusy, UnknownMessage, WrongPhase
from agentls.protocol.content import FileChange, text_of
from agentls.protocol.events.conversation import (
    HeadMoved,
    RedoPoint,
    UserMessageReceived,
)
from agentls.protocol.events.envelope import Envelope, Origin
from agentls.protocol.kept_sessions import RewindScope, RewoundFile, SessionRewindResult
from agentls.protocol.session_state import SessionState
from agentls.sessions.chain import replay
from agentls.sessions.loading import events
from agentls.state.event_store import Moment
from agentls.state.reduce import reduce
from agentls.tools.line_diff import count_changes


@dataclass(frozen=True, slots=True)
class _Goal:
    """What a rewind or a redo is to lead to."""

    moved: HeadMoved
    """As it is recorded, but for what is done to files."""
    changes: tuple[FileChange, ...]
    """To be taken back."""
    prompt: str | None
    moves_head: bool


class Rewinder:
    """Takes one chat back, or forth, once."""

    def __init__(self, chat: Chat, surroundings: Surroundings) -> None:
        self._chat = chat
        self._surroundings = surroundings
        self._heard: list[Envelope] = []

    async def rewind(
        self,
        message_id: str,
        scope: RewindScope,
        *,
        dry_run: bool,
        force: frozenset[str],
        origin: Origin | None,
    ) -> SessionRewindResult:
        """Make it as if the prompt had not been sent; conflicts are left alone unless forced.

        Raises `UnknownMessage` for what is no prompt of the conversation, `SessionBusy`, and what
        flushing raises.
        """
        self._check_idle()
        with self._listening():
            log = await self._events()
            goal = self._goal_before(message_id, scope, log)
            return await self._go(goal, log, dry_run=dry_run, force=force, origin=origin)

    async def clear(self, *, origin: Origin | None) -> int:
        """Begin the conversation anew, files as they are; return how many entries that left behind.

        Raises `SessionBusy`, and what flushing raises.
        """
        self._check_idle()
        state = self._chat.state
        moved = HeadMoved(head=None, previous=state.head, reason="clear", redo=state.redo)
        with self._listening():
            log = await self._events() if state.head is not None else ()
            if not log:
                return 0
            goal = _Goal(moved, (), None, moves_head=True)
            await self._go(goal, log, dry_run=False, force=frozenset(), origin=origin)
        return len(state.history)

    async def redo(
        self, *, dry_run: bool, force: frozenset[str], origin: Origin | None
    ) -> SessionRewindResult:
        """Undo the last rewind. Raises `WrongPhase` where there is none, and as `rewind` does."""
        self._check_idle()
        state = self._chat.state
        if not state.redo:
            raise WrongPhase(
                f"session {state.meta.id} has no rewind to be undone; a new prompt ends that"
            )
        point = state.redo[-1]
        moved = HeadMoved(head=point.head, previous=state.head, reason="redo", redo=state.redo[:-1])
        goal = _Goal(moved, point.changes, None, moves_head=point.head != state.head)
        with self._listening():
            log = await self._events()
            return await self._go(goal, log, dry_run=dry_run, force=force, origin=origin)

    async def _go(
        self,
        goal: _Goal,
        log: tuple[Envelope, ...],
        *,
        dry_run: bool,
        force: frozenset[str],
        origin: Origin | None,
    ) -> SessionRewindResult:
        steps = await asyncio.to_thread(self._plan, goal.changes)
        before = len(self._chat.state.history)
        outcome = Outcome()
        if not dry_run:
            outcome = await self._restore(goal, steps, force, origin)
            cwd = self._surroundings.cwd
            await self._chat.files.disown([cwd / change.path for change in outcome.changes])
        moved = _recorded(goal.moved, tuple(outcome.changes))
        state = await self._state_after(log, moved) if goal.moves_head else None
        if not dry_run:
            self._chat.emit(moved, origin=origin, state=state)
        after = len(state.history) if state else before
        return SessionRewindResult(
            applied=not dry_run,
            head=moved.head,
            prompt=goal.prompt,
            messages=abs(before - after),
            files=_files(steps, outcome),
        )

    async def _restore(
        self, goal: _Goal, steps: Plan, force: frozenset[str], origin: Origin | None
    ) -> Outcome:
        """Bring the files back. Cancelled, what was done by then is put on record, to be undone."""
        made: list[FileChange] = []
        try:
            return await self._restorer().apply(steps, forced=force, done=made.append)
        except asyncio.CancelledError:
            head = self._chat.state.head
            if made:
                stays = HeadMoved(head=head, previous=head, redo=self._chat.state.redo)
                self._chat.emit(_recorded(stays, tuple(made)), origin=origin)
            raise

    def _goal_before(self, message_id: str, scope: RewindScope, log: Sequence[Envelope]) -> _Goal:
        state = self._chat.state
        place = next((i for i, e in enumerate(log) if _is_prompt(e, message_id)), None)
        in_sight = any(getattr(entry, "id", None) == message_id for entry in state.history)
        if place is None or not in_sight:
            raise UnknownMessage(
                f"{message_id!r} is no prompt of this conversation; a rewind goes back to one"
            )
        prompt = log[place].event
        assert isinstance(prompt, UserMessageReceived)
        head = state.head if scope == "files" else prompt.parent
        changes = () if scope == "conversation" else _changes(log[place:])
        moved = HeadMoved(head=head, previous=state.head, reason="rewind", redo=state.redo)
        return _Goal(moved, changes, text_of(prompt.content), moves_head=head != state.head)

    def _plan(self, changes: tuple[FileChange, ...]) -> Plan:
        return plan(
            changes,
            self._look(),
            cwd=str(self._surroundings.cwd),
            kept=self._surroundings.store.contents.has,
        )

    def _look(self) -> Look:
        return Look(self._surroundings.roots, self._surroundings.host.buffers)

    def _restorer(self) -> Restorer:
        return Restorer(
            self._look(),
            self._surroundings.store.contents,
            self._chat.state.meta.id,
            cwd=self._surroundings.cwd,
            count_lines=count_changes,
        )

    async def _state_after(self, log: tuple[Envelope, ...], moved: HeadMoved) -> SessionState:
        """Return where a moved head leads, with what has happened since `log` was read."""
        last = log[-1].model_copy(update={"seq": log[-1].seq + 1, "event": moved})
        state = await asyncio.to_thread(replay, [*log, last])
        now = self._chat.state
        for envelope in self._heard:
            if envelope.seq > log[-1].seq:
                state = reduce(state, envelope)
        passing = {"access": now.access, "storage": now.storage, "gates": now.gates}
        return state.model_copy(update=passing)

    @contextmanager
    def _listening(self) -> Generator[None]:
        """Hear of what happens while the log is read and files are brought back."""

        def hear(new: Moment, old: Moment) -> None:
            if new.envelope is not None:
                self._heard.append(new.envelope)

        unsubscribe = self._chat.subscribe(hear)
        try:
            yield
        finally:
            unsubscribe()

    async def _events(self) -> tuple[Envelope, ...]:
        await self._chat.flush()
        return await asyncio.to_thread(events, self._surroundings.store, self._chat.state.meta.id)

    def _check_idle(self) -> None:
        state = self._chat.state
        if state.turn is not None or state.queue:
            raise SessionBusy(
                f"session {state.meta.id} is at work; stop its turn, and what is queued, first"
            )


def _is_prompt(envelope: Envelope, message_id: str) -> bool:
    event = envelope.event
    if not isinstance(event, UserMessageReceived):
        return False
    return event.id == message_id and event.author == "user"


def _changes(log: Sequence[Envelope]) -> tuple[FileChange, ...]:
    return tuple(change for envelope in log for change in changes_of(envelope))


def _recorded(moved: HeadMoved, changes: tuple[FileChange, ...]) -> HeadMoved:
    """Return the event with what was done; a rewind with how it is undone."""
    redo = moved.redo
    if moved.reason != "redo":
        redo = (*redo, RedoPoint(head=moved.previous, changes=changes))
    return moved.model_copy(update={"changes": changes, "redo": redo})


def _files(steps: Plan, outcome: Outcome) -> tuple[RewoundFile, ...]:
    failed = {failure.name: failure.reason for failure in outcome.failures}
    return tuple(
        RewoundFile(
            path=step.name,
            action=step.action,
            conflict=step.conflict,
            in_editor=step.present.in_editor,
            failed=failed.get(step.name),
        )
        for step in steps.steps
        if step.action != "nothing" or step.conflict
    )
