"""Makes room in the model's window: old tool output is cleared, then a summary takes its place.

What must not be lost is not left to the summary: it is carried and put back beside it.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

from agentls.agent.assemble import AnswerAssembler
from agentls.agent.tool_specs import tokens_of_tools, tool_specs
from agentls.agent.workplace import Workplace
from agentls.context.carried import carry
from agentls.context.compaction import (
    after_tokens,
    clear_point,
    kept_from,
    last_round,
    shortened,
    shrinks,
    summary_prompt,
    written,
)
from agentls.context.put_back import put_back
from agentls.context.room import Room
from agentls.errors import (
    AgentError,
    CompactionRejected,
    NothingToCompact,
    PromptTooLong,
    StorageError,
    TryAgainLater,
)
from agentls.llm.model import ModelRequest
from agentls.llm.model_facts import ModelFacts, facts_of, priced
from agentls.llm.watchdog import watched
from agentls.protocol.content import FileBlock, TextBlock, TextPart
from agentls.protocol.events.compaction import (
    Carried,
    CompactionFailed,
    CompactionReason,
    CompactionStarted,
    ConversationCompacted,
    ToolOutputsCleared,
)
from agentls.protocol.events.conversation import ErrorInfo, UsageRecorded
from agentls.protocol.events.envelope import SessionEvents
from agentls.protocol.history import Entry, Gap, History, UserMessage
from agentls.protocol.session_state import SessionState
from agentls.state.event_store import timestamp
from agentls.state.measure import tokens_of_text
from agentls.state.reduce_compaction import boundary_state
from agentls.state.selectors import context_use, tokens_in_use

BREAKER = 3
"""After so many failures in a row no compaction is begun that nobody asked for."""
LEAST_SUMMARISED = 2
"""Entries: a summary of fewer is no shorter."""
MOST_TRIES = 3
"""With less of the conversation each time, where the model's side finds it too long."""
LEAST_SUMMARY = 500
"""Tokens: in fewer nothing can be said."""
MOST_FILES = 5
"""Whose present content is put back."""
WAYS_OUT = (
    "begin the conversation anew (agent/session/clear, which a redo takes back), or begin a new "
    "session"
)


