"""The server-wide state: its reducer, its store, the slices that changed."""

from collections.abc import Callable
from typing import Any, NamedTuple, assert_never

from agentls.protocol.app_state import AppState
from agentls.protocol.events.app import (
    AppEvent,
    ClientConnected,
    ClientDisconnected,
    DefaultModelChanged,
    NoticePosted,
    SessionLeft,
    SessionOpened,
)
from agentls.state.store import Store

KEPT_NOTICES = 20


class AppMoment(NamedTuple):
    """The server-wide state at one point, and the number of the event that led to it."""

    state: AppState
    seq: int


class AppStore:
    """The server-wide state, changed by app events alone."""

    def __init__(self, state: AppState) -> None:
        self._store = Store(AppMoment(state, 0))

    @property
    def now(self) -> AppMoment:
        """State and number, taken together."""
        return self._store.value

    def subscribe(self, listener: Callable[[AppMoment, AppMoment], None]) -> Callable[[], None]:
        """Call `listener` with the new moment and the old one; returns the way out."""
        return self._store.subscribe(listener)

    def emit(self, event: AppEvent) -> None:
        """Let `event` happen."""

        def change(old: AppMoment) -> AppMoment:
            new = reduce_app(old.state, event)
            return old if new is old.state else AppMoment(new, old.seq + 1)

        self._store.update(change)


def reduce_app(state: AppState, event: AppEvent) -> AppState:
    """Return the state after `event`; the very same object where it changes nothing."""
    match event:
        case ClientConnected():
            return state.model_copy(update={"clients": (*state.clients, event.client)})
        case ClientDisconnected():
            rest = tuple(client for client in state.clients if client.id != event.client_id)
            return state.model_copy(update={"clients": rest})
        case SessionOpened():
            if event.session_id in state.sessions:
                return state
            return state.model_copy(update={"sessions": (*state.sessions, event.session_id)})
        case SessionLeft():
            left = tuple(session for session in state.sessions if session != event.session_id)
            return state if left == state.sessions else state.model_copy(update={"sessions": left})
        case DefaultModelChanged():
            if event.model == state.default_model:
                return state
            return state.model_copy(update={"default_model": event.model})
        case NoticePosted():
            notices = (*state.notices, event.notice)[-KEPT_NOTICES:]
            return state.model_copy(update={"notices": notices})
        case _ as never:
            assert_never(never)


def changed_app_slices(new: AppState, old: AppState) -> dict[str, Any]:
    """Return the slices that differ between two server-wide states, by name."""
    return {
        name: getattr(new, name)
        for name in AppState.model_fields
        if getattr(new, name) is not getattr(old, name)
    }
