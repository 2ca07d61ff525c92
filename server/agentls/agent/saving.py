"""Sees to it that what a step depends on is on disk, and says so where the disk refuses."""

import asyncio
import logging
from contextlib import suppress

from agentls.agent.chat import Chat
from agentls.agent.surroundings import Surroundings
from agentls.errors import LeaseLost, LogConflict, LogNotWritten, SessionInUse, StorageError
from agentls.protocol.events.storage import (
    Access,
    AccessChanged,
    StorageFailed,
    StorageRecovered,
    StorageTrouble,
)
from agentls.state.event_store import timestamp

RETRY_SECONDS = 1.0
"""How long a turn that waits for room waits until it tries again."""

logger = logging.getLogger(__name__)


class Saving:
    """Writes one chat's log; a turn that cannot be written waits in a state that says so."""

    def __init__(self, chat: Chat, surroundings: Surroundings) -> None:
        self._chat = chat
        self._surroundings = surroundings
        self._accepted = asyncio.Event()

    async def secure(self, *, durable: bool = False) -> None:
        """Return when every event so far is kept, or the user has said to go on without.

        `durable`: on the disk itself, not only in the system's hands. Where nobody can be asked
        it does not wait. Raises `LogNotWritten`, and `LeaseLost` or `LogConflict` where another
        process has become the owner.
        """
        while not await self.save(durable=durable):
            trouble = self._chat.state.storage
            if trouble is None or trouble.accepted:
                return
            if not self._surroundings.host.can_ask():
                raise LogNotWritten(trouble.message)
            await self._pause()

    async def save(self, *, durable: bool = False) -> bool:
        """Write what waits; return whether all of it is kept. Where not, the state says why.

        Raises `LeaseLost` or `LogConflict` where another process has become the owner.
        """
        try:
            await self._chat.flush(durable=durable)
        except LogNotWritten as error:
            self.failed(str(error))
            return False
        except (LeaseLost, LogConflict, SessionInUse) as error:
            self._lost(str(error))
            raise
        if self._chat.state.storage is not None:
            self._accepted.clear()
            self._chat.emit(StorageRecovered())
        return True

    def failed(self, message: str) -> None:
        """Tell that the log could not be written."""
        known = self._chat.state.storage
        trouble = StorageTrouble(
            message=message,
            since=known.since if known else timestamp(self._surroundings.clock()),
            unsaved_bytes=self._chat.unsaved,
            accepted=known is not None and known.accepted,
        )
        self._chat.emit(StorageFailed(trouble=trouble))

    async def keep_trying(self) -> None:
        """Write what waits as soon as it can be, and notice when it cannot. Runs on.

        No step waits for an answer that streams, so nobody else would tell of a disk that fills.
        """
        while True:
            await asyncio.sleep(RETRY_SECONDS)
            state = self._chat.state
            waits = state.storage is not None or self._chat.unsaved
            if waits and state.access.mode == "owner":
                with suppress(StorageError):  # the state says so
                    await self.save()

    def accept(self) -> None:
        """Let work go on although it cannot be kept just now."""
        trouble = self._chat.state.storage
        if trouble is not None:
            accepted = trouble.model_copy(update={"accepted": True})
            self._chat.emit(StorageFailed(trouble=accepted))
            self._accepted.set()

    def _lost(self, message: str) -> None:
        logger.error("%s", message)
        self._chat.emit(AccessChanged(access=Access(mode="follower", owner=message)))

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(RETRY_SECONDS):
                await self._accepted.wait()
        except TimeoutError:
            pass
