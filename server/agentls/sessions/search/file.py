"""The file of the search index: an SQLite database that can be thrown away at any moment.

Every piece of work opens the database anew: no connection is shared between threads, none outlives
a file that was replaced, and nothing is left open. Where the file cannot be kept, a private one
that goes with the process takes its place.
"""

import os
import sqlite3
import tempfile
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout

FILE_NAME = "index.sqlite"
VERSION = 1
"""Of what is in the tables; an index of another version is made anew."""
APPLICATION_ID = 0x61676C73
BUSY_SECONDS = 5.0
"""How long to wait for another process."""
CACHE_KIB = 16 << 10

SCHEMA = f"""
CREATE TABLE logs (
    id INTEGER PRIMARY KEY,
    session TEXT NOT NULL UNIQUE,
    -- Up to where it was read, and what was there just before.
    position INTEGER NOT NULL,
    ending BLOB NOT NULL,
    -- As it was when it was read to its end; size -1 where it was not.
    size INTEGER NOT NULL,
    mtime INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    -- It is gone or another one, and its passages are being removed.
    stale INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    log INTEGER NOT NULL,
    key TEXT NOT NULL,
    seq INTEGER NOT NULL,
    message TEXT,
    kind TEXT NOT NULL,
    tool TEXT,
    turn TEXT,
    at TEXT NOT NULL,
    -- The line it is from.
    start INTEGER NOT NULL,
    length INTEGER NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (log, key)
);
CREATE INDEX passages_by_message ON passages (message);
CREATE VIRTUAL TABLE words USING fts5(
    text, pieces, content = '', tokenize = "unicode61 remove_diacritics 2"
);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {VERSION};
"""

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]


Identity = tuple[int, int]
"""Device and inode: which file it is, whatever is in it."""


class IndexUnusable(Exception):
    """The index is missing, damaged, of another version, or its disk refuses.

    `identity` is the file's, where there was one.
    """

    def __init__(self, message: str, identity: Identity | None = None) -> None:
        super().__init__(message)
        self.identity = identity


class IndexBusy(Exception):
    """Another process holds the index for too long."""


