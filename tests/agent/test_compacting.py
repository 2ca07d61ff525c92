"""Making room in the model's window, through whole turns."""

import asyncio
from pathlib import Path
from typing import Any

import orjson

from agentls.agent.session import Session
from agentls.agent.workspace import Workspace
from agentls.protocol.events import compaction as events
from agentls.protocol.history import Summary
from agentls.sessions.loading import load
from tests.support.agents import PersonHost, Story, open_agent, until
from tests.support.lives import settled
from tests.support.scenarios import calls, fails, says

WINDOW = 16_000
FULL_AFTER = 5
"""So many answers of 1,500 words fill it."""
SUMMARY = says("## Done\nThe files were read.\n## Next step\nnone")


def agent(
    folder: Path, *script: dict[str, Any], host: PersonHost | None = None, **settings: Any
) -> Workspace:
    """Open an agent whose model has a small window."""
    config = folder.parent / "config"
    config.mkdir(exist_ok=True)
    name = f"scripted:{folder.parent / f'scenario-{folder.name}.json'}"
    given = {"models": {name: {"contextWindow": WINDOW, "maxOutput": 1_000}}, **settings}
    (config / "settings.json").write_bytes(orjson.dumps(given))
    return open_agent(folder, *script, host=host)


def compactions(story: Story) -> list[events.ConversationCompacted]:
    return told(story, events.ConversationCompacted)


def told(story: Story, kind: type[Any]) -> list[Any]:
    heard = [moment.envelope.event for moment in story.moments if moment.envelope]
    return [event for event in heard if isinstance(event, kind)]


async def run(session: Session, *prompts: str) -> None:
    for prompt in prompts:
        session.prompt(prompt)
        async with asyncio.timeout(20):
            await session.idle()


def big(folder: Path, name: str, kilobytes: int) -> str:
    (folder / name).write_text("".join(f"{name} line {n}\n" for n in range(kilobytes * 60)))
    return name


async def test_old_tool_output_is_cleared_before_anything_is_summarised(folder):
    reads = [calls("Read", file_path=big(folder, f"f{n}.txt", 7)) for n in range(5)]
    workspace = agent(folder, *reads, says("Read all."))
    session = await workspace.new_session()
    story = Story(session)
    await run(session, "Read the files.")
    assert session.state.last_turn.status == "completed"
    assert told(story, events.ToolOutputsCleared)
    assert not compactions(story)
    kept = [
        entry.call.content[0].text for entry in session.state.history if entry.type == "callResult"
    ]
    assert all("line" in text for text in kept), "the session keeps what the model is not sent"
    await workspace.aclose()


async def test_a_full_window_is_summarised_and_the_turn_goes_on(folder):
    answers = [says("word " * 1_500 + str(n)) for n in range(12)]
    workspace = agent(folder, *answers[:FULL_AFTER], SUMMARY, *answers[FULL_AFTER:])
    session = await workspace.new_session("s1")
    story = Story(session)
    for number in range(8):
        await run(session, f"Prompt {number}: never touch LICENSE.txt, work on src/a{number}.py.")
    assert session.state.last_turn.status == "completed"
    first = compactions(story)[0]
    assert first.reason == "automatic"
    assert first.tokens_after <= first.tokens_before * 0.9
    assert isinstance(session.state.history[0], Summary)
    assert "never touch LICENSE.txt" in session.state.history[0].put_back
    assert session.state.compaction.failures == 0
    live = session.state
    await workspace.aclose()
    loaded = load(workspace.surroundings.store, "s1")
    assert settled(loaded.state) == settled(live)
    whole = load(workspace.surroundings.store, "s1", whole=True)
    assert settled(whole.state) == settled(live)


async def test_a_summary_that_does_not_shrink_is_rejected_and_the_conversation_stays(folder):
    answers = [says("word " * 1_500 + str(n)) for n in range(FULL_AFTER)]
    workspace = agent(folder, *answers, says("word " * 30_000), says("Still here."))
    session = await workspace.new_session()
    story = Story(session)
    for number in range(FULL_AFTER + 1):
        await run(session, f"Prompt {number}.")
    failed = told(story, events.CompactionFailed)
    assert [(event.error.kind, event.counts) for event in failed] == [("CompactionRejected", True)]
    assert session.state.compaction.failures == 1
    assert session.state.history[-1].parts[0].text == "Still here."
    assert not compactions(story)
    await workspace.aclose()


async def test_three_failures_open_the_breaker_and_a_success_closes_it(folder):
    long = says("word " * 1_500)
    empty = says(" ")
    workspace = agent(
        folder, *[long] * FULL_AFTER, empty, long, empty, long, empty, long, long, SUMMARY
    )
    session = await workspace.new_session()
    story = Story(session)
    for number in range(FULL_AFTER + 4):
        await run(session, f"Prompt {number}.")
    assert session.state.compaction.failures == 3
    assert len(told(story, events.CompactionFailed)) == 3
    notices = [notice.message for notice in workspace.app.now.state.notices]
    assert any("agent/session/clear" in notice for notice in notices)
    session.compact()
    async with asyncio.timeout(20):
        await session.idle()
    assert session.state.compaction.failures == 0
    assert compactions(story)[0].reason == "requested"
    await workspace.aclose()


