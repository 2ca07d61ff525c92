"""Long work in the real VS Code, with a scripted model: waits, questions, tasks, queue, plans."""

from pathlib import Path
from typing import Any

import pytest

from tests.support import code_server
from tests.support.code_server import Seen
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
from tests.support.scenarios import calls, fails, says, write_scenario

MODEL = "scripted:scenario.json"
SHOTS = code_server.ROOT / "artifacts/vscode-runtime"
TABLED_PLAN = f"{PLAN}\n\n| step | file |\n|---|---|\n| 2 | notes.txt |"

ANSWERS: list[dict[str, Any]] = [
    fails("overloaded", "The model has no room.", retryAfter=8),
    says("I am here.", thinking="Somebody asks.", signature="signed"),
    calls("AskUserQuestion", questions=[DATABASE, SCOPE]),
    says("So SQLite."),
    calls("Bash", command=SERVER, run_in_background=True, description="Run the server"),
    says(f"It runs.\n\n{LONG}"),
    calls("Bash", command=WAITS, description="Wait"),
    says("With tabs."),
    says("The docs are done."),
    calls("EnterPlanMode"),
    calls("ExitPlanMode", plan=TABLED_PLAN),
    says("Smaller steps, then.") | calls("ExitPlanMode", plan=f"{TABLED_PLAN}\n3. Look at it"),
    says("Carried out."),
    says("A red square."),
    calls("AskUserQuestion", questions=[DATABASE]),
    calls("AskUserQuestion", questions=[DATABASE]),
    says("Then I decide."),
    says("Everything was tried."),
]

pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(not code_server.INSTALLED, reason=code_server.HOW_TO_INSTALL),
]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    workspace = tmp_path_factory.mktemp("vscode-runtime") / "workspace"
    workspace.mkdir()
    fill(workspace)
    write_scenario(workspace / "scenario.json", *ANSWERS)
    settings = workspace.parent / "settings"  # which models there are only a user's file says
    write_user_settings(settings, MODEL)
    driver = Path(__file__).parent / "vscode/drive_runtime.mjs"
    environment = {"AGENTLS_CONFIG_DIR": str(settings)}
    return code_server.play(driver, workspace, SHOTS, model=MODEL, environment=environment)


def test_wait_for_the_model_is_counted_down_and_goes_away(seen: Seen) -> None:
    retry = seen.steps["retry"]
    assert "Overloaded: again in" in retry["counted"]
    assert "The model is overloaded; trying again at" in retry["waiting"]
    assert "(2 of" in retry["waiting"]
    assert "trying again" not in retry["over"]


def test_questions_are_answered_in_lists_and_stay_open_until_then(seen: Seen) -> None:
    questions = seen.steps["questions"]
    assert "Which database should the tests use?" in questions["asked"]
    assert "Nothing to install" in questions["asked"]
    assert "Which database should the tests use? SQLite" in questions["answered"]
    assert "What is to be tested? Reading, locks" in questions["answered"]


def test_task_shows_its_output_as_it_comes_and_can_be_stopped(seen: Seen) -> None:
    task = seen.steps["task"]
    assert "Run the server" in task["running"]
    assert "stopped after" in task["stopped"]


def test_prompts_wait_steer_or_are_removed(seen: Seen) -> None:
    queue = seen.steps["queue"]
    assert len(queue["queue"]) == 3
    assert "steers the turn" in " ".join(queue["queue"])
    assert "In the queue: And then the docs" in queue["queued"]
    assert "↳ Use tabs" in queue["text"]
    assert "Never mind" not in queue["text"]
    assert queue["text"].index("With tabs.") < queue["text"].index("The docs are done.")


def test_plan_is_read_refused_with_a_reason_and_approved(seen: Seen) -> None:
    assert "accept edits" in seen.steps["plan"]["mode"]


def test_selected_lines_and_a_picture_go_with_a_prompt(seen: Seen) -> None:
    mention = seen.steps["mention"]
    assert mention["mentioned"] == "@notes.txt:1-2 "
    assert "image: red.png" in mention["text"]
    assert "range: notes.txt:1-2" in mention["text"]


def test_question_that_needs_no_answer_any_more_closes_and_says_so(seen: Seen) -> None:
    assert "No answer is needed: the turn has ended." in seen.steps["withdrawn"]


def test_question_can_be_left_to_the_agent(seen: Seen) -> None:
    assert "Then I decide." in seen.steps["declined"]


def test_compaction_is_a_divider_with_a_summary_to_open(seen: Seen) -> None:
    compaction = seen.steps["compaction"]
    assert "tokens" in compaction["text"]
    assert "Everything was tried." not in compaction["text"]
    assert "I am here." in compaction["summary"], "what was said before stays in sight"


def test_conversation_that_was_cleared_can_be_brought_back(seen: Seen) -> None:
    assert "Conversation compacted:" in seen.steps["clear"]


def test_window_in_use_stands_in_the_status_bar(seen: Seen) -> None:
    assert seen.steps["compaction"]["idle"].endswith("%")


def test_fast_mode_is_marked(seen: Seen) -> None:
    assert "offline" in seen.steps["fast mode"]


def test_no_process_is_left(seen: Seen) -> None:
    assert seen.orphans == []
