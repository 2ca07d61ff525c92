"""A whole turn in the source of click in the real VS Code, with a model behind the Messages API.

The user allows the edit and denies the command, with the buttons of the notifications.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.click_turn import (
    ANSWERS,
    COMMAND,
    CORE,
    LAST_WORDS,
    PROMPT,
    TOOLS_CALLED,
    ClickTree,
    check_results,
)
from tests.support import code_server, mocks

MODEL = "claude-sonnet-5-5"
SHOTS = code_server.ROOT / "artifacts/vscode-click"
FIRST_LAST_WORDS, END_OF_LAST_WORDS = LAST_WORDS.strip().split("\n\n")
DONE, FAILED, DENIED, WAITING, RUNNING = "✓", "✗", "\N{EN DASH}", "?", "…"
MARKS = [DONE] * 5 + [DENIED]
"""Of each call in the conversation: all are done but the last, which was denied."""

pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(not code_server.INSTALLED, reason=code_server.HOW_TO_INSTALL),
    pytest.mark.skipif(not mocks.INSTALLED, reason=mocks.HOW_TO_INSTALL),
]


@dataclass(frozen=True)
class Played:
    """What was seen of the turn, what it left behind, and what the model was sent."""

    seen: code_server.Seen
    tree: ClickTree
    requests: list[dict[str, Any]]


@pytest.fixture(scope="module")
def model_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[mocks.Aimock]:
    folder = tmp_path_factory.mktemp("aimock")
    fixtures = folder / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": mocks.aimock_fixtures(PROMPT, ANSWERS)}))
    with mocks.aimock(fixtures, folder / "aimock.log") as server:
        yield server


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, model_server: mocks.Aimock) -> Played:
    tree = ClickTree(mocks.copy_click(tmp_path_factory.mktemp("vscode-click") / "click"))
    environment = {
        "ANTHROPIC_BASE_URL": model_server.base_url,
        "ANTHROPIC_API_KEY": "local",
        "CLICK_PROMPT": PROMPT,
        "CLICK_FILE": CORE,
        "CLICK_COMMAND": COMMAND,
        "CLICK_LAST_WORDS": END_OF_LAST_WORDS,
    }
    driver = Path(__file__).parent / "vscode/drive_click.mjs"
    seen = code_server.play(driver, tree.folder, SHOTS, model=MODEL, environment=environment)
    return Played(seen, tree, model_server.requests())


def test_allowed_edit_is_the_only_change_on_disk(played: Played) -> None:
    assert played.tree.changed() == {CORE: played.tree.edited_core()}


def test_conversation_shows_the_prompt_and_the_last_words(played: Played) -> None:
    conversation = played.seen.steps["done"]["conversation"]
    assert PROMPT in conversation
    assert FIRST_LAST_WORDS.replace("`", "") in conversation
    assert END_OF_LAST_WORDS in conversation


def test_conversation_has_a_line_with_its_mark_for_each_call(played: Played) -> None:
    calls = calls_in(played.seen.steps["done"]["conversation"])
    assert [mark for mark, _, _ in calls] == MARKS
    for (_, shown, _), name in zip(calls, TOOLS_CALLED, strict=True):
        assert shown.startswith(name), "a summary such as “Edited core.py” stands for the name"
    *_, (_, _, edit), (_, _, command) = calls
    assert CORE in edit
    assert COMMAND in command
    assert "Denied: the user said no" in command


def test_edit_is_shown_as_a_diff_while_it_waits(played: Played) -> None:
    edit = played.seen.steps["edit"]
    assert CORE in edit["text"]
    assert "Waiting for approval" in edit["waiting"]
    assert calls_in(edit["conversation"])[-1][:2] == (WAITING, "Edit")
    assert "Stopped by the user · at once." in edit["conversation"]


def test_status_bar_shows_the_model_that_it_is_idle_and_how_full_its_window_is(
    played: Played,
) -> None:
    idle = f"{MODEL} · default · Idle"
    assert played.seen.steps["idle"] == idle
    assert played.seen.steps["done"]["status"] == f"{idle} · 0%", "3,712 of a million tokens"


def test_plan_shows_its_three_steps(played: Played) -> None:
    steps = [text.strip() for text in played.seen.steps["plan"]]
    assert steps == ["Find the text", "Changing it", "Tidy up"]


def test_model_was_told_what_each_call_gave(played: Played) -> None:
    assert len(played.requests) == len(ANSWERS)
    told = [m["content"] for m in played.requests[-1]["messages"] if m["role"] == "tool"]
    results = list(zip(TOOLS_CALLED, told, strict=True))
    denied = "The user denied this call: the user said no."
    check_results(results, played.tree, why_denied=denied)


def test_session_is_kept_in_the_workspace(played: Played) -> None:
    (log,) = (played.tree.folder / ".agentls/sessions").glob("*.jsonl")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    events = [line["event"] for line in lines if "seq" in line]
    assert events[-1]["type"] == "turnFinished"
    finished = [event["outcome"] for event in events if event["type"] == "toolCallFinished"]
    assert finished == ["ok"] * 5 + ["denied"]


def test_browser_asked_for_nothing_outside_this_machine(played: Played) -> None:
    assert played.seen.outside == []


def test_no_process_is_left(played: Played) -> None:
    assert played.seen.orphans == []


def calls_in(conversation: str) -> list[tuple[str, str, str]]:
    """Return the calls that a drawn conversation shows, as mark, tool and the rest of the line."""
    marks = (DONE, FAILED, DENIED, WAITING, RUNNING)
    lines = (line.split(maxsplit=2) for line in conversation.splitlines() if line.strip())
    return [(words[0], words[1], words[-1]) for words in lines if words[0] in marks]
