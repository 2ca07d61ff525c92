"""`agentls sessions`: what is saved, as a list, as a conversation, as a file."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Literal

import orjson

from agentls.agent.open import WorkspaceOptions, kept_store, read_settings
from agentls.cli.folder import absolute_folder
from agentls.cli.sessions_find import find_session
from agentls.cli.sessions_plain import as_text
from agentls.cli.sessions_table import table
from agentls.errors import InvalidRequest, LogUnreadable
from agentls.llm.catalog import DEFAULT_MODEL
from agentls.sessions.interop.claude import SESSION_ID
from agentls.sessions.interop.export import export_json
from agentls.sessions.interop.imports import import_session
from agentls.sessions.loaded import LoadedSession
from agentls.sessions.loading import load
from agentls.sessions.store import SessionStore
from agentls.sessions.whole_history import whole_history
from agentls.state.transcript import as_markdown
from agentls.stdio import tell


def list_sessions(folder: Path, *, tag: str | None, trashed: bool, as_json: bool) -> int:
    """Print the sessions kept for `folder`, newest first."""
    summaries = [
        summary
        for summary in store_of(folder).list(trashed=trashed)
        if tag is None or summary.tag == tag
    ]
    if as_json:
        print_json([summary.model_dump(mode="json", by_alias=True) for summary in summaries])
    elif summaries:
        sys.stdout.write(table(summaries) + "\n")
    else:
        which = f" tagged {tag!r}" if tag is not None else ""
        place = f"the trash of {absolute_folder(folder)}" if trashed else absolute_folder(folder)
        sys.stdout.write(f"no sessions{which} in {place}\n")
    return 0


def show_session(folder: Path, typed: str, *, as_json: bool) -> int:
    """Print one session. Raises `UnknownSession` and `LogUnreadable`."""
    store = store_of(folder)
    state = _loaded(store, typed).state
    if as_json:
        sys.stdout.write(state.model_dump_json(indent=2) + "\n")
    else:
        sys.stdout.write(as_text(whole_history(store, state)))
    return 0


def export_session(
    folder: Path, typed: str, form: Literal["markdown", "json"], output: Path | None
) -> int:
    """Write one session down, to stdout or a file. Raises `UnknownSession` and `LogUnreadable`."""
    store = store_of(folder)
    if form == "json":
        session_id = find_session(store, typed)
        data = export_json(store, session_id)
    else:
        state = _loaded(store, typed).state
        session_id = state.meta.id
        data = as_markdown(whole_history(store, state)).encode("utf-8", "replace")
    if output is None:
        sys.stdout.write(data.decode())
        return 0
    _write_whole(output, data)
    tell(f"session {session_id} is in {output}")
    return 0


def import_file(folder: Path, file: Path, *, new_id: str | None, as_json: bool) -> int:
    """Take in a session from elsewhere. Raises `ImportRefused` and `SessionExists`."""
    if new_id is not None and not SESSION_ID.fullmatch(new_id):
        raise InvalidRequest(f"{new_id!r} is not a session id: letters, digits, - and _, up to 64")
    folder = absolute_folder(folder)
    settings = read_settings(WorkspaceOptions(roots=(folder,))).settings
    session_id, report = asyncio.run(
        import_session(
            file, store_of(folder), session_id=new_id, model=settings.model or DEFAULT_MODEL
        )
    )
    if as_json:
        left_out = [out.model_dump(mode="json", by_alias=True) for out in report.left_out]
        print_json({"sessionId": session_id, "messages": report.messages, "leftOut": left_out})
        return 0
    sys.stdout.write("\n".join((f"session {session_id}", *report.lines())) + "\n")
    return 0


def store_of(folder: Path) -> SessionStore:
    """Return where the sessions of a folder are kept. Raises `WorkspaceUnusable`."""
    store, _ = kept_store(absolute_folder(folder), os.environ)
    return store


def print_json(value: object) -> None:
    """Print a value for scripts."""
    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")


def _loaded(store: SessionStore, typed: str) -> LoadedSession:
    """Return a session, and say what of its log is damaged."""
    session_id = find_session(store, typed)
    try:
        loaded = load(store, session_id, whole=True)
    except LogUnreadable as error:
        raise LogUnreadable(f"session {session_id}: {error}") from error
    for damage in loaded.damage:
        tell(f"session {session_id}, line {damage.line}: {damage.what}")
    return loaded


def _write_whole(path: Path, data: bytes) -> None:
    """Write a file that is there whole or not at all, readable by its user alone."""
    if path.exists() and not path.is_file():  # a pipe, a terminal
        path.write_bytes(data)
        return
    path = path.resolve()
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
