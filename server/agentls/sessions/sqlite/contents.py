"""Contents of files as they were, in the database that the sessions are in."""

import errno
import hashlib
import sqlite3
import time
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager

from agentls.checkpoints.contents import CHUNK
from agentls.checkpoints.pruning import GRACE, Pruned
from agentls.errors import ContentMissing, LogNotWritten, LogUnreadable
from agentls.sessions.content_rules import (
    KeptContent,
    Needs,
    chunks_of_file,
    plan_prune,
    write_all,
)
from agentls.sessions.sqlite.database import Database


class SqliteContents:
    """Keeps contents in pieces of a mebibyte.

    A large one is put piece by piece, so that nobody has to wait long for the database; it has no
    hash, and is nobody's, until it is whole. A power cut may lose what was put last: no sync is
    asked for, as for files in a folder.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, data: bytes) -> str:
        """Keep `data`; see the port."""
        return self._put(data[at : at + CHUNK] for at in range(0, len(data), CHUNK))

    def put_file(self, path: str) -> str:
        """Keep a file; see the port."""
        return self._put(chunks_of_file(path))

    def get(self, sha256: str) -> bytes:
        """Return a content; see the port."""
        data = b"".join(self._chunks(sha256))
        if hashlib.sha256(data).hexdigest() != sha256:
            raise self._damaged(sha256)
        return data

    def copy_to(self, sha256: str, descriptor: int) -> None:
        """Copy a content; see the port."""
        digest = hashlib.sha256()
        for chunk in self._chunks(sha256):
            digest.update(chunk)
            write_all(descriptor, chunk)
        if digest.hexdigest() != sha256:
            raise self._damaged(sha256)

    def has(self, sha256: str) -> bool:
        """Whether it is there; see the port."""
        try:
            with self._database.reading() as connection:
                return connection is not None and _key(connection, sha256) is not None
        except LogUnreadable:
            return False

    def refer(self, session_id: str, sha256s: Iterable[str]) -> None:
        """Note what a session needs; see the port."""
        with self._writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO content_sessions (session, used) VALUES (?, ?)",
                (session_id, time.time()),
            )
            connection.executemany(
                "INSERT OR IGNORE INTO content_references (session, sha256) VALUES (?, ?)",
                [(session_id, sha256) for sha256 in sha256s],
            )

    def release(self, session_id: str) -> None:
        """Forget what a session needs; see the port."""
        if self._database.path.exists():
            with self._writing() as connection:
                _forget(connection, session_id)

    def prune(self, quota_bytes: int, keep: Collection[str] = ()) -> Pruned:
        """Remove what is not needed; see the port."""
        if not self._database.path.exists():
            return Pruned(0, 0, (), 0)
        with self._writing() as connection:
            connection.execute(
                "DELETE FROM contents WHERE sha256 IS NULL AND used <= ?", (time.time() - GRACE,)
            )
            pruned, removed = plan_prune(
                _contents(connection), _sessions(connection), quota_bytes, keep
            )
            for session_id in pruned.sessions:
                _forget(connection, session_id)
            connection.executemany(
                "DELETE FROM contents WHERE sha256 = ?", [(sha256,) for sha256 in removed]
            )
        self._database.give_back()
        return pruned

    def _put(self, chunks: Iterable[bytes]) -> str:
        digest, size, key = hashlib.sha256(), 0, None
        pending = b""
        try:
            for chunk in chunks:
                if size:
                    key = self._add(key, pending)
                digest.update(chunk)
                size += len(chunk)
                pending = chunk
            sha256 = digest.hexdigest()
            self._finish(key, pending, sha256, size)
        except BaseException:
            self._abandon(key)
            raise
        return sha256

    def _add(self, key: int | None, chunk: bytes) -> int:
        """Add a piece to a content that is not whole yet, and begin it where there is none."""
        with self._writing() as connection:
            return _add(connection, key, chunk)

    def _finish(self, key: int | None, chunk: bytes, sha256: str, size: int) -> None:
        """Add the last piece and give the content its hash, unless it is there already."""
        with self._writing() as connection:
            found = _key(connection, sha256)
            if found is None:
                key = _add(connection, key, chunk)
                connection.execute(
                    "UPDATE contents SET sha256 = ?, size = ? WHERE key = ?", (sha256, size, key)
                )
            else:
                connection.execute("DELETE FROM contents WHERE key = ?", (key,))
            connection.execute(
                "UPDATE contents SET used = ? WHERE sha256 = ?", (time.time(), sha256)
            )

    def _abandon(self, key: int | None) -> None:
        if key is not None:
            with self._writing() as connection:
                connection.execute("DELETE FROM contents WHERE key = ?", (key,))

    def _chunks(self, sha256: str) -> Generator[bytes]:
        """Yield a content piece by piece. Raises `ContentMissing`."""
        number = 0
        while True:
            try:
                with self._database.reading() as connection:
                    key = None if connection is None else _key(connection, sha256)
                    if connection is None or key is None:
                        raise ContentMissing(
                            f"the content {sha256[:80]} is not kept in {self._database.path}"
                        )
                    found = connection.execute(
                        "SELECT data FROM content_chunks WHERE content = ? AND number = ?",
                        (key, number),
                    ).fetchone()
            except LogUnreadable as error:
                raise ContentMissing(
                    f"the content {sha256[:80]} cannot be read: {error}"
                ) from error
            if found is None:
                return
            yield found[0]
            number += 1

    def _damaged(self, sha256: str) -> ContentMissing:
        """Remove a damaged content, so that it can be put again."""
        with self._writing() as connection:
            connection.execute("DELETE FROM contents WHERE sha256 = ?", (sha256,))
        return ContentMissing(
            f"the content {sha256[:80]} that was kept in {self._database.path} is damaged; it was "
            "removed"
        )

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        """Give a connection to change contents with. Raises OSError, as the port says."""
        try:
            with self._database.writing() as connection:
                yield connection
        except LogNotWritten as error:
            raise OSError(errno.EIO, str(error)) from error


def _key(connection: sqlite3.Connection, sha256: str) -> int | None:
    found = connection.execute("SELECT key FROM contents WHERE sha256 = ?", (sha256,)).fetchone()
    return found and found[0]


def _add(connection: sqlite3.Connection, key: int | None, chunk: bytes) -> int:
    if key is None:
        key = connection.execute("INSERT INTO contents (used) VALUES (?)", (time.time(),)).lastrowid
        assert key is not None
    connection.execute(
        "INSERT INTO content_chunks (content, number, data) SELECT ?, count(*), ?"
        " FROM content_chunks WHERE content = ?",
        (key, chunk, key),
    )
    return key


def _forget(connection: sqlite3.Connection, session_id: str) -> None:
    connection.execute("DELETE FROM content_references WHERE session = ?", (session_id,))
    connection.execute("DELETE FROM content_sessions WHERE session = ?", (session_id,))


def _contents(connection: sqlite3.Connection) -> dict[str, KeptContent]:
    found = connection.execute("SELECT sha256, size, used FROM contents WHERE sha256 IS NOT NULL")
    return {sha256: KeptContent(size, used) for sha256, size, used in found}


def _sessions(connection: sqlite3.Connection) -> dict[str, Needs]:
    needs: dict[str, set[str]] = {}
    for session_id, sha256 in connection.execute("SELECT session, sha256 FROM content_references"):
        needs.setdefault(session_id, set()).add(sha256)
    return {
        session_id: Needs(frozenset(needs.get(session_id, ())), used)
        for session_id, used in connection.execute("SELECT session, used FROM content_sessions")
    }
