"""The search index over sessions' logs: what was said and done, found by its words.

It is a cache: made from the logs, and thrown away whenever something is wrong with it.
"""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any, TypeVar

from agentls.errors import StorageError
from agentls.sessions.search.file import IndexBusy, IndexFile, IndexUnusable
from agentls.sessions.search.text import Kind, Passage, passages_of
from agentls.sessions.search.update import SUFFIX, Batch, Blobs, LogFile, behind, logs_in
from agentls.sessions.search.words import Query

SNIPPET_LENGTH = 200
MOST_HITS = 1_000
PATIENCE = 12
"""How often to wait for a process that gets on with the index, before doing without the latest."""
LONGEST_VALUE = 4 << 20
"""Characters of one value that `message` returns."""

T = TypeVar("T")
Work = Callable[[Connection], T]


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage in which everything that was asked for occurs."""

    session_id: str
    seq: int
    message_id: str | None
    """None for a title or a tag, which belong to the session."""
    kind: Kind
    tool: str | None
    """The tool's name, for a call and its result."""
    turn_id: str | None
    at: str
    snippet: str
    """Some of its text, line breaks as they are, with an ellipsis where it is cut."""
    marks: tuple[tuple[int, int], ...]
    """Where in `snippet` the words begin and end, in code points."""
    rank: float
    """How well it fits: the lower, the better."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message with the tool calls it holds and their results."""

    session_id: str
    message_id: str
    passages: tuple[Passage, ...]
    """In the order they were written, each whole up to `LONGEST_VALUE`."""


