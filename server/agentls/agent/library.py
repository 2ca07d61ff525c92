"""What is done with kept sessions besides working in them: fork, trash, search, export, import."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agentls.agent.file_history import changes_of
from agentls.agent.recollection import Recollections
from agentls.agent.workspace import Workspace, new_session_id
from agentls.context.environment import git_branch
from agentls.errors import (
    AgentError,
    LeaseLost,
    LogConflict,
    SessionBusy,
    SessionExists,
    StorageError,
    UnknownSession,
)
from agentls.protocol.events.conversation import SessionCreated, SessionMeta
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.kept_sessions import SearchHit, SessionImportResult
from agentls.protocol.requests import SessionSummary
from agentls.sessions.forks import fork
from agentls.sessions.loading import events, load
from agentls.sessions.store import SessionStore
from agentls.state.event_store import timestamp
from agentls.version import VERSION

if TYPE_CHECKING:
    from agentls.agent.session import Session


class Library:
    """The kept sessions of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._around = workspace.surroundings

    async def latest(self) -> SessionSummary:
        """Return the session that was used last. Raises `UnknownSession` where there is none."""
        kept = await self._workspace.list_sessions()
        if not kept:
            raise UnknownSession(f"there is no session to continue in {self._around.cwd}")
        return kept[0]

    async def fork(
        self, session_id: str, message_id: str | None = None, new_id: str | None = None
    ) -> "Session":
        """Begin a session with a copy of another one up to a message, and open it.

        Raises `UnknownSession`, `UnknownMessage`, and `SessionExists` for an id that is taken.
        """
        taken = new_id is not None and (
            self._workspace.is_open(new_id) or self._around.store.has(new_id)
        )
        if taken:
            raise SessionExists(f"there is a session {new_id!r} already; choose another id")
        if self._workspace.is_open(session_id):
            with suppress(LeaseLost, LogConflict):  # what is on disk is copied, whoever owns it
                await self._workspace.session(session_id).flush()
        kept = await asyncio.to_thread(events, self._around.store, session_id)
        copied = fork(kept, self._meta_of_fork(kept, new_id), message_id)
        try:
            await self._write(copied)
        except StorageError:
            await asyncio.to_thread(_remove, self._around.store, copied[0].session_id)
            raise
        return await self._workspace.load_session(copied[0].session_id)

    async def trash(self, session_id: str) -> None:
        """Move a session to the trash; one that is open is closed. Raises `SessionInUse`."""
        was_open = self._workspace.is_open(session_id)
        await self._close(session_id)
        if was_open and not self._around.store.has(session_id):
            return  # nothing was said in it, so nothing of it is kept
        lease = await asyncio.to_thread(
            self._around.store.leases.acquire, session_id, self._around.owner
        )
        try:
            await asyncio.to_thread(self._around.store.trash, session_id)
        finally:
            await asyncio.to_thread(lease.release)

    async def restore(self, session_id: str) -> None:
        """Take a session out of the trash. Raises `UnknownSession` and `SessionExists`."""
        await asyncio.to_thread(self._around.store.restore, session_id)

    async def purge(self, session_id: str) -> None:
        """Delete a session in the trash, and what only it kept of old files."""
        await asyncio.to_thread(_purge, self._around.store, session_id)
        await self._workspace.prune_contents()

    async def export(self, session_id: str, form: Literal["markdown", "json"]) -> str:
        """Return a session written down. Raises `UnknownSession` and `LogUnreadable`."""
        # Imported here, as in `import_file`: an editor waits for the server's start.
        from agentls.sessions.interop.export import export_json
        from agentls.sessions.whole_history import whole_history
        from agentls.state.transcript import as_markdown

        if self._workspace.is_open(session_id):
            await self._workspace.session(session_id).save()
        store = self._around.store
        if form == "json":
            return (await asyncio.to_thread(export_json, store, session_id)).decode()
        loaded = await asyncio.to_thread(partial(load, store, session_id, whole=True))
        return await asyncio.to_thread(lambda: as_markdown(whole_history(store, loaded.state)))

    async def import_file(self, path: Path) -> SessionImportResult:
        """Take in a session from a file. Raises `ImportRefused` and `SessionExists`."""
        from agentls.sessions.interop.imports import import_session

        model = self._workspace.app.now.state.default_model
        session_id, report = await import_session(path, self._around.store, model=model)
        return SessionImportResult(
            session_id=session_id, messages=report.messages, left_out=report.left_out
        )

    async def search(
        self, query: str, *, limit: int = 20, session_id: str | None = None
    ) -> tuple[SearchHit, ...]:
        """Return where the words were said, the best first."""
        memory = Recollections(self._around.index, self._save_all)
        return await memory.find(query, limit=limit, session_id=session_id)

    async def _save_all(self) -> None:
        for session in self._workspace.open_sessions():
            await session.save()

    async def _close(self, session_id: str) -> None:
        if not self._workspace.is_open(session_id):
            return
        if self._workspace.session(session_id).state.turn is not None:
            raise SessionBusy(f"session {session_id} is at work; stop its turn first")
        await self._workspace.close_session(session_id)

    def _meta_of_fork(self, kept: tuple[Envelope, ...], new_id: str | None) -> SessionMeta:
        born = kept[0].event
        assert isinstance(born, SessionCreated)
        around = self._around
        return born.session.model_copy(
            update={
                "id": new_id or new_session_id(around),
                "created_at": timestamp(around.clock()),
                "agentls_version": VERSION,
                "git_branch": git_branch(around.cwd),
            }
        )

    async def _write(self, envelopes: tuple[Envelope, ...]) -> None:
        session_id = envelopes[0].session_id
        if contents := _contents_of(envelopes):
            await asyncio.to_thread(self._around.store.contents.refer, session_id, contents)
        log = self._around.store.create(session_id)
        for envelope in envelopes:
            log.append(envelope)
        await log.flush(durable=True)
        await log.aclose()


def _contents_of(envelopes: Iterable[Envelope]) -> set[str]:
    """Return the hashes of what files held, so that they stay for as long as the copy does."""
    changes = (change for envelope in envelopes for change in changes_of(envelope))
    hashes = (sha for change in changes for sha in (change.before_sha256, change.after_sha256))
    return {sha for sha in hashes if sha is not None}


def _remove(store: SessionStore, session_id: str) -> None:
    """Take back what was written of a session that could not be written whole."""
    with suppress(AgentError):
        store.trash(session_id)
        store.purge(session_id)


def _purge(store: SessionStore, session_id: str) -> None:
    store.purge(session_id)
    store.contents.release(session_id)
