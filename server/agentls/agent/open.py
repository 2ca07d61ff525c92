"""Opens the agent over a folder: puts settings, store, models and tools together."""

import atexit
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from agentls.agent.effects import SettingsWrites
from agentls.agent.host import Host
from agentls.agent.pace import Pace
from agentls.agent.surroundings import Surroundings
from agentls.agent.workspace import Workspace
from agentls.config.folders import (
    agentls_folder,
    user_config_folder,
    user_data_folder,
    user_settings_path,
)
from agentls.config.layers import Flags, LoadedSettings, load_settings
from agentls.config.secrets import credentials_from_environment
from agentls.config.settings import StoreKind
from agentls.context.system_prompt import PromptSettings
from agentls.errors import WorkspaceUnusable
from agentls.llm.catalog import ModelCatalog
from agentls.permissions.rules import check_rule
from agentls.protocol.tool_calls import Mode
from agentls.sessions.folder import FolderStore
from agentls.sessions.owner import Face
from agentls.sessions.store import SessionStore

if TYPE_CHECKING:
    from agentls.sessions.search.index import SearchIndex
    from agentls.tools.registry import ToolRegistry


@dataclass(frozen=True, slots=True)
class WorkspaceOptions:
    """What a face asks for when it opens the agent."""

    roots: tuple[Path, ...]
    """The folders, absolute; () where the editor has none."""
    model: str | None = None
    mode: Mode | None = None
    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    keep_sessions: bool = True
    prompt: PromptSettings = field(default_factory=PromptSettings)
    max_rounds: int | None = None
    face: Face = "cli"
    pace: Pace = field(default_factory=Pace)
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


def open_workspace(options: WorkspaceOptions, host: Host) -> Workspace:
    """Return the agent over these folders.

    Raises `WorkspaceUnusable` where a folder is not there. What a person should know of the opening
    (a setting left out, a folder that cannot be written) is posted as notices.
    """
    for root in options.roots:
        check_folder(root)
    roots = options.roots or (_empty_folder(options.environment),)
    settings = read_settings(options)
    kind: StoreKind = settings.settings.sessions.store if options.keep_sessions else "memory"
    store, told = session_store(
        options.roots[0] if options.roots else None,
        options.environment,
        kind,
        on_trouble=lambda text: tell(text),
    )

    def tell(text: str) -> None:
        workspace.notice("warning", text)

    credentials = credentials_from_environment(options.environment)
    surroundings = Surroundings(
        roots=roots,
        store=store,
        catalog=ModelCatalog(
            credentials, scenario_folder=roots[0], settings=lambda: settings.settings
        ),
        toolbox=cache(_tools),
        host=host,
        settings=lambda: settings,
        index=cache(lambda: _search_index(store)),
        model=options.model,
        prompt=options.prompt,
        instructions=lambda: _instructions(roots, options.environment, settings, tell),
        output_folder=_output_folder(store),
        max_rounds=options.max_rounds,
        keeps_contents=kind != "memory",
        face=options.face,
        pace=options.pace,
        protected=(user_config_folder(options.environment),),
    )
    workspace = Workspace(surroundings, SettingsWrites(user_settings_path(options.environment)))
    for problem in (told, *settings.problems):
        if problem:
            tell(str(problem))
    return workspace


def read_settings(options: WorkspaceOptions) -> LoadedSettings:
    """Return the settings that hold in a workspace."""
    flags = Flags(
        allow=options.allowed, deny=options.denied, model=options.model, mode=options.mode
    )
    workspace = options.roots[0] if options.roots else None
    return load_settings(workspace, flags, options.environment, check_rule=check_rule)


def kept_store(root: Path, environment: Mapping[str, str]) -> tuple[SessionStore, str | None]:
    """Return where the sessions of a folder are kept, as its settings say; see `session_store`."""
    settings = read_settings(WorkspaceOptions(roots=(root,), environment=environment)).settings
    return session_store(root, environment, settings.sessions.store)


def session_store(
    root: Path | None,
    environment: Mapping[str, str],
    kind: StoreKind = "folder",
    on_trouble: Callable[[str], None] | None = None,
) -> tuple[SessionStore, str | None]:
    """Return where the sessions of a folder are kept, and what to tell the user about it.

    That is `.agentls/` in the folder; where the folder cannot be written, or there is none, the
    user's data directory. `on_trouble` is told, for a person, what happens to logs later.
    """
    if kind == "memory":
        return _store_in(Path(), kind, on_trouble), None
    if root is None:
        place = user_data_folder(environment) / "no-folder"
        return _store_in(
            place, kind, on_trouble
        ), f"no folder is open; sessions are kept in {place}"
    check_folder(root)
    folder = agentls_folder(root)
    if os.access(folder if folder.exists() else root, os.W_OK | os.X_OK):
        return _store_in(folder, kind, on_trouble), None
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    place = user_data_folder(environment) / f"{root.name}-{name}"
    told = f"{root} cannot be written; its sessions are kept in {place}"
    return _store_in(place, kind, on_trouble), told


def _store_in(
    folder: Path, kind: StoreKind, on_trouble: Callable[[str], None] | None
) -> SessionStore:
    match kind:
        case "folder":
            return FolderStore(folder, on_trouble=on_trouble)
        # Both are imported for who has chosen them.
        case "memory":
            from agentls.sessions.memory import MemoryStore

            return MemoryStore()
        case "sqlite":
            from agentls.sessions.sqlite.store import SqliteStore

            FolderStore(folder).prepare()  # closed to others, and out of the repository
            return SqliteStore(folder / "sessions.sqlite")


def _search_index(store: SessionStore) -> "SearchIndex | None":
    if not isinstance(store, FolderStore):
        return None
    # Imported when something is searched for: it brings sqlite3.
    from agentls.sessions.search.index import SearchIndex

    return SearchIndex(store.sessions, blob=store.blob)


def _tools() -> "ToolRegistry":
    # Imported soon after the start, which an editor waits for.
    from agentls.tools.registry import ToolRegistry, default_tools

    return ToolRegistry(default_tools())


def _instructions(
    roots: tuple[Path, ...],
    environment: Mapping[str, str],
    settings: LoadedSettings,
    tell: Callable[[str], None],
) -> str:
    # Imported for the first prompt: an editor waits for the server's start.
    from agentls.context.instructions import load_instructions
    from agentls.permissions.policy import unreadable

    hidden = unreadable(settings.rules, roots[0], roots)
    instructions = load_instructions(roots, environment, unreadable=hidden)
    for problem in instructions.problems:
        tell(problem)
    return instructions.text


def _output_folder(store: SessionStore) -> Callable[[str], Path]:
    """Return where the output of a session's commands goes: beside its log where that is a file."""
    match store:
        case FolderStore():
            return lambda session_id: store.sessions / session_id / "tasks"
        case _:
            kept = cache(_passing_folder)
            return lambda session_id: kept() / session_id


def _passing_folder() -> Path:
    """Return a folder of this process's own that ends with it."""
    folder = tempfile.mkdtemp(prefix="agentls-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _empty_folder(environment: Mapping[str, str]) -> Path:
    """Return where the agent works when no folder is open: not in the user's home."""
    folder = user_data_folder(environment) / "no-folder" / "work"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def check_folder(folder: Path) -> None:
    """Raise `WorkspaceUnusable` where `folder` cannot be worked in."""
    if not folder.exists():
        raise WorkspaceUnusable(f"the workspace {folder} is not there")
    if not folder.is_dir():
        raise WorkspaceUnusable(f"the workspace {folder} is not a folder")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise WorkspaceUnusable(f"the workspace {folder} cannot be read")
