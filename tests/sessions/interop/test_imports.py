from pathlib import Path
from typing import Any

import pytest

from agentls.cli.sessions_plain import as_text
from agentls.errors import SessionExists
from agentls.protocol.content import ToolCallPart, Usage
from agentls.protocol.events.conversation import (
    AnswerFinished,
    SidechainStarted,
    ToolCallFinished,
    UserMessageReceived,
)
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.history import Answer, Summary, UserMessage
from agentls.protocol.session_state import SessionState
from agentls.sessions.chain import replay
from agentls.sessions.folder import FolderStore
from agentls.sessions.interop.imports import import_session
from agentls.sessions.interop.report import ImportReport
from agentls.sessions.loading import events, load
from tests.support.claude_code import FILES, assistant, call, left_out, result, texts, user, write

PLAIN = "5b0c7a52-3d1e-4a8e-9f42-6c1d20b7e9a1"


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / ".agentls")


async def imported(store: FolderStore, name: str) -> tuple[SessionState, ImportReport]:
    """Import a file; what is loaded is sound, and the same with and without its old part."""
    session_id, report = await import_session(FILES / name, store)
    loaded = load(store, session_id, whole=True)
    assert (loaded.damage, loaded.message_count_difference) == ((), None)
    assert load(store, session_id).state == loaded.state
    return loaded.state, report


def of_type(envelopes: tuple[Envelope, ...], kind: type[Any]) -> list[Any]:
    return [envelope.event for envelope in envelopes if isinstance(envelope.event, kind)]


async def test_session_is_carried_with_all_that_was_said_and_done(store: FolderStore) -> None:
    state, report = await imported(store, "plain.jsonl")
    assert as_text(state).split("\n") == [
        "The parser",
        "2026-10-01 09:00 UTC · claude-sonnet-5 · branch main · tag bugs · 7 messages · "
        f"session {PLAIN}",
        "imported from Claude Code 2.1.220, plain.jsonl",
        "",
        "You · 2026-10-01 09:00 · 00000001-0000-4000-8000-000000000000",
        "  Fix the parser so that the tests pass.",
        "",
        "Agent · claude-sonnet-5",
        "  I look at the tests first.",
        "  - Bash pytest -q (failed)",
        "      1 failed, 2 passed",
        "  - Edit src/parse.py (done)",
        "      modified src/parse.py +1 -1",
        "",
        "You · 2026-10-01 09:00 · 0000000a-0000-4000-8000-000000000000",
        "  Say what it was.",
        "",
        "Agent · claude-sonnet-5",
        "  There was a typo in `parse`. It is **fixed**.",
        "",
    ]
    assert (report.prompts, report.answers, report.tool_calls) == (2, 3, 2)


async def test_list_shows_an_imported_session(store: FolderStore) -> None:
    await imported(store, "plain.jsonl")
    [summary] = store.list()
    assert (summary.id, summary.title, summary.tag) == (PLAIN, "The parser", "bugs")
    assert (summary.last_prompt, summary.message_count) == ("Say what it was.", 7)
    assert (summary.git_branch, summary.created_at[:10]) == ("main", "2026-10-01")


async def test_usage_of_an_answer_in_several_lines_counts_once(store: FolderStore) -> None:
    state, _ = await imported(store, "plain.jsonl")
    assert state.usage.responses == 3
    assert state.usage.total == Usage(
        input_tokens=12, output_tokens=161, cache_read_tokens=6000, cache_write_tokens=300,
        unpriced_responses=3,
    )  # fmt: skip


async def test_what_could_not_be_carried_is_told_with_its_line(store: FolderStore) -> None:
    _, report = await imported(store, "plain.jsonl")
    assert left_out(report) == {
        "attachments for its model (todo_reminder)": (1, 4),
        "records of type progress": (1, 8),
        "system records (turn_duration)": (1, 14),
        "records of type file-history-snapshot": (1, 1),
        "records of type queue-operation": (1, 2),
        "records of type last-prompt": (1, 18),
    }
    first, _, *rows = report.lines()
    assert first == "from Claude Code 2.1.220, plain.jsonl: 2 prompts, 3 answers, 2 tool calls"
    assert "  1 records of type progress (line 8)" in rows


async def test_blocks_of_all_kinds_are_carried_or_told(store: FolderStore) -> None:
    state, report = await imported(store, "many_shapes.jsonl")
    prompt, answer = state.history[0], state.history[1]
    assert isinstance(prompt, UserMessage)
    assert isinstance(answer, Answer)
    assert [block.type for block in prompt.content] == ["text", "image", "text", "text"]
    assert [part.type for part in answer.parts] == ["redactedThinking", *["toolCall"] * 3]
    assert [todo.status for todo in state.todos] == ["inProgress", "pending"]
    assert (state.title, state.usage.responses) == ("An old summary as a title", 2)
    assert texts(state) == [
        "Make a plan, then look at both files and this picture.",
        "[Image: image/png, 1 KB]",
        "[image: https://example.org/a.png]",
        "[document: notes.pdf]",
        "- TodoWrite (done)",
        "- Read a.py (done)",
        "- Read b.py (denied)",
        "Denied by the user: the user said no, in Claude Code",
        "/review a.py",
        "Review the file with care.",
        "It is fine.",
        "And now?",
        "[>] Read both",
        "[ ] Compare",
    ]
    assert state.last_turn is not None
    assert (state.last_turn.status, state.last_turn.error and state.last_turn.error.message) == (
        "failed", "API Error: 529 Overloaded",
    )  # fmt: skip
    assert left_out(report)["outputs of its own commands"] == (1, 15)


