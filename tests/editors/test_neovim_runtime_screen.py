"""Long work on the screen of a real Neovim: a wait, questions, a plan, the queue, tasks."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editors.test_neovim_runtime import prepare
from tests.support.long_work import DATABASE, LONG, PLAN, SCOPE, SERVER, WAITS
from tests.support.neovim import (
    EDITORS,
    ROOT,
    Screen,
    environment,
    installed,
    keep,
    make_workspace,
    needs_tmux,
)
from tests.support.scenarios import calls, fails, says

ANSWERS = [
    fails("overloaded", "The model has no room.", retryAfter=5),
    says("I am here.", thinking="Somebody asks.\nWho is it?", signature="signed"),
    calls("AskUserQuestion", questions=[DATABASE, SCOPE]),
    says("So SQLite."),
    calls("EnterPlanMode"),
    calls("ExitPlanMode", plan=PLAN),
    says("Carried out."),
    calls("Bash", command=WAITS, description="Wait"),
    says("With tabs."),
    calls("Bash", command=SERVER, run_in_background=True, description="Run the server"),
    says(f"It runs.\n\n{LONG * 10}"),
    says("Everything was tried.\n\nTwice."),
    says("It was sent."),
]

pytestmark = pytest.mark.editors


@pytest.mark.parametrize("editor", EDITORS)
def test_long_work_on_a_real_screen(editor: str, tmp_path: Path) -> None:
    nvim = installed(editor)
    needs_tmux()
    workspace = make_workspace(tmp_path / "w")
    server = prepare(workspace, ANSWERS)
    screen = Screen(tmp_path / "tmux.sock", workspace, environment(workspace, *server))
    screens: dict[str, str] = {}
    try:
        screen.start(nvim, "notes.txt")
        screen.wait_for("apples")
        for name, shown in work(screen, workspace):
            screens[name] = shown
    finally:
        screen.close()
        keep(ROOT / f"artifacts/nvim-runtime-{editor}.txt", *screens.values())
    assert "↻ the model is overloaded; again at" in screens["wait"]
    assert "Overloaded: again in" in screens["wait"]
    assert "· thought: Somebody asks." in screens["answered"]
    assert "Who is it?" not in screens["answered"], "the fold is closed"
    assert "1: SQLite: Nothing to install" in screens["question"]
    assert "[x] Reading" in screens["several"]
    assert "- Scope: Reading, locks" in screens["told"]
    assert "2. Sort it" in screens["plan"]
    assert "Keep planning" in screens["plan"]
    assert "Carried out." in screens["agreed"]
    assert "· acceptEdits ·" in screens["agreed"]
    assert "⧗ queued: And then the docs" in screens["queue"]
    assert "↳ steers the turn: Use tabs" in screens["queue"]
    assert "line 8" in screens["output"]
    assert "1 task" in screens["output"]
    assert "— Compacted: " in screens["compacted"]
    assert "Summary of what came before" in screens["compacted"]
    assert "Everything was tried." not in screens["compacted"], "the fold is closed"
    assert "@notes.txt:1-2" in screens["prompt"]
    assert "attached: red.png" in screens["prompt"]
    assert "> [image: red.png]" in screens["sent"]


def work(screen: Screen, workspace: Path) -> Iterator[tuple[str, str]]:
    """Let a user go through it; yield what is seen on the way."""
    screen.type(":Agent Are you there?", "Enter")
    yield "wait", screen.wait_for("again at")
    screen.wait_for("I am here.")
    yield "answered", screen.wait_for("Idle")
    screen.type(":Agent Which tests?", "Enter")
    yield "question", screen.wait_for("(1 of 2)")
    screen.type("1", "Enter")
    screen.wait_for("(2 of 2)")
    screen.type("1", "Enter")
    yield "several", screen.wait_for("[x] Reading")
    screen.type("3", "Enter")
    screen.wait_for("Scope:\n")
    screen.type("locks", "Enter")
    screen.wait_for("[x] Other: locks")
    screen.type("4", "Enter")
    screen.wait_for("So SQLite.")
    yield "told", screen.wait_for("Idle")
    screen.type(":Agent Plan it", "Enter")
    yield "plan", screen.wait_for("Keep planning")
    screen.type("1", "Enter")
    screen.wait_for("Carried out.")
    yield "agreed", screen.wait_for("Idle")
    screen.type(":AgentMode default", "Enter")
    screen.wait_for("· default ·")
    screen.type(":Agent Work for a while", "Enter")
    screen.wait_for("Type number and <Enter>")
    screen.type("1", "Enter")
    screen.wait_for("… running")
    screen.type(":Agent And then the docs", "Enter")
    screen.wait_for("⧗ queued")
    screen.type(":AgentSteer Use tabs", "Enter")
    yield "queue", screen.wait_for("↳ steers")
    screen.type(":AgentQueue", "Enter")
    screen.wait_for("Type number and <Enter>")
    screen.type("1", "Enter")
    yield "queued", screen.wait_for("Remove it")
    screen.type("2", "Enter")
    (workspace / "go").touch()
    screen.wait_for("With tabs.")
    screen.wait_for("Idle")
    screen.type(":Agent Start the server", "Enter")
    screen.wait_for("Type number and <Enter>")
    screen.type("1", "Enter")
    screen.wait_for("1 task")
    screen.wait_for("Idle")
    screen.type(":AgentTasks", "Enter")
    screen.wait_for("Type number and <Enter>")
    screen.type("1", "Enter")
    yield "task", screen.wait_for("Stop it")
    screen.type("1", "Enter")
    yield "output", screen.wait_for("line 8")
    screen.type("", "C-c")
    yield "stopped", screen.wait_for("— stopped after")
    screen.type("q", "C-l")
    screen.type(":AgentCompact", "Enter")
    yield "compacted", screen.wait_for("— Compacted")
    screen.type(":1,2AgentMention", "Enter")
    screen.wait_for("@notes.txt:1-2")
    screen.type("and @re", "Tab")
    screen.wait_for("and @red.png")
    screen.type("", "Escape")
    screen.type(":AgentAttach red.png", "Enter")
    yield "prompt", screen.wait_for("attached: red.png")
    screen.type("o", "C-s")
    screen.wait_for("It was sent.")
    yield "sent", screen.wait_for("Idle")
