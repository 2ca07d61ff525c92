"""Leases as rows of the database that the sessions are in."""

import logging
import sqlite3
import time

from pydantic import ValidationError

from agentls.errors import LeaseLost, LogNotWritten, LogUnreadable, StorageError
from agentls.sessions.claim import SILENCE_SECONDS
from agentls.sessions.owner import Owner, in_use, lease_lost
from agentls.sessions.sqlite.database import Database

logger = logging.getLogger(__name__)


class SqliteLeases:
    """Keeps leases in the database.

    Who has one is settled in a transaction, so that no two ever do. Owners in other containers of
    the machine, whose processes cannot be seen, show by their beats that they live.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def acquire(self, session_id: str, owner: Owner) -> "SqliteLease":
        """Give the session to `owner`; see the port."""
        mine = owner.for_new_lease()
        try:
            with self._database.writing() as connection:
                other = _living(connection, session_id, mine)
                if other is not None:
                    raise in_use(session_id, other)
                connection.execute(
                    "INSERT OR REPLACE INTO leases (session, token, owner, beat) VALUES"
                    " (?, ?, ?, ?)",
                    (session_id, mine.token, mine.model_dump_json(), time.time()),
                )
        except LogNotWritten as error:
            raise StorageError(
                f"session {session_id} cannot be kept from being written by two programs at once: "
                f"{error}; or go on without a log (`agentls run --no-session`)"
            ) from error
        return SqliteLease(self._database, session_id, mine)

    def holder(self, session_id: str) -> Owner | None:
        """Return the living owner; see the port."""
        with self._database.reading() as connection:
            if connection is None:
                return None
            return _living(connection, session_id, Owner.here("cli"))


class SqliteLease:
    """A lease that is a row."""

    def __init__(self, database: Database, session_id: str, owner: Owner) -> None:
        self._database = database
        self._session_id = session_id
        self._owner = owner

    @property
    def owner(self) -> Owner:
        """Who has it; see the port."""
        return self._owner

    def still_mine(self) -> bool:
        """Whether to go on writing; see the port."""
        try:
            with self._database.reading() as connection:
                found = (
                    connection
                    and connection.execute(
                        "SELECT 1 FROM leases WHERE session = ? AND token = ?",
                        (self._session_id, self._owner.token),
                    ).fetchone()
                )
                return found is not None
        except LogUnreadable as error:
            raise LogNotWritten(str(error)) from error

    def lost(self) -> LeaseLost:
        """Return the error to raise; see the port."""
        why = f"its lease in {self._database.path} is gone"
        try:
            with self._database.reading() as connection:
                found = connection and _row(connection, self._session_id)
                if found is not None:
                    why = f"it was taken over by {found[0].describe()}, as this process was silent"
        except StorageError as error:
            why = str(error)
        return lease_lost(self._session_id, why)

    def beat(self) -> None:
        """Show that the owner lives; see the port."""
        with self._database.writing() as connection:
            changed = connection.execute(
                "UPDATE leases SET beat = ? WHERE session = ? AND token = ?",
                (time.time(), self._session_id, self._owner.token),
            ).rowcount
        if not changed:
            raise self.lost()

    def release(self) -> None:
        """Let go; see the port."""
        try:
            with self._database.writing() as connection:
                connection.execute(
                    "DELETE FROM leases WHERE session = ? AND token = ?",
                    (self._session_id, self._owner.token),
                )
        except StorageError as error:
            logger.warning(
                "the lease of session %s stays until this process ends: %s", self._session_id, error
            )


def _living(connection: sqlite3.Connection, session_id: str, here: Owner) -> Owner | None:
    """Return the owner of a session, if it lives as seen from `here`; in doubt it does."""
    found = _row(connection, session_id)
    if found is None:
        return None
    owner, beat = found
    if owner.shares_machine_with(here):
        return owner if owner.lives_beside(here) else None
    return None if time.time() - beat > SILENCE_SECONDS else owner


def _row(connection: sqlite3.Connection, session_id: str) -> tuple[Owner, float] | None:
    """Return a session's owner and its last beat; None where there is none, or makes no sense."""
    found = connection.execute(
        "SELECT owner, beat FROM leases WHERE session = ?", (session_id,)
    ).fetchone()
    if found is None:
        return None
    try:
        return Owner.model_validate_json(found[0]), found[1]
    except ValidationError:
        return None
