"""What of a log's line can be found: its passages of text."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import orjson

Kind = Literal["prompt", "answer", "toolCall", "toolResult", "title", "tag", "summary"]
KINDS: tuple[Kind, ...] = get_args(Kind)

MOST_TEXT = 256 << 10
"""Characters of one value that are kept in the index, and bytes of one that has its own file."""

_LARGEST_SEQ = 2**63 - 1

ReadBlob = Callable[[str], bytes]
"""Returns the bytes of a value that was too big for a line, by its hash. May raise anything."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a conversation that can be found."""

    key: str
    """Tells it from the others of its log. A later one with the same key counts for nothing."""
    seq: int
    message_id: str | None
    """The message it is of or belongs to; None for what belongs to the session."""
    kind: Kind
    tool: str | None
    """The tool's name, for a call."""
    call_id: str | None
    """For a call and its result."""
    turn_id: str | None
    at: str
    text: str


def passages_of(line: bytes, blob: ReadBlob, *, most: int | None = MOST_TEXT) -> Iterator[Passage]:
    """Yield the passages of a line; none where it cannot be read or is of a kind not known here.

    `most` is how many characters of each value, and bytes of each blob, are taken; None: all.
    """
    record = _parsed(line)
    event, seq = _object(record.get("event")), record.get("seq")
    extract = _EXTRACTORS.get(_string(event.get("type")))
    if extract is None or not isinstance(seq, int) or not 0 <= seq <= _LARGEST_SEQ:
        return
    if "blobs" in record:
        _put_back(record, blob, most)
    for found in extract(event):
        text = found.text if most is None else found.text[:most]
        if text.strip():
            yield Passage(
                key=f"{found.kind}:{found.key or seq}",
                seq=seq,
                message_id=found.message_id,
                kind=found.kind,
                tool=found.tool,
                call_id=found.call_id,
                turn_id=_string(record.get("turnId")) or None,
                at=_string(record.get("at")),
                text=text,
            )


@dataclass(frozen=True, slots=True)
class _Found:
    kind: Kind
    text: str
    message_id: str | None = None
    key: str | None = None
    tool: str | None = None
    call_id: str | None = None


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        record: Any = orjson.loads(line)
    except orjson.JSONDecodeError:
        record = _with_surrogates_replaced(line)
    return _object(record)


def _with_surrogates_replaced(line: bytes) -> Any:
    """Read a line that holds half of a surrogate pair, which is no character; None for others."""
    if b"\\ud" not in line.lower():
        return None
    try:
        record = json.loads(line)
        return orjson.loads(json.dumps(record, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _put_back(record: dict[str, Any], blob: ReadBlob, most: int | None) -> None:
    """Put text that has a file of its own back to where it was in the line."""
    for reference in _objects(record["blobs"]):
        path = _list(reference.get("at"))
        sha256 = _string(reference.get("sha256"))
        mime = _string(reference.get("mime"))
        if not path or not sha256 or mime.startswith(("image/", "audio/", "video/")):
            continue
        try:
            holder: Any = record
            for key in path[:-1]:
                holder = holder[key]
            if holder[path[-1]] is None:
                holder[path[-1]] = blob(sha256)[:most].decode("utf-8", "replace")
        except Exception:  # one value that is lost must not hide the rest
            continue


def _from_prompt(event: dict[str, Any]) -> Iterator[_Found]:
    if event.get("author") == "agentls":
        return  # its notices are for the model
    if message_id := _string(event.get("id")):
        yield _Found("prompt", _text_of(event.get("content")), message_id, message_id)


def _from_answer(event: dict[str, Any]) -> Iterator[_Found]:
    message_id = _string(event.get("id"))
    if not message_id:
        return
    parts = list(_objects(event.get("parts")))
    text = "\n\n".join(_texts(part for part in parts if part.get("type") == "text"))
    yield _Found("answer", text, message_id, message_id)
    for part in parts:
        name, call_id = _string(part.get("name")), _string(part.get("id"))
        if part.get("type") == "toolCall" and name and call_id:
            key = f"{message_id}:{call_id}"
            yield _Found("toolCall", _call_text(name, part), message_id, key, name, call_id)


def _from_result(event: dict[str, Any]) -> Iterator[_Found]:
    message_id, call_id = _string(event.get("parent")), _string(event.get("callId"))
    if not message_id or not call_id:
        return
    summary = _string(event.get("summary"))
    paths = (_string(change.get("path")) for change in _objects(event.get("changes")))
    lines = [summary, _text_of(event.get("content")), *(f"Changed: {path}" for path in paths)]
    text = "\n".join(line for line in lines if line)
    yield _Found("toolResult", text, message_id, f"{message_id}:{call_id}", call_id=call_id)


def _from_title(event: dict[str, Any]) -> Iterator[_Found]:
    yield _Found("title", _string(event.get("title")))


def _from_tag(event: dict[str, Any]) -> Iterator[_Found]:
    yield _Found("tag", _string(event.get("tag")))


def _from_compaction(event: dict[str, Any]) -> Iterator[_Found]:
    if message_id := _string(event.get("id")):
        text = _string(event.get("summary"))
        yield _Found("summary", text, message_id, message_id)


_EXTRACTORS: dict[str, Callable[[dict[str, Any]], Iterator[_Found]]] = {
    "userMessageReceived": _from_prompt,
    "answerFinished": _from_answer,
    "toolCallFinished": _from_result,
    "titleChanged": _from_title,
    "tagChanged": _from_tag,
    "conversationCompacted": _from_compaction,
}


_ATTACHED = {"image": "name", "document": "name", "file": "path"}
"""Blocks that are known by a name, by their type, and where that is."""


def _text_of(content: object) -> str:
    """Return what was written, and the names of what went with it; not what stood in a file."""
    blocks = list(_objects(content))
    texts = _texts(block for block in blocks if _string(block.get("type")) not in _ATTACHED)
    return "\n".join([*texts, *_names(blocks)])


def _names(blocks: Iterable[dict[str, Any]]) -> Iterator[str]:
    for block in blocks:
        kind = _string(block.get("type"))
        key = _ATTACHED.get(kind)
        if key and (name := _string(block.get(key))):
            symbol = _string(block.get("symbol"))
            yield f"[{kind}: {name}{f'#{symbol}' if symbol else ''}]"


def _texts(blocks: Iterable[dict[str, Any]]) -> list[str]:
    return [text for block in blocks if (text := _string(block.get("text")))]


def _call_text(name: str, part: dict[str, Any]) -> str:
    """Return a call as a person reads it: the tool's name, then `key: value`, one a line.

    Not as JSON, whose escapes would glue the letter of a line's end to the word behind it.
    """
    lines = [name]
    pending: list[tuple[str, Any]] = [("", part.get("input"))]
    while pending:
        label, value = pending.pop()
        if isinstance(value, dict):
            pending.extend(reversed(_object(cast(object, value)).items()))
        elif isinstance(value, list):
            pending.extend((label, item) for item in reversed(_list(cast(object, value))))
        elif value is not None:
            shown = value if isinstance(value, str) else orjson.dumps(value).decode()
            lines.append(f"{label}: {shown}")
    if malformed := _string(part.get("malformedInput")):
        lines.append(malformed)
    return "\n".join(lines)


# A line may hold anything: each of these takes what is of the right kind, and nothing else.


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _object(value: object) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else []


def _objects(value: object) -> Iterator[dict[str, Any]]:
    return (_object(item) for item in _list(value))
