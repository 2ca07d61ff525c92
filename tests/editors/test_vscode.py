"""The extension in the real VS Code: code-server, a browser, the real server, the offline model."""

from pathlib import Path

import pytest

from tests.support import code_server
from tests.support.code_server import Seen

SHOTS = code_server.ROOT / "artifacts/vscode"

NOTES = "apples\nbread\ncheese\n"
PLAN_PROMPT = 'find "pears"; read notes.txt; replace "cheese" with "honey" in notes.txt'

pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(not code_server.INSTALLED, reason=code_server.HOW_TO_INSTALL),
]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    workspace = tmp_path_factory.mktemp("vscode") / "workspace"
    workspace.mkdir()
    (workspace / "notes.txt").write_text(NOTES)
    driver = Path(__file__).parent / "vscode/drive.mjs"
    environment = {"PLAN_PROMPT": PLAN_PROMPT}
    return code_server.play(driver, workspace, SHOTS, model="offline", environment=environment)


def test_status_bar_shows_model_mode_and_activity(seen: Seen) -> None:
    assert seen.steps["status bar"] == "offline · default · Idle"


def test_waiting_approval_asks_in_a_toast_and_warns_in_the_status_bar(seen: Seen) -> None:
    approval = seen.steps["approval"]
    assert "notes.txt" in approval["text"]
    assert "Waiting for approval" in approval["waiting"]
    assert approval["warning"] is True


def test_diff_of_an_edit_can_be_seen_before_it_is_allowed(seen: Seen) -> None:
    assert seen.steps["detail"] is True


def test_allowed_edits_are_on_disk(seen: Seen) -> None:
    assert (seen.workspace / "notes.txt").read_text() == "pears\ncake\nhoney\n"


def test_conversation_shows_prompt_call_and_answer(seen: Seen) -> None:
    conversation = seen.steps["edit"]
    assert 'replace "apples" with "pears" in notes.txt' in conversation
    assert "✓ Edit" in conversation


def test_closed_toast_is_not_an_answer(seen: Seen) -> None:
    assert "Waiting for approval" in seen.steps["closed toast"]


def test_second_answer_changes_nothing_and_says_so(seen: Seen) -> None:
    assert "notes.txt" in seen.steps["second answer"]
    assert "honey" in (seen.workspace / "notes.txt").read_text()


def test_plan_is_a_tree_that_follows_the_work(seen: Seen) -> None:
    plan = seen.steps["plan"]
    assert len(plan["working"]) == len(plan["done"]) >= 3


def test_turn_that_is_stopped_says_so(seen: Seen) -> None:
    stopped = seen.steps["stopped turn"]
    assert "sleep 600" in stopped["running"]
    assert "Stopped." in stopped["text"]


def test_model_mode_and_session_are_chosen_from_lists(seen: Seen) -> None:
    choices = seen.steps["choices"]
    assert any("offline" in row for row in choices["models"])
    assert choices["mode"] == "offline · accept edits · Idle"
    assert "apples" in choices["text"]


def test_status_bar_opens_the_menu(seen: Seen) -> None:
    assert any("Show the conversation" in row for row in seen.steps["menu"])


def test_server_that_was_killed_is_started_again_on_request(seen: Seen) -> None:
    assert seen.steps["crash"]["killed"] == 1
    assert "stopped" in seen.steps["crash"]["stopped"]


def test_window_that_is_loaded_again_continues_its_session(seen: Seen) -> None:
    assert 'replace "bread" with "cake" in notes.txt' in seen.steps["continued"]


def test_browser_asked_for_nothing_outside_this_machine(seen: Seen) -> None:
    assert seen.outside == []


def test_no_process_is_left(seen: Seen) -> None:
    assert seen.orphans == []
