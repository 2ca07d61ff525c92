"""The places where sessions can be kept. A new kind of store is a line in `PLACES`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agentls.sessions.folder import FolderStore
from agentls.sessions.memory import MemoryStore
from agentls.sessions.sqlite.store import SqliteStore
from agentls.sessions.store import SessionStore


@dataclass(frozen=True)
class Place:
    """One empty place; every store that it opens has the same sessions."""

    open: Callable[[], SessionStore]


def memory_place(folder: Path) -> Place:
    store = MemoryStore()
    return Place(lambda: store)


PLACES: dict[str, Callable[[Path], Place]] = {
    "folder": lambda folder: Place(lambda: FolderStore(folder / ".agentls")),
    "memory": memory_place,
    "sqlite": lambda folder: Place(lambda: SqliteStore(folder / "sessions.sqlite")),
}
SHARED = tuple(name for name in PLACES if name != "memory")
"""Those that other processes see too."""
