"""One SQLite file: its connections, its schema, and its errors in plain words."""

import errno
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from agentls.errors import LogNotWritten, LogUnreadable

BUSY_SECONDS = 5.0
"""How long another process may keep us from writing before we say so."""
APPLICATION_ID = 0x61674C53
PAGES_IN_MEMORY = -8192
JOURNAL_BYTES = 16 << 20
"""What the write-ahead file is cut to when it has been longer."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # A session in the trash keeps its id, and a new one may have it meanwhile. `described` is
        # the position of the main log's last summary.
        """CREATE TABLE sessions (
            key INTEGER PRIMARY KEY,
            id TEXT NOT NULL,
            trashed INTEGER NOT NULL DEFAULT 0,
            described INTEGER NOT NULL DEFAULT 0,
            UNIQUE (id, trashed)
        )""",
        """CREATE TABLE chats (
            key INTEGER PRIMARY KEY,
            session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
            id TEXT NOT NULL,
            header BLOB NOT NULL,
            UNIQUE (session, id)
        )""",
        # `position` is the line's number in the log, the header being 1. `needs` is set where a
        # reader may begin: the number of the first event that it needs.
        """CREATE TABLE lines (
            chat INTEGER NOT NULL REFERENCES chats ON DELETE CASCADE,
            position INTEGER NOT NULL,
            seq INTEGER,
            needs INTEGER,
            line BLOB NOT NULL,
            UNIQUE (chat, position)
        )""",
        "CREATE UNIQUE INDEX lines_seq ON lines (chat, seq) WHERE seq IS NOT NULL",
        "CREATE INDEX lines_needs ON lines (chat, position) WHERE needs IS NOT NULL",
        """CREATE TABLE blobs (
            session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
            sha256 TEXT NOT NULL,
            data BLOB NOT NULL,
            UNIQUE (session, sha256)
        )""",
        """CREATE TABLE leases (
            session TEXT PRIMARY KEY,
            token TEXT NOT NULL,
            owner TEXT NOT NULL,
            beat REAL NOT NULL
        ) WITHOUT ROWID""",
        # Without a hash: not whole yet.
        """CREATE TABLE contents (
            key INTEGER PRIMARY KEY,
            sha256 TEXT UNIQUE,
            size INTEGER NOT NULL DEFAULT 0,
            used REAL NOT NULL
        )""",
        """CREATE TABLE content_chunks (
            content INTEGER NOT NULL REFERENCES contents ON DELETE CASCADE,
            number INTEGER NOT NULL,
            data BLOB NOT NULL,
            UNIQUE (content, number)
        )""",
        """CREATE TABLE content_references (
            session TEXT NOT NULL,
            sha256 TEXT NOT NULL,
            PRIMARY KEY (session, sha256)
        ) WITHOUT ROWID""",
        """CREATE TABLE content_sessions (
            session TEXT PRIMARY KEY,
            used REAL NOT NULL
        ) WITHOUT ROWID""",
    ),
)
"""What leads from each version of the schema to the next; the first from an empty file."""

_WORDS = {
    sqlite3.SQLITE_FULL: ("the disk is full", "make room"),
    sqlite3.SQLITE_BUSY: ("another process is writing to it and does not end", "end that process"),
    sqlite3.SQLITE_LOCKED: ("it is locked", "end what uses it"),
    sqlite3.SQLITE_IOERR: ("the disk reports an error", "look at the disk"),
    sqlite3.SQLITE_READONLY: ("it may only be read", "give yourself the right to write it"),
    sqlite3.SQLITE_PERM: ("it may not be opened", "give yourself the right to read and write it"),
    sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", "look at the folder it lies in"),
    sqlite3.SQLITE_CORRUPT: ("it is damaged", "save what `sqlite3 FILE .recover` gives"),
    sqlite3.SQLITE_NOTADB: ("it is not an SQLite database", "choose another file"),
}


class Database:
    """Two connections to one file, usable from any thread: one reads while the other writes.

    In WAL mode with `synchronous=NORMAL` a commit survives the end of the process, but the disk
    has it only after the next checkpoint. With `FULL`, SQLite syncs the write-ahead file before a
    commit returns, and with it every commit before: that is what `durable` asks for.

    WAL needs memory shared by all who have the file open: the file must not be used from two
    machines at once.
    """

    def __init__(self, path: Path, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path = path.absolute()
        self._reader = _Connection(self.path, busy_seconds)
        self._writer = _Connection(self.path, busy_seconds)
        weakref.finalize(self, _close_all, self._reader, self._writer)

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection | None]:
        """Give a connection that sees one moment; None where no database is there yet.

        Raises `LogUnreadable`.
        """
        with self._reader.lock, ExitStack() as stack:
            try:
                connection = self._reader.existing()
                if connection is not None:
                    connection.execute("BEGIN")
                    stack.callback(_roll_back, connection)
                yield connection
            except (sqlite3.Error, OSError) as error:
                self._reader.doubt(error)
                raise LogUnreadable(
                    f"the sessions in {self.path} cannot be read: {in_words(error)}"
                ) from error

    @contextmanager
    def writing(self, *, durable: bool = False) -> Generator[sqlite3.Connection]:
        """Give a connection whose changes are all made at the end, or none of them.

        Raises `LogNotWritten`.
        """
        with self._writer.lock:
            try:
                connection = self._writer.made()
                connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
                connection.execute("BEGIN IMMEDIATE")
                changes = connection.total_changes
                try:
                    yield connection
                    if durable and connection.total_changes == changes:
                        # Without a change a commit would sync nothing.
                        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
                    connection.execute("COMMIT")
                finally:
                    _roll_back(connection)
            except LogUnreadable as error:
                raise LogNotWritten(str(error)) from error
            except (sqlite3.Error, OSError) as error:
                self._writer.doubt(error)
                raise LogNotWritten(
                    f"the sessions in {self.path} could not be written: {in_words(error)}"
                ) from error

    def give_back(self) -> None:
        """Let go of the room of what was deleted, as far as nobody else is in the way."""
        with self._writer.lock, suppress(sqlite3.Error, OSError, LogUnreadable):
            connection = self._writer.existing()
            if connection is not None:
                # `execute` would stop after the first page.
                connection.executescript("PRAGMA incremental_vacuum")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close both connections; the next use opens them again."""
        _close_all(self._reader, self._writer)


