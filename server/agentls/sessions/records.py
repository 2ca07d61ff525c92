"""How a log's lines look: a header, then one envelope each, all ending in a newline."""

import gc
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from agentls.errors import LogUnreadable
from agentls.protocol.events.envelope import EVENT_TYPES, Envelope
from agentls.sessions.store import LOG_VERSION, LoadedLog, LogProblem

_ENVELOPE = TypeAdapter(Envelope)


def header_line(session_id: str) -> bytes:
    """Return the first line of a log."""
    header = {"log": "agentls", "version": LOG_VERSION, "sessionId": session_id}
    return orjson.dumps(header, option=orjson.OPT_APPEND_NEWLINE)


def envelope_line(envelope: Envelope) -> bytes:
    """Return one event as a line."""
    return _ENVELOPE.dump_json(envelope, by_alias=True) + b"\n"


def parse_log(data: bytes, place: str) -> LoadedLog:
    """Read a whole log. What cannot be read is passed over and reported.

    A newline byte alone ends a line: U+2028 and its like are data. `place` names the log in errors.
    Raises `LogUnreadable` for a log of a newer version.
    """
    envelopes: list[Envelope] = []
    problems: list[LogProblem] = []
    with _no_garbage_collection():
        for number, line in enumerate(data.split(b"\n"), start=1):
            if not line.strip():
                continue
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                problems.append(LogProblem(number, f"not JSON: {error}"))
                continue
            if not isinstance(record, dict):
                problems.append(LogProblem(number, "not an object"))
            elif "log" in record:
                _check_header(record, place)  # pyright: ignore[reportUnknownArgumentType]
            elif _is_known(record):  # pyright: ignore[reportUnknownArgumentType]
                _take(line, number, envelopes, problems)
    envelopes.sort(key=lambda envelope: envelope.seq)
    return LoadedLog(tuple(envelopes), tuple(problems))


def _check_header(record: dict[str, Any], place: str) -> None:
    version = record.get("version")
    if not isinstance(version, int) or version > LOG_VERSION:
        raise LogUnreadable(
            f"{place} was written in log version {version}, and this agentls reads up to "
            f"{LOG_VERSION}. Update agentls to open the session; the log is left as it is."
        )


def _is_known(record: dict[str, Any]) -> bool:
    """Whether the event is of a type this version has; others are of a newer one, and pass."""
    event = record.get("event")
    return not isinstance(event, dict) or event.get("type") in EVENT_TYPES  # pyright: ignore[reportUnknownMemberType]


def _take(line: bytes, number: int, envelopes: list[Envelope], problems: list[LogProblem]) -> None:
    try:
        envelopes.append(_ENVELOPE.validate_json(line))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        problems.append(LogProblem(number, f"{where}: {first['msg']}"))


@contextmanager
def _no_garbage_collection() -> Generator[None]:
    # Loading makes many objects and no cycles; collecting meanwhile costs three times the load.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
