"""One conversation with its log: every event goes through here, is kept, and is then told."""

import asyncio
import secrets
from collections.abc import Callable, Iterator

from agentls.agent.file_history import FileHistory
from agentls.agent.surroundings import Surroundings
from agentls.context.system_prompt import system_prompt
from agentls.errors import LogNotWritten
from agentls.llm.cache_watch import CacheWatch
from agentls.llm.normalise import Conversation
from agentls.protocol.content import ToolCallPart
from agentls.protocol.events.conversation import (
    AnswerFinished,
    PromptDequeued,
    TagChanged,
    TitleChanged,
    ToolCallFinished,
    ToolResultIgnored,
    TurnFinished,
)
from agentls.protocol.events.envelope import MAIN_CHAT, Envelope, Origin, SessionEvents
from agentls.protocol.events.kinds import EphemeralEvent, MessageEvent
from agentls.protocol.session_state import SessionState
from agentls.sessions.loaded import LoadedSession
from agentls.sessions.store import SessionLog
from agentls.state.event_store import EventStore, Moment, MomentListener, timestamp
from agentls.state.selectors import summary

MOST_TURN_IDS = 1_000
"""Carried past a compaction: a prompt is sent again soon, or never."""
PATIENCE_SECONDS = 3.0
"""How long a disk may take to write a log before it counts as one that does not answer."""


