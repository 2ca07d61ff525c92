"""Reads the lines of a log into rows; what cannot be read is passed over and told."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import orjson
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from agentls.protocol.events.compaction import ConversationCompacted
from agentls.protocol.events.storage import LogDamage
from agentls.protocol.session_state import SessionState
from agentls.sessions.chain import BOUNDARY
from agentls.sessions.migrations import check_version, migrated
from agentls.sessions.records import (
    Header,
    ReadBlob,
    Record,
    envelope_line,
    envelope_of,
    header_of,
)
from agentls.sessions.repair import repaired
from agentls.sessions.rows import Row, Told, links_of, row_of
from agentls.sessions.store import LOG_VERSION, RawLog

UNCOUNTED = 1 << 40
"""Where the lines of a log are numbered from, of which nobody knows how many come before."""

_OF_TURNS = ("userMessageReceived", "promptDequeued")
"""What names a turn: the second also that of a compaction, and a prompt that steered another."""
_MISSHAPEN = (KeyError, TypeError, ValueError, AttributeError)


@dataclass(slots=True)
class ReadLog:
    """What the lines of a log say."""

    rows: list[Row] = field(default_factory=list[Row])
    links: list[int] = field(default_factory=list[int])
    """Which of the rows make the chain."""
    damage: list[LogDamage] = field(default_factory=list[LogDamage])
    on_record: set[LogDamage] = field(default_factory=set[LogDamage])
    """Damage that a `LogDamaged` in the log tells of."""
    seq: int = 0
    """The highest number of an event."""
    call_ids: set[str] = field(default_factory=set[str])
    turn_ids: set[str] = field(default_factory=set[str])
    header: Header | None = None
    """The first that was found."""
    version: int = 1
    """Of the last lines."""


def read_log(raw: RawLog, session_id: str, chat_id: str, blob: ReadBlob) -> ReadLog:
    """Read the lines of a log. Raises `LogUnreadable` for a log of a newer version."""
    reader = _Reader(session_id, chat_id, raw.complete, blob)
    reader.read(raw)
    return reader.log


class _Reader:
    def __init__(self, session_id: str, chat_id: str, complete: bool, blob: ReadBlob) -> None:
        self.log = ReadLog()
        self._place = f"session {session_id}"
        self._session_id = session_id
        self._session_ids = {session_id}
        self._chat_id = chat_id
        self._chat_ids = {chat_id}
        self._complete = complete
        self._blob = blob
        self._lines: dict[int, bytes] = {}
        """By the number of its event, each line of the rows that were looked through."""
        self._looked_through = 0
        self._passed_over = False
        """Something before this line may have held events and could not be read."""

    def read(self, raw: RawLog) -> None:
        if raw.header:
            self._take_line(1, raw.header)
        if not raw.complete and not any(line.startswith(b'{"log":') for line in raw.lines):
            # A log read from a compaction on: versions that know no compaction lie before it.
            self.log.version = max(self.log.version, LOG_VERSION)
        self._take_lines(raw.lines, raw.first_line or UNCOUNTED)
        self._look_closer()
        if self.log.header is None and self.log.rows:
            self._tell(1, "the header is missing; the lines are taken as this session's")

    def _take_lines(self, lines: Sequence[bytes], first: int) -> None:
        """Take lines; as in nearly all of them all is well, that is found out with little work."""
        log, add, loads = self.log, self.log.rows.append, orjson.loads
        next_seq, session_id, chat_id = log.seq + 1, self._session_id, self._chat_id
        is_current = log.version == LOG_VERSION
        for number, line in enumerate(lines, start=first):
            try:
                record = loads(line)
                if (
                    record["seq"] == next_seq
                    and record["sessionId"] == session_id
                    and record["chatId"] == chat_id
                    and is_current
                ):
                    add(row_of(record, number, line))
                    next_seq += 1
                    continue
            except _MISSHAPEN:
                pass
            self._took_until(next_seq)
            self._take_line(number, line)
            next_seq, session_id, chat_id = log.seq + 1, self._session_id, self._chat_id
            is_current = log.version == LOG_VERSION
        self._took_until(next_seq)

    def _took_until(self, next_seq: int) -> None:
        if next_seq > self.log.seq + 1:
            self.log.seq = next_seq - 1
            self._passed_over = False

    def _look_closer(self) -> None:
        """Note what single types of events say; let go of compactions that cannot be read."""
        log, unsound = self.log, set[int]()
        log.links = links_of(log.rows)
        for place in log.links:
            row = log.rows[place]
            type_ = row.type
            if type_ == "answerFinished":
                log.call_ids.update(row.detail)
            elif type_ in _OF_TURNS and row.detail is not None:
                log.turn_ids.add(row.detail)
            elif type_ == "logDamaged":
                log.on_record.update(cast(Told, row.detail).damage)
            elif type_ == BOUNDARY and not self._is_sound_boundary(row.line, row.raw):
                unsound.add(place)
        if unsound:
            log.rows = [row for place, row in enumerate(log.rows) if place not in unsound]
            log.links = links_of(log.rows)

    def _take_line(self, number: int, line: bytes) -> None:
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            if not line.strip():
                return
            found = repaired(line)
            self._tell(number, found.what)
            self._passed_over = True
            for data, record in found.records:
                self._take_record(number, data, record)
            return
        self._take_record(number, line, record)

    def _take_record(self, number: int, line: bytes, record: Any) -> None:
        if not isinstance(record, dict):
            self._pass_over(number, "JSON that is no record of a session; passed over")
            return
        record = cast(Record, record)
        if "event" in record:
            self._take_event(number, line, record)
        elif "log" in record:
            self._take_header(number, record)
        elif "summary" not in record:
            self._pass_over(number, "JSON that is no record of a session; passed over")

    def _take_header(self, number: int, record: Record) -> None:
        header = header_of(record)
        if header is None:
            self._pass_over(number, "a header that cannot be understood; passed over")
            return
        check_version(header.version, self._place)
        self.log.version = header.version
        if self.log.header is not None:
            return
        self.log.header = header
        if header.session_id not in self._session_ids and header.session_id:
            self._session_id, self._chat_id = header.session_id, header.chat_id
            self._session_ids.add(header.session_id)
            self._chat_ids.add(header.chat_id)
            self._tell(
                number, f"the log of session {header.session_id}, copied; it is taken as this one's"
            )

    def _take_event(self, number: int, line: bytes, record: Record) -> None:
        log = self.log
        if log.version < LOG_VERSION:
            newer = migrated(record, log.version)
            if newer is not record:
                # Not orjson, which makes a float of an integer of more than 64 bits.
                record, line = newer, to_json(migrated(from_json(line), log.version))
        if not self._is_own(number, record):
            return
        try:
            row = row_of(record, number, line)
        except _MISSHAPEN:
            found = self._validated(number, line)
            if found is None:
                return
            record, line = found
            row = row_of(record, number, line)
        if self._is_repeated(number, record["seq"], line):
            return
        self._passed_over = False
        log.rows.append(row)

    def _is_own(self, number: int, record: Record) -> bool:
        session_id = record.get("sessionId")
        if session_id in self._session_ids and record.get("chatId", "main") in self._chat_ids:
            return True
        if self.log.header is None and not self.log.rows and isinstance(session_id, str):
            self._session_ids.add(session_id)  # nothing else says whose log this is
            return True
        self._tell(number, f"an event of another conversation, session {session_id}; passed over")
        return False

    def _validated(self, number: int, line: bytes) -> tuple[Record, bytes] | None:
        """Return the event as this version writes it, where its shape is only unusual."""
        try:
            envelope, _ = envelope_of(line, self._blob)
            written = envelope_line(envelope).removesuffix(b"\n")
            record = orjson.loads(written)
            row_of(record, number, written)
        except ValidationError as error:
            self._pass_over(number, f"an event that is not as it should be: {first_error(error)}")
        except _MISSHAPEN:
            self._pass_over(number, "an event that is not as it should be; passed over")
        else:
            return record, written
        return None

    def _is_repeated(self, number: int, seq: int, line: bytes) -> bool:
        """Note an event's number; whether the very same line was there before."""
        if seq <= self.log.seq and (first := self._line_of(seq)) is not None:
            if first == line:
                self._tell(number, f"event {seq} a second time, word for word; passed over")
                return True
            self._tell(
                number,
                f"another event with the number {seq}: two processes wrote to this log at once; "
                "both are kept",
            )
        elif self._is_after_hole(seq):
            self._tell(number, f"the events {self.log.seq + 1} to {seq - 1} are missing")
        self.log.seq = max(self.log.seq, seq)
        return False

    def _line_of(self, seq: int) -> bytes | None:
        """Return the first line with an event of this number; looked for in rare logs alone."""
        for row in self.log.rows[self._looked_through :]:
            self._lines.setdefault(orjson.loads(row.raw)["seq"], row.raw)
        self._looked_through = len(self.log.rows)
        return self._lines.get(seq)

    def _is_after_hole(self, seq: int) -> bool:
        """Whether events before this one are missing, and nothing damaged was found there."""
        if seq - 1 <= self.log.seq or self._passed_over:
            return False
        return self._complete or self.log.seq > 0

    def _is_sound_boundary(self, number: int, line: bytes) -> bool:
        """Whether a compaction can be begun from; else all before it stays in the conversation."""
        try:
            event = envelope_of(line, self._blob)[0].event
            assert isinstance(event, ConversationCompacted)
            SessionState.model_validate({**event.state, "history": []})
        except ValidationError as error:
            self._pass_over(number, f"a compaction that cannot be read: {first_error(error)}")
            return False
        return True

    def _pass_over(self, number: int, what: str) -> None:
        self._passed_over = True
        self._tell(number, what)

    def _tell(self, number: int, what: str) -> None:
        self.log.damage.append(LogDamage(line=number, what=what))


def first_error(error: ValidationError) -> str:
    """Return what is wrong first, for a person."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}"
