"""What can still be read of a line that is not one whole record.

Nothing is written: a damaged line stays as it is, and is told.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import orjson

from agentls.sessions.records import sendable

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
ATTEMPTS = 1000
"""How often the beginning of a record is looked for in one line."""

_BEGINNING = re.compile(r'\{"(?:seq|log|summary)":')
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Repaired:
    """The records found in a line, each as a line of its own, and what was wrong, for a person."""

    records: tuple[tuple[bytes, dict[str, Any]], ...]
    what: str


def repaired(line: bytes) -> Repaired:
    """Read what can be read of a line that orjson does not take as an object."""
    wrong: list[str] = []
    rest = line
    if rest.startswith(BYTE_ORDER_MARK):
        rest = rest.removeprefix(BYTE_ORDER_MARK)
        wrong.append("a byte order mark")
    if zeros := rest.count(b"\0"):
        rest = rest.replace(b"\0", b"")
        wrong.append(f"{zeros} zero bytes, as a loss of power leaves them")
    text, mended = _decoded(rest.strip())
    wrong += mended
    if not text:
        return Repaired((), _told(wrong, ()))
    records, passed_over = _records(text, wrong)
    if passed_over:
        wrong.append(_rubbish(text, passed_over, found=bool(records)))
    return Repaired(tuple(records), _told(wrong, records))


def _decoded(data: bytes) -> tuple[str, list[str]]:
    try:
        return data.decode(), []
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace"), ["bytes that are not UTF-8, replaced by \ufffd"]


def _records(text: str, wrong: list[str]) -> tuple[list[tuple[bytes, dict[str, Any]]], int]:
    """Return the records in `text`, and how many bytes belong to none."""
    records: list[tuple[bytes, dict[str, Any]]] = []
    left: list[str] = []
    place = 0
    for begin, end, value in _objects(text):
        left.append(text[place:begin].strip())
        place = end
        data = text[begin:end].encode()
        try:
            record = orjson.loads(data)
        except orjson.JSONDecodeError:
            record = cast(dict[str, Any], sendable(value))
            data = json.dumps(record, ensure_ascii=False).encode()
            wrong.append("a character or number that JSON does not have, replaced")
        records.append((data, record))
    left.append(text[place:].strip())
    if len(records) > 1:
        wrong.append(f"{len(records)} records on one line")
    return records, len("".join(left).encode())


def _objects(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield the JSON objects in `text` that have the names of a record, by begin and end."""
    place = 0
    for _ in range(ATTEMPTS):
        if place >= len(text):
            return
        try:
            value, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            place = _next_beginning(text, place + 1)
            continue
        if isinstance(value, dict) and not value.keys().isdisjoint(("event", "log", "summary")):
            yield place, end, cast(dict[str, Any], value)
            place = end
        else:
            place = _next_beginning(text, place + 1)


def _next_beginning(text: str, place: int) -> int:
    found = _BEGINNING.search(text, place)
    return found.start() if found else len(text)


def _rubbish(text: str, size: int, *, found: bool) -> str:
    if text.startswith("{") and not found:
        return f"a record that breaks off after {size} bytes"
    return f"{size} bytes that are no record"


def _told(wrong: list[str], records: Sequence[object]) -> str:
    what = ", ".join(wrong)
    if not records:
        return f"{what}; nothing in it can be read"
    return f"{what}; the rest of the line is loaded"