async def test_newest_leaf_is_the_head_and_the_other_branch_is_kept(store: FolderStore) -> None:
    state, report = await imported(store, "branches.jsonl")
    assert texts(state) == [
        "Begin.",
        "Begun.",
        "Go right.",
        "Right.",
        "- Bash sleep 100 (cancelled)",
    ]
    prompts = of_type(events(store, state.meta.id), UserMessageReceived)
    assert [prompt.content[0].text for prompt in prompts] == ["Begin.", "Go left.", "Go right."]
    assert report.branches == 1


async def test_call_without_a_result_gets_one_that_says_so(store: FolderStore) -> None:
    state, _ = await imported(store, "branches.jsonl")
    [finished] = of_type(events(store, state.meta.id), ToolCallFinished)
    assert (finished.outcome, "no result" in finished.content[0].text) == ("cancelled", True)
    assert state.turn is None


async def test_compactions_are_boundaries_that_keep_what_they_kept(store: FolderStore) -> None:
    state, report = await imported(store, "compacted.jsonl")
    assert report.summaries == 2
    assert texts(state) == [
        "All of it, in short.",
        "Four, still in the third turn.",
        "Fifth.",
        "Five.",
    ]
    [summary] = [entry for entry in state.history if isinstance(entry, Summary)]
    assert summary.message_count == 6
    at_first = [envelope for envelope in events(store, state.meta.id) if envelope.seq <= 16]
    before = replay(at_first)
    assert texts(before)[:3] == ["This session is being continued. First. One.", "Second.", "Two."]


async def test_subagents_have_logs_of_their_own_linked_to_their_calls(store: FolderStore) -> None:
    state, report = await imported(store, "subagents.jsonl")
    started = {
        event.chat_id: event for event in of_type(events(store, state.meta.id), SidechainStarted)
    }
    inside = "agent-00000004-0000-4000-8000-000000000000"
    assert report.sidechains == 2
    assert set(store.chats(state.meta.id)) == set(started) == {inside, "agent-ab12cd"}
    assert (started["agent-ab12cd"].call_id, started["agent-ab12cd"].title) == (
        "toolu_41", "Find the tests",
    )  # fmt: skip
    assert (started[inside].call_id, started[inside].title) == ("toolu_42", "Count the lines")
    [answer, _] = of_type(events(store, state.meta.id), AnswerFinished)
    assert {event.parent for event in started.values()} == {answer.id}
    assert texts(load(store, state.meta.id, "agent-ab12cd").state) == [
        "Where are the tests?", "- Glob **/test_*.py (done)", "In tests/.",
    ]  # fmt: skip
    assert texts(load(store, state.meta.id, inside).state) == ["How many lines?", "Twelve."]
    assert left_out(report) == {"records of type progress, in subagents": (1, 5)}


async def test_same_file_is_imported_once(store: FolderStore, tmp_path: Path) -> None:
    await imported(store, "plain.jsonl")
    with pytest.raises(SessionExists, match=PLAIN):
        await import_session(FILES / "plain.jsonl", store)
    renamed = tmp_path / "another-name.jsonl"
    renamed.write_bytes((FILES / "plain.jsonl").read_bytes())
    with pytest.raises(SessionExists):
        await import_session(renamed, store)
    twice, _ = await import_session(renamed, store, session_id="twice")
    assert {summary.id for summary in store.list()} == {PLAIN, twice}
    store.trash(PLAIN)
    with pytest.raises(SessionExists, match="in the trash"):
        await import_session(renamed, store)


async def test_results_find_their_calls_wherever_they_are(
    store: FolderStore, tmp_path: Path
) -> None:
    said = {"type": "text", "text": "And stop."}
    path = write(
        tmp_path / "s1.jsonl",
        user("u1", None),
        assistant("a1", "u1", call("c1"), call("c2", "Read", file_path="/x"), call("c3")),
        user("r1", "a1", [result("c2", is_error=True), result("c1", None), said]),
        user("r2", "r1", [result("c1"), result("c9")]),
        assistant("a2", "r2", call("c1")),
        user("r3", "a2", [result("c1", "second")]),
    )  # fmt: skip
    session_id, report = await import_session(path, store)
    assert texts(load(store, session_id).state) == [
        "Go.", "- Read /x (failed)", "ok", "- Bash (done)", "- Bash (cancelled)", "And stop.",
        "- Bash (done)",
    ]  # fmt: skip
    calls = of_type(events(store, session_id), AnswerFinished)
    ids = [part.id for answer in calls for part in answer.parts if isinstance(part, ToolCallPart)]
    assert ids == ["c1", "c2", "c3", "c1_2"]
    assert left_out(report) == {
        "results that came twice": (1, 4), "results of calls that are not there": (1, 4),
    }  # fmt: skip


async def test_title_the_user_chose_comes_before_that_of_a_model(
    store: FolderStore, tmp_path: Path
) -> None:
    path = write(
        tmp_path / "s1.jsonl",
        user("u1", None),
        {"type": "custom-title", "customTitle": "Old", "sessionId": "s1"},
        {"type": "custom-title", "customTitle": "Mine\n", "sessionId": "s1"},
        {"type": "ai-title", "aiTitle": "Its", "sessionId": "s1"},
        {"type": "tag", "tag": "x", "sessionId": "s1"},
        {"type": "tag", "tag": "", "sessionId": "s1"},
    )
    session_id, _ = await import_session(path, store)
    state = load(store, session_id).state
    assert (state.title, state.tag) == ("Mine", None)
