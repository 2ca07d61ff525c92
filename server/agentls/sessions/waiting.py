"""What of one log waits to be written, for stores that keep lines whole and numbered."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from agentls.protocol.events.compaction import ConversationCompacted
from agentls.protocol.events.conversation import (
    PromptQueued,
    UserMessageReceived,
)
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.events.storage import SessionResumed
from agentls.protocol.requests import SessionSummary
from agentls.sessions.records import envelope_line, summary_line
from agentls.state.event_store import timestamp, utc_now

LISTED_LINES = 100
"""So many of the first and of the last lines since its last summary tell what a list shows."""


@dataclass(frozen=True, slots=True)
class KeptLine:
    """A line of a log, without its newline."""

    line: bytes
    seq: int | None = None
    """The event's number; None for a header and for a summary."""
    needs: int | None = None
    """For an event that a reader may begin at: the number of the first event that it needs."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What waits at one moment."""

    lines: tuple[KeptLine, ...]
    blobs: Mapping[str, bytes]
    """The values that were too big for these lines, by their SHA-256."""


class WaitingLines:
    """Takes events until they are written.

    A new log holds back what comes before the first prompt, so that none stays empty; one that is
    gone on with holds back that it was, so that looking at a session leaves it as it is. Events
    come from one thread; any thread may take a batch.
    """

    def __init__(self, *, is_new: bool) -> None:
        self._is_new = is_new
        self._begun = False
        self._lock = threading.Lock()
        self._lines: list[KeptLine] = []
        self._blobs: dict[str, bytes] = {}
        self._bytes = 0
        self._summary: SessionSummary | None = None

    def __bool__(self) -> bool:
        """Whether there is something to be written."""
        return self._begun and bool(self._lines)

    @property
    def size(self) -> int:
        """How many bytes are to be written."""
        return self._bytes if self._begun else 0

    def append(self, envelope: Envelope) -> None:
        """Take an event."""
        event = envelope.event
        needs = None
        if isinstance(event, ConversationCompacted):
            needs = envelope.seq if event.kept_from_seq is None else event.kept_from_seq
        line = envelope_line(envelope, self._keep_blob)
        self._take(KeptLine(line.removesuffix(b"\n"), envelope.seq, needs))
        if self._is_new:
            self._begun |= isinstance(event, PromptQueued | UserMessageReceived)
        else:
            self._begun |= not isinstance(event, SessionResumed)

    def describe(self, summary: SessionSummary) -> None:
        """Take what a list shows of the session, if it is something new.

        Nothing is taken of a session without a change. When it was changed the events tell.
        """
        shown = summary.model_copy(update={"open": False, "updated_at": ""})
        if self._begun and shown != self._summary:
            self._summary = shown
            self._take(KeptLine(summary_line(summary, timestamp(utc_now())).removesuffix(b"\n")))

    def batch(self) -> Batch:
        """Return what is to be written; it goes on waiting until `forget`."""
        with self._lock:
            return Batch(tuple(self._lines), dict(self._blobs)) if self._begun else Batch((), {})

    def forget(self, batch: Batch) -> None:
        """Take off what is written."""
        with self._lock:
            del self._lines[: len(batch.lines)]
            for name in batch.blobs:
                del self._blobs[name]
            self._bytes -= sum(len(kept.line) + 1 for kept in batch.lines)
            self._bytes -= sum(len(data) for data in batch.blobs.values())

    def _take(self, kept: KeptLine) -> None:
        with self._lock:
            self._lines.append(kept)
            self._bytes += len(kept.line) + 1

    def _keep_blob(self, data: bytes) -> str:
        name = sha256(data).hexdigest()
        with self._lock:
            if name not in self._blobs:
                self._blobs[name] = data
                self._bytes += len(data)
        return name
