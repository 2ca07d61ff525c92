"""One conversation's log in an SQLite database: how what waits is written."""

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from agentls.errors import LogConflict, LogNotWritten, StorageError
from agentls.protocol.events.envelope import MAIN_CHAT, Envelope
from agentls.protocol.requests import SessionSummary
from agentls.sessions.records import header_line
from agentls.sessions.sqlite.database import Database
from agentls.sessions.store import Fence
from agentls.sessions.waiting import Batch, KeptLine, WaitingLines

HEADER_POSITION = 1
"""Lines are counted from 1, and the header is the first."""

logger = logging.getLogger(__name__)


class SqliteLog:
    """Takes lines at once, and has the store's writing thread put them in the database.

    What comes before the first prompt is held back. All that waits is written in one transaction,
    with the blobs that its lines point to.
    """

    def __init__(
        self,
        database: Database,
        thread: ThreadPoolExecutor,
        session_id: str,
        chat_id: str,
        *,
        after: int | None,
        lease: Fence | None,
        closed: Callable[["SqliteLog"], None],
    ) -> None:
        self._database = database
        self._thread = thread
        self._session_id = session_id
        self._chat_id = chat_id
        self._last = after or 0
        """The number of the last event in the database, as far as this log knows."""
        self._lease = lease
        self._closed = closed
        self._waiting = WaitingLines(is_new=after is None)
        self._writing = threading.Lock()
        """Held by whoever writes, so that no line is written twice."""
        self._scheduled = False
        self._told = False
        self._durable = True
        """All that was written is on the disk itself."""
        self._tried_from: int | None = None
        """The position behind which lines were put by a try that failed."""

    @property
    def unsaved(self) -> int:
        """How many bytes wait to be written; see the port."""
        return self._waiting.size

    def append(self, envelope: Envelope) -> None:
        """Take an event to be written; see the port."""
        self._waiting.append(envelope)
        self._schedule()

    def describe(self, summary: SessionSummary) -> None:
        """Keep what a list shows of the session; see the port."""
        self._waiting.describe(summary)
        self._schedule()

    async def flush(self, *, durable: bool = False) -> None:
        """Return when all is written; see the port."""
        if self._is_kept(durable=durable):
            return
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, lambda: self._write(durable=durable))

    def write_now(self) -> None:
        """Write what waits, blocking; see the port."""
        with suppress(StorageError):
            self._write(durable=False)

    async def aclose(self) -> None:
        """Write what is left and let go; see the port."""
        await self.flush()
        self._closed(self)

    def _schedule(self) -> None:
        # No timer: what comes while one batch is written makes the next one.
        if self._scheduled or not self._waiting:
            return
        self._scheduled = True
        try:
            self._thread.submit(self._write_soon)
        except RuntimeError:
            # The interpreter is ending and its threads have; `write_now` still writes.
            self._scheduled = False

    def _write_soon(self) -> None:
        self._scheduled = False
        try:
            self._write(durable=False)
        except StorageError as error:
            if not self._told:
                logger.warning("%s", error)
            self._told = True

    def _is_kept(self, *, durable: bool) -> bool:
        return not self._waiting and (self._durable or not durable)

    def _write(self, *, durable: bool) -> None:
        with self._writing:
            if self._is_kept(durable=durable):
                return
            if self._lease is not None and not self._lease.still_mine():
                raise self._lease.lost()
            batch = self._waiting.batch()
            try:
                with self._database.writing(durable=durable) as connection:
                    if batch.lines:
                        self._put(connection, batch)
            except LogNotWritten as error:
                raise LogNotWritten(
                    f"{error}. {self.unsaved} bytes of session {self._session_id} are kept in "
                    "memory and written with the next ones"
                ) from error
            self._waiting.forget(batch)
            self._last = max((x.seq for x in batch.lines if x.seq), default=self._last)
            self._durable, self._told, self._tried_from = durable, False, None

    def _put(self, connection: sqlite3.Connection, batch: Batch) -> None:
        session, chat = self._keys(connection)
        end, seq = _end(connection, chat)
        written = self._count_written(connection, chat, batch.lines)
        if not written:
            if seq != self._last:
                raise self._mismatch(seq)
            self._tried_from = end
        lines = tuple(enumerate(batch.lines[written:], start=end + 1))
        connection.executemany(
            "INSERT OR IGNORE INTO blobs (session, sha256, data) VALUES (?, ?, ?)",
            [(session, sha256, data) for sha256, data in batch.blobs.items()],
        )
        self._insert(connection, chat, lines)
        summaries = [position for position, kept in lines if kept.seq is None]
        if summaries and self._chat_id == MAIN_CHAT:
            connection.execute(
                "UPDATE sessions SET described = ? WHERE key = ?", (summaries[-1], session)
            )

    def _keys(self, connection: sqlite3.Connection) -> tuple[int, int]:
        """Return the keys of session and chat, made where this log begins them."""
        found = connection.execute(
            "SELECT chats.session, chats.key FROM sessions JOIN chats ON chats.session ="
            " sessions.key WHERE sessions.id = ? AND trashed = 0 AND chats.id = ?",
            (self._session_id, self._chat_id),
        ).fetchone()
        if found:
            return found
        if self._last:
            raise self._mismatch(0)
        connection.execute("INSERT OR IGNORE INTO sessions (id) VALUES (?)", (self._session_id,))
        (session,) = connection.execute(
            "SELECT key FROM sessions WHERE id = ? AND trashed = 0", (self._session_id,)
        ).fetchone()
        header = header_line(self._session_id, self._chat_id).removesuffix(b"\n")
        chat = connection.execute(
            "INSERT INTO chats (session, id, header) VALUES (?, ?, ?)",
            (session, self._chat_id, header),
        ).lastrowid
        assert chat is not None
        return session, chat

    def _count_written(
        self, connection: sqlite3.Connection, chat: int, lines: Sequence[KeptLine]
    ) -> int:
        """Return how many of the first lines are there in spite of the error that was reported.

        A disk that fails to sync a commit may have it all the same: the next who opens the file
        finds it there.
        """
        if self._tried_from is None:
            return 0
        there = [
            line
            for (line,) in connection.execute(
                "SELECT line FROM lines WHERE chat = ? AND position > ? ORDER BY position",
                (chat, self._tried_from),
            )
        ]
        ours = [line.line for line in lines[: len(there)]]
        return len(there) if there == ours else 0

    def _insert(
        self,
        connection: sqlite3.Connection,
        chat: int,
        lines: Sequence[tuple[int, KeptLine]],
    ) -> None:
        try:
            connection.executemany(
                "INSERT INTO lines (chat, position, seq, needs, line) VALUES (?, ?, ?, ?, ?)",
                [(chat, position, x.seq, x.needs, x.line) for position, x in lines],
            )
        except sqlite3.IntegrityError as error:
            raise LogConflict(
                f"an event of session {self._session_id} has a number that another one has in "
                f"{self._database.path}; nothing is overwritten"
            ) from error

    def _mismatch(self, seq: int) -> LogConflict | LogNotWritten:
        name, place = self._session_id, self._database.path
        if self._chat_id != MAIN_CHAT:
            name = f"{name} (chat {self._chat_id})"
        if seq > self._last:
            return LogConflict(
                f"another process has written to session {name} in {place}: it has events up to "
                f"number {seq}, and here they are known up to {self._last}. Nothing of either is "
                "overwritten; open the session again to see them, or fork it"
            )
        return LogNotWritten(
            f"session {name} has lost its end in {place}: number {self._last} was written, and now "
            f"it ends with {seq}. Somebody has deleted it, moved it to the trash or replaced the "
            "file: bring it back, or fork the session to keep what is in memory"
        )


def _end(connection: sqlite3.Connection, chat: int) -> tuple[int, int]:
    """Return the position of the last line and the number of the last event."""
    (position,) = connection.execute(
        "SELECT max(position) FROM lines WHERE chat = ?", (chat,)
    ).fetchone()
    (seq,) = connection.execute(
        "SELECT max(seq) FROM lines WHERE chat = ? AND seq IS NOT NULL", (chat,)
    ).fetchone()
    return position or HEADER_POSITION, seq or 0
