"""A store that changes by events alone, each numbered and put in its envelope."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from agentls.protocol.events.envelope import MAIN_CHAT, Envelope, Origin, SessionEvents
from agentls.protocol.events.kinds import EphemeralEvent, RecordEvent
from agentls.protocol.session_state import SessionState
from agentls.state.reduce import reduce
from agentls.state.store import Store

Clock = Callable[[], datetime]


class Moment(NamedTuple):
    """A session at one point: the state, the number of the last kept event, what led to it."""

    state: SessionState
    seq: int
    envelope: Envelope | None
    """The event that led here; None for a session as it was loaded, at first or anew."""


MomentListener = Callable[[Moment, Moment], None]


def utc_now() -> datetime:
    """Return the time now, in UTC."""
    return datetime.now(UTC)


def timestamp(moment: datetime) -> str:
    """Return `moment` as events carry it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


class EventStore:
    """A session's state. `emit` is the only way to change it.

    The hook and the subscribers hear of every event in order, passing ones included, before `emit`
    returns; only an event emitted from inside one of them is delivered after it returns.
    """

    def __init__(
        self,
        state: SessionState,
        seq: int = 0,
        *,
        hook: MomentListener | None = None,
        clock: Clock = utc_now,
        chat_id: str = MAIN_CHAT,
    ) -> None:
        self._store = Store(Moment(state, seq, None), hook)
        self._clock = clock
        self._chat_id = chat_id

    @property
    def state(self) -> SessionState:
        """The state as it is now."""
        return self._store.value.state

    @property
    def seq(self) -> int:
        """The number of the last kept event."""
        return self._store.value.seq

    @property
    def now(self) -> Moment:
        """State and number, taken together."""
        return self._store.value

    def subscribe(self, listener: MomentListener) -> Callable[[], None]:
        """Call `listener` with the new moment and the old one; returns the way out."""
        return self._store.subscribe(listener)

    def emit(
        self,
        event: SessionEvents,
        *,
        turn_id: str | None = None,
        origin: Origin | None = None,
        state: SessionState | None = None,
    ) -> None:
        """Let `event` happen. One that changes nothing is not told, unless it is a record.

        `state` is the state it leads to where no reducer can say so: a moved head selects other
        events, which only the log knows.
        """

        def change(old: Moment) -> Moment:
            envelope = Envelope(
                seq=old.seq if isinstance(event, EphemeralEvent) else old.seq + 1,
                session_id=old.state.meta.id,
                chat_id=self._chat_id,
                turn_id=turn_id,
                origin=origin,
                at=timestamp(self._clock()),
                event=event,
            )
            new = state if state is not None else reduce(old.state, envelope)
            if new is old.state and not isinstance(event, RecordEvent):
                return old
            return Moment(new, envelope.seq, envelope)

        self._store.update(change)

    def replace(self, state: SessionState, seq: int) -> None:
        """Go on from another state, which no single event leads to."""
        self._store.update(lambda old: Moment(state, seq, None))

    def follow(self, envelope: Envelope) -> None:
        """Take an event that another process has numbered; one that is known already is not told.

        Raises ValueError where events before it are missing.
        """

        def change(old: Moment) -> Moment:
            if envelope.seq <= old.seq:
                return old
            if envelope.seq > old.seq + 1:
                raise ValueError(f"event {envelope.seq} came after event {old.seq}")
            return Moment(reduce(old.state, envelope), envelope.seq, envelope)

        self._store.update(change)
