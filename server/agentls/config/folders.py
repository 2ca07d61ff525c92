"""Where things lie: what a workspace keeps, and what belongs to the user or the machine."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import platformdirs


def agentls_folder(workspace: Path) -> Path:
    """Return the folder in which a workspace keeps what is agentls' own."""
    return workspace / ".agentls"


def user_config_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of the user's settings; `AGENTLS_CONFIG_DIR` names another."""
    chosen = environment.get("AGENTLS_CONFIG_DIR")
    if chosen:
        return Path(chosen).absolute()
    return platformdirs.user_config_path("agentls", appauthor=False)


def user_settings_path(environment: Mapping[str, str]) -> Path:
    """Return the file of the user's settings."""
    return user_config_folder(environment) / "settings.json"


def user_data_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of sessions that have no workspace; `AGENTLS_DATA_DIR` names another."""
    chosen = environment.get("AGENTLS_DATA_DIR")
    if chosen:
        return Path(chosen).absolute()
    return platformdirs.user_data_path("agentls", appauthor=False)


def managed_settings_path() -> Path:
    """Return the file in which whoever runs this machine rules over every user of it."""
    if sys.platform == "darwin":
        return Path("/Library/Application Support/agentls/settings.json")
    return Path("/etc/agentls/settings.json")
