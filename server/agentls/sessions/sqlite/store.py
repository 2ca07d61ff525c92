"""Sessions in one SQLite file, for a server of many of them: nothing else is on the disk."""

import sqlite3
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from agentls.errors import (
    ContentMissing,
    LogUnreadable,
    SessionExists,
    UnknownSession,
)
from agentls.protocol.events.envelope import MAIN_CHAT
from agentls.protocol.requests import SessionSummary
from agentls.sessions.catalog import summary_of_lines
from agentls.sessions.sqlite.contents import SqliteContents
from agentls.sessions.sqlite.database import BUSY_SECONDS, Database
from agentls.sessions.sqlite.leases import SqliteLeases
from agentls.sessions.sqlite.log import HEADER_POSITION, SqliteLog
from agentls.sessions.store import Fence, RawLog, SessionLog
from agentls.sessions.waiting import LISTED_LINES


class SqliteStore:
    """Keeps sessions, their leases and the contents of files in one database.

    The file is made with the first thing that is written, for its owner alone. It may be used by
    several processes at once, but not from two machines.
    """

    def __init__(self, path: Path, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self._database = Database(path, busy_seconds)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="agentls-sqlite")
        self._logs: set[SqliteLog] = set()
        self._leases = SqliteLeases(self._database)
        self._contents = SqliteContents(self._database)

    @property
    def path(self) -> Path:
        """The database's file."""
        return self._database.path

    @property
    def leases(self) -> SqliteLeases:
        """Who has which session to itself; see the port."""
        return self._leases

    @property
    def contents(self) -> SqliteContents:
        """The contents of files as they were; see the port."""
        return self._contents

    def create(
        self, session_id: str, chat_id: str = MAIN_CHAT, *, lease: Fence | None = None
    ) -> SessionLog:
        """Begin a log; see the port."""
        return self._log(session_id, chat_id, None, lease)

    def open(
        self, session_id: str, chat_id: str = MAIN_CHAT, *, after: int, lease: Fence | None = None
    ) -> SessionLog:
        """Go on with a log; see the port."""
        return self._log(session_id, chat_id, after, lease)

    def has(self, session_id: str) -> bool:
        """Whether there is such a session; see the port."""
        try:
            with self._reading(session_id) as (connection, session):
                self._chat(connection, session, session_id, MAIN_CHAT)
                return True
        except (UnknownSession, LogUnreadable):
            return False

    def read(self, session_id: str, chat_id: str = MAIN_CHAT, *, whole: bool = False) -> RawLog:
        """Read a log; see the port."""
        with self._reading(session_id) as (connection, session):
            chat, header = self._chat(connection, session, session_id, chat_id)
            first = HEADER_POSITION + 1 if whole else _first_needed(connection, chat)
            lines = _lines_from(connection, chat, first)
        return RawLog(
            header=header,
            lines=tuple(lines),
            first_line=first,
            complete=first == HEADER_POSITION + 1,
            position=first - 1 + len(lines),
        )

    def read_new(self, session_id: str, position: int) -> tuple[list[bytes], int]:
        """Return what came behind `position`, a line's number; see the port."""
        with self._reading(session_id) as (connection, session):
            chat, header = self._chat(connection, session, session_id, MAIN_CHAT)
            lines = _lines_from(connection, chat, position + 1)
            if not lines and position > (end := _last_position(connection, chat)):
                raise LogUnreadable(
                    f"session {session_id} in {self.path} ends with line {end}, and {position} "
                    "lines of it had been read; load it anew"
                )
        if position < HEADER_POSITION:
            lines.insert(0, header)
        return lines, position + len(lines)

    def chats(self, session_id: str) -> tuple[str, ...]:
        """Return the ids of the conversations of subagents; see the port."""
        with self._reading(session_id) as (connection, session):
            found = connection.execute(
                "SELECT id FROM chats WHERE session = ? AND id <> ? ORDER BY id",
                (session, MAIN_CHAT),
            )
            return tuple(chat for (chat,) in found)

    def blob(self, session_id: str, sha256: str) -> bytes:
        """Return a value that was too big for a line; see the port."""
        with self._reading(session_id) as (connection, session):
            found = connection.execute(
                "SELECT data FROM blobs WHERE session = ? AND sha256 = ?", (session, sha256)
            ).fetchone()
        if found is None:
            raise ContentMissing(f"session {session_id} in {self.path} has no content {sha256}")
        return found[0]

    def list(self, *, trashed: bool = False) -> tuple[SessionSummary, ...]:
        """Return what is kept, or what is in the trash, newest first; see the port."""
        with self._database.reading() as connection:
            if connection is None:
                return ()
            chats = connection.execute(
                "SELECT chats.key, described FROM sessions JOIN chats ON chats.session ="
                " sessions.key WHERE trashed = ? AND chats.id = ?",
                (trashed, MAIN_CHAT),
            ).fetchall()
            found = [
                summary_of_lines(_listed(connection, chat, described)) for chat, described in chats
            ]
        summaries = [summary for summary in found if summary is not None]
        return tuple(sorted(summaries, key=lambda summary: summary.updated_at, reverse=True))

    def trash(self, session_id: str) -> None:
        """Move a session to the trash; see the port."""
        self._mark(session_id, trashed=True)

    def restore(self, session_id: str) -> None:
        """Take a session out of the trash; see the port."""
        self._mark(session_id, trashed=False)

    def purge(self, session_id: str) -> None:
        """Delete a session that is in the trash, for good; see the port."""
        with self._database.writing(durable=True) as connection:
            key = _key(connection, session_id, trashed=True)
            if key is None:
                raise self._unknown(session_id, trashed=True)
            connection.execute("DELETE FROM sessions WHERE key = ?", (key,))
        self._database.give_back()

    def write_ahead(self) -> None:
        """Write what waits in every open log; see the port."""
        for log in tuple(self._logs):
            log.write_now()

    def close(self) -> None:
        """Write what waits and close the file. Later uses open it again."""
        self.write_ahead()
        self._database.close()

    def _log(
        self, session_id: str, chat_id: str, after: int | None, lease: Fence | None
    ) -> SessionLog:
        log = SqliteLog(
            self._database,
            self._thread,
            session_id,
            chat_id,
            after=after,
            lease=lease,
            closed=self._logs.discard,
        )
        self._logs.add(log)
        return log

    @contextmanager
    def _reading(self, session_id: str) -> Generator[tuple[sqlite3.Connection, int]]:
        """Give a connection and the session's key. Raises `UnknownSession`, `LogUnreadable`."""
        with self._database.reading() as connection:
            key = None if connection is None else _key(connection, session_id, trashed=False)
            if connection is None or key is None:
                raise self._unknown(session_id)
            yield connection, key

    def _chat(
        self, connection: sqlite3.Connection, session: int, session_id: str, chat_id: str
    ) -> tuple[int, bytes]:
        """Return a conversation's key and header."""
        found = connection.execute(
            "SELECT key, header FROM chats WHERE session = ? AND id = ?", (session, chat_id)
        ).fetchone()
        if found is None:
            raise UnknownSession(f"session {session_id} in {self.path} has no chat {chat_id}")
        return found

    def _mark(self, session_id: str, *, trashed: bool) -> None:
        """Move a session to the trash or out of it."""
        with self._database.writing(durable=True) as connection:
            key = _key(connection, session_id, trashed=not trashed)
            if key is None:
                raise self._unknown(session_id, trashed=not trashed)
            if _key(connection, session_id, trashed=trashed) is not None:
                raise SessionExists(
                    f"another session {session_id} is in the trash of {self.path}; purge it first"
                    if trashed
                    else f"a session {session_id} has been begun in {self.path} since; trash that "
                    "one, or leave this one in the trash"
                )
            connection.execute("UPDATE sessions SET trashed = ? WHERE key = ?", (trashed, key))

    def _unknown(self, session_id: str, *, trashed: bool = False) -> UnknownSession:
        place = f"the trash of {self.path}" if trashed else str(self.path)
        return UnknownSession(
            f"no session {session_id} in {place}; `agentls sessions list` shows what is there"
        )


