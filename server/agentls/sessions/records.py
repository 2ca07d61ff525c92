"""How a log's lines look: a header, then an envelope each, and summaries, all ending in a newline.

A string of more than 64 KB is not in its line: it lies beside the log as a blob, and the line says
where it belongs.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import orjson
from pydantic import TypeAdapter
from pydantic_core import from_json, to_json

from agentls.errors import AgentError
from agentls.protocol.events.envelope import MAIN_CHAT, Envelope
from agentls.protocol.requests import SessionSummary
from agentls.sessions.store import LOG_VERSION

BLOB_BYTES = 64 * 1024
"""The most that a string in a line may take, in UTF-8."""

_ENVELOPE = TypeAdapter(Envelope)
_SUMMARY = TypeAdapter(SessionSummary)
_NAMES = frozenset((
    "id", "parent", "type", "callId", "messageId", "sessionId", "chatId", "turnId", "itemId",
    "responseId", "model", "name", "at", "head", "previous", "logicalParent", "keptFrom",
))  # fmt: skip
"""What a reader needs before it looks at contents; never kept apart from its line."""

KeepBlob = Callable[[bytes], str]
ReadBlob = Callable[[str], bytes]
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Header:
    """What a header line says."""

    version: int
    session_id: str
    chat_id: str = MAIN_CHAT
    cwd: str = "."


def header_line(session_id: str, chat_id: str = MAIN_CHAT, cwd: str = ".") -> bytes:
    """Return the first line of a log; again in an older log, where lines of this version begin."""
    header = {"log": "agentls", "version": LOG_VERSION, "sessionId": session_id}
    return _dumped({**header, "chatId": chat_id, "cwd": cwd}) + b"\n"


def envelope_line(envelope: Envelope, keep_blob: KeepBlob | None = None) -> bytes:
    """Return one event as a line; never raises.

    `keep_blob` keeps what is too big for a line and returns its SHA-256. Where it is None or fails,
    the line holds everything.
    """
    try:
        line = _ENVELOPE.dump_json(envelope, by_alias=True, warnings=False)
    except ValueError:  # a lone surrogate, or a value that has no JSON
        line = _dumped(envelope.model_dump(mode="python", by_alias=True, warnings=False))
    if len(line) > BLOB_BYTES and keep_blob is not None:
        line = _without_big_strings(line, keep_blob)
    return line + b"\n"


def summary_line(summary: SessionSummary, at: str) -> bytes:
    """Return what a list shows of a session, as a line; never raises."""
    shown = _SUMMARY.dump_python(summary, by_alias=True, exclude={"open"}, warnings=False)
    return _dumped({"summary": shown, "at": at}) + b"\n"


def header_of(record: Record) -> Header | None:
    """Return what a header says; None where `record` is none that this version understands."""
    version, session_id = record.get("version"), record.get("sessionId")
    if record.get("log") != "agentls" or type(version) is not int or version < 1:
        return None
    chat_id, cwd = record.get("chatId"), record.get("cwd")
    return Header(
        version,
        session_id if isinstance(session_id, str) else "",
        chat_id if isinstance(chat_id, str) else MAIN_CHAT,
        cwd if isinstance(cwd, str) else ".",
    )


def summary_of(record: Record) -> tuple[SessionSummary, str] | None:
    """Return the summary that a record holds and its time; None where it holds none."""
    summary, at = record.get("summary"), record.get("at")
    if not isinstance(summary, dict) or not isinstance(at, str):
        return None
    try:
        return _SUMMARY.validate_python({**cast(Record, summary), "open": False}), at
    except ValueError:
        return None


def envelope_of(line: bytes, blob: ReadBlob) -> tuple[Envelope, tuple[str, ...]]:
    """Return the event in a line, and what of it is missing, for a person. Raises ValidationError.

    A blob that cannot be had is replaced by a text that says so.
    """
    if b'"blobs":' not in line:
        return _ENVELOPE.validate_json(line), ()
    record = from_json(line)
    missing = inflate(record, blob)
    return _ENVELOPE.validate_python(record), missing


def inflate(record: Record, blob: ReadBlob) -> tuple[str, ...]:
    """Put the blobs of a record back in their places; return what is missing, for a person."""
    blobs = record.pop("blobs", None)
    missing: list[str] = []
    for reference in cast(list[Any], blobs) if isinstance(blobs, list) else []:
        try:
            path, name = list(reference["at"]), str(reference["sha256"])
            holder = _at(record, path[:-1])
            holder[path[-1]]  # the place must be there
        except (KeyError, IndexError, TypeError):
            missing.append("a value kept beside the log has no place in its line")
            continue
        try:
            holder[path[-1]] = blob(name).decode("utf-8", "replace")
        except (AgentError, OSError) as error:
            missing.append(f"a value kept beside the log is missing: {error}")
            _stand_in(record, path, f"[missing from the log: a text of blob {name[:12]}]")
    return tuple(missing)


def sendable(value: Any) -> Any:
    """Return `value` as JSON can say it: no lone surrogate, no infinite number, names for keys."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            items = cast(dict[Any, Any], value).items()
            return {sendable(str(key)): sendable(item) for key, item in items}
        case list() | tuple() | set() | frozenset():
            return [sendable(item) for item in cast(list[Any], value)]
        case float():
            return value if math.isfinite(value) else None
        case None | bool() | int():
            return value
        case _:
            return sendable(str(value))


