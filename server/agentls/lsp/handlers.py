"""What each `agent/*` request does: a method each, named after it, over the agent's workspace."""

from typing import TYPE_CHECKING

from agentls.agent.workspace import Workspace
from agentls.errors import InvalidRequest, OutputUnreadable
from agentls.lsp.client import Client
from agentls.lsp.joining import Joining
from agentls.protocol import at_work, requests
from agentls.protocol.content import Content
from agentls.protocol.tasks import FINAL_STATUSES
from agentls.state.selectors import snapshot

if TYPE_CHECKING:
    from agentls.agent.session import Session


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
        """Queue a prompt, before the first await where nothing is attached; it is on disk then."""
        session = self._session(params.session_id)
        attached: tuple[Content, ...] = ()
        if params.attachments:
            attached = await self._attached(params.attachments)
        taken = session.prompt(
            params.text,
            turn_id=params.turn_id,
            delivery=params.delivery,
            attached=attached,
            origin=self._joining.origin(),
        )
        await session.save()
        return requests.SessionPromptResult(turn_id=taken.turn_id, queued=taken.queued)

    async def session_compact(
        self, params: at_work.SessionCompactParams
    ) -> at_work.SessionCompactResult:
        """Queue a compaction."""
        session = self._session(params.session_id)
        taken = session.compact(
            params.instructions, turn_id=params.turn_id, origin=self._joining.origin()
        )
        await session.save()
        return at_work.SessionCompactResult(turn_id=taken.turn_id, queued=taken.queued)

    async def session_clear(self, params: at_work.SessionClearParams) -> at_work.SessionClearResult:
        """Begin the conversation anew."""
        session = self._session(params.session_id)
        messages = await session.clear(origin=self._joining.origin())
        return at_work.SessionClearResult(messages=messages)

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

    async def question_answer(
        self, params: at_work.QuestionAnswerParams
    ) -> at_work.QuestionAnswerResult:
        """Answer what a call asks the user."""
        session = self._session(params.session_id)
        session.answer_questions(params.call_id, params.answers, origin=self._joining.origin())
        await session.save(durable=True)
        return at_work.QuestionAnswerResult()

    async def task_list(self, params: at_work.TaskListParams) -> at_work.TaskListResult:
        """List the tasks."""
        return at_work.TaskListResult(tasks=self._session(params.session_id).state.tasks)

    async def task_output(self, params: at_work.TaskOutputParams) -> at_work.TaskOutputResult:
        """Read on in a task's output."""
        tasks = self._session(params.session_id).tasks
        finished = tasks.get(params.task_id).status in FINAL_STATUSES
        try:
            piece = await tasks.output(params.task_id, params.offset, params.limit)
        except OSError as error:
            path = tasks.get(params.task_id).output_path
            raise OutputUnreadable(
                f"the output of task {params.task_id} cannot be read: {path}: {error.strerror}"
            ) from error
        return at_work.TaskOutputResult(
            text=piece.text, next_offset=piece.next_offset, size=piece.size, finished=finished
        )

    async def task_stop(self, params: at_work.TaskStopParams) -> at_work.TaskStopResult:
        """End a task."""
        session = self._session(params.session_id)
        task = await session.stop_task(params.task_id)
        await session.save()
        return at_work.TaskStopResult(task=task)

    async def model_list(self, params: requests.ModelListParams) -> requests.ModelListResult:
        """List the models."""
        return requests.ModelListResult(models=self._workspace.surroundings.catalog.list())

    async def model_set(self, params: requests.ModelSetParams) -> requests.ModelSetResult:
        """Choose a model."""
        session = self._session(params.session_id)
        choice = session.set_model(params.model, params.scope, origin=self._joining.origin())
        await session.save()
        return requests.ModelSetResult(model=choice)

    async def fast_mode_set(self, params: at_work.FastModeSetParams) -> at_work.FastModeSetResult:
        """Turn fast mode on or off."""
        session = self._session(params.session_id)
        choice = session.set_fast_mode(params.enabled, origin=self._joining.origin())
        await session.save()
        return at_work.FastModeSetResult(model=choice)

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

    def _session(self, session_id: str) -> "Session":
        return self._workspace.session(session_id)

    async def _attached(self, given: tuple[requests.Attachment, ...]) -> tuple[Content, ...]:
        # Imported for the first attachment: an editor waits for the server's start.
        from agentls.context.attachments import all_attached

        return await all_attached(given, cwd=self._workspace.surroundings.cwd)


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isdecimal():
        raise InvalidRequest(f"cursor {cursor!r} is not one that agent/session/list gave out")
    return int(cursor)
