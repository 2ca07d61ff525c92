"""What a list of sessions shows, read from the head and the tail of each log alone.

The tail holds a summary that is appended again and again; what events come after it are applied to
it. A log without one is judged by the events at its two ends.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import orjson

from agentls.protocol.requests import SessionSummary
from agentls.sessions.records import Record, header_of, summary_of
from agentls.sessions.store import LOG_VERSION

HEAD_BYTES = 4 << 10
SMALL_WINDOW_BYTES = 16 << 10
"""Looked at first: a session that was closed has its summary in its last line."""
WINDOW_BYTES = 64 << 10
FURTHEST_BYTES = 1 << 20
"""Looked at from either end where a single line fills the smaller window."""
LAST_PROMPT_LENGTH = 200

# A newline and a bare quote never stand inside a JSON string: what these find is no text.
_SUMMARY = b'\n{"summary"'
_SHOWN = re.compile(
    rb'"type" ?: ?"(?:sessionCreated|promptQueued|userMessageReceived|turnStarted|turnFinished'
    rb'|titleChanged|tagChanged|usageRecorded)"'
)
"""The events that a list shows something of; the others are not even parsed."""


def summarise(path: Path) -> SessionSummary | None:
    """Return what a list shows of the log at `path`; None where it is no log, or cannot be read.

    The session has the file's name and was updated at its last event, so that a copied folder
    shows what the old one did.
    """
    return summarise_as(os.fspath(path), path.stem)


def summarise_as(path: str, session_id: str) -> SessionSummary | None:
    """Return what a list shows of the log at `path` as the session of this id; see `summarise`."""
    try:
        # A pipe is not waited on, and a link not followed: either may have come with the project.
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        return (
            _read_summary(fd, status.st_size, session_id) if stat.S_ISREG(status.st_mode) else None
        )
    except OSError:
        return None
    finally:
        os.close(fd)


def summary_of_lines(lines: Iterable[bytes]) -> SessionSummary | None:
    """Return what a list shows of these lines of a log: the last summary, and the events after it.

    None where they hold neither a summary nor the session's creation, or where the log is of a
    newer version and has no summary.
    """
    data = b"\n" + b"\n".join(lines)
    return _last_summary(data) or _summary_of_events(data)


def _read_summary(fd: int, size: int, session_id: str) -> SessionSummary | None:
    for window in (SMALL_WINDOW_BYTES, WINDOW_BYTES, FURTHEST_BYTES):
        start = max(0, size - window)
        tail = os.pread(fd, size - start, start)
        if (found := _last_summary(tail, session_id)) is not None:
            return found
        holds_a_line = 0 <= tail.find(b"\n") < len(tail) - 1
        if not start or (holds_a_line and window >= WINDOW_BYTES):
            break
    return _summary_of_events(b"\n" + _head(fd, start) + b"\n" + tail, session_id)


def _head(fd: int, end: int) -> bytes:
    """Return the first lines of the file, up to `end`: the header and the session's creation."""
    for window in (HEAD_BYTES, WINDOW_BYTES, FURTHEST_BYTES):
        head = os.pread(fd, min(window, end), 0)
        if len(head) == end or head.count(b"\n") >= 2:
            break
    return head


def _last_summary(data: bytes, session_id: str | None = None) -> SessionSummary | None:
    """Return the last whole summary in `data`, with what the events after it have changed."""
    end = len(data)
    while (mark := data.rfind(_SUMMARY, 0, end)) >= 0:
        record = _record(_line_at(data, mark + 1))
        summary = record and record.get("summary")
        if record is not None and isinstance(summary, dict):
            shown = _changed_by_events(cast(Record, summary), data, mark + len(_SUMMARY))
            if session_id is not None:
                shown["id"] = session_id
            if (found := summary_of({**record, "summary": shown})) is not None:
                return found[0]
        end = mark
    return None


def _summary_of_events(data: bytes, session_id: str | None = None) -> SessionSummary | None:
    """Return what the events in `data` say; None where the session's creation is not among them."""
    if _is_newer(data):
        return None
    shown = _changed_by_events({}, data, 0)
    if "createdAt" not in shown:
        return None
    if session_id is not None:
        shown["id"] = session_id
    found = summary_of({"summary": shown, "at": ""})
    return found and found[0]


