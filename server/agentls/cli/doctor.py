"""`agentls doctor`: what works here, what is missing, what to do about it."""

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from agentls.agent.open import WorkspaceOptions, read_settings, session_store
from agentls.config.folders import user_settings_path
from agentls.config.secrets import credentials_from_environment
from agentls.errors import AgentError
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
    findings = list(examine(folder.absolute()))
    for finding in findings:
        sys.stdout.write(f"{finding.mark:<5} {finding.text}\n")
    return 1 if any(finding.mark == "bad" for finding in findings) else 0


def examine(folder: Path) -> Iterator[Finding]:
    """Yield what there is to say, most basic first."""
    python = ".".join(str(part) for part in sys.version_info[:3])
    yield Finding("ok", f"agentls {VERSION}, Python {python} at {sys.executable}")
    yield Finding("ok", ", ".join(f"{name} {metadata.version(name)}" for name in _LIBRARIES))
    yield from _workspace(folder)
    yield from _settings(folder)
    yield from _model()
    rg = shutil.which("rg")
    yield (
        Finding("ok", f"ripgrep at {rg}")
        if rg
        else Finding("note", "no ripgrep (rg) on PATH: searching works, slower")
    )


def _workspace(folder: Path) -> Iterator[Finding]:
    try:
        store, told = session_store(folder, os.environ)
    except AgentError as error:
        yield Finding("bad", str(error))
        return
    kept = len(store.list())
    yield Finding("note", told) if told else Finding("ok", f"workspace {folder} can be written")
    yield Finding("ok", f"{kept} saved session{'' if kept == 1 else 's'}")


def _settings(folder: Path) -> Iterator[Finding]:
    loaded = read_settings(WorkspaceOptions(roots=(folder,)))
    yield Finding("ok", f"user settings: {user_settings_path(os.environ)}")
    for problem in loaded.problems:
        yield Finding("note", str(problem))


def _model() -> Iterator[Finding]:
    credentials = credentials_from_environment(os.environ)
    if credentials.base_url:
        yield Finding("ok", f"models from {credentials.base_url} (ANTHROPIC_BASE_URL)")
    elif credentials.usable:
        yield Finding("ok", "a key for the Messages API is set")
    else:
        yield Finding(
            "note",
            "no key: set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL for a local server, "
            "or use `--model offline`",
        )
