"""A session that another server writes, opened in a real Neovim: followed, said so, kept up."""

from pathlib import Path

import pytest

from tests.support.neovim import (
    EDITORS,
    ROOT,
    Screen,
    environment,
    installed,
    keep,
    needs_tmux,
)
from tests.support.scenarios import says, write_scenario
from tests.support.servers import editor

pytestmark = pytest.mark.editors


@pytest.mark.parametrize("version", EDITORS)
async def test_a_session_in_use_elsewhere_is_followed_on_the_screen(
    version: str, tmp_path: Path
) -> None:
    nvim = installed(version)
    needs_tmux()
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n")
    (tmp_path / "home").mkdir()
    script = write_scenario(tmp_path / "s.json", says("The first answer."), says("The second."))
    screen = Screen(tmp_path / "tmux.sock", folder, environment(tmp_path))
    async with editor(folder, "--model", f"scripted:{script}") as owner:
        await owner.new_session()
        await owner.prompt("First?")
        await owner.event("turnFinished")
        try:
            screen.start(nvim, "a.txt")
            screen.wait_for("alpha")
            screen.type(":AgentSessions", "Enter")
            screen.wait_for("First?")
            screen.type("1", "Enter")
            screen.wait_for("The first answer.")
            joined = screen.wait_for("Read-only")
            await owner.prompt("And then?")
            await owner.event("turnFinished", 2)
            kept_up = screen.wait_for("The second.")
            screen.type(":Agent Mine too", "Enter")
            refused = screen.wait_for("only followed here")
        finally:
            screen.close()
    keep(ROOT / f"artifacts/nvim-follow-{version}.txt", joined, kept_up, refused)
    assert "alpha" in joined
