"""What one client is sent of the state: events, streamed text, slices; never more than it takes.

While a client does not read, streamed text is joined and slices are replaced by newer ones. Events
are never thinned out: a client whose backlog outgrows `MAX_BACKLOG` is sent a snapshot of each
session instead, once it reads again.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pygls.lsp.server import LanguageServer

from agentls.lsp.rpc import notify, outbox_of
from agentls.lsp.wire import LOW_WATER, Writer
from agentls.protocol.events.conversation import PartDelta
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.methods import (
    APP_DID_CHANGE,
    SESSION_DELTA,
    SESSION_DID_RESET,
    SESSION_EVENT,
    STATE_DID_CHANGE,
)
from agentls.protocol.requests import (
    AppDidChangeParams,
    ClientOptions,
    SessionDeltaParams,
    SessionDidResetParams,
    StateDidChangeParams,
)
from agentls.protocol.session_state import SessionState
from agentls.state.app_store import AppMoment, AppStore, changed_app_slices
from agentls.state.event_store import Moment
from agentls.state.selectors import changed_slices, snapshot

if TYPE_CHECKING:
    from agentls.agent.session import Session

MAX_BACKLOG = 8 << 20
"""Bytes that may wait for a client before events give way to a snapshot."""


class Publisher:
    """Tells one client of the sessions it has opened, and of the server."""

    def __init__(self, server: LanguageServer, options: ClientOptions) -> None:
        self._server = server
        self._options = options
        self._feeds: dict[str, _SessionFeed] = {}
        self._leave_app: Callable[[], None] | None = None
        self._app_slices: dict[str, Any] = {}
        self._app_seq = 0

    def follow_app(self, app: AppStore) -> None:
        """Send every change of the server-wide state from now on."""
        if self._options.state:
            self._leave_app = app.subscribe(self._on_app)

    def follow(self, session: "Session") -> None:
        """Send every change of a session from now on; again changes nothing."""
        known = self._feeds.get(session.id)
        if known is not None and known.session is not session:
            self.leave(session.id)  # it was closed and opened anew
        if session.id not in self._feeds:
            self._feeds[session.id] = _SessionFeed(
                session, self._server, outbox_of(self._server), self._options
            )

    def leave(self, session_id: str) -> None:
        """Send nothing more of a session."""
        if feed := self._feeds.pop(session_id, None):
            feed.close()

    def close(self) -> None:
        """Send nothing more."""
        if self._leave_app:
            self._leave_app()
        for session_id in tuple(self._feeds):
            self.leave(session_id)

    def _on_app(self, new: AppMoment, old: AppMoment) -> None:
        if not self._app_slices:
            asyncio.get_running_loop().call_soon(self._send_app)
        self._app_slices |= changed_app_slices(new.state, old.state)
        self._app_seq = new.seq

    def _send_app(self) -> None:
        changed, self._app_slices = self._app_slices, {}
        if changed:
            notify(self._server, APP_DID_CHANGE, AppDidChangeParams(seq=self._app_seq, **changed))


class _SessionFeed:
    """One session's way to one client."""

    def __init__(
        self, session: "Session", server: LanguageServer, outbox: Writer, options: ClientOptions
    ) -> None:
        self.session = session
        self._server = server
        self._outbox = outbox
        self._options = options
        self._told: SessionState | None = None
        """What the client knows the slices of, while newer ones are about to be sent."""
        self._delta: SessionDeltaParams | None = None
        self._awaits_reset = False
        self._closed = False
        self._unsubscribe = session.subscribe(self._on_moment)

    def close(self) -> None:
        self._closed = True
        self._unsubscribe()

    def _on_moment(self, new: Moment, old: Moment) -> None:
        if self._options.state and self._told is None:
            self._told = old.state
            self._soon_when_drained(self._send_slices)
        if self._awaits_reset:
            return
        if new.envelope is None:
            if self._options.events:
                self._reset()
            return
        if self._outbox.backlog > MAX_BACKLOG and self._options.events:
            self._awaits_reset = True
            self._delta = None
            self._outbox.when_drained(self._reset)
            return
        self._take_event(new.envelope)

    def _take_event(self, envelope: Envelope) -> None:
        if isinstance(envelope.event, PartDelta):
            if self._options.deltas:
                self._take_delta(envelope, envelope.event)
            return
        self._send_delta()
        if self._options.events:
            notify(self._server, SESSION_EVENT, envelope)

    def _take_delta(self, envelope: Envelope, event: PartDelta) -> None:
        waiting = self._delta
        if waiting is not None and waiting.part_id == event.part_id:
            self._delta = waiting.model_copy(update={"text": waiting.text + event.text})
            return
        self._send_delta()
        self._delta = SessionDeltaParams(
            session_id=envelope.session_id,
            chat_id=envelope.chat_id,
            seq=envelope.seq,
            part_id=event.part_id,
            offset=event.offset,
            text=event.text,
        )
        if self._outbox.backlog <= LOW_WATER:
            self._send_delta()
        else:
            self._outbox.when_drained(self._send_delta)

    def _send_delta(self) -> None:
        delta, self._delta = self._delta, None
        if delta is not None and not self._closed:
            notify(self._server, SESSION_DELTA, delta)

    def _send_slices(self) -> None:
        told, self._told = self._told, None
        moment = self.session.now
        if told is None or self._closed:
            return
        if changed := changed_slices(moment.state, told):
            params = StateDidChangeParams(session_id=self.session.id, seq=moment.seq, **changed)
            notify(self._server, STATE_DID_CHANGE, params)

    def _soon_when_drained(self, send: Callable[[], None]) -> None:
        """Send at the end of the loop's round, so that what changes together goes together."""
        if self._outbox.backlog <= LOW_WATER:
            asyncio.get_running_loop().call_soon(send)
        else:
            self._outbox.when_drained(send)

    def _reset(self) -> None:
        self._awaits_reset = False
        if self._closed:
            return
        moment = self.session.now
        params = SessionDidResetParams(
            session_id=self.session.id, snapshot=snapshot(moment.state, moment.seq)
        )
        notify(self._server, SESSION_DID_RESET, params)
