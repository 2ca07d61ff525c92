import json
from pathlib import Path

import pytest

from agentls.sessions.memory import MemoryStore
from agentls.sessions.sqlite.store import SqliteStore
from tests.support.agents import open_agent
from tests.support.scenarios import calls, says


@pytest.fixture
def sqlite_settings(folder: Path) -> None:
    config = folder.parent / "config"
    config.mkdir()
    (config / "settings.json").write_text(json.dumps({"sessions": {"store": "sqlite"}}))


@pytest.mark.usefixtures("sqlite_settings")
async def test_sessions_are_kept_in_a_database_where_the_user_says_so(folder: Path) -> None:
    script = (calls("Write", file_path="new.txt", content="b\n"), says("Done."))
    workspace = open_agent(folder, *script, mode="acceptEdits")
    assert isinstance(workspace.surroundings.store, SqliteStore)
    session = await workspace.new_session("s1")
    session.prompt("Write it.")
    await session.idle()
    state = session.state
    prompt = state.history[0]
    await workspace.aclose()
    kept = {path.name for path in (folder / ".agentls").iterdir()}
    assert "sessions.sqlite" in kept
    assert (folder / ".agentls/sessions.sqlite").stat().st_mode & 0o777 == 0o600

    again = open_agent(folder, says("More."))
    loaded = await again.load_session("s1")
    assert loaded.state == state
    done = await loaded.rewind(prompt.id)
    assert [(file.path, file.action) for file in done.files] == [("new.txt", "delete")]
    assert not (folder / "new.txt").exists()
    await again.aclose()


async def test_without_sessions_nothing_is_kept_and_nothing_on_disk(folder: Path) -> None:
    workspace = open_agent(folder, says("Hi."), keep_sessions=False)
    assert isinstance(workspace.surroundings.store, MemoryStore)
    session = await workspace.new_session("s1")
    session.prompt("Hello.")
    await session.idle()
    await workspace.aclose()
    assert not (folder / ".agentls").exists()