class SearchIndex:
    """Finds passages in all logs of one folder, `<session id>.jsonl`.

    Its methods block, and may be called from any thread; several processes may share the folder.
    Where the index cannot be kept it is held in memory, and `note` says so; all of them raise
    `StorageError` where not even that can be had.
    """

    def __init__(self, folder: Path, *, blob: Blobs) -> None:
        self._folder = folder
        self._blob = blob
        self._file = IndexFile(folder)
        self._refreshing = threading.Lock()
        self._problem: str | None = None

    @property
    def note(self) -> str | None:
        """What a person should know of the last refresh; None where all is well."""
        if self._file.why_private is not None:
            return (
                f"the search index of {self._folder} cannot be kept ({self._file.why_private}); "
                "it is held in memory and made anew by each process"
            )
        return self._problem

    def refresh(self) -> None:
        """Read what the logs have gained, and forget those that are gone or were replaced."""
        with self._refreshing:
            self._problem = None
            self._file.go_public()
            try:
                self._with_patience(self._catch_up)
            except OSError as error:
                self._problem = (
                    f"the logs in {self._folder} cannot be listed ({error.strerror}); "
                    "what is found may be old"
                )

    def rebuild(self) -> None:
        """Throw the index away and read all logs again."""
        with self._refreshing:
            if self._file.exists:
                self._with_patience(self._file.discard)
        self.refresh()

    def search(
        self,
        query: str,
        *,
        limit: int,
        session_id: str | None = None,
        kinds: Collection[Kind] | None = None,
        without_tools: Collection[str] = (),
        snippet_length: int = SNIPPET_LENGTH,
    ) -> tuple[Hit, ...]:
        """Return the best hits in what the last refresh has read, the newest first among equals.

        Any string is a query: every word must occur, a "phrase" as it stands, a word with a `*`
        may go on. Upper case and diacritics do not matter. `without_tools` leaves out the calls
        of some tools and their results.
        """
        asked = Query.parse(query)
        if not asked.expression:
            return ()
        filters = [
            ("logs.session", "IN", None if session_id is None else (session_id,)),
            ("passages.kind", "IN", kinds),
            ("coalesce(passages.tool, '')", "NOT IN", without_tools or None),
        ]
        conditions, values = _conditions(filters)
        count = max(0, min(limit, MOST_HITS))
        rows = self._find(
            lambda connection: connection.execute(
                _SEARCH.format(conditions), (asked.expression, *values, count)
            ).fetchall()
        )
        return tuple(_hit(row, asked, snippet_length) for row in rows or ())

    def message(self, message_id: str, *, session_id: str | None = None) -> Message | None:
        """Return a message as its log holds it; None where there is none of that id.

        Where several sessions have it, as forks do, it is the latest one's.
        """
        conditions, values = _conditions(
            [("session", "IN", None if session_id is None else (session_id,))]
        )
        rows = self._find(
            lambda connection: connection.execute(
                _MESSAGE.format(conditions), (_valid(message_id), *values)
            ).fetchall()
        )
        if not rows:
            return None
        session = rows[0][0]
        lines = sorted({(start, length) for owner, start, length in rows if owner == session})
        passages = tuple(self._read_again(session, message_id, lines))
        return Message(session, message_id, passages) if passages else None

    def close(self) -> None:
        """Let go of an index that is held in memory."""
        self._file.close()

    def _find(self, work: Work[T]) -> T | None:
        """Look into the index; make it anew where it is damaged. None where there is none."""
        try:
            return self._file.read(work)
        except IndexBusy:
            pass
        except IndexUnusable as error:
            renew = partial(self._file.renew, error.identity)
            with self._refreshing:
                if self._file.exists:
                    self._with_patience(renew)
        self.refresh()
        if not self._file.exists:
            return None
        return self._with_patience(lambda: self._file.read(work))

    def _with_patience(self, work: Callable[[], T]) -> T | None:
        """Do it, if need be with a new index or one in memory.

        Where another process is at work, wait for it as long as it gets on; then None.
        """
        for _ in range(PATIENCE):
            before = self._file.stamp()
            try:
                return self._with_a_usable_index(work)
            except IndexBusy as error:
                if self._file.stamp() == before:
                    return self._in_memory(error, work)
        self._problem = (
            f"another process is still writing the search index of {self._folder}; "
            "the latest may not be found yet"
        )
        return None

    def _with_a_usable_index(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except IndexUnusable as error:
            unusable = error
        try:
            self._file.renew(unusable.identity)
            return work()
        except IndexUnusable as error:
            return self._in_memory(error, work)

    def _in_memory(self, reason: Exception, work: Callable[[], T]) -> T:
        try:
            self._file.go_private(str(reason))
            self._catch_up()
            return work()
        except (IndexUnusable, IndexBusy, OSError) as error:
            raise StorageError(
                f"the logs in {self._folder} cannot be searched: {error}. "
                "SQLite with FTS5 and room for temporary files are needed."
            ) from error

    def _catch_up(self) -> None:
        logs = logs_in(self._folder)
        if not logs and not self._file.exists:
            return
        left = self._file.read(lambda connection: behind(connection, logs))
        while left:
            left = self._file.write(partial(self._advance, logs, left))

    def _advance(
        self, logs: Mapping[str, LogFile], sessions: Sequence[str], connection: Connection
    ) -> list[str]:
        return Batch(connection, logs, self._blob).work_off(sessions)

    def _read_again(
        self, session_id: str, message_id: str, lines: list[tuple[int, int]]
    ) -> "list[Passage]":
        """Return a message's passages from the log itself: the index holds their beginnings."""
        found: dict[str, Passage] = {}
        try:
            with (self._folder / f"{session_id}{SUFFIX}").open("rb") as log:
                for start, length in lines:
                    log.seek(start)
                    line = log.read(length)
                    for passage in passages_of(
                        line, lambda sha256: self._blob(session_id, sha256), most=LONGEST_VALUE
                    ):
                        if passage.message_id == message_id:
                            found.setdefault(passage.key, passage)
        except OSError:
            return []
        return list(found.values())


_SEARCH = """
SELECT logs.session, passages.seq, passages.message, passages.kind, passages.tool, passages.turn,
    passages.at, passages.text, best.score
FROM (
    SELECT passages.id, bm25(words, 1.0, 0.5) AS score
    FROM words
    JOIN passages ON passages.id = words.rowid
    JOIN logs ON logs.id = passages.log
    WHERE words MATCH ? AND NOT logs.stale {}
    ORDER BY score, passages.at DESC, passages.seq DESC, logs.session DESC, passages.key
    LIMIT ?
) AS best
JOIN passages ON passages.id = best.id
JOIN logs ON logs.id = passages.log
ORDER BY best.score, passages.at DESC, passages.seq DESC, logs.session DESC, passages.key
"""
_MESSAGE = """
SELECT logs.session, passages.start, passages.length
FROM passages JOIN logs ON logs.id = passages.log
WHERE passages.message = ? AND NOT logs.stale {}
ORDER BY passages.at DESC, logs.session DESC
"""


def _hit(row: tuple[Any, ...], asked: Query, snippet_length: int) -> Hit:
    session_id, seq, message_id, kind, tool, turn_id, at, text, rank = row
    snippet = asked.snippet(text, snippet_length)
    return Hit(
        session_id=session_id,
        seq=seq,
        message_id=message_id,
        kind=kind,
        tool=tool,
        turn_id=turn_id,
        at=at,
        snippet=snippet.text,
        marks=snippet.marks,
        rank=rank,
    )


def _conditions(filters: list[tuple[str, str, Collection[str] | None]]) -> tuple[str, list[str]]:
    """Return the filters that are set as SQL, and the values that go with it."""
    conditions = ""
    values: list[str] = []
    for column, operator, allowed in filters:
        if allowed is not None:
            conditions += f" AND {column} {operator} ({', '.join('?' * len(allowed))})"
            values += map(_valid, allowed)
    return conditions, values


def _valid(text: str) -> str:
    """Return a string that SQLite takes: half of a surrogate pair is no character."""
    return text.encode("utf-8", "replace").decode()
