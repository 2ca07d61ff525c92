"""What each request about kept sessions does: fork, rewind, search, trash, export, import."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from agentls.agent.workspace import Workspace
from agentls.errors import InvalidRequest
from agentls.lsp.joining import Joining
from agentls.protocol import kept_sessions, requests

if TYPE_CHECKING:
    from agentls.agent.library import Library


class KeptHandlers:
    """Serves one client, over the workspace's library."""

    def __init__(self, workspace: Workspace, joining: Joining) -> None:
        self._workspace = workspace
        self._joining = joining

    @cached_property
    def _library(self) -> "Library":
        # Imported for the first such request: an editor waits for the server's start.
        from agentls.agent.library import Library

        return Library(self._workspace)

    async def session_continue(
        self, params: requests.SessionContinueParams
    ) -> requests.SessionContinueResult:
        """Open the session that was used last."""
        latest = await self._library.latest()
        session = await self._workspace.load_session(latest.id)
        return requests.SessionContinueResult(
            session_id=session.id, snapshot=self._joining.join(session)
        )

    async def session_fork(
        self, params: kept_sessions.SessionForkParams
    ) -> kept_sessions.SessionForkResult:
        """Begin a session with a copy of another."""
        session = await self._library.fork(
            params.session_id, params.message_id, params.new_session_id
        )
        return kept_sessions.SessionForkResult(
            session_id=session.id, snapshot=self._joining.join(session)
        )

    async def session_rewind(
        self, params: kept_sessions.SessionRewindParams
    ) -> kept_sessions.SessionRewindResult:
        """Go back to before a prompt."""
        session = self._workspace.session(params.session_id)
        return await session.rewind(
            params.message_id,
            params.scope,
            dry_run=params.dry_run,
            force=frozenset(params.force),
            origin=self._joining.origin(),
        )

    async def session_redo(
        self, params: kept_sessions.SessionRedoParams
    ) -> kept_sessions.SessionRedoResult:
        """Undo the last rewind."""
        session = self._workspace.session(params.session_id)
        done = await session.redo(
            dry_run=params.dry_run,
            force=frozenset(params.force),
            origin=self._joining.origin(),
        )
        return kept_sessions.SessionRedoResult.model_validate(done.model_dump())

    async def session_tag(
        self, params: kept_sessions.SessionTagParams
    ) -> kept_sessions.SessionTagResult:
        """Give a session a tag."""
        session = self._workspace.session(params.session_id)
        session.set_tag(params.tag, origin=self._joining.origin())
        await session.save()
        return kept_sessions.SessionTagResult()

    async def session_delete(
        self, params: kept_sessions.SessionDeleteParams
    ) -> kept_sessions.SessionDeleteResult:
        """Move a session to the trash."""
        await self._library.trash(params.session_id)
        self._joining.leave(params.session_id)
        return kept_sessions.SessionDeleteResult()

    async def session_restore(
        self, params: kept_sessions.SessionRestoreParams
    ) -> kept_sessions.SessionRestoreResult:
        """Take a session out of the trash."""
        await self._library.restore(params.session_id)
        return kept_sessions.SessionRestoreResult()

    async def session_purge(
        self, params: kept_sessions.SessionPurgeParams
    ) -> kept_sessions.SessionPurgeResult:
        """Delete a session in the trash for good."""
        await self._library.purge(params.session_id)
        return kept_sessions.SessionPurgeResult()

    async def session_export(
        self, params: kept_sessions.SessionExportParams
    ) -> kept_sessions.SessionExportResult:
        """Write a session down."""
        text = await self._library.export(params.session_id, params.format)
        return kept_sessions.SessionExportResult(text=text)

    async def session_import(
        self, params: kept_sessions.SessionImportParams
    ) -> kept_sessions.SessionImportResult:
        """Take in a session of another program, or one that was exported."""
        path = Path(params.path)
        if not path.is_absolute():
            raise InvalidRequest(f"path {params.path!r} is not absolute")
        return await self._library.import_file(path)

    async def session_search(
        self, params: kept_sessions.SessionSearchParams
    ) -> kept_sessions.SessionSearchResult:
        """Search what was said and done."""
        hits = await self._library.search(
            params.query, limit=params.limit, session_id=params.session_id
        )
        return kept_sessions.SessionSearchResult(hits=hits)

    async def session_continue_unsaved(
        self, params: kept_sessions.SessionContinueUnsavedParams
    ) -> kept_sessions.SessionContinueUnsavedResult:
        """Let a turn go on that waits for room on the disk."""
        self._workspace.session(params.session_id).continue_unsaved()
        return kept_sessions.SessionContinueUnsavedResult()
