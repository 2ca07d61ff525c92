"""One conversation with its log: every event goes through here, is kept, and is then told."""

import secrets
from collections.abc import Callable, Iterator

from agentls.agent.surroundings import Surroundings
from agentls.context.system_prompt import system_prompt
from agentls.llm.normalise import Conversation
from agentls.protocol.content import ToolCallPart
from agentls.protocol.events.conversation import AnswerFinished
from agentls.protocol.events.envelope import Origin, SessionEvents
from agentls.protocol.events.kinds import EphemeralEvent
from agentls.protocol.history import Answer, UserMessage
from agentls.protocol.session_state import SessionState
from agentls.sessions.store import SessionLog
from agentls.state.event_store import EventStore, Moment, MomentListener


class Chat:
    """The state of a conversation, the log it is kept in, and what a model call needs of it."""

    def __init__(
        self,
        state: SessionState,
        seq: int,
        log: SessionLog,
        surroundings: Surroundings,
        effects: MomentListener,
    ) -> None:
        self._log = log
        self._surroundings = surroundings
        self._effects = effects
        self._store = EventStore(state, seq, hook=self._keep, clock=surroundings.clock)
        self._call_ids = set(_call_ids(state))
        self._turn_ids = {
            entry.turn_id for entry in state.history if isinstance(entry, UserMessage)
        }
        self._system: str | None = None
        self.conversation = Conversation()
        """Turns the history into what the API takes."""

    @property
    def state(self) -> SessionState:
        """The state as it is now."""
        return self._store.state

    @property
    def now(self) -> Moment:
        """State and number, taken together."""
        return self._store.now

    def emit(
        self, event: SessionEvents, *, turn_id: str | None = None, origin: Origin | None = None
    ) -> None:
        """Let an event happen; see `EventStore.emit`."""
        self._store.emit(event, turn_id=turn_id, origin=origin)

    def subscribe(self, listener: MomentListener) -> Callable[[], None]:
        """Call `listener` after every event; returns the way out."""
        return self._store.subscribe(listener)

    async def flush(self) -> None:
        """Return when every event so far is kept. Raises `LogNotWritten`."""
        await self._log.flush()

    async def aclose(self) -> None:
        """Write what is left and let go of the log. Raises `LogNotWritten`."""
        await self._log.aclose()

    def system_prompt(self) -> str:
        """Return the system prompt, the same for as long as the chat is open."""
        if self._system is None:
            meta, around = self.state.meta, self._surroundings
            self._system = system_prompt(
                around.cwd,
                around.roots,
                platform=meta.platform,
                shell=meta.shell,
                git_branch=meta.git_branch,
                date=around.clock().date().isoformat(),
                settings=around.prompt,
            )
        return self._system

    def new_message_id(self) -> str:
        """Return an id no message has."""
        return f"msg_{secrets.token_hex(8)}"

    def is_call_taken(self, call_id: str) -> bool:
        """Whether a tool call of this chat has the id already."""
        return call_id in self._call_ids

    def is_turn_taken(self, turn_id: str) -> bool:
        """Whether a turn of this chat has had the id."""
        return turn_id in self._turn_ids

    def _keep(self, new: Moment, old: Moment) -> None:
        envelope = new.envelope
        if envelope is None:
            return
        if not isinstance(envelope.event, EphemeralEvent):
            self._log.append(envelope)
        if isinstance(envelope.event, AnswerFinished):
            self._call_ids.update(_ids_of(envelope.event.parts))
        if new.state.turn is not old.state.turn and new.state.turn:
            self._turn_ids.add(new.state.turn.id)
        self._effects(new, old)


def _call_ids(state: SessionState) -> Iterator[str]:
    for entry in state.history:
        if isinstance(entry, Answer):
            yield from _ids_of(entry.parts)


def _ids_of(parts: tuple[object, ...]) -> Iterator[str]:
    return (part.id for part in parts if isinstance(part, ToolCallPart))
