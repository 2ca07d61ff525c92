"""What each `agent/*` request does: a method each, named after it, over the agent's workspace."""

from agentls.agent.session import Session
from agentls.agent.workspace import Workspace
from agentls.errors import InvalidRequest
from agentls.lsp.client import Client
from agentls.lsp.joining import Joining
from agentls.protocol import requests
from agentls.state.selectors import snapshot


class Handlers:
    """Serves one client. What changes a session is on disk before it is answered."""

    def __init__(self, workspace: Workspace, client: Client, joining: Joining) -> None:
        self._workspace = workspace
        self._client = client
        self._joining = joining

    async def session_new(self, params: requests.SessionNewParams) -> requests.SessionNewResult:
        """Begin a session."""
        session = await self._workspace.new_session(
            params.session_id, model=params.model, mode=params.mode
        )
        return requests.SessionNewResult(
            session_id=session.id, snapshot=self._joining.join(session)
        )

    async def session_load(self, params: requests.SessionLoadParams) -> requests.SessionLoadResult:
        """Open or join a session."""
        session = await self._workspace.load_session(
            params.session_id, follow=params.if_in_use == "follow"
        )
        return requests.SessionLoadResult(snapshot=self._joining.join(session))

    async def session_list(self, params: requests.SessionListParams) -> requests.SessionListResult:
        """List a page of what is kept."""
        kept = await self._workspace.list_sessions(tag=params.tag, trashed=params.trashed)
        start = _offset(params.cursor)
        end = start + params.limit
        cursor = str(end) if end < len(kept) else None
        return requests.SessionListResult(sessions=kept[start:end], next_cursor=cursor)

    async def session_close(
        self, params: requests.SessionCloseParams
    ) -> requests.SessionCloseResult:
        """Take a session out of memory."""
        await self._workspace.close_session(params.session_id)
        self._joining.leave(params.session_id)
        return requests.SessionCloseResult()

    async def session_rename(
        self, params: requests.SessionRenameParams
    ) -> requests.SessionRenameResult:
        """Give a session a title."""
        session = self._session(params.session_id)
        session.rename(params.title, origin=self._joining.origin())
        await session.save()
        return requests.SessionRenameResult()

    async def session_prompt(
        self, params: requests.SessionPromptParams
    ) -> requests.SessionPromptResult:
        """Queue a prompt, before the first await; it is on disk when this is answered."""
        session = self._session(params.session_id)
        taken = session.prompt(params.text, turn_id=params.turn_id, origin=self._joining.origin())
        await session.save()
        return requests.SessionPromptResult(turn_id=taken.turn_id, queued=taken.queued)

    async def turn_cancel(self, params: requests.TurnCancelParams) -> requests.TurnCancelResult:
        """Stop a turn."""
        session = self._session(params.session_id)
        cancelled = session.cancel(params.turn_id, origin=self._joining.origin())
        await session.save()
        return requests.TurnCancelResult(cancelled=cancelled)

    async def queue_remove(self, params: requests.QueueRemoveParams) -> requests.QueueRemoveResult:
        """Take a prompt out of the queue."""
        session = self._session(params.session_id)
        session.remove_queued(params.item_id, origin=self._joining.origin())
        await session.save()
        return requests.QueueRemoveResult()

    async def approval_answer(
        self, params: requests.ApprovalAnswerParams
    ) -> requests.ApprovalAnswerResult:
        """Settle an approval."""
        session = self._session(params.session_id)
        decision = session.answer_approval(
            params.call_id,
            params.option_id,
            reason=params.reason,
            edited_input=params.edited_input,
            origin=self._joining.origin(),
        )
        await session.save(durable=True)
        return requests.ApprovalAnswerResult(decision=decision)

    async def model_list(self, params: requests.ModelListParams) -> requests.ModelListResult:
        """List the models."""
        return requests.ModelListResult(models=self._workspace.surroundings.catalog.list())

    async def model_set(self, params: requests.ModelSetParams) -> requests.ModelSetResult:
        """Choose a model."""
        session = self._session(params.session_id)
        choice = session.set_model(params.model, params.scope, origin=self._joining.origin())
        await session.save()
        return requests.ModelSetResult(model=choice)

    async def mode_set(self, params: requests.ModeSetParams) -> requests.ModeSetResult:
        """Choose a mode."""
        session = self._session(params.session_id)
        mode = session.set_mode(params.mode, origin=self._joining.origin())
        await session.save()
        return requests.ModeSetResult(mode=mode)

    async def state_get(self, params: requests.StateGetParams) -> requests.StateGetResult:
        """Return a session's state."""
        moment = self._session(params.session_id).now
        return requests.StateGetResult(snapshot=snapshot(moment.state, moment.seq))

    async def app_get(self, params: requests.AppGetParams) -> requests.AppGetResult:
        """Return the server-wide state."""
        moment = self._workspace.app.now
        return requests.AppGetResult(seq=moment.seq, state=moment.state)

    async def view_set(self, params: requests.ViewSetParams) -> requests.ViewSetResult:
        """Change this client's view; what is lasting goes to the user's settings."""
        for key, value in self._client.change_view(params).items():
            self._workspace.settings_writes.put(key, value)
        return requests.ViewSetResult(view=self._client.view)

    def _session(self, session_id: str) -> Session:
        return self._workspace.session(session_id)


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isdecimal():
        raise InvalidRequest(f"cursor {cursor!r} is not one that agent/session/list gave out")
    return int(cursor)
