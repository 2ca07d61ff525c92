"""What happens to the server as a whole, for every client of it."""

from typing import Annotated, Literal

from pydantic import Field

from agentls.protocol.events.kinds import Event
from agentls.protocol.wire_model import Timestamp, WireModel


class Client(WireModel):
    """An editor or script that is connected."""

    id: str
    name: str
    can_approve: bool


class Notice(WireModel):
    """Something a person should know that belongs to no session."""

    id: str
    level: Literal["info", "warning", "error"]
    message: str
    at: Timestamp


class ClientConnected(Event):
    """A client finished its handshake."""

    type: Literal["clientConnected"] = "clientConnected"
    client: Client


class ClientDisconnected(Event):
    """A client is gone."""

    type: Literal["clientDisconnected"] = "clientDisconnected"
    client_id: str


class SessionOpened(Event):
    """A session is in memory and can be driven."""

    type: Literal["sessionOpened"] = "sessionOpened"
    session_id: str


class SessionLeft(Event):
    """A session is no longer in memory; it stays on disk."""

    type: Literal["sessionLeft"] = "sessionLeft"
    session_id: str


class DefaultModelChanged(Event):
    """New sessions start with another model; null: none is chosen."""

    type: Literal["defaultModelChanged"] = "defaultModelChanged"
    model: str | None


class NoticePosted(Event):
    """There is something to tell."""

    type: Literal["noticePosted"] = "noticePosted"
    notice: Notice


AppEvent = Annotated[
    ClientConnected
    | ClientDisconnected
    | SessionOpened
    | SessionLeft
    | DefaultModelChanged
    | NoticePosted,
    Field(discriminator="type"),
]
