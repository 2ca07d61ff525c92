"""The kinds of event: where an event belongs decides when it is kept and when it counts."""

from typing import ClassVar

from agentls.protocol.wire_model import WireModel


class Event(WireModel):
    """Something that happened. Its name is past tense, its `type` is that name in camelCase."""

    since: ClassVar[int] = 1
    """The log and wire version in which the event first appears."""


class MessageEvent(Event):
    """A link of the conversation's chain; it counts on the branches that pass through it."""

    id: str
    parent: str | None
    """The message before it; None at the start of the conversation."""


class AttachedEvent(Event):
    """Something that belongs to a message; it counts wherever that message does."""

    parent: str
    """The message it belongs to."""


class SessionEvent(Event):
    """Something that belongs to the session as a whole, whatever branch is chosen."""


class RecordEvent(Event):
    """Something to be remembered and told that changes nothing: it is kept all the same."""


class EphemeralEvent(Event):
    """Reduced and sent in order, never kept; what it leads up to is."""
