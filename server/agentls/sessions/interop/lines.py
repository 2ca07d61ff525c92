"""Claude Code's session files as records: one JSON object a line, damaged ones included."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import orjson
from pydantic import JsonValue

from agentls.errors import ImportRefused
from agentls.protocol.wire_model import JsonObject
from agentls.sessions.interop.report import Tally
from agentls.state.event_store import timestamp

DAMAGED = "lines that are damaged"
_BEGINNING = re.compile(r'\{\s*"')
_IDS = {"uuid", "sessionId"}
"""A record has one of them; a part of a record, as a torn line may hold it whole, has none."""
_MOST_BEGINNINGS = 1000
"""In one damaged line, where records are looked for."""


@dataclass(frozen=True, slots=True)
class Line:
    """One record of the file."""

    number: int
    """Of its line, from 1."""
    record: JsonObject
    at: str
    """When it was written; where it does not say, when the one before was."""

    @property
    def type(self) -> str:
        """What it is: `user`, `assistant`, `system`, …; empty where it does not say."""
        return text_in(self.record, "type") or ""

    @property
    def uuid(self) -> str | None:
        """Its id, where it takes part in the chain."""
        return text_in(self.record, "uuid") or None

    @property
    def parent(self) -> str | None:
        """The id of the record before it in the conversation."""
        return text_in(self.record, "parentUuid") or None

    @property
    def message(self) -> JsonObject:
        """The message it carries, empty where it carries none."""
        return object_in(self.record, "message")

    @property
    def content(self) -> JsonValue:
        """What its message says; for a prompt that came while a turn ran, that prompt."""
        if self.type == "attachment":
            return object_in(self.record, "attachment").get("prompt")
        return self.message.get("content")

    @property
    def blocks(self) -> list[JsonObject]:
        """The same as blocks."""
        content = self.content
        if isinstance(content, str):
            return [{"type": "text", "text": content}]
        if not isinstance(content, list):
            return []
        return [block for block in content if isinstance(block, dict)]

    def says(self, flag: str) -> bool:
        """Whether a flag such as `isMeta` is set."""
        return self.record.get(flag) is True


def text_in(record: JsonObject, key: str) -> str | None:
    """Return a field that is a text, else None."""
    value = record.get(key)
    return value if isinstance(value, str) else None


def object_in(record: JsonObject, key: str) -> JsonObject:
    """Return a field that is an object, else an empty one."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def number_in(record: JsonObject, key: str) -> int:
    """Return a field that is a whole number of 0 or more, else 0."""
    value = record.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def read_lines(path: Path, tally: Tally) -> list[Line]:
    """Return the records of a file, in order, those that are whole in damaged lines too.

    Raises `ImportRefused` where the file cannot be read.
    """
    lines: list[Line] = []
    at = timestamp(datetime.fromtimestamp(0, UTC))
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                records = list(_records(raw, number, tally))
                for record in records:
                    at = _moment(record) or at
                    lines.append(Line(number, record, at))
    except OSError as error:
        raise ImportRefused(f"{path} cannot be read: {error.strerror}") from error
    return lines


def _records(raw: bytes, number: int, tally: Tally) -> Iterator[JsonObject]:
    data = raw.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r\n\x00")
    if not data:
        return
    try:
        record = orjson.loads(data)
    except orjson.JSONDecodeError:
        yield from _whole_ones(data, number, tally)
        return
    if isinstance(record, dict):
        yield cast(JsonObject, record)
    else:
        tally.leave_out(DAMAGED, number)


def _whole_ones(data: bytes, number: int, tally: Tally) -> Iterator[JsonObject]:
    """Yield what is whole in a line that is not: records run together, or one behind a torn one."""
    text = data.decode("utf-8", "replace")
    place, damaged = 0, False
    for _ in range(_MOST_BEGINNINGS):
        try:
            record, end = json.JSONDecoder().raw_decode(text, place)
        except (ValueError, RecursionError):
            damaged, end = True, place + 1
        else:
            if isinstance(record, dict) and "type" in record and _IDS & record.keys():
                yield cast(JsonObject, _without_surrogates(record))
            else:
                damaged = True
        found = _BEGINNING.search(text, end)
        damaged = damaged or bool(text[end : found.start() if found else None].strip())
        if found is None:
            break
        place = found.start()
    if damaged:
        tally.leave_out(DAMAGED, number)


def _without_surrogates(value: Any) -> Any:
    """Return JSON with the halves of characters joined, or replaced where the other is missing."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [_without_surrogates(item) for item in cast(list[Any], value)]
        case dict():
            items = cast(dict[str, Any], value).items()
            return {_without_surrogates(key): _without_surrogates(item) for key, item in items}
        case _:
            return value


def _moment(record: JsonObject) -> str | None:
    written = text_in(record, "timestamp")
    try:
        moment = datetime.fromisoformat(written) if written else None
        return timestamp(moment.astimezone(UTC)) if moment else None
    except (ValueError, OverflowError):
        return None