class Chat:
    """The state of a conversation, the log it is kept in, and what a model call needs of it."""

    def __init__(
        self,
        loaded: LoadedSession,
        log: SessionLog | None,
        surroundings: Surroundings,
        effects: MomentListener,
        *,
        chat_id: str = MAIN_CHAT,
    ) -> None:
        """Go on from `loaded`; `log` is None where another process writes it."""
        self.id = chat_id
        """`main`, or that of an agent's conversation."""
        self._log = log
        self._surroundings = surroundings
        self._effects = effects
        self._store = EventStore(
            loaded.state, loaded.seq, hook=self._keep, clock=surroundings.clock, chat_id=chat_id
        )
        self._call_ids = set(loaded.call_ids)
        self._turn_ids = dict.fromkeys(loaded.turn_ids)
        self._system: str | None = None
        self._seqs: dict[str, int] = {}
        """By message, the number of its event, for those that were heard here."""
        self.files = FileHistory(surroundings, loaded.state.meta.id, self._files_read)
        """What the calls do to files."""
        self.conversation = Conversation()
        """Turns the history into what the API takes."""
        self.cache_watch = CacheWatch()
        """Notices when the server's prompt cache was missed."""

    @property
    def state(self) -> SessionState:
        """The state as it is now."""
        return self._store.state

    @property
    def now(self) -> Moment:
        """State and number, taken together."""
        return self._store.now

    def emit(
        self,
        event: SessionEvents,
        *,
        turn_id: str | None = None,
        origin: Origin | None = None,
        state: SessionState | None = None,
    ) -> None:
        """Let an event happen; see `EventStore.emit`."""
        self._store.emit(event, turn_id=turn_id, origin=origin, state=state)

    def finish_call(self, finished: ToolCallFinished, *, turn_id: str) -> None:
        """Take a call's result; one for a call that has none coming is kept and has no effect."""
        call = self.state.calls.get(finished.call_id)
        if call is not None and call.status != "finished":
            self.emit(finished, turn_id=turn_id)
            return
        known = self.is_call_taken(finished.call_id)
        self.emit(
            ToolResultIgnored(
                call_id=finished.call_id,
                why="duplicate" if call else "late" if known else "unknown",
                outcome=finished.outcome,
                summary=finished.summary,
                content=finished.content,
                changes=finished.changes,
            ),
            turn_id=turn_id,
        )

    def subscribe(self, listener: MomentListener) -> Callable[[], None]:
        """Call `listener` after every event; returns the way out."""
        return self._store.subscribe(listener)

    def follow(self, envelope: Envelope) -> None:
        """Take an event that the session's owner has kept; see `EventStore.follow`."""
        self._store.follow(envelope)

    def replace(self, state: SessionState, seq: int) -> None:
        """Go on from another state; see `EventStore.replace`."""
        self._store.replace(state, seq)

    @property
    def unsaved(self) -> int:
        """How many bytes wait to be written."""
        return self._log.unsaved if self._log else 0

    async def flush(self, *, durable: bool = False) -> None:
        """Return when every event so far is kept; see `SessionLog.flush` for what it raises."""
        if self._log is None:
            return
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._log.flush(durable=durable)
        except TimeoutError:
            raise LogNotWritten(
                f"the log of session {self.state.meta.id} could not be written: the disk does not "
                f"answer. {self.unsaved} bytes wait in memory and are written when it does."
            ) from None

    async def aclose(self) -> None:
        """Write what is left and let go of the log; raises as `flush` does."""
        if self._log is not None:
            self._log.describe(summary(self.state, timestamp(self._surroundings.clock())))
            # First, as a log that is closed takes nothing more.
            await self.flush()
            await self._log.aclose()

    async def system_prompt(self) -> str:
        """Return the system prompt, the same until `renew_system_prompt` is called."""
        if self._system is None:
            meta, around = self.state.meta, self._surroundings
            instructions = await asyncio.to_thread(around.instructions)
            self._system = system_prompt(
                around.cwd,
                around.roots,
                platform=meta.platform,
                shell=meta.shell,
                git_branch=meta.git_branch,
                date=around.clock().date().isoformat(),
                settings=around.prompt,
                instructions=instructions,
            )
        return self._system

    @property
    def known_system_prompt(self) -> str:
        """The system prompt as far as it has been made; empty where it has not."""
        return self._system or ""

    def renew_system_prompt(self) -> None:
        """Have the instructions read anew, where what is cached of them is void anyway."""
        self._system = None

    async def seq_of(self, message_id: str) -> int | None:
        """Return the number of a message's event, read from the log where it was not heard here."""
        if message_id not in self._seqs:
            await self.flush()
            store, session_id = self._surroundings.store, self.state.meta.id
            # Imported for the first compaction of a long session: an editor waits for the start.
            from agentls.sessions.loading import events

            known = await asyncio.to_thread(events, store, session_id)
            self._seqs |= {e.event.id: e.seq for e in known if isinstance(e.event, MessageEvent)}
        return self._seqs.get(message_id)

    def new_message_id(self) -> str:
        """Return an id no message has."""
        return f"msg_{secrets.token_hex(8)}"

    def is_call_taken(self, call_id: str) -> bool:
        """Whether a tool call of this chat has the id already."""
        return call_id in self._call_ids

    @property
    def turn_ids(self) -> tuple[str, ...]:
        """The ids that turns of this chat have had, as far back as one may be sent again."""
        return tuple(self._turn_ids)[-MOST_TURN_IDS:]

    def is_turn_taken(self, turn_id: str) -> bool:
        """Whether a turn of this chat has had the id."""
        return turn_id in self._turn_ids

    def _files_read(self) -> Iterator[str]:
        """Yield the names of the files that the session has read or written."""
        for name in self.state.variables:
            tool, _, path = name.partition(":")
            if tool == "Read":
                yield path

    def _keep(self, new: Moment, old: Moment) -> None:
        envelope = new.envelope
        if envelope is None:
            return
        if self._log is not None and not isinstance(envelope.event, EphemeralEvent):
            self._log.append(envelope)
            if isinstance(envelope.event, TurnFinished | TitleChanged | TagChanged):
                self._log.describe(summary(new.state, envelope.at))
        if isinstance(envelope.event, MessageEvent):
            self._seqs[envelope.event.id] = envelope.seq
        if isinstance(envelope.event, PromptDequeued):
            self._turn_ids[envelope.event.item_id] = None
        if isinstance(envelope.event, AnswerFinished):
            self._call_ids.update(_ids_of(envelope.event.parts))
        if new.state.turn is not old.state.turn and new.state.turn:
            self._turn_ids[new.state.turn.id] = None
        self._effects(new, old)


def _ids_of(parts: tuple[object, ...]) -> Iterator[str]:
    return (part.id for part in parts if isinstance(part, ToolCallPart))
