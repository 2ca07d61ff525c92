from pathlib import Path

import platformdirs
import pytest

from agentls.config import folders


def test_the_users_folders_can_be_named_by_the_environment(tmp_path: Path) -> None:
    environment = {"AGENTLS_CONFIG_DIR": str(tmp_path / "c"), "AGENTLS_DATA_DIR": "data"}

    assert folders.user_config_folder(environment) == tmp_path / "c"
    assert folders.user_settings_path(environment) == tmp_path / "c" / "settings.json"
    assert folders.user_data_folder(environment) == Path.cwd() / "data"


def test_otherwise_they_are_where_the_platform_keeps_such_things(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("AGENTLS_DATA_DIR", raising=False)

    assert folders.user_config_folder({}) == platformdirs.user_config_path("agentls", False)
    assert folders.user_data_folder() == platformdirs.user_data_path("agentls", False)


def test_a_workspace_keeps_its_own_in_one_folder() -> None:
    assert folders.agentls_folder(Path("/w")) == Path("/w/.agentls")
    assert folders.managed_settings_path().is_absolute()
