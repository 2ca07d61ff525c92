"""`agentls doctor`: what works here, what is missing, what to do about it."""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from agentls.agent.open import WorkspaceOptions, kept_store, read_settings
from agentls.cli.folder import absolute_folder
from agentls.config.folders import user_data_folder, user_settings_path
from agentls.config.secrets import Credentials, credentials_from_environment
from agentls.errors import AgentError, NoCredentials
from agentls.llm.catalog import DEFAULT_MODEL, ModelCatalog
from agentls.llm.model_facts import OFFLINE, SCRIPTED_PREFIX
from agentls.version import VERSION

_LIBRARIES = ("pygls", "lsprotocol", "pydantic", "orjson", "anthropic")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    mark: str
    """`ok`, `note` for what could be better, `bad` for what does not work."""
    text: str


def doctor(folder: Path) -> int:
    """Print a report on this machine and folder; return 1 where something does not work."""
    findings = list(examine(absolute_folder(folder)))
    for finding in findings:
        sys.stdout.write(f"{finding.mark:<5} {finding.text}\n")
    return 1 if any(finding.mark == "bad" for finding in findings) else 0


def examine(folder: Path) -> Iterator[Finding]:
    """Yield what there is to say, most basic first."""
    python = ".".join(str(part) for part in sys.version_info[:3])
    yield Finding("ok", f"agentls {VERSION}, Python {python} at {sys.executable}")
    yield from _libraries()
    yield from _workspace(folder)
    yield from _settings(folder)
    yield from _model(folder)
    rg = shutil.which("rg")
    yield (
        Finding("ok", f"ripgrep at {rg}")
        if rg
        else Finding("note", "no ripgrep (rg) on PATH: searching works, slower")
    )


def _libraries() -> Iterator[Finding]:
    found: list[str] = []
    for name in _LIBRARIES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            yield Finding("bad", f"{name} is not installed; install agentls anew")
    yield Finding("ok", ", ".join(found))


def _workspace(folder: Path) -> Iterator[Finding]:
    try:
        store, told = kept_store(folder, os.environ)
    except AgentError as error:
        yield Finding("bad", str(error))
        return
    if told is None:
        yield Finding("ok", f"workspace {folder} can be written")
    else:
        yield Finding("note", told)
        yield from _data_folder(user_data_folder(os.environ))
    kept = len(store.list())
    yield Finding("ok", f"{kept} saved session{'' if kept == 1 else 's'}")


def _data_folder(folder: Path) -> Iterator[Finding]:
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        yield Finding(
            "bad",
            f"sessions cannot be kept: {there} cannot be written; set AGENTLS_DATA_DIR to a folder "
            "that can, or run with --no-session",
        )


def _settings(folder: Path) -> Iterator[Finding]:
    loaded = read_settings(WorkspaceOptions(roots=(folder,)))
    path = user_settings_path(os.environ)
    yield Finding("ok", f"user settings: {path}{'' if path.exists() else ' (none so far)'}")
    for problem in loaded.problems:
        yield Finding("bad" if problem.severity == "error" else "note", str(problem))


def _model(folder: Path) -> Iterator[Finding]:
    credentials = credentials_from_environment(os.environ)
    name = read_settings(WorkspaceOptions(roots=(folder,))).settings.model or DEFAULT_MODEL
    try:
        ModelCatalog(credentials, scenario_folder=folder).resolve(name)
    except NoCredentials as error:
        yield Finding("note", str(error))
    except AgentError as error:
        yield Finding("bad", str(error))
    else:
        yield Finding("ok", f"model {name} {_way_to_it(credentials, name)}".rstrip())


def _way_to_it(credentials: Credentials, name: str) -> str:
    if name == OFFLINE or name.startswith(SCRIPTED_PREFIX):
        return ""
    if credentials.base_url:
        url = re.sub(r"//[^/]*@", "//", credentials.base_url)
        return f"at {url} (ANTHROPIC_BASE_URL)"
    return "with the credentials in the environment"
