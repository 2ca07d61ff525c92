"""The agent in one workspace: its sessions, its settings, the server-wide state."""

import asyncio
import logging
import secrets

from agentls.agent.chat import Chat
from agentls.agent.effects import Effect, Effects, SettingsWrites
from agentls.agent.session import Session
from agentls.agent.surroundings import Surroundings
from agentls.agent.turn import tool_specs
from agentls.context.environment import git_branch, platform_name, shell_name
from agentls.errors import AgentError, LogUnreadable, StorageError, UnknownSession
from agentls.llm.catalog import DEFAULT_MODEL
from agentls.protocol.app_state import AppState
from agentls.protocol.events.app import (
    DefaultModelChanged,
    Notice,
    NoticePosted,
    SessionLeft,
    SessionOpened,
)
from agentls.protocol.events.conversation import SessionCreated, SessionMeta
from agentls.protocol.events.settings import ModeChanged, ModelChanged
from agentls.protocol.requests import SessionSummary
from agentls.protocol.session_state import SessionState
from agentls.protocol.tool_calls import Mode
from agentls.sessions.chain import replay
from agentls.sessions.store import LoadedLog
from agentls.state.app_store import AppStore
from agentls.state.event_store import timestamp
from agentls.version import VERSION

logger = logging.getLogger(__name__)


class Workspace:
    """Opens, finds and closes sessions; one per server, shared by all its clients."""

    def __init__(self, surroundings: Surroundings, settings_writes: SettingsWrites) -> None:
        self._around = surroundings
        self.settings_writes = settings_writes
        """Where lasting choices of a client go."""
        self.app = AppStore(AppState(default_model=self._default_model()))
        """The server-wide state."""
        self._sessions: dict[str, Session] = {}
        self._opening = asyncio.Lock()
        self._effects = Effects(
            [Effect("default model", lambda state: state.model.default, self._keep_default_model)]
        )

    @property
    def surroundings(self) -> Surroundings:
        """What the sessions share."""
        return self._around

    async def new_session(
        self, session_id: str | None = None, *, model: str | None = None, mode: Mode | None = None
    ) -> Session:
        """Begin a session; one that has this id already is returned as it is.

        Raises `UnknownModel` and `NoCredentials` for a model that cannot be had.
        """
        if session_id is not None:
            try:
                return await self.load_session(session_id)
            except UnknownSession:
                pass
        if model is not None:
            self._around.catalog.resolve(model)
        session = self._create(session_id or new_session_id(self._around), model, mode)
        return self._opened(session)

    async def load_session(self, session_id: str) -> Session:
        """Open a saved session, or return it where it is open. Raises `UnknownSession`."""
        async with self._opening:
            if session_id in self._sessions:
                return self._sessions[session_id]
            loaded, state = await asyncio.to_thread(self._read, session_id)
            chat = self._chat(state, loaded.envelopes[-1].seq, begun=True)
            if state.permissions.mode == "bypassPermissions":
                chat.emit(ModeChanged(mode="default"))
            if self._around.model and self._around.model != state.model.effective:
                chat.emit(ModelChanged(model=self._around.model, scope="session"))
            for problem in loaded.problems:
                self.notice(
                    "warning", f"session {session_id}, line {problem.line}: {problem.message}"
                )
            session = self._opened(Session(chat, self._around, self._warn))
            session.wake()
            return session

    def session(self, session_id: str) -> Session:
        """Return an open session. Raises `UnknownSession`."""
        if session_id not in self._sessions:
            raise UnknownSession(
                f"session {session_id!r} is not open; open it with agent/session/load"
            )
        return self._sessions[session_id]

    async def list_sessions(self) -> tuple[SessionSummary, ...]:
        """Return the sessions that are kept, newest first."""
        kept = await asyncio.to_thread(self._around.store.list)
        return tuple(
            summary.model_copy(update={"open": summary.id in self._sessions}) for summary in kept
        )

    async def close_session(self, session_id: str) -> None:
        """Take a session out of memory. Raises `UnknownSession` and `LogNotWritten`."""
        session = self.session(session_id)
        await session.aclose()
        del self._sessions[session_id]
        self.app.emit(SessionLeft(session_id=session_id))

    async def prepare(self) -> None:
        """Do ahead of time what the first prompt would have to wait for."""
        tool_specs(self._around.tools)
        try:
            await self._around.catalog.prepare(self.app.now.state.default_model or "")
        except AgentError as error:
            logger.info("not prepared: %s", error)  # the first prompt will say so, to its sender

    async def aclose(self) -> None:
        """Close every session and write what is left; what cannot be written is logged."""
        for session in tuple(self._sessions.values()):
            try:
                await session.aclose()
            except StorageError as error:
                self._warn(str(error))
        self._sessions.clear()
        await self.settings_writes.flush()
        await self._around.catalog.aclose()

    def notice(self, level: str, message: str) -> None:
        """Tell every client something that belongs to no session; no more than once in a row."""
        told = self.app.now.state.notices
        if told and told[-1].message == message:
            return
        notice = Notice.model_validate(
            {
                "id": f"notice_{secrets.token_hex(4)}",
                "level": level,
                "message": message,
                "at": timestamp(self._around.clock()),
            }
        )
        self.app.emit(NoticePosted(notice=notice))

    def _warn(self, message: str) -> None:
        logger.error("%s", message)
        self.notice("error", message)

    def _read(self, session_id: str) -> tuple[LoadedLog, SessionState]:
        try:
            loaded = self._around.store.load(session_id)
            return loaded, replay(loaded.envelopes)
        except LogUnreadable as error:
            raise LogUnreadable(f"session {session_id} cannot be opened: {error}") from error

    def _create(self, session_id: str, model: str | None, mode: Mode | None) -> Session:
        around = self._around
        meta = SessionMeta(
            id=session_id,
            created_at=timestamp(around.clock()),
            cwd=".",
            agentls_version=VERSION,
            git_branch=git_branch(around.cwd),
            platform=platform_name(),
            shell=shell_name(),
        )
        chat = self._chat(SessionState(meta=meta), 0, begun=False)
        chat.emit(SessionCreated(session=meta, model=self.app.now.state.default_model))
        if model is not None:
            chat.emit(ModelChanged(model=model, scope="session"))
        default_mode = around.settings().settings.permissions.default_mode
        chat.emit(ModeChanged(mode=mode or default_mode))
        return Session(chat, around, self._warn)

    def _chat(self, state: SessionState, seq: int, *, begun: bool) -> Chat:
        store = self._around.store
        log = store.open(state.meta.id) if begun else store.create(state.meta.id)
        return Chat(state, seq, log, self._around, self._effects)

    def _opened(self, session: Session) -> Session:
        self._sessions[session.id] = session
        self.app.emit(SessionOpened(session_id=session.id))
        return session

    def _default_model(self) -> str:
        return self._around.settings().settings.model or DEFAULT_MODEL

    def _keep_default_model(self, model: str | None) -> None:
        if model == self.app.now.state.default_model:
            return
        self.settings_writes.put("model", model)
        self.app.emit(DefaultModelChanged(model=model or DEFAULT_MODEL))


def new_session_id(surroundings: Surroundings) -> str:
    """Return an id that sorts by time and that no other session has: 20261130-145635-9f2c41."""
    return f"{surroundings.clock():%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