def _key(connection: sqlite3.Connection, session_id: str, *, trashed: bool) -> int | None:
    found = connection.execute(
        "SELECT key FROM sessions WHERE id = ? AND trashed = ?", (session_id, trashed)
    ).fetchone()
    return found and found[0]


def _first_needed(connection: sqlite3.Connection, chat: int) -> int:
    """Return the position from which on a reader needs the log: what the last compaction says."""
    found = connection.execute(
        "SELECT position, needs FROM lines WHERE chat = ? AND needs IS NOT NULL"
        " ORDER BY position DESC LIMIT 1",
        (chat,),
    ).fetchone()
    if found is None:
        return HEADER_POSITION + 1
    boundary, needs = found
    first = connection.execute(
        "SELECT position FROM lines WHERE chat = ? AND seq = ?", (chat, needs)
    ).fetchone()
    return min(first[0], boundary) if first else HEADER_POSITION + 1


def _listed(connection: sqlite3.Connection, chat: int, described: int) -> list[bytes]:
    """Return the lines that tell what a list shows: the last summary, and what came since."""
    end = max(_last_position(connection, chat) - LISTED_LINES, described + LISTED_LINES)
    return [
        line
        for (line,) in connection.execute(
            "SELECT line FROM lines WHERE chat = ?1 AND position BETWEEN ?2 AND ?3"
            " UNION ALL SELECT line FROM lines WHERE chat = ?1 AND position > ?4",
            (chat, described, described + LISTED_LINES, end),
        )
    ]


def _lines_from(connection: sqlite3.Connection, chat: int, position: int) -> list[bytes]:
    return [
        line
        for (line,) in connection.execute(
            "SELECT line FROM lines WHERE chat = ? AND position >= ? ORDER BY position",
            (chat, position),
        )
    ]


def _last_position(connection: sqlite3.Connection, chat: int) -> int:
    (position,) = connection.execute(
        "SELECT max(position) FROM lines WHERE chat = ?", (chat,)
    ).fetchone()
    return position or HEADER_POSITION
