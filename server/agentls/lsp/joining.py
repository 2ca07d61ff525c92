"""A client's part in sessions: which it follows, and what its requests are known by."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from agentls.lsp.client import Client
from agentls.lsp.publisher import Publisher
from agentls.protocol.events.envelope import Origin
from agentls.protocol.session_state import SessionSnapshot
from agentls.state.selectors import snapshot

if TYPE_CHECKING:
    from agentls.agent.session import Session


class Joining:
    """What all handlers of one connection share."""

    def __init__(
        self, client: Client, publisher: Publisher, request_id: Callable[[], int | str | None]
    ) -> None:
        self._client = client
        self._publisher = publisher
        self._request_id = request_id

    def join(self, session: "Session") -> SessionSnapshot:
        """Follow a session from the very moment of its snapshot: no await lies between the two."""
        self._publisher.follow(session)
        moment = session.now
        return snapshot(moment.state, moment.seq)

    def leave(self, session_id: str) -> None:
        """Follow a session no more."""
        self._publisher.leave(session_id)

    def origin(self) -> Origin:
        """Return what an event caused by the request at hand bears."""
        return Origin(client_id=self._client.id, client_seq=self._request_id())
