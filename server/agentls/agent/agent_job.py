"""One agent at work on one job, to be followed and ended as a command is."""

import asyncio
from contextlib import suppress

from agentls.agent.chat import Chat
from agentls.agent.file_history import changes_of
from agentls.agent.gate_keeping import keep_gates
from agentls.agent.worker import Worker
from agentls.agent.workplace import Workplace
from agentls.checkpoints.observed import Observed
from agentls.errors import StorageError
from agentls.protocol.content import FileChange, TextBlock, TextPart
from agentls.protocol.events.conversation import (
    AnswerFinished,
    PromptDequeued,
    PromptQueued,
    ToolCallFinished,
    UsageRecorded,
)
from agentls.protocol.events.settings import ModeChanged
from agentls.state.event_store import Moment
from agentls.state.selectors import last_answer_text
from agentls.tasks.output import CommandOutput
from agentls.tools.agents import Report

MOST_OUTPUT = 30_000
"""Bytes of what an agent has done that are kept in memory."""
NO_REPORT = "it ended without a report"


class AgentJob:
    """An agent's conversation and the work that is done in it."""

    def __init__(self, parent: Chat, place: Workplace, prompt: str) -> None:
        """Begin to work on `prompt` in the conversation of `place`, for the one of `parent`."""
        chat, worker = place.chat, Worker(place)
        self.output = CommandOutput(MOST_OUTPUT)
        """What it has done so far, a line each, and its report at the end."""
        self._parent = parent
        self._chat = chat
        self._worker = worker
        self._changes: list[FileChange] = []
        self._turn_id = f"turn_{chat.id}"
        self._leave_chat = chat.subscribe(self._hear)
        self._leave_parent = parent.subscribe(self._hear_parent)
        keep_gates(chat, place.surroundings)
        content = (TextBlock(text=prompt),)
        chat.emit(PromptQueued(item_id=self._turn_id, content=content), turn_id=self._turn_id)
        worker.work()
        self._work = asyncio.create_task(self._finish(), name=f"agent {chat.id}")

    @property
    def has_ended(self) -> bool:
        """Whether it is done, one way or another."""
        return self._work.done()

    @property
    def exit_code(self) -> int:
        """0 where it did its job, else 1."""
        return int(self.report.failed)

    @property
    def report(self) -> Report:
        """What it has to say; complete once it has ended."""
        last = self._chat.state.last_turn
        changes = tuple(self._changes)
        if last is None or last.status in ("cancelled", "interrupted"):
            return Report("it was stopped", failed=True, changes=changes)
        if last.error is not None:
            return Report(last.error.message, failed=True, changes=changes)
        text = last_answer_text(self._chat.state)
        if last.status == "maxTurns":
            return Report(f"it did not come to an end. {text}", failed=True, changes=changes)
        return Report(text or NO_REPORT, failed=not text, changes=changes)

    async def wait(self) -> None:
        """Return when it has ended. Cancelled, it works on."""
        await asyncio.wait([self._work])

    async def end_gently(self, *, everywhere: bool) -> tuple[str, ...]:
        """Stop it where it is at work, and return when it has ended."""
        self.kill()
        await asyncio.wait([self._work])
        return ()

    def kill(self) -> None:
        """Stop it at once, also where its job is still being read."""
        if not self._worker.cancel(self._turn_id):
            removed = PromptDequeued(item_id=self._turn_id, reason="removed")
            self._chat.emit(removed, turn_id=self._turn_id)

    def close(self) -> None:
        """Let go of what was followed."""
        self._leave_chat()
        self._leave_parent()
        self.output.finish()

    async def observed(self) -> Observed:
        """Return what it did to files."""
        return Observed(tuple(self._changes), None)

    async def _finish(self) -> None:
        await self._worker.idle()
        await self._worker.aclose()
        self._tell(f"\n{self.report.text}")
        with suppress(StorageError):  # the session's own log has told of it
            await self._chat.aclose()

    def _hear(self, new: Moment, old: Moment) -> None:
        if new.envelope is None:
            return
        self._changes += changes_of(new.envelope)
        match new.envelope.event:
            case AnswerFinished() as answer:
                for part in answer.parts:
                    if isinstance(part, TextPart):
                        self._tell(part.text)
            case ToolCallFinished() as finished:
                self._tell(f"[{finished.summary}]")
            case UsageRecorded() as used:
                # Paid for by the session, whose sums show it.
                self._parent.emit(used.model_copy(update={"purpose": "subagent"}))
            case _:
                pass

    def _hear_parent(self, new: Moment, old: Moment) -> None:
        """Follow the session's mode: plan mode binds whoever works for it."""
        if new.envelope is not None and isinstance(new.envelope.event, ModeChanged):
            self._chat.emit(ModeChanged(mode=new.state.permissions.mode))

    def _tell(self, text: str) -> None:
        self.output.append(f"{text}\n".encode("utf-8", "replace"))
