"""Sessions in memory alone, for `--no-session` and for tests."""

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from agentls.errors import (
    ContentMissing,
    LogConflict,
    LogNotWritten,
    LogUnreadable,
    SessionExists,
    StorageError,
    UnknownSession,
)
from agentls.protocol.events.envelope import MAIN_CHAT, Envelope
from agentls.protocol.requests import SessionSummary
from agentls.sessions.catalog import summary_of_lines
from agentls.sessions.lease import MemoryLeases
from agentls.sessions.memory_contents import MemoryContents
from agentls.sessions.records import header_line
from agentls.sessions.store import Fence, RawLog, SessionLog
from agentls.sessions.waiting import LISTED_LINES, Batch, KeptLine, WaitingLines

Lines = list[KeptLine]
"""One conversation's, as a file would have them, the header first."""


@dataclass(slots=True)
class MemorySession:
    """One session's conversations, and the values that were too big for their lines."""

    chats: dict[str, Lines] = field(default_factory=dict[str, Lines])
    blobs: dict[str, bytes] = field(default_factory=dict[str, bytes])


class MemoryStore:
    """Keeps sessions for as long as the process lives, in the very lines that a file would hold."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._kept: dict[str, MemorySession] = {}
        self._trashed: dict[str, MemorySession] = {}
        self._leases = MemoryLeases()
        self._contents = MemoryContents()

    @property
    def leases(self) -> MemoryLeases:
        """Who has which session to itself; see the port."""
        return self._leases

    @property
    def contents(self) -> MemoryContents:
        """The contents of files as they were; see the port."""
        return self._contents

    def create(
        self, session_id: str, chat_id: str = MAIN_CHAT, *, lease: Fence | None = None
    ) -> SessionLog:
        """Begin a log; see the port."""
        return MemoryLog(self, session_id, chat_id, None, lease)

    def open(
        self, session_id: str, chat_id: str = MAIN_CHAT, *, after: int, lease: Fence | None = None
    ) -> SessionLog:
        """Go on with a log; see the port."""
        return MemoryLog(self, session_id, chat_id, after, lease)

    def has(self, session_id: str) -> bool:
        """Whether there is such a session; see the port."""
        with self._lock:
            return session_id in self._kept and MAIN_CHAT in self._kept[session_id].chats

    def read(self, session_id: str, chat_id: str = MAIN_CHAT, *, whole: bool = False) -> RawLog:
        """Read a log; see the port."""
        with self._lock:
            lines = self._chat(session_id, chat_id)
            first = 1 if whole else _first_needed(lines)
            return RawLog(
                header=lines[0].line,
                lines=tuple(kept.line for kept in lines[first:]),
                first_line=first + 1,
                complete=first == 1,
                position=len(lines),
            )

    def read_new(self, session_id: str, position: int) -> tuple[list[bytes], int]:
        """Return what came behind `position`, a number of lines; see the port."""
        with self._lock:
            lines = self._chat(session_id, MAIN_CHAT)
            if position > len(lines):
                raise LogUnreadable(
                    f"session {session_id} has {len(lines)} lines, and {position} of it had been "
                    "read; load it anew"
                )
            return [kept.line for kept in lines[position:]], len(lines)

    def chats(self, session_id: str) -> tuple[str, ...]:
        """Return the ids of the conversations of subagents; see the port."""
        with self._lock:
            return tuple(sorted(self._session(session_id).chats.keys() - {MAIN_CHAT}))

    def blob(self, session_id: str, sha256: str) -> bytes:
        """Return a value that was too big for a line; see the port."""
        with self._lock:
            blobs = self._session(session_id).blobs
        if sha256 not in blobs:
            raise ContentMissing(f"session {session_id} has no content {sha256} in memory")
        return blobs[sha256]

    def list(self, *, trashed: bool = False) -> tuple[SessionSummary, ...]:
        """Return what is kept, or what is in the trash, newest first; see the port."""
        with self._lock:
            sessions = (self._trashed if trashed else self._kept).values()
            logs = [_listed(s.chats[MAIN_CHAT]) for s in sessions if MAIN_CHAT in s.chats]
        found = [summary_of_lines(lines) for lines in logs]
        summaries = [summary for summary in found if summary is not None]
        return tuple(sorted(summaries, key=lambda summary: summary.updated_at, reverse=True))

    def trash(self, session_id: str) -> None:
        """Move a session to the trash; see the port."""
        self._move(session_id, self._kept, self._trashed, "in the trash; purge that one first")

    def restore(self, session_id: str) -> None:
        """Take a session out of the trash; see the port."""
        self._move(session_id, self._trashed, self._kept, "begun since; trash that one first")

    def purge(self, session_id: str) -> None:
        """Delete a session that is in the trash, for good; see the port."""
        with self._lock:
            if self._trashed.pop(session_id, None) is None:
                raise UnknownSession(f"no session {session_id} in the trash")

    def close(self) -> None:
        """Do nothing: the logs hold all there is to let go of."""

    def write_ahead(self) -> None:
        """Do nothing: what can be kept is kept at once."""

    def put(self, session_id: str, chat_id: str, batch: Batch, after: int) -> None:
        """Keep lines behind the event with the number `after`.

        Raises `LogConflict`, and `LogNotWritten` where the log ends before that event.
        """
        with self._lock:
            session = self._kept.get(session_id, MemorySession())
            header = header_line(session_id, chat_id).removesuffix(b"\n")
            lines = session.chats.get(chat_id, [KeptLine(header)])
            last = next((kept.seq for kept in reversed(lines) if kept.seq), 0)
            if last > after:
                raise LogConflict(
                    f"session {session_id} has been written to by somebody else: it has events up "
                    f"to number {last}, and here they are known up to {after}. Open it again to "
                    "see them, or fork it"
                )
            if last < after:
                raise LogNotWritten(
                    f"session {session_id} has lost its end: number {after} was written, and now "
                    f"it ends with {last}. It was deleted or moved to the trash: bring it back, or "
                    "fork it to keep what is in memory"
                )
            session.blobs.update(batch.blobs)
            lines.extend(batch.lines)
            session.chats[chat_id] = lines
            self._kept[session_id] = session

    def _session(self, session_id: str) -> MemorySession:
        if session_id not in self._kept:
            raise UnknownSession(f"no session {session_id} in memory")
        return self._kept[session_id]

    def _chat(self, session_id: str, chat_id: str) -> Lines:
        chats = self._session(session_id).chats
        if chat_id not in chats:
            raise UnknownSession(f"session {session_id} has no chat {chat_id} in memory")
        return chats[chat_id]

    def _move(
        self,
        session_id: str,
        source: dict[str, MemorySession],
        target: dict[str, MemorySession],
        why_not: str,
    ) -> None:
        with self._lock:
            if session_id not in source:
                raise UnknownSession(f"no session {session_id} to be moved in memory")
            if session_id in target:
                raise SessionExists(f"another session {session_id} is {why_not}")
            target[session_id] = source.pop(session_id)


class MemoryLog:
    """One conversation's log: what is appended is kept at once, if nothing stands against it."""

    def __init__(
        self,
        store: MemoryStore,
        session_id: str,
        chat_id: str,
        after: int | None,
        lease: Fence | None,
    ) -> None:
        self._store = store
        self._session_id = session_id
        self._chat_id = chat_id
        self._last = after or 0
        self._lease = lease
        self._waiting = WaitingLines(is_new=after is None)

    @property
    def unsaved(self) -> int:
        """How many bytes wait to be written; see the port."""
        return self._waiting.size

    def append(self, envelope: Envelope) -> None:
        """Take an event to be written; see the port."""
        self._waiting.append(envelope)
        self.write_now()

    def describe(self, summary: SessionSummary) -> None:
        """Keep what a list shows of the session; see the port."""
        self._waiting.describe(summary)
        self.write_now()

    async def flush(self, *, durable: bool = False) -> None:
        """Raise what kept events from being written; see the port."""
        self._write()

    def write_now(self) -> None:
        """Write what waits; see the port."""
        with suppress(StorageError):
            self._write()

    async def aclose(self) -> None:
        """Let go; see the port."""
        self._write()

    def _write(self) -> None:
        if not self._waiting:
            return
        if self._lease is not None and not self._lease.still_mine():
            raise self._lease.lost()
        batch = self._waiting.batch()
        self._store.put(self._session_id, self._chat_id, batch, self._last)
        self._waiting.forget(batch)
        self._last = max((kept.seq for kept in batch.lines if kept.seq), default=self._last)


def _first_needed(lines: Sequence[KeptLine]) -> int:
    """Return how many lines come before those that the last compaction, and a reader, needs."""
    needs = next((kept.needs for kept in reversed(lines) if kept.needs is not None), None)
    return next((n for n, kept in enumerate(lines) if needs and kept.seq == needs), 1)


def _listed(lines: Sequence[KeptLine]) -> tuple[bytes, ...]:
    """Return the lines that tell what a list shows: the last summary, and what came since."""
    start = next((n for n in range(len(lines) - 1, 0, -1) if lines[n].seq is None), 0)
    end = max(len(lines) - LISTED_LINES, start + LISTED_LINES)
    return tuple(kept.line for kept in (*lines[start : start + LISTED_LINES], *lines[end:]))
