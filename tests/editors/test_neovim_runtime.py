"""Long work in two real Neovims, with a scripted model: waits, questions, tasks, queue, plans.

The cases are in nvim/agent_runtime_cases.lua, in the order of the answers here.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.editors.test_neovim import cases_in, run_file
from tests.support.long_work import (
    DATABASE,
    LONG,
    PLAN,
    SCOPE,
    SERVER,
    WAITS,
    fill,
    write_user_settings,
)
from tests.support.neovim import EDITORS
from tests.support.scenarios import calls, fails, says, write_scenario

FILE = "agent_runtime_cases.lua"

ANSWERS: list[dict[str, Any]] = [
    fails("overloaded", "The model has no room.", retryAfter=2),
    says("I am here.", thinking="Somebody asks.\nWho is it?", signature="signed"),
    calls("AskUserQuestion", questions=[DATABASE, SCOPE]),
    says("So SQLite."),
    calls("AskUserQuestion", questions=[DATABASE]),
    says("Settled elsewhere."),
    calls("AskUserQuestion", questions=[DATABASE]),
    says("I choose myself."),
    calls("EnterPlanMode"),
    calls("ExitPlanMode", plan=PLAN),
    says("Smaller steps, then.") | calls("ExitPlanMode", plan=f"{PLAN}\n3. Look at it"),
    says("Carried out."),
    calls("Bash", command=WAITS, description="Wait"),
    says("With tabs."),
    says("The docs are done."),
    calls("Bash", command=SERVER, run_in_background=True, description="Run the server"),
    says(f"It runs.\n\n{LONG}"),
    says(f"A red square.\n\n{LONG * 10}"),
    says("Everything was tried.\n\nTwice."),
]

pytestmark = pytest.mark.editors

Run = Callable[[str], dict[str, str]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    @cache
    def run_once(editor: str) -> dict[str, str]:
        folder = tmp_path_factory.mktemp(f"{editor}-runtime")
        return run_file(editor, FILE, folder, prepare(folder, ANSWERS))

    return run_once


@pytest.mark.parametrize("editor", EDITORS)
@pytest.mark.parametrize("case", cases_in(FILE))
def test_long_work_in_neovim(run: Run, editor: str, case: str) -> None:
    assert run(editor)[case] == ""


def prepare(workspace: Path, answers: list[dict[str, Any]]) -> tuple[str, ...]:
    """Fill a workspace; return the words for a server whose model gives the answers."""
    fill(workspace)
    (workspace / "a folder").mkdir()
    (workspace / "a folder/deep.txt").write_text("deep\n")
    model = f"scripted:{write_scenario(workspace.parent / f'{workspace.name}.json', *answers)}"
    home = workspace / "home/.config/agentls"
    write_user_settings(home, model, price={"input": 3, "output": 15})
    return ("--model", model)
