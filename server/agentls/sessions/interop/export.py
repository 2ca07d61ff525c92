"""A session as one JSON object: every event of every branch and subagent, blobs in their places."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import orjson
from pydantic import TypeAdapter, ValidationError

from agentls.errors import ImportRefused
from agentls.protocol.events.compaction import ConversationCompacted
from agentls.protocol.events.conversation import (
    AnswerFinished,
    SessionCreated,
    ToolCallFinished,
    UserMessageReceived,
)
from agentls.protocol.events.envelope import EVENT_TYPES, MAIN_CHAT, Envelope
from agentls.protocol.wire_model import JsonObject
from agentls.sessions.interop.claude import SESSION_ID, Logs
from agentls.sessions.interop.report import ImportReport, Tally
from agentls.sessions.loading import events
from agentls.sessions.restamping import restamped
from agentls.sessions.store import LOG_VERSION, SessionStore
from agentls.version import VERSION

EXPORT_VERSION = 1
_ENVELOPES = TypeAdapter(tuple[Envelope, ...])


def export_json(store: SessionStore, session_id: str) -> bytes:
    """Return a session as JSON for `read_export`. Raises `UnknownSession` and `LogUnreadable`."""
    chats = {
        chat_id: _dumped(events(store, session_id, chat_id)) for chat_id in store.chats(session_id)
    }
    exported = {
        "agentls": "session",
        "version": EXPORT_VERSION,
        "agentlsVersion": VERSION,
        "header": {"log": "agentls", "version": LOG_VERSION, "sessionId": session_id, "cwd": "."},
        "events": _dumped(events(store, session_id)),
        "chats": chats,
    }
    return orjson.dumps(exported, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def is_export(record: object) -> bool:
    """Whether a JSON value is what `export_json` writes."""
    return isinstance(record, dict) and cast(JsonObject, record).get("agentls") == "session"


def read_export(
    path: Path, record: JsonObject, session_id: str | None
) -> tuple[Logs, ImportReport]:
    """Return an exported session as logs, under `session_id` or its own. Raises `ImportRefused`."""
    version = record.get("version")
    if version != EXPORT_VERSION:
        raise ImportRefused(
            f"{path} was exported in version {version}, and this agentls reads version "
            f"{EXPORT_VERSION}; update agentls to import it"
        )
    tally = Tally()
    main = _envelopes(path, record.get("events"), MAIN_CHAT, tally)
    if not main or not isinstance(main[0].event, SessionCreated):
        raise ImportRefused(f"{path} does not begin with a session's creation")
    own_id = session_id or main[0].session_id
    if not SESSION_ID.fullmatch(own_id):
        raise ImportRefused(f"{path} names a session {own_id!r}, which is no id; choose one: --id")
    logs: Logs = {MAIN_CHAT: restamped(main, own_id, MAIN_CHAT)}
    chats = record.get("chats")
    for chat_id, written in chats.items() if isinstance(chats, dict) else ():
        if not SESSION_ID.fullmatch(chat_id) or chat_id == MAIN_CHAT:
            raise ImportRefused(f"{path} names a conversation {chat_id!r}, which is no id")
        logs[chat_id] = restamped(_envelopes(path, written, chat_id, tally), own_id, chat_id)
    _count(main, tally)
    tally.sidechains = len(logs) - 1
    return logs, tally.report(f"agentls, {path.name}")


def _dumped(envelopes: Iterable[Envelope]) -> list[Any]:
    return [envelope.model_dump(mode="json", by_alias=True) for envelope in envelopes]


def _envelopes(path: Path, written: object, chat_id: str, tally: Tally) -> tuple[Envelope, ...]:
    if not isinstance(written, list):
        raise ImportRefused(f"{path} holds no events of the conversation {chat_id!r}")
    known: list[JsonObject] = []
    for number, item in enumerate(cast(list[JsonObject], written), start=1):
        if _is_known(item):
            known.append(item)
        else:
            tally.leave_out("events of a newer agentls", number)
    try:
        return _ENVELOPES.validate_python(known)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(place) for place in first["loc"])
        raise ImportRefused(
            f"{path} is damaged: {chat_id}, event {where}: {first['msg']}"
        ) from error


def _is_known(item: object) -> bool:
    event = cast(JsonObject, item).get("event") if isinstance(item, dict) else None
    return not isinstance(event, dict) or event.get("type") in EVENT_TYPES


def _count(envelopes: Iterable[Envelope], tally: Tally) -> None:
    for envelope in envelopes:
        match envelope.event:
            case UserMessageReceived():
                tally.prompts += 1
            case AnswerFinished():
                tally.answers += 1
            case ToolCallFinished():
                tally.tool_calls += 1
            case ConversationCompacted():
                tally.summaries += 1
            case _:
                pass
