"""A session's lease from this process's side: taken when needed, shown to live, given back."""

import threading
from typing import TYPE_CHECKING

from agentls.errors import LeaseLost, LogNotWritten, SessionInUse, StorageError
from agentls.sessions.owner import Owner

if TYPE_CHECKING:
    from agentls.sessions.lease import Lease, LeaseStore


class Tenure:
    """Holds one session's lease. Any thread may call it.

    A new session takes its lease with the first thing that is written, because before it there is
    nothing to own, and nothing is put on disk for it.
    """

    def __init__(self, leases: "LeaseStore", session_id: str, owner: Owner) -> None:
        self._leases = leases
        self._session_id = session_id
        self._owner = owner
        self._lock = threading.Lock()
        self._lease: Lease | None = None
        self._refused: str | None = None
        self._released = False

    def take(self) -> None:
        """Become the owner. Raises `SessionInUse`, and `StorageError` where that cannot be kept."""
        with self._lock:
            if self._lease is None:
                self._lease = self._leases.acquire(self._session_id, self._owner)

    def still_mine(self) -> bool:
        """Whether this process may write; see `Fence`. Raises `LogNotWritten` to be tried again."""
        if self._lease is not None and self._lease.still_mine():
            return True
        if self._released:
            return False
        try:
            return self._taken_again()
        except SessionInUse as error:
            if self._lease is not None and self._lease.still_mine():
                return True  # its file was away for a moment, with the folder it lies in
            self._refused = str(error)
            return False
        except StorageError as error:
            raise LogNotWritten(str(error)) from error

    def _taken_again(self) -> bool:
        """Take the lease, also one whose file was deleted: nobody has it then.

        Whether somebody had it in between is seen from the log, which would hold later events.
        """
        if self._leases.holder(self._session_id) is None:
            self._lease = self._leases.acquire(self._session_id, self._owner)
        return self._lease is not None and self._lease.still_mine()

    def lost(self) -> LeaseLost:
        """Return the error to raise where it is not mine; it says whose it is."""
        if self._refused is None and self._lease is not None:
            return self._lease.lost()
        return LeaseLost(self._refused or f"session {self._session_id} is not open here")

    def beat(self) -> None:
        """Show that the owner lives. What goes wrong shows when something is written."""
        try:
            if self._lease is not None:
                self._lease.beat()
        except StorageError:
            pass

    def release(self) -> None:
        """Give it back. Never fails."""
        with self._lock:
            self._released = True
            if self._lease is not None:
                self._lease.release()
                self._lease = None
