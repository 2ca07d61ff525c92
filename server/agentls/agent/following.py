"""Follows a session that another process writes: its events are seen here within a second."""

import asyncio
import logging

from agentls.agent.chat import Chat
from agentls.errors import AgentError
from agentls.protocol.events.conversation import HeadMoved
from agentls.protocol.events.storage import Access, AccessChanged
from agentls.sessions.loaded import LoadedSession
from agentls.sessions.loading import load, new_events
from agentls.sessions.store import SessionStore

POLL_SECONDS = 0.25
OWNER_SECONDS = 2.0
"""How often it is looked whether the owner is still there."""

logger = logging.getLogger(__name__)


class Following:
    """Takes the owner's events into a chat of this process."""

    def __init__(self, chat: Chat, store: SessionStore, loaded: LoadedSession) -> None:
        self._chat = chat
        self._store = store
        self._session_id = loaded.state.meta.id
        self._position = loaded.position

    async def run(self) -> None:
        """Follow until cancelled; what goes wrong is logged and tried again."""
        waited, told = 0.0, ""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            waited += POLL_SECONDS
            try:
                await self._look()
                if waited >= OWNER_SECONDS:
                    waited = 0.0
                    await self._look_for_owner()
            except AgentError as error:
                if str(error) != told:
                    logger.warning("session %s cannot be followed: %s", self._session_id, error)
                told = str(error)

    async def _look(self) -> None:
        try:
            lines, position = await asyncio.to_thread(
                self._store.read_new, self._session_id, self._position
            )
            for envelope in new_events(self._store, self._session_id, lines):
                if isinstance(envelope.event, HeadMoved):
                    raise _LoadAnew
                self._chat.follow(envelope)
            self._position = position
        except (AgentError, ValueError, _LoadAnew):
            # The log was replaced, an event is missing, or another branch is chosen.
            loaded = await asyncio.to_thread(load, self._store, self._session_id)
            access = self._chat.state.access
            state = loaded.state.model_copy(update={"access": access})
            self._chat.replace(state, loaded.seq)
            self._position = loaded.position

    async def _look_for_owner(self) -> None:
        owner = await asyncio.to_thread(self._store.leases.holder, self._session_id)
        access = Access(mode="follower", owner=owner.describe() if owner else None)
        self._chat.emit(AccessChanged(access=access))


class _LoadAnew(Exception):
    """What comes cannot be reduced event by event."""