def _is_newer(data: bytes) -> bool:
    mark = data.find(b'\n{"log"')
    header = header_of(_record(_line_at(data, mark + 1)) or {}) if mark >= 0 else None
    return header is not None and header.version > LOG_VERSION


def _changed_by_events(shown: Record, data: bytes, start: int) -> Record:
    """Return a summary, as it is kept, with the events behind `start` applied."""
    changed = dict(shown)
    match = _SHOWN.search(data, start)
    while match is not None:
        line = _line_at(data, data.rfind(b"\n", 0, match.start()) + 1)
        if (record := _record(line)) is not None and isinstance(record.get("event"), dict):
            _apply(record["event"], record.get("at"), changed)
        end = data.find(b"\n", match.end())
        match = _SHOWN.search(data, end) if end >= 0 else None
    last = next(_times_backwards(data, start), None)
    if last is not None:
        changed["updatedAt"] = last
    return changed


def _times_backwards(data: bytes, start: int) -> Iterator[str]:
    """Yield the times of the events behind `start`, the last first."""
    end = len(data)
    while end > start:
        begin = data.rfind(b"\n", start, end) + 1
        if not begin:
            return
        record = _record(data[begin:end])
        if record is not None and "event" in record and isinstance(record.get("at"), str):
            yield record["at"]
        end = begin - 1


def _apply(event: Record, at: Any, shown: Record) -> None:
    match event:
        case {"type": "sessionCreated", "session": {"id": str()}}:
            shown.update(_created(event["session"], event.get("model"), at))
        case {"type": "promptQueued", "kind": "compact"}:
            pass
        case {"type": "userMessageReceived", "author": "agentls"}:
            pass
        case {"type": "promptQueued" | "userMessageReceived", "content": list()}:
            shown["lastPrompt"] = _first_line(event["content"])
        case {"type": "turnStarted", "model": str() as model}:
            shown["model"] = model
        case {"type": "turnFinished", "messageCount": int() as count}:
            shown["messageCount"] = count
        case {"type": "titleChanged", "title": str() as title}:
            shown["title"] = title
        case {"type": "tagChanged", "tag": str() | None as tag}:
            shown["tag"] = tag
        case {"type": "usageRecorded", "usage": dict()}:
            shown["usage"] = _sum(shown.get("usage"), event["usage"])
        case _:
            pass


def _created(session: Record, model: object, at: Any) -> Record:
    origin = session.get("forkedFrom")
    return {
        "id": session["id"],
        "title": None,
        "tag": None,
        "lastPrompt": None,
        "createdAt": at,
        "updatedAt": at,
        "messageCount": 0,
        "model": model,
        "gitBranch": session.get("gitBranch"),
        "usage": {},
        "forkedFrom": cast(Record, origin).get("sessionId") if isinstance(origin, dict) else None,
    }


def _first_line(content: list[Any]) -> str:
    """Return the beginning of a prompt as one line, with marks for what its line does not hold."""
    words = " ".join(_text_of(block) for block in content)
    return " ".join(words[: LAST_PROMPT_LENGTH * 4].split())[:LAST_PROMPT_LENGTH]


def _text_of(block: Any) -> str:
    match block:
        case {"type": "text", "text": str() as text}:
            return text
        case {"type": "text"}:
            return "[a long text]"
        case {"type": "image" | "document" as kind, **rest}:
            return f"[{kind}: {rest.get('name') or rest.get('mediaType')}]"
        case {"type": "file", "what": str() as what, "path": str() as path}:
            return f"[{what}: {path}]"
        case _:
            return ""


def _sum(before: Any, added: Record) -> Record:
    total: Record = dict(cast(Record, before)) if isinstance(before, dict) else {}
    for name, count in added.items():
        if isinstance(count, int) and isinstance(total.get(name, 0), int):
            total[name] = total.get(name, 0) + count
    return total


def _line_at(data: bytes, start: int) -> bytes:
    end = data.find(b"\n", start)
    return data[start:end] if end >= 0 else data[start:]


def _record(line: bytes) -> Record | None:
    """Return the object in a line; None for halves of lines and rubbish."""
    if not line.startswith(b"{"):
        return None
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return cast(Record, record) if isinstance(record, dict) else None
