"""Logs for the tests of the search index, as lines of JSON."""

from pathlib import Path
from typing import Any

import orjson

from agentls.sessions.search.index import Hit, SearchIndex


def at(seq: int) -> str:
    return f"2026-11-30T12:{seq // 60 % 60:02}:{seq % 60:02}.000Z"


def header(session_id: str = "s1") -> bytes:
    return orjson.dumps({"log": "agentls", "version": 2, "sessionId": session_id}) + b"\n"


def line(seq: int, event: dict[str, Any], **rest: Any) -> bytes:
    record = {
        "seq": seq,
        "sessionId": "s1",
        "chatId": "main",
        "turnId": "t1",
        "origin": None,
        "at": at(seq),
        "event": event,
        **rest,
    }
    return orjson.dumps(record) + b"\n"


def prompt(seq: int, text: str | None, **rest: Any) -> bytes:
    content = [{"type": "text", "text": text}]
    event = {"type": "userMessageReceived", "id": f"m{seq}", "parent": None, "content": content}
    return line(seq, event, **rest)


def answer(seq: int, text: str, *calls: tuple[str, str, dict[str, Any]]) -> bytes:
    parts = [
        {"type": "thinking", "id": f"k{seq}", "text": "pondering", "signature": ""},
        {"type": "text", "id": f"p{seq}", "text": text},
        *({"type": "toolCall", "id": i, "name": name, "input": given} for i, name, given in calls),
    ]
    event = {"type": "answerFinished", "id": f"m{seq}", "parent": f"m{seq - 1}", "parts": parts}
    return line(seq, event)


def result(seq: int, parent: str, call_id: str, text: str | None, **rest: Any) -> bytes:
    content = [{"type": "text", "text": text}]
    event = {"type": "toolCallFinished", "parent": parent, "callId": call_id, "outcome": "ok"}
    return line(seq, {**event, "summary": "Ran it", "content": content}, **rest)


def no_blob(session_id: str, sha256: str) -> bytes:
    raise FileNotFoundError(sha256)


def open_index(folder: Path, blob: Any = no_blob) -> SearchIndex:
    index = SearchIndex(folder, blob=blob)
    index.refresh()
    return index


def found(index: SearchIndex, query: str, **rest: Any) -> list[str]:
    """Return the message ids of the hits, those of titles and tags as the kind."""
    return [hit.message_id or hit.kind for hit in hits(index, query, **rest)]


def hits(index: SearchIndex, query: str, **rest: Any) -> tuple[Hit, ...]:
    return index.search(query, limit=rest.pop("limit", 100), **rest)


def message_text(
    index: SearchIndex, message_id: str, *, session_id: str | None = None
) -> str | None:
    """Return the text of a message, its calls and their results."""
    found = index.message(message_id, session_id=session_id)
    return found and "\n\n".join(passage.text for passage in found.passages)
