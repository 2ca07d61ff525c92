"""The server-wide state: what every client of one server shares."""

from agentls.protocol.events.app import Client, Notice
from agentls.protocol.wire_model import WireModel


class AppState(WireModel):
    """Everything that belongs to no single session."""

    clients: tuple[Client, ...] = ()
    sessions: tuple[str, ...] = ()
    """The ids of the sessions in memory."""
    default_model: str | None = None
    """What new sessions start with."""
    notices: tuple[Notice, ...] = ()
    """The latest twenty, oldest first."""
