"""The port through which tools see what was said and done before, in this session and in others."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a conversation."""

    session_id: str
    message_id: str | None
    """None for what belongs to a session as a whole, such as its title."""
    at: str
    """ISO 8601, in UTC."""
    role: str
    """Who or what it is, in words: "user", "assistant", "Bash call", "Bash result", "title"."""
    text: str
    """All of it, or some of it around what was found."""


@dataclass(frozen=True, slots=True)
class Recollection:
    """What came to mind."""

    passages: tuple[Passage, ...]
    """The best first."""
    note: str | None = None
    """What the reader should know, such as that something may be missing."""


class Memory(Protocol):
    """Finds what is kept of conversations. Raises `StorageError` where it cannot look."""

    async def search(
        self, query: str, *, limit: int, length: int, session_id: str | None
    ) -> Recollection:
        """Return passages in which all that is asked for occurs; None: in any session.

        Each holds about `length` characters. What this same tool was asked and answered before is
        left out.
        """
        ...

    async def message(self, message_id: str, *, session_id: str | None) -> Recollection:
        """Return a message whole: its text, its tool calls and their results, in order.

        Without passages where there is no such message; None: in any session.
        """
        ...