def in_words(error: sqlite3.Error | OSError) -> str:
    """Return what went wrong and what to do about it, for a person."""
    if isinstance(error, OSError):
        return f"{error.filename or ''}: {error.strerror}".lstrip(": ")
    code = getattr(error, "sqlite_errorcode", None)
    if code is None or code & 0xFF not in _WORDS:
        return str(error)
    what, way_out = _WORDS[code & 0xFF]
    return f"{what} ({error}); {way_out}"


class _Connection:
    """A connection that is opened when first used, and again when the file is another one."""

    def __init__(self, path: Path, busy_seconds: float) -> None:
        self.lock = threading.RLock()
        self._path = path
        self._busy_seconds = busy_seconds
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None

    def existing(self) -> sqlite3.Connection | None:
        """Return the connection; None where there is no file."""
        file = _identity(self._path)
        if self._connection is not None and file != self._file:
            # Deleted or replaced: what went into the old file nobody would ever find.
            self.close()
        elif self._connection is not None and _is_older(self._connection, self._path):
            self.close()
        if self._connection is None and file is not None:
            self._connection = _opened(self._path, self._busy_seconds)
            self._file = _identity(self._path)
        return self._connection

    def made(self) -> sqlite3.Connection:
        """Return the connection, the file made where there was none. Raises OSError."""
        connection = self.existing()
        if connection is None:
            _make_file(self._path)
            connection = self.existing()
        if connection is None:
            raise FileNotFoundError(errno.ENOENT, "it was removed at once", str(self._path))
        return connection

    def doubt(self, error: sqlite3.Error | OSError) -> None:
        """Open the file anew next time, unless the error is one that passes by itself."""
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_IOERR)
        if code & 0xFF not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY):
            self.close()

    def close(self) -> None:
        """Close it."""
        with self.lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None


def _close_all(*connections: _Connection) -> None:
    for connection in connections:
        connection.close()


def _roll_back(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):  # what made it necessary is being raised
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _make_file(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(FileExistsError):
        # Exclusively: closing a descriptor of a file in use would drop the locks on it.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _opened(path: Path, busy_seconds: float) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw",
        uri=True,
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA secure_delete=FAST")
        connection.execute(f"PRAGMA cache_size={PAGES_IN_MEMORY}")
        connection.execute(f"PRAGMA journal_size_limit={JOURNAL_BYTES}")
        _bring_up_to_date(connection, path, busy_seconds)
    except BaseException:
        connection.close()
        raise
    return connection


def _bring_up_to_date(connection: sqlite3.Connection, path: Path, busy_seconds: float) -> None:
    if not _is_older(connection, path):
        return
    _use_wal(connection, busy_seconds)
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in MIGRATIONS[_version(connection, path) :]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={len(MIGRATIONS)}")
        connection.execute("COMMIT")
    finally:
        _roll_back(connection)


def _version(connection: sqlite3.Connection, path: Path) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application == APPLICATION_ID:
        if version > len(MIGRATIONS):
            raise LogUnreadable(
                f"the sessions in {path} were written in version {version} of the database, and "
                f"this agentls knows up to {len(MIGRATIONS)}. Update agentls to open them; the "
                "file is left as it is."
            )
        return version
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application or version or tables:
        raise LogUnreadable(
            f"{path} is a database of something else than agentls; choose another file for the "
            "sessions"
        )
    return 0


def _is_older(connection: sqlite3.Connection, path: Path) -> bool:
    return _version(connection, path) < len(MIGRATIONS)


def _use_wal(connection: sqlite3.Connection, busy_seconds: float) -> None:
    # SQLite does not wait for others here, whatever the timeout.
    connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
    give_up = time.monotonic() + busy_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > give_up:
                raise
            time.sleep(0.01)
