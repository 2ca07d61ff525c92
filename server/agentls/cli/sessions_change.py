"""`agentls sessions`: what changes sessions, and what needs the agent opened over the folder."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from agentls.agent.library import Library
from agentls.agent.open import WorkspaceOptions, open_workspace
from agentls.agent.session import Session
from agentls.agent.workspace import Workspace
from agentls.cli.folder import absolute_folder
from agentls.cli.sessions import print_json
from agentls.cli.sessions_find import find_message, find_session, latest_prompt
from agentls.cli.sessions_table import age
from agentls.errors import InvalidRequest, WrongPhase
from agentls.headless.run import ScriptHost
from agentls.protocol.kept_sessions import RewindScope, SearchHit, SessionRewindResult
from agentls.state.transcript_text import one_line
from agentls.stdio import tell

_MOST_TITLE, _MOST_TAG = 200, 60
_ACTIONS = {
    "restore": "restore",
    "create": "create again",
    "delete": "delete",
    "mode": "set the mode of",
    "nothing": "leave alone",
}

T = TypeVar("T")


def search(folder: Path, query: str, *, limit: int, as_json: bool) -> int:
    """Print where words were said, the best first; return 1 where they were not."""
    hits = _in_workspace(folder, lambda workspace: Library(workspace).search(query, limit=limit))
    if as_json:
        print_json([hit.model_dump(mode="json", by_alias=True) for hit in hits])
    else:
        sys.stdout.write("".join(_hit(hit) for hit in hits))
    if not hits:
        tell(f"nothing was found for {query!r}")
    return 0 if hits else 1


def reindex(folder: Path) -> int:
    """Make the search index anew from the logs."""

    async def work(workspace: Workspace) -> None:
        index = workspace.surroundings.index()
        if index is None:
            raise WrongPhase("these sessions are kept where there is no search index")
        await asyncio.to_thread(index.rebuild)

    _in_workspace(folder, work)
    return _done("the search index is made anew")


def rename(folder: Path, typed: str, title: str) -> int:
    """Give a session a title."""
    shown = one_line(title)
    if not shown or len(shown) > _MOST_TITLE:
        raise InvalidRequest(f"a title has 1 to {_MOST_TITLE} characters")
    session_id = _in_session(folder, typed, lambda session: session.rename(shown))
    return _done(f"session {session_id} is called “{shown}”")


def tag(folder: Path, typed: str, name: str | None) -> int:
    """Give a session a tag, or take it away."""
    shown = one_line(name) if name is not None else None
    if shown is not None and not 1 <= len(shown) <= _MOST_TAG:
        raise InvalidRequest(f"a tag has 1 to {_MOST_TAG} characters; leave it out to take it away")
    session_id = _in_session(folder, typed, lambda session: session.set_tag(shown))
    return _done(
        f"session {session_id} is tagged {shown!r}"
        if shown
        else f"session {session_id} bears no tag"
    )


def fork(folder: Path, typed: str, at: str | None) -> int:
    """Begin a session with a copy of another one, and print its id."""

    async def work(workspace: Workspace) -> tuple[str, str]:
        session_id = await _find(workspace, typed)
        message_id = None
        if at is not None:
            message_id = find_message(
                (await workspace.load_session(session_id, wake=False)).state, at
            )
        return (await Library(workspace).fork(session_id, message_id)).id, session_id

    new_id, session_id = _in_workspace(folder, work)
    return _done(f"session {new_id} is a copy of {session_id}")


def trash(folder: Path, typed: str) -> int:
    """Move a session to the trash."""
    session_id = _in_library(folder, typed, lambda library, found: library.trash(found))
    return _done(f"session {session_id} is in the trash; `agentls sessions restore` takes it out")


def restore(folder: Path, typed: str) -> int:
    """Take a session out of the trash."""
    session_id = _in_library(
        folder, typed, lambda library, found: library.restore(found), trashed=True
    )
    return _done(f"session {session_id} is back")


def purge(folder: Path, typed: str) -> int:
    """Delete a session that is in the trash."""
    session_id = _in_library(
        folder, typed, lambda library, found: library.purge(found), trashed=True
    )
    return _done(f"session {session_id} is deleted")


def rewind(
    folder: Path, typed: str, to: str | None, what: RewindScope, *, dry_run: bool,
    force: frozenset[str],
) -> int:  # fmt: skip
    """Go back to before a prompt; return 1 where files were left alone."""

    async def work(session: Session) -> SessionRewindResult:
        place = find_message(session.state, to) if to is not None else latest_prompt(session.state)
        return await session.rewind(place, what, dry_run=dry_run, force=force)

    return _tell_rewind(_awaited(folder, typed, work))


def redo(folder: Path, typed: str, *, dry_run: bool, force: frozenset[str]) -> int:
    """Undo the last rewind; return 1 where files were left alone."""

    async def work(session: Session) -> SessionRewindResult:
        return await session.redo(dry_run=dry_run, force=force)

    return _tell_rewind(_awaited(folder, typed, work))


def _in_session(folder: Path, typed: str, change: Callable[[Session], None]) -> str:
    """Change a session, wait until it is kept, and return its id."""

    async def work(session: Session) -> str:
        change(session)
        return session.id

    return _awaited(folder, typed, work)


def _awaited(folder: Path, typed: str, work: Callable[[Session], Awaitable[T]]) -> T:
    async def with_session(workspace: Workspace) -> T:
        session = await workspace.load_session(await _find(workspace, typed), wake=False)
        result = await work(session)
        await session.flush()
        return result

    return _in_workspace(folder, with_session)


def _in_library(
    folder: Path,
    typed: str,
    work: Callable[[Library, str], Awaitable[None]],
    *,
    trashed: bool = False,
) -> str:
    async def with_library(workspace: Workspace) -> str:
        session_id = await _find(workspace, typed, trashed=trashed)
        await work(Library(workspace), session_id)
        return session_id

    return _in_workspace(folder, with_library)


async def _find(workspace: Workspace, typed: str, *, trashed: bool = False) -> str:
    store = workspace.surroundings.store
    return await asyncio.to_thread(find_session, store, typed, trashed=trashed)


def _in_workspace(folder: Path, work: Callable[[Workspace], Awaitable[T]]) -> T:
    async def opened() -> T:
        async with _workspace(folder) as workspace:
            return await work(workspace)

    return asyncio.run(opened())


@asynccontextmanager
async def _workspace(folder: Path) -> AsyncGenerator[Workspace]:
    options = WorkspaceOptions(roots=(absolute_folder(folder),))
    workspace = open_workspace(options, ScriptHost())
    try:
        yield workspace
    finally:
        await workspace.aclose()
        for notice in workspace.app.now.state.notices:
            tell(notice.message)


def _done(text: str) -> int:
    sys.stdout.write(text + "\n")
    return 0


def _hit(hit: SearchHit) -> str:
    message = f" · {one_line(hit.message_id)}" if hit.message_id else ""
    head = f"{hit.session_id} · {age(hit.at)} · {hit.kind}{message}"
    return f"{head}\n    {one_line(hit.snippet)}\n"


def _tell_rewind(result: SessionRewindResult) -> int:
    left = [file for file in result.files if file.conflict or file.failed]
    for file in result.files:
        reason = file.conflict or file.failed
        verb = "leave alone" if reason else _ACTIONS[file.action]
        note = f": {one_line(reason)}" if reason else ""
        sys.stdout.write(f"{verb} {one_line(file.path)}{note}\n")
    done = "done" if result.applied else "nothing was changed"
    files = len(result.files) - len(left)
    sys.stdout.write(f"{done}: {_many(result.messages, 'message')}, {_many(files, 'file')}\n")
    if result.prompt:
        sys.stdout.write(f"the prompt was: {one_line(result.prompt)}\n")
    return 1 if left else 0


def _many(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"