class IndexFile:
    """The database of one folder, and how several processes get along over it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._path = self._folder / FILE_NAME
        self._lock_path = self._folder / "index.lock"
        self._private: sqlite3.Connection | None = None
        self._private_lock = threading.RLock()
        self._why_private: str | None = None

    @property
    def exists(self) -> bool:
        """Whether there is anything to look into, usable or not."""
        return self._private is not None or _identity(self._path) is not None

    @property
    def why_private(self) -> str | None:
        """Why the index is not a file, in words; None where it is."""
        return self._why_private

    def stamp(self) -> tuple[int, ...]:
        """Return what changes whenever any process writes to the file."""
        try:
            status = self._path.lstat()
        except OSError:
            return ()
        return status.st_ino, status.st_size, status.st_mtime_ns

    def read(self, work: Work[T]) -> T:
        """Return what `work` finds. Raises `IndexUnusable` and `IndexBusy`."""
        with self._private_lock:
            if self._private is not None:
                return _guarded(lambda: work(self._private_connection()))
        return _guarded(lambda: self._on_disk(work))

    def write(self, work: Work[T]) -> T:
        """Do `work` in one transaction, alone of all processes. Raises as `read` does."""
        with self._private_lock:
            if self._private is not None:
                return _guarded(lambda: _transaction(self._private_connection(), work))
        with self._lock():
            return _guarded(lambda: self._on_disk(lambda found: _transaction(found, work)))

    def renew(self, unusable: Identity | None) -> None:
        """Put an empty index in the place of that file, or where there is none.

        What another process has put there meanwhile stays. Raises as `read` does.
        """
        with self._private_lock:
            if self._private is not None:
                self.go_private(self._why_private or "")
                return
        with self._lock():
            if _identity(self._path) == unusable:
                _guarded(self._replace)

    def go_private(self, why: str) -> None:
        """Use an empty index that no other process sees and that ends with this one.

        Raises `IndexUnusable` where not even that can be had.
        """
        with self._private_lock:
            self._close_private()
            # An empty name is a database of its own: in memory while small, else in a file that
            # has no name.
            connection = sqlite3.connect("", check_same_thread=False, isolation_level=None)
            self._private, self._why_private = connection, why
            _guarded(lambda: connection.executescript(SCHEMA))

    def go_public(self) -> None:
        """Use the file again, if there is a private index and the file can be used by now."""
        with self._private_lock:
            if self._private is None:
                return
            try:
                with self._lock(seconds=0):
                    _guarded(self._ensure)
            except (IndexUnusable, IndexBusy):
                return
            self._close_private()

    def discard(self) -> None:
        """Throw everything away. Raises as `read` does."""
        self.renew(_identity(self._path))

    def close(self) -> None:
        """Let go of a private index."""
        with self._private_lock:
            self._close_private()

    def _private_connection(self) -> sqlite3.Connection:
        assert self._private is not None
        return self._private

    def _close_private(self) -> None:
        if self._private is not None:
            self._private.close()
        self._private = self._why_private = None

    def _lock(self, seconds: float | None = None) -> "_Lock":
        return _Lock(self._lock_path, BUSY_SECONDS if seconds is None else seconds)

    def _on_disk(self, work: Work[T]) -> T:
        identity = _identity(self._path)
        # A link in a foreign folder could lead to any database.
        if identity is None or self._path.is_symlink() or not self._path.is_file():
            raise IndexUnusable(f"{self._path} is not there, or is no file", identity)
        try:
            with closing(_connect(self._path)) as connection:
                _set_up(connection)
                if _marks(connection) != (APPLICATION_ID, VERSION):
                    raise IndexUnusable(f"{self._path} is no index of this version", identity)
                return work(connection)
        except (sqlite3.Error, UnicodeError) as error:  # the latter for what a damaged name says
            raise _told(error, identity) from error

    def _ensure(self) -> None:
        try:
            self._on_disk(lambda _: None)
        except IndexUnusable:
            self._replace()

    def _replace(self) -> None:
        """Make a new file and move it to where the old one is; the caller holds the lock."""
        handle, name = tempfile.mkstemp(prefix="index.", suffix=".new", dir=self._folder)
        os.close(handle)
        new = Path(name)
        try:
            with closing(_connect(new)) as connection:
                connection.executescript(SCHEMA)
            # Of a writer that died: it would be played back into the new file.
            Path(f"{self._path}-journal").unlink(missing_ok=True)
            new.replace(self._path)
        finally:
            new.unlink(missing_ok=True)


class _Lock:
    """Keeps other writers out. Not SQLite's own lock, as that goes with a file that is replaced."""

    def __init__(self, path: Path, seconds: float) -> None:
        self._path = path
        self._lock = FileLock(path, timeout=seconds, mode=0o600)

    def __enter__(self) -> None:
        try:
            self._lock.acquire()
        except Timeout as error:
            raise IndexBusy(f"another process holds {self._path}") from error
        except OSError as error:
            raise IndexUnusable(f"{self._path}: {error.strerror or error}") from error

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _guarded(work: Callable[[], T]) -> T:
    try:
        return work()
    except sqlite3.Error as error:
        raise _told(error) from error
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        raise IndexUnusable(f"{place}{error.strerror or error}") from error


def _told(error: Exception, identity: Identity | None = None) -> IndexBusy | IndexUnusable:
    # Extended codes have the plain one in their last byte; Python's own errors have none.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return IndexBusy(str(error))
    return IndexUnusable(str(error), identity)


def _identity(path: Path) -> Identity | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _connect(path: Path) -> sqlite3.Connection:
    uri = f"{path.as_uri()}?mode=rw"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)


def _set_up(connection: sqlite3.Connection) -> None:
    # The journal is SQLite's default one, gone after each transaction: unlike a write-ahead log
    # it works on shared folders, and leaves nothing that could be taken for a new file's.
    connection.executescript(
        f"PRAGMA trusted_schema = OFF; PRAGMA cache_size = -{CACHE_KIB};"
        "PRAGMA secure_delete = ON; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;"
    )


def _marks(connection: sqlite3.Connection) -> tuple[int, int]:
    names = ("application_id", "user_version")
    application, version = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
    return application, version


def _transaction(connection: sqlite3.Connection, work: Work[T]) -> T:
    connection.execute("BEGIN IMMEDIATE")
    try:
        result = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return result
