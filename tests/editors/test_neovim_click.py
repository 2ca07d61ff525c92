"""A turn of six calls in the source of click, seen on the screen of a real Neovim.

The model is a server of the Messages API that others wrote; see tests/e2e/click_turn.py.
"""

import json
from pathlib import Path

import pytest

from tests.e2e.click_turn import ANSWERS, CORE, PROMPT, ClickTree
from tests.support.mocks import HOW_TO_INSTALL, INSTALLED, aimock, aimock_fixtures, copy_click
from tests.support.neovim import (
    EDITORS,
    ROOT,
    Screen,
    environment,
    installed,
    keep,
    needs_tmux,
)

pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(not INSTALLED, reason=HOW_TO_INSTALL),
]


@pytest.mark.parametrize("editor", EDITORS)
def test_the_click_turn_on_a_real_screen(editor: str, tmp_path: Path) -> None:
    nvim = installed(editor)
    needs_tmux()
    workspace = copy_click(tmp_path / "click")
    tree = ClickTree(workspace)
    fixtures = tmp_path / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": aimock_fixtures(PROMPT, ANSWERS)}))
    with aimock(fixtures, tmp_path / "aimock.log") as model:
        around = environment(tmp_path) | {
            "ANTHROPIC_BASE_URL": model.base_url,
            "ANTHROPIC_API_KEY": "local",
        }
        (tmp_path / "home").mkdir()
        screen = Screen(tmp_path / "tmux.sock", workspace, around)
        try:
            asked, refused, ended = turn_on_screen(screen, nvim)
        finally:
            screen.close()
    keep(ROOT / f"artifacts/nvim-click-{editor}.txt", asked, refused, ended)
    assert '│-            echo(_("Aborted!"), file=sys.stderr)' in asked
    assert '│+            echo(_("Stopped by the user' in asked
    assert "rm -rf docs" in refused
    assert "● Read 30 lines of src/click/core.py … ok" in ended
    assert "● Edited src/click/core.py (+1 -1 lines) … ok" in ended
    assert "⊘ Bash · rm -rf docs … denied: the user said no:" in ended
    assert "the documentation stays" in ended
    assert "Nothing else in src/click/core.py has changed." in ended
    assert "sonnet-5-5 · default · Idle" in ended
    assert "[x] Find the text" in ended
    assert "[~] Changing it" in ended
    assert tree.changed() == {CORE: tree.edited_core()}
    (log,) = (workspace / ".agentls" / "sessions").glob("*.jsonl")
    assert b'"turnFinished"' in log.read_bytes()


def turn_on_screen(screen: Screen, nvim: str) -> tuple[str, str, str]:
    """Let a user go through the turn: yes to the edit, no to the command; return what is seen."""
    screen.start(nvim, CORE)
    screen.wait_for("import")
    screen.type(":AgentTodos", "Enter")
    screen.type(f":Agent {PROMPT}", "Enter")
    asked = screen.wait_for("Type number and <Enter>")
    screen.type("1", "Enter")
    refused = screen.wait_for("rm -rf docs (")
    screen.type("3", "Enter")
    screen.wait_for("Why not?")
    screen.type("the documentation stays", "Enter")
    screen.wait_for("— done in")
    return asked, refused, screen.wait_for("Idle")
