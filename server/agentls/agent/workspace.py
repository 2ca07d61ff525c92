"""The agent in one workspace: its sessions, its settings, the server-wide state."""

import asyncio
import importlib
import logging
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from agentls.agent.effects import Effect, Effects, SettingsWrites
from agentls.agent.surroundings import Surroundings
from agentls.context.environment import git_branch, platform_name, shell_name
from agentls.errors import (
    AgentError,
    LeaseLost,
    LogConflict,
    SessionInUse,
    StorageError,
    UnknownSession,
)
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
from agentls.protocol.events.storage import Access, AccessChanged, LogDamaged, SessionResumed
from agentls.protocol.requests import SessionSummary
from agentls.protocol.tool_calls import Mode
from agentls.sessions.loaded import LoadedSession
from agentls.sessions.owner import Owner
from agentls.sessions.store import SessionLog, SessionStore
from agentls.sessions.tenure import Tenure
from agentls.state.app_store import AppStore
from agentls.state.event_store import timestamp
from agentls.version import VERSION

if TYPE_CHECKING:
    from agentls.agent.chat import Chat
    from agentls.agent.following import Following
    from agentls.agent.session import Session

LATE_MODULES = (
    "agentls.tools.registry",
    "agentls.agent.session",
    "agentls.agent.compacting",
    "agentls.sessions.loading",
    "agentls.sessions.lease",
    "agentls.checkpoints.tracker",
)
"""Not imported by the start, which an editor waits for, but soon after, for the first prompt."""
CONTENTS_QUOTA_BYTES = 2 << 30
"""How much of what files held is kept for one workspace; the oldest sessions' goes first."""

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
    ) -> "Session":
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

    async def load_session(
        self, session_id: str, *, follow: bool = False, wake: bool = True
    ) -> "Session":
        """Open a saved session, or return it where it is open.

        Where another process is its owner: with `follow` it is opened read-only, and goes along
        with what that process does; without, `SessionInUse` is raised. Without `wake` it is left
        as it lies: what a crash cut off is not settled, and what is queued not begun. Raises
        `UnknownSession` and `LogUnreadable`.
        """
        async with self._opening:
            open_here = self._sessions.get(session_id)
            if open_here is not None and not await self._is_stale(open_here):
                return open_here
            session = await self._load(session_id, follow=follow, wake=wake)
            if open_here is not None:
                with suppress(StorageError):  # another process owns what it could not write
                    await open_here.aclose()
            return self._opened(session)

    def session(self, session_id: str) -> "Session":
        """Return an open session. Raises `UnknownSession`."""
        if session_id not in self._sessions:
            raise UnknownSession(
                f"session {session_id!r} is not open; open it with agent/session/load"
            )
        return self._sessions[session_id]

    async def list_sessions(
        self, *, tag: str | None = None, trashed: bool = False
    ) -> tuple[SessionSummary, ...]:
        """Return the sessions that are kept, or trashed, newest first; with `tag`, those alone."""
        # A list is read from the disk, and is to show what was done here a moment ago.
        await asyncio.to_thread(self._around.store.write_ahead)
        kept = await asyncio.to_thread(self._around.store.list, trashed=trashed)
        return tuple(
            summary.model_copy(update={"open": summary.id in self._sessions})
            for summary in kept
            if tag is None or summary.tag == tag
        )

    def open_sessions(self) -> "tuple[Session, ...]":
        """Return the sessions in memory."""
        return tuple(self._sessions.values())

    async def user_saved(self, path: Path) -> None:
        """Have every session know that a file is as the user has it now."""
        for session in self.open_sessions():
            await session.user_saved(path)

    def is_open(self, session_id: str) -> bool:
        """Whether the session is in memory."""
        return session_id in self._sessions

    async def close_session(self, session_id: str) -> None:
        """Take a session out of memory. Raises `UnknownSession` and `LogNotWritten`."""
        session = self.session(session_id)
        try:
            await session.aclose()
        except (LeaseLost, LogConflict) as error:
            self._warn(str(error))  # what it holds can never be written from here
        del self._sessions[session_id]
        self.app.emit(SessionLeft(session_id=session_id))

    async def prepare(self) -> None:
        """Do ahead of time what the first prompt would have to wait for."""
        for module in LATE_MODULES:
            await asyncio.to_thread(importlib.import_module, module)
        from agentls.agent.tool_specs import tool_specs

        tool_specs(self._around.tools)
        try:
            await self._around.catalog.prepare(self.app.now.state.default_model or "")
        except AgentError as error:
            logger.info("not prepared: %s", error)  # the first prompt will say so, to its sender
        await self.prune_contents()

    async def prune_contents(self) -> None:
        """Let go of what files held that no session needs, and of the oldest beyond the quota.

        Whose files can no longer be rewound by that is told.
        """
        keep = tuple(self._sessions)
        contents = self._around.store.contents
        try:
            pruned = await asyncio.to_thread(contents.prune, CONTENTS_QUOTA_BYTES, keep)
        except (StorageError, OSError) as error:
            logger.info("contents were not pruned: %s", error)
            return
        if pruned.sessions:
            self.notice(
                "info",
                f"more than {CONTENTS_QUOTA_BYTES >> 30} GiB were kept of changed files; those of "
                f"these sessions can no longer be rewound: {', '.join(pruned.sessions)}",
            )

    async def aclose(self) -> None:
        """Close every session and write what is left; what cannot be written is logged."""
        await asyncio.gather(*(self._end(session) for session in self._sessions.values()))
        self._sessions.clear()
        await asyncio.to_thread(self._around.store.close)
        await self.settings_writes.flush()
        await self._around.catalog.aclose()

    async def _end(self, session: "Session") -> None:
        try:
            await session.aclose()
        except StorageError as error:
            self._warn(f"session {session.id} cannot be closed: {error}")

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

    async def _is_stale(self, session: "Session") -> bool:
        """Whether it is to be loaded anew; of an owner it is asked now whether it lives."""
        if session.is_stale or session.state.access.mode == "owner":
            return session.is_stale
        leases = self._around.store.leases
        try:
            return await asyncio.to_thread(leases.holder, session.id) is None
        except StorageError:
            return False

    async def _load(self, session_id: str, *, follow: bool, wake: bool) -> "Session":
        if not self._around.store.has(session_id):
            raise UnknownSession(
                f"there is no session {session_id!r} here; `agentls sessions list` shows them"
            )
        tenure = Tenure(self._around.store.leases, session_id, self._around.owner)
        try:
            await asyncio.to_thread(tenure.take)
        except SessionInUse as error:
            if not follow:
                raise
            owner = error.owner
            described = owner.describe() if isinstance(owner, Owner) else str(error)
            return await self._follow(session_id, described)
        except StorageError as error:
            self._warn(str(error))  # the tenure is tried again before anything is written
        try:
            loaded = await asyncio.to_thread(_load, self._around.store, session_id)
        except BaseException:
            tenure.release()
            raise
        log = self._around.store.open(session_id, after=loaded.seq, lease=tenure)
        chat = self._made_chat(loaded, log)
        session = self._made_session(chat, tenure=tenure)
        self._record_opening(chat, loaded)
        if wake:
            session.wake()
        return session

    async def _follow(self, session_id: str, owner: str) -> "Session":
        from agentls.agent.following import Following

        loaded = await asyncio.to_thread(_load, self._around.store, session_id)
        chat = self._made_chat(loaded, None)
        chat.emit(AccessChanged(access=Access(mode="follower", owner=owner)))
        following = Following(chat, self._around.store, loaded)
        return self._made_session(chat, following=following)

    def _record_opening(self, chat: "Chat", loaded: LoadedSession) -> None:
        """Put on record who goes on from here, and what was found damaged."""
        state, around = chat.state, self._around
        branch = git_branch(around.cwd)
        chat.emit(SessionResumed(agentls_version=VERSION, face=around.face, git_branch=branch))
        if loaded.damage or loaded.message_count_difference:
            found = LogDamaged(
                damage=loaded.damage, message_count_difference=loaded.message_count_difference
            )
            chat.emit(found)
            self.notice("warning", _in_words(state.meta.id, found))
        if state.permissions.mode == "bypassPermissions":
            chat.emit(ModeChanged(mode="default"))
        if around.model and around.model != state.model.effective:
            chat.emit(ModelChanged(model=around.model, scope="session"))

    def _create(self, session_id: str, model: str | None, mode: Mode | None) -> "Session":
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
        tenure = Tenure(around.store.leases, session_id, around.owner)
        log = around.store.create(session_id, lease=tenure)
        chat = self._made_chat(LoadedSession.empty(meta), log)
        chat.emit(SessionCreated(session=meta, model=self.app.now.state.default_model))
        if model is not None:
            chat.emit(ModelChanged(model=model, scope="session"))
        default_mode = around.settings().settings.permissions.default_mode
        chat.emit(ModeChanged(mode=mode or default_mode))
        return self._made_session(chat, tenure=tenure)

    def _made_chat(self, loaded: LoadedSession, log: SessionLog | None) -> "Chat":
        # This and the session are imported for the first one: an editor waits for the start.
        from agentls.agent.chat import Chat

        return Chat(loaded, log, self._around, self._effects)

    def _made_session(
        self, chat: "Chat", *, tenure: Tenure | None = None, following: "Following | None" = None
    ) -> "Session":
        from agentls.agent.session import Session

        return Session(chat, self._around, self._warn, tenure=tenure, following=following)

    def _opened(self, session: "Session") -> "Session":
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


def _load(store: SessionStore, session_id: str) -> LoadedSession:
    # Imported when a session is loaded: an editor waits for the server's start.
    from agentls.sessions.loading import load

    return load(store, session_id)


def _in_words(session_id: str, found: LogDamaged) -> str:
    told = [f"line {damage.line}: {damage.what}" for damage in found.damage[:3]]
    if len(found.damage) > 3:
        told.append(f"{len(found.damage) - 3} more places")
    if found.message_count_difference:
        told.append(f"{found.message_count_difference:+} messages against what was counted")
    return (
        f"session {session_id} was damaged on disk; what could be read is here: {'; '.join(told)}"
    )


def new_session_id(surroundings: Surroundings) -> str:
    """Return an id that sorts by time and that no other session has: 20261130-145635-9f2c41."""
    return f"{surroundings.clock():%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