def _dumped(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:
        # A lone surrogate or a number of more than 64 bits.
        return json.dumps(sendable(value), ensure_ascii=False, separators=(",", ":")).encode()


def _without_big_strings(line: bytes, keep_blob: KeepBlob) -> bytes:
    record = from_json(line)
    blobs = [
        {
            "at": path,
            "sha256": kept,
            "size": len(data),
            "mime": "text/plain; charset=utf-8",
            "uri": f"agentls-blob:{kept}",
        }
        for path, data in _big_strings(record, [])
        if (kept := _kept(data, keep_blob)) is not None
    ]
    if not blobs:
        return line
    for reference in blobs:
        path = cast(list[str | int], reference["at"])
        _at(record, path[:-1])[path[-1]] = None
    return to_json({**record, "blobs": blobs})


def _big_strings(value: Any, path: list[str | int]) -> list[tuple[list[str | int], bytes]]:
    items: Any
    match value:
        case str():
            data = value.encode() if len(value) > BLOB_BYTES // 4 else b""
            return [(path, data)] if len(data) > BLOB_BYTES else []
        case dict():
            items = ((key, item) for key, item in value.items() if key not in _NAMES)  # pyright: ignore
        case list():
            items = enumerate(cast(list[Any], value))
        case _:
            return []
    return [found for key, item in items for found in _big_strings(item, [*path, key])]


def _kept(data: bytes, keep_blob: KeepBlob) -> str | None:
    try:
        return keep_blob(data)
    except (AgentError, OSError):
        return None


def _at(record: Any, path: list[Any]) -> Any:
    for step in path:
        record = record[step]
    return record


def _stand_in(record: Record, path: list[Any], text: str) -> None:
    """Put `text` where a blob is missing, in a form that can still be sent to the model."""
    holder = _at(record, path[:-1])
    holder[path[-1]] = text
    match holder:
        case {"type": "image" | "document"} if path[-1] == "data":
            _at(record, path[:-2])[path[-2]] = {"type": "text", "text": text}
        case {"type": "file", "path": name} if path[-1] == "text":
            _at(record, path[:-2])[path[-2]] = {"type": "text", "text": f"{name}: {text}"}
        case {"type": "thinking"}:
            holder["signature"] = ""  # it was given for other words
        case {"type": "redactedThinking", "id": part_id}:
            _at(record, path[:-2])[path[-2]] = {"type": "text", "id": part_id, "text": text}
        case _:
            pass
