"""The right to write a session: one process has it at a time, on one machine or on several.

A lease is a file, `<id>.lease`, that names its owner; `claim.py` says why it has only one. It
knows nothing of logs: whoever writes one asks `still_mine` before each batch.
"""

import logging
import threading
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from agentls.errors import LeaseLost, StorageError, UnknownSession
from agentls.sessions.claim import (
    SILENCE_SECONDS,
    Claimant,
    Held,
    draft,
    holds,
    read_place,
    write_again,
)
from agentls.sessions.owner import Owner, in_use, lease_lost

logger = logging.getLogger(__name__)


class Lease(Protocol):
    """The right to write one session. Any thread may call it."""

    @property
    def owner(self) -> Owner:
        """Who has it: the owner it was acquired for, with a token of its own."""
        ...

    def still_mine(self) -> bool:
        """Whether to go on writing; False also where that cannot be told. It is cheap."""
        ...

    def lost(self) -> LeaseLost:
        """Return the error to raise where it is not mine: it says whose it is now."""
        ...

    def beat(self) -> None:
        """Show other machines that the owner lives; called every `owner.BEAT_SECONDS`.

        Raises `LeaseLost` where it is another's, and `StorageError` where the disk refuses.
        """
        ...

    def release(self) -> None:
        """Let go. Where it is another's by now, nothing changes. Never fails."""
        ...


class LeaseStore(Protocol):
    """Where the leases of one workspace are kept. It blocks."""

    def acquire(self, session_id: str, owner: Owner) -> Lease:
        """Give the session to `owner`; a dead owner's is taken over.

        Raises `SessionInUse` where another has it, `StorageError` where that cannot be told or
        kept, `UnknownSession` for what is no id.
        """
        ...

    def holder(self, session_id: str) -> Owner | None:
        """Return the living owner of a session, as seen from this process; None where it is free.

        In doubt it lives. Raises `StorageError`, `UnknownSession`.
        """
        ...


class FolderLeases:
    """Keeps leases as files in a folder, for all processes on all machines that see it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def acquire(self, session_id: str, owner: Owner) -> Lease:
        """Give the session to `owner`; see the port."""
        path = self._path(session_id)
        claimant = Claimant(path, owner.for_new_lease())
        try:
            # Not what they lie in: where that is gone, the project was moved or deleted.
            self._folder.parent.mkdir(exist_ok=True, mode=0o700)
            self._folder.mkdir(exist_ok=True, mode=0o700)
            claimant.take()
        except Held as held:
            raise in_use(session_id, held.owner) from None
        except OSError as error:
            raise StorageError(
                f"session {session_id} cannot be kept from being written by two programs at once: "
                f"{error.filename or path}: {error.strerror or error}. Make {self._folder} "
                "writable, or go on without a log (`agentls run --no-session`)."
            ) from error
        return FolderLease(session_id, path, claimant)

    def holder(self, session_id: str) -> Owner | None:
        """Return the living owner; see the port."""
        found = read_place(self._path(session_id))
        if found is None or found.owner is None:
            return None
        here = Owner.here("cli")
        if found.owner.shares_machine_with(here):
            return found.owner if found.owner.lives_beside(here) else None
        with suppress(OSError), draft(self._path(session_id), b"") as present:
            return None if found.silent_for(present.now) > SILENCE_SECONDS else found.owner
        return found.owner

    def _path(self, session_id: str) -> Path:
        if not session_id or not all(char.isalnum() or char in "-_" for char in session_id):
            raise UnknownSession(f"{session_id!r} is not a session id")
        return self._folder / f"{session_id}.lease"


class FolderLease:
    """A lease that is a file."""

    def __init__(self, session_id: str, path: Path, claimant: Claimant) -> None:
        self._session_id = session_id
        self._path = path
        self._claimant = claimant
        self._lock = threading.Lock()
        """Held by whoever releases: a claim does not tell two threads of one owner apart."""

    @property
    def owner(self) -> Owner:
        """Who has it; see the port."""
        return self._claimant.owner

    def still_mine(self) -> bool:
        """Whether to go on writing; see the port. Costs the reading of a small file."""
        return holds(self._path, self._claimant.data)

    def lost(self) -> LeaseLost:
        """Return the error to raise; see the port."""
        return lease_lost(self._session_id, self._reason())

    def beat(self) -> None:
        """Show that the owner lives; see the port."""
        try:
            if write_again(self._path, self._claimant.data):
                return
        except OSError as error:
            raise StorageError(
                f"{self._path} could not be written ({error.strerror}): if that lasts for "
                f"{SILENCE_SECONDS:.0f} s, another machine may take session {self._session_id} over"
            ) from error
        raise self.lost()

    def release(self) -> None:
        """Let go; see the port."""
        try:
            with self._lock:
                self._claimant.give_back()
        except (Held, OSError, StorageError) as error:
            logger.warning("the lease %s stays until this process ends: %s", self._path, error)

    def _reason(self) -> str:
        try:
            found = read_place(self._path)
        except StorageError as error:
            return str(error)
        if found is None:
            return f"{self._path} is gone"
        if found.owner is None:
            return f"{self._path} is damaged"
        if found.owner == self.owner:
            return f"{self._path} could not be read for a moment"
        return f"it was taken over by {found.owner.describe()}"


class MemoryLeases:
    """Keeps leases for as long as the process lives."""

    def __init__(self) -> None:
        self._owners: dict[str, Owner] = {}
        self._lock = threading.Lock()

    def acquire(self, session_id: str, owner: Owner) -> Lease:
        """Give the session to `owner`; see the port."""
        mine = owner.for_new_lease()
        with self._lock:
            other = self._owners.setdefault(session_id, mine)
        if other is not mine:
            raise in_use(session_id, other)
        return MemoryLease(self, session_id, mine)

    def holder(self, session_id: str) -> Owner | None:
        """Return the owner; see the port."""
        return self._owners.get(session_id)

    def let_go(self, session_id: str, owner: Owner) -> None:
        """Free the session if it is this owner's."""
        with self._lock:
            if self._owners.get(session_id) == owner:
                del self._owners[session_id]


class MemoryLease:
    """A lease that is an entry in memory."""

    def __init__(self, leases: MemoryLeases, session_id: str, owner: Owner) -> None:
        self._leases = leases
        self._session_id = session_id
        self._owner = owner

    @property
    def owner(self) -> Owner:
        """Who has it; see the port."""
        return self._owner

    def still_mine(self) -> bool:
        """Whether to go on writing; see the port."""
        return self._leases.holder(self._session_id) == self._owner

    def lost(self) -> LeaseLost:
        """Return the error to raise; see the port."""
        return LeaseLost(f"session {self._session_id} was let go of here; open it again")

    def beat(self) -> None:
        """Do nothing, as nobody else sees it; see the port."""
        if not self.still_mine():
            raise self.lost()

    def release(self) -> None:
        """Let go; see the port."""
        self._leases.let_go(self._session_id, self._owner)
