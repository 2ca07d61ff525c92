"""Takes in sessions from elsewhere: Claude Code's files, and what agentls exported as JSON."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import cast

import orjson

from agentls.errors import ImportRefused, SessionExists, StorageError, UnknownSession
from agentls.protocol.events.envelope import MAIN_CHAT
from agentls.protocol.wire_model import JsonObject
from agentls.sessions.interop.claude import Logs, read_claude_code
from agentls.sessions.interop.export import is_export, read_export
from agentls.sessions.interop.report import ImportReport
from agentls.sessions.loading import load
from agentls.sessions.store import SessionLog, SessionStore
from agentls.state.selectors import summary


async def import_session(
    path: Path, store: SessionStore, *, session_id: str | None = None, model: str | None = None
) -> tuple[str, ImportReport]:
    """Take the session in the file at `path` into `store`, whole or not at all.

    It keeps its id unless `session_id` gives it another; `model` is what it goes on with. Raises
    `ImportRefused`, `SessionExists` where it was imported before, and `LogNotWritten`.
    """
    logs, report = await asyncio.to_thread(read_import, path, session_id=session_id, model=model)
    new_id = logs[MAIN_CHAT][0].session_id
    await asyncio.to_thread(_check_absent, store, new_id)
    try:
        await _write(store, new_id, logs)
    except BaseException:
        await asyncio.to_thread(_remove, store, new_id)
        raise
    return new_id, report


def read_import(
    path: Path, *, session_id: str | None = None, model: str | None = None
) -> tuple[Logs, ImportReport]:
    """Return the logs that the file at `path` makes, and what could not be carried.

    Raises `ImportRefused`.
    """
    if not path.is_file():
        raise ImportRefused(f"{path} is not a file")
    record = _as_one_object(path)
    if is_export(record):
        return read_export(path, record, session_id)
    if record.get("log") == "agentls":
        raise ImportRefused(
            f"{path} is a log of agentls itself; put it into .agentls/sessions/ under its name, or "
            "import what `agentls sessions export --format json` makes of it"
        )
    return read_claude_code(path, session_id, model)


def _as_one_object(path: Path) -> JsonObject:
    """Return the object that is the whole file, or its first line; empty where neither is one."""
    try:
        with path.open("rb") as file:
            first = file.readline()
            if first.strip() != b"{":
                return _object(first)
            return _object(first + file.read())
    except OSError as error:
        raise ImportRefused(f"{path} cannot be read: {error.strerror}") from error


def _object(data: bytes) -> JsonObject:
    try:
        record = orjson.loads(data)
    except orjson.JSONDecodeError:
        return {}
    return cast(JsonObject, record) if isinstance(record, dict) else {}


def _check_absent(store: SessionStore, session_id: str) -> None:
    if store.has(session_id):
        raise SessionExists(
            f"session {session_id} is here already; give the import another id to have it twice"
        )
    if any(summary.id == session_id for summary in store.list(trashed=True)):
        raise SessionExists(
            f"session {session_id} is in the trash; restore it, purge it, or import it under "
            "another id"
        )


async def _write(store: SessionStore, session_id: str, logs: Logs) -> None:
    """Write the session's own log, by which it can be found, then those of its subagents."""
    for chat_id, envelopes in logs.items():
        log = store.create(session_id, chat_id)
        try:
            for envelope in envelopes:
                log.append(envelope)
            await log.flush()
            if chat_id == MAIN_CHAT:
                await _describe(store, session_id, log)
            await log.flush(durable=True)
        finally:
            with suppress(StorageError):  # what it has to say, the flush before has said
                await log.aclose()


async def _describe(store: SessionStore, session_id: str, log: SessionLog) -> None:
    """Put into the log what a list shows of the session, as it is when loaded."""
    loaded = await asyncio.to_thread(load, store, session_id)
    changed = loaded.state.last_turn.finished_at if loaded.state.last_turn else None
    log.describe(summary(loaded.state, changed or loaded.state.meta.created_at))


def _remove(store: SessionStore, session_id: str) -> None:
    """Leave nothing of an import that came to nothing."""
    with suppress(StorageError, UnknownSession):
        store.trash(session_id)
        store.purge(session_id)
