"""How the search index follows the logs: which have changed, and reading what they have gained."""

import hashlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import Connection
from typing import BinaryIO

from agentls.sessions.search.text import Passage, passages_of
from agentls.sessions.search.words import camel_pieces, spaced

SUFFIX = ".jsonl"
BATCH = 4 << 20
"""Bytes of logs and characters of text that one transaction takes: a fraction of a second."""
LONGEST_LINE = 16 << 20
"""Bytes; a longer line is passed over, so that memory stays bounded whatever a file holds."""
ENDING = 1 << 10
"""Bytes before the place a log was read up to, by which it is known again."""
PAGE = 200
"""Passages that are removed at once."""

Blobs = Callable[[str, str], bytes]
"""Returns a value that was too big for a line, by session and hash. May raise anything."""


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log as it lies on the disk."""

    path: Path
    size: int
    mtime: int
    """Nanoseconds."""
    inode: int

    @classmethod
    def of(cls, path: Path, status: os.stat_result) -> "LogFile":
        """Return the log with that status."""
        return cls(path, status.st_size, status.st_mtime_ns, status.st_ino)


def logs_in(folder: Path) -> dict[str, LogFile]:
    """Return the logs in a folder by session; links are left out. Raises OSError."""
    try:
        with os.scandir(folder) as entries:
            named = [entry for entry in entries if entry.name.endswith(SUFFIX)]
    except FileNotFoundError:
        return {}
    found: dict[str, LogFile] = {}
    for entry in named:
        with suppress(FileNotFoundError):  # deleted meanwhile
            if entry.is_file(follow_symlinks=False):
                session = os.fsencode(entry.name.removesuffix(SUFFIX)).decode(errors="replace")
                found[session] = LogFile.of(Path(entry.path), entry.stat())
    return found


def behind(connection: Connection, logs: Mapping[str, LogFile]) -> list[str]:
    """Return the sessions whose logs are gone, new, or not as they were when they were read."""
    rows = connection.execute("SELECT session, size, mtime, inode FROM logs WHERE NOT stale")
    known = {session: tuple(rest) for session, *rest in rows}
    stale = connection.execute("SELECT session FROM logs WHERE stale")
    wanted = {session for (session,) in stale} | (known.keys() - logs.keys())
    for session, log in logs.items():
        if known.get(session) != (log.size, log.mtime, log.inode):
            wanted.add(session)
    return sorted(wanted)


class Batch:
    """What one transaction does: a bounded piece of what there is to do."""

    def __init__(self, connection: Connection, logs: Mapping[str, LogFile], blob: Blobs) -> None:
        self._connection = connection
        self._logs = logs
        self._blob = blob
        self._left = BATCH
        self._forgot = False

    def work_off(self, sessions: Collection[str]) -> list[str]:
        """Return those of `sessions` that are not done yet."""
        left = [session for session in sessions if self._left <= 0 or not self._bring_up(session)]
        if self._forgot:
            # A removed word stays in the file until the parts of the index are merged.
            self._connection.execute("INSERT INTO words (words) VALUES ('optimize')")
        return left

    def _bring_up(self, session: str) -> bool:
        """Return whether the session's log is read to its end, or forgotten where it is gone."""
        log = self._logs.get(session)
        if log is None:
            return self._forget(session)
        try:
            with log.path.open("rb", buffering=1 << 18) as file:
                if self._is_other(session, file) and not self._forget(session):
                    return False
                return self._read(session, file, log.path)
        except OSError:
            # It cannot be opened or read just now; what is known of it stays.
            return True

    def _is_other(self, session: str, file: BinaryIO) -> bool:
        """Whether the log is not a continuation of what was read."""
        row = self._connection.execute(
            "SELECT position, ending, size, mtime, inode, stale FROM logs WHERE session = ?",
            (session,),
        ).fetchone()
        if row is None:
            return False
        position, ending, size, mtime, inode, stale = row
        status = os.fstat(file.fileno())
        return (
            bool(stale)
            or status.st_ino != inode
            or status.st_size < max(size, position)
            or (status.st_size == size and status.st_mtime_ns != mtime)
            or _ending(file, position) != ending
        )

    def _forget(self, session: str) -> bool:
        """Remove what is known of a log; return whether nothing is left of it."""
        row = self._connection.execute(
            "SELECT id FROM logs WHERE session = ?", (session,)
        ).fetchone()
        if row is None:
            return True
        while self._left > 0:
            passages = self._connection.execute(
                "SELECT id, text FROM passages WHERE log = ? LIMIT ?", (*row, PAGE)
            ).fetchall()
            if not passages:
                self._connection.execute("DELETE FROM logs WHERE id = ?", row)
                return True
            self._forgot = True
            for number, text in passages:
                self._left -= len(text)
                self._connection.execute(
                    "INSERT INTO words (words, rowid, text, pieces) VALUES ('delete', ?, ?, ?)",
                    (number, spaced(text), camel_pieces(text)),
                )
                self._connection.execute("DELETE FROM passages WHERE id = ?", (number,))
        self._connection.execute("UPDATE logs SET stale = 1 WHERE id = ?", row)
        return False

    def _read(self, session: str, file: BinaryIO, path: Path) -> bool:
        """Take whole lines from where it was read up to; return whether that was all of them."""
        # Before reading: what is written meanwhile then shows as a change.
        log = LogFile.of(path, os.fstat(file.fileno()))
        log_id, position = self._connection.execute(
            "INSERT INTO logs (session, position, ending, size, mtime, inode)"
            " VALUES (?, 0, x'', -1, 0, 0)"
            " ON CONFLICT (session) DO UPDATE SET size = -1 RETURNING id, position",
            (session,),
        ).fetchone()
        finished = True
        for start, line in _whole_lines(file, position):
            position = start + len(line)
            self._left -= len(line)
            self._take(log_id, session, start, line)
            if self._left <= 0:
                finished = False
                break
        self._connection.execute(
            "UPDATE logs SET position = ?, ending = ?, size = ?, mtime = ?, inode = ? WHERE id = ?",
            (
                position,
                _ending(file, position),
                log.size if finished else -1,
                log.mtime,
                log.inode,
                log_id,
            ),
        )
        return finished

    def _take(self, log_id: int, session: str, start: int, line: bytes) -> None:
        for passage in passages_of(line, lambda sha256: self._blob(session, sha256)):
            self._left -= len(passage.text)
            tool = passage.tool or self._tool_of(log_id, passage)
            added = self._connection.execute(
                "INSERT OR IGNORE INTO passages"
                " (log, key, seq, message, kind, tool, turn, at, start, length, text)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    log_id,
                    passage.key,
                    passage.seq,
                    passage.message_id,
                    passage.kind,
                    tool,
                    passage.turn_id,
                    passage.at,
                    start,
                    len(line),
                    passage.text,
                ),
            )
            if added.rowcount:
                self._connection.execute(
                    "INSERT INTO words (rowid, text, pieces) VALUES (?, ?, ?)",
                    (added.lastrowid, spaced(passage.text), camel_pieces(passage.text)),
                )

    def _tool_of(self, log_id: int, passage: Passage) -> str | None:
        """Return the tool whose result it is: a result itself does not say."""
        if passage.kind != "toolResult":
            return None
        key = passage.key.replace("toolResult:", "toolCall:", 1)
        row = self._connection.execute(
            "SELECT tool FROM passages WHERE log = ? AND key = ?", (log_id, key)
        ).fetchone()
        return row[0] if row else None


def _whole_lines(file: BinaryIO, position: int) -> Iterator[tuple[int, bytes]]:
    r"""Yield beginning and bytes of each line from `position` on that ends in `\n`.

    Of a line that is too long only its last piece comes, which is no JSON.
    """
    file.seek(position)
    while line := file.readline(LONGEST_LINE):
        if line.endswith(b"\n"):
            yield position, line
        elif len(line) < LONGEST_LINE:
            return
        position += len(line)


def _ending(file: BinaryIO, position: int) -> bytes:
    """Return what tells the bytes before `position` from others."""
    start = max(0, position - ENDING)
    file.seek(start)
    return hashlib.sha256(file.read(position - start)).digest()