class Compactor:
    """Makes room for one turn of a chat."""

    def __init__(self, turn_id: str, place: Workplace) -> None:
        self._turn_id = turn_id
        self._chat = place.chat
        self._saving = place.saving
        self._surroundings = place.surroundings
        self._warn = place.warn

    async def make_room(self) -> None:
        """Make room where it is getting scarce. Where that fails the model is asked all the same.

        Raises `TryAgainLater` where the model's side fails in a way that may pass.
        """
        await self._chat.system_prompt()
        settings = self._surroundings.settings().settings.compaction
        window = self._facts.window
        if not settings.auto or window is None:
            return
        room = self._room(window)
        if not room.fits():
            self._warn(room.shortage())
            return
        used = self._used()
        if used < room.clear_at:
            return
        used -= self._clear_old_output(room)
        if used >= room.compact_at and self._state.compaction.failures < BREAKER:
            try:
                await self._replace("automatic", room)
            except TryAgainLater:
                raise
            except NothingToCompact:
                pass  # one round fills the window: what the model's side says of that counts
            except AgentError as error:
                self._warn(f"no room could be made in the model's window: {error}")

    async def compact(self, reason: CompactionReason) -> None:
        """Put a summary in the place of the conversation.

        Raises `NothingToCompact`, `CompactionRejected`, and a `ModelError` where the model's side
        fails; the conversation is then as it was.
        """
        state = self._state
        if reason == "tooLong" and state.compaction.failures >= BREAKER:
            raise PromptTooLong(
                f"The conversation is too long for the model, and {BREAKER} attempts in a row to "
                f"summarise it have failed: {WAYS_OUT}."
            )
        await self._chat.system_prompt()
        used = self._used()
        window = self._facts.window
        if window is None or reason == "tooLong":
            # The true window is not known, or smaller than it was said to be.
            window = min(window or used, used)
        await self._replace(reason, self._room(window))

    @property
    def _state(self) -> SessionState:
        return self._chat.state

    @property
    def _facts(self) -> ModelFacts:
        settings = self._surroundings.settings().settings
        return facts_of(self._state.model.effective or "", settings)

    @property
    def _overhead(self) -> int:
        system = self._chat.known_system_prompt
        return tokens_of_text(system) + tokens_of_tools(self._surroundings.tools)

    def _room(self, window: int) -> Room:
        settings = self._surroundings.settings().settings.compaction
        return Room(
            window=window,
            overhead=self._overhead,
            answer=self._facts.max_output,
            at_tokens=settings.at_tokens,
        )

    def _used(self) -> int:
        """Return what the next request holds: as the server has counted, or as it is estimated."""
        counted = context_use(self._state).used_tokens
        if counted is not None and self._state.usage.last is not None:
            return counted
        return tokens_in_use(self._state) + self._overhead

    def _clear_old_output(self, room: Room) -> int:
        """Have old tool output sent as placeholders; return about how many tokens that saves."""
        state = self._state
        point = clear_point(state.history, room, state.compaction.cleared_before)
        if point is None or state.head is None:
            return 0
        self._emit(ToolOutputsCleared(parent=state.head, before=point.before, tokens=point.tokens))
        return point.tokens

    async def _replace(self, reason: CompactionReason, room: Room) -> None:
        stays = kept_from(self._state.history, room.kept)
        if stays < LEAST_SUMMARISED:
            raise NothingToCompact(
                "the conversation is too short for a summary to make it any shorter"
            )
        self._emit(CompactionStarted(reason=reason))
        try:
            compacted = await self._compacted(reason, room, stays)
        except BaseException as error:
            self._fail(error)
            raise
        self._emit(compacted)
        self._chat.renew_system_prompt()

    async def _compacted(
        self, reason: CompactionReason, room: Room, stays: int
    ) -> ConversationCompacted:
        state = self._state
        carried = carry(
            state.compaction.carried,
            state.history[:stays],
            room,
            variables=state.variables,
            cwd=str(self._surroundings.cwd),
        )
        kept = state.history[stays:]
        lost_round = "" if kept else last_round(state.history, room.contents)
        kept_id = None if not kept else _id_of(kept[0])
        kept_seq = await self._chat.seq_of(kept_id) if kept_id else None
        summary = await self._summary(carried, room)
        present = await self._present(carried, room)
        behind = put_back(self._state, carried, present, last_round=lost_round)
        before = tokens_in_use(state)
        after = after_tokens(summary, behind, kept)
        if not shrinks(before, after):
            raise CompactionRejected(
                f"the summary does not make the conversation shorter: about {after:,} tokens "
                f"where {before:,} were; it was not taken"
            )
        return ConversationCompacted(
            id=self._chat.new_message_id(),
            parent=None,
            logical_parent=state.head,
            kept_from=kept_id,
            kept_from_seq=kept_seq,
            summary=summary,
            message_count=stays,
            state=boundary_state(self._state),
            reason=reason,
            carried=carried,
            turn_ids=self._chat.turn_ids,
            put_back=behind,
            tokens_before=before,
            tokens_after=after,
        )

    async def _summary(self, carried: Carried, room: Room) -> str:
        """Have the model write the summary; with less before it where it finds that too long."""
        budget = room.window - room.overhead - room.summary
        entries: Sequence[Entry] = self._state.history
        if tokens_in_use(self._state) > budget:
            entries = shortened(entries, budget)
        for number in range(MOST_TRIES):
            try:
                return await self._written(entries, carried, room)
            except PromptTooLong:
                if number + 1 == MOST_TRIES:
                    raise
                budget //= 2
                entries = shortened(self._state.history, budget)
        raise AssertionError("the last try returns or raises")

    async def _written(self, entries: Sequence[Entry], carried: Carried, room: Room) -> str:
        request = await self._request(entries, carried, room)
        message_id = self._chat.new_message_id()
        answer = AnswerAssembler(message_id, request.model, lambda event: None, lambda _: False)
        limits = self._surroundings.settings().settings.retry
        model = self._surroundings.catalog.resolve(request.model)
        events = watched(
            model.stream(request),
            first=limits.first_word_seconds,
            gap=limits.stall_seconds,
            quiet=limits.stall_seconds,
            on_quiet=lambda: None,
        )
        try:
            async with aclosing(events):
                async for event in events:
                    answer.feed(event)
        finally:
            self._count(answer)
        parts = answer.finish(None).parts
        text = "\n\n".join(part.text for part in parts if isinstance(part, TextPart))
        summary = written(text)
        if summary is None:
            raise CompactionRejected("the model wrote no summary; the conversation is as it was")
        return summary

    async def _request(
        self, entries: Sequence[Entry], carried: Carried, room: Room
    ) -> ModelRequest:
        """Return the request for a summary: the conversation as ever, so that caches hit."""
        state, chat = self._state, self._chat
        most = max(room.summary, LEAST_SUMMARY)
        instructions = state.turn.instructions if state.turn else None
        asked = UserMessage(
            id="summary",
            at=timestamp(self._surroundings.clock()),
            turn_id=self._turn_id,
            content=(TextBlock(text=summary_prompt(instructions, carried, most)),),
        )
        await self._saving.secure()
        history = History([*entries, asked])
        await chat.conversation.prepare(history)
        cleared = state.compaction
        messages = chat.conversation.messages(history, cleared.cleared_before, cleared.cleared_at)
        return ModelRequest(
            model=state.model.effective or "",
            system=await chat.system_prompt(),
            messages=messages,
            tools=tool_specs(self._surroundings.tools),
            max_tokens=most,
            encoded=messages.encoded,
        )

    def _count(self, answer: AnswerAssembler) -> None:
        if not answer.usage.context_tokens:
            return
        self._emit(
            UsageRecorded(
                response_id=answer.response_id,
                model=answer.model,
                usage=priced(answer.usage, self._facts),
                purpose="compaction",
                window=self._facts.window,
            )
        )

    async def _present(self, carried: Carried, room: Room) -> tuple[FileBlock, ...]:
        """Return what the files hold now that the agent has changed last, as far as there is room.

        The latest come first; one that does not fit whole is left out: the agent can read it.
        """
        found: list[FileBlock] = []
        left = room.contents
        changed = [file.path for file in reversed(carried.files) if file.changed and file.sha256]
        for path in changed[:MOST_FILES]:
            text = await self._text_of(path)
            if text is not None and (size := tokens_of_text(text)) <= left:
                left -= size
                lines = text.count("\n") + 1
                found.append(
                    FileBlock(what="file", path=path, text=text, first_line=1, last_line=lines)
                )
        return tuple(found)

    async def _text_of(self, path: str) -> str | None:
        place = self._surroundings.cwd / Path(path)
        try:
            content = await self._surroundings.host.files.read(place)
            return content.data.decode()
        except (OSError, ValueError):
            return None

    def _fail(self, error: BaseException) -> None:
        """Tell that the conversation stays as it is, and when no more is tried by itself."""
        passes = isinstance(error, TryAgainLater | StorageError | asyncio.CancelledError)
        message = str(error) or "the turn was stopped"
        info = ErrorInfo(kind=type(error).__name__, message=message, retryable=passes)
        self._emit(CompactionFailed(error=info, counts=not passes))
        if not passes and self._state.compaction.failures == BREAKER:
            self._warn(
                f"{BREAKER} attempts in a row to summarise the conversation have failed, so no "
                f"more is made by itself. When the model's window is full: {WAYS_OUT}."
            )

    def _emit(self, event: SessionEvents) -> None:
        self._chat.emit(event, turn_id=self._turn_id)


def _id_of(entry: Entry) -> str | None:
    return None if isinstance(entry, Gap) else getattr(entry, "id", None)