async def test_a_prompt_too_long_for_the_model_compacts_once_and_goes_on(folder):
    answers = [says("word " * 300 + str(n)) for n in range(4)]
    workspace = agent(folder, *answers, fails("promptTooLong"), SUMMARY, says("Better."))
    session = await workspace.new_session()
    story = Story(session)
    for number in range(5):
        await run(session, f"Prompt {number}.")
    assert [event.reason for event in compactions(story)] == ["tooLong"]
    assert session.state.last_turn.status == "completed"
    assert session.state.history[-1].parts[0].text == "Better."
    await workspace.aclose()


async def test_a_prompt_that_stays_too_long_is_an_error_that_says_so(folder):
    answers = [says("word " * 300 + str(n)) for n in range(4)]
    workspace = agent(
        folder, *answers, fails("promptTooLong"), SUMMARY, fails("promptTooLong", "Too long still.")
    )
    session = await workspace.new_session()
    story = Story(session)
    for number in range(5):
        await run(session, f"Prompt {number}.")
    assert len(compactions(story)) == 1
    assert session.state.last_turn.error.kind == "PromptTooLong"
    await workspace.aclose()


async def test_a_compaction_on_request_heeds_what_the_user_asks_for(folder):
    summary = {**SUMMARY, "expect": {"user": "Keep the table names."}}
    workspace = agent(
        folder, says("word " * 500), says("word " * 500), says("word " * 500), summary, says("On.")
    )
    session = await workspace.new_session()
    story = Story(session)
    await run(session, "One.", "Two.", "Three.")
    taken = session.compact("Keep the table names.", turn_id="c1")
    assert (taken.turn_id, taken.queued) == ("c1", False)
    async with asyncio.timeout(20):
        await session.idle()
    assert (session.state.last_turn.id, session.state.last_turn.status) == ("c1", "completed")
    assert [event.reason for event in compactions(story)] == ["requested"]
    await run(session, "Go on.")
    assert session.state.history[-1].parts[0].text == "On."
    await workspace.aclose()


async def test_there_is_nothing_to_compact_in_a_short_conversation(folder):
    workspace = agent(folder, says("Hello."))
    session = await workspace.new_session()
    await run(session, "Hi.")
    session.compact()
    async with asyncio.timeout(20):
        await session.idle()
    assert session.state.last_turn.error.kind == "NothingToCompact"
    await workspace.aclose()


async def test_a_compaction_can_be_cancelled_and_changes_nothing(folder):
    slow = {**SUMMARY, "delayMs": 500}
    workspace = agent(folder, *[says("word " * 500)] * 3, slow, says("On."))
    session = await workspace.new_session()
    await run(session, "One.", "Two.", "Three.")
    before = session.state.history
    session.compact(turn_id="c1")
    await until(lambda: session.state.compaction.running)
    assert session.cancel("c1")
    async with asyncio.timeout(20):
        await session.idle()
    assert session.state.last_turn.status == "cancelled"
    assert session.state.history == before
    assert (session.state.compaction.running, session.state.compaction.failures) == (None, 0)
    await run(session, "Go on.")
    assert session.state.history[-1].parts[0].text == "On."
    await workspace.aclose()


async def test_what_fails_in_passing_is_tried_again_and_does_not_count(folder):
    workspace = agent(folder, *[says("word " * 500)] * 3, fails("streamBroken"), SUMMARY)
    session = await workspace.new_session()
    story = Story(session)
    await run(session, "One.", "Two.", "Three.")
    session.compact()
    async with asyncio.timeout(20):
        await session.idle()
    assert session.state.last_turn.status == "completed"
    assert len(compactions(story)) == 1
    assert [event.counts for event in told(story, events.CompactionFailed)] == [False]
    await workspace.aclose()


async def test_clear_begins_anew_and_a_redo_brings_the_conversation_back(folder):
    workspace = agent(folder, says("One."), says("Two."), host=PersonHost())
    session = await workspace.new_session("s1")
    await run(session, "First.")
    before = session.state.history
    assert await session.clear() == 2
    assert len(session.state.history) == 0
    assert session.state.head is None
    await session.redo()
    assert session.state.history == before
    await session.clear()
    await run(session, "Second.")
    assert [entry.type for entry in session.state.history] == ["user", "answer"]
    await workspace.aclose()


async def test_files_being_edited_and_the_plan_are_put_back(folder):
    todo = {"content": "Mend it", "activeForm": "Mending it", "status": "in_progress"}
    edit = calls("Write", file_path="new.py", content="print('exact content 4711')\n")
    workspace = agent(
        folder, calls("TodoWrite", todos=[todo]), edit, says("Done. " + "word " * 800),
        says("word " * 800), says("word " * 800), SUMMARY,
    )  # fmt: skip
    session = await workspace.new_session(mode="acceptEdits")
    await run(session, "Write new.py.", "Two.", "Three.")
    session.compact()
    async with asyncio.timeout(20):
        await session.idle()
    put_back = session.state.history[0].put_back
    assert "Mend it" in put_back
    assert "print('exact content 4711')" in put_back
    assert "acceptEdits" in put_back
    await workspace.aclose()
