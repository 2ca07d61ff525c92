from pathlib import Path

import pytest

from agentls.agent.session import Session
from agentls.protocol.content import FileChange, TextBlock
from agentls.protocol.events.conversation import ToolCallFinished, ToolResultIgnored
from agentls.sessions.loading import events, load
from tests.support.agents import Story, open_agent, results, until
from tests.support.scenarios import calls, calls_together, says

CHANGE = FileChange(
    path="a.txt",
    kind="modified",
    before_sha256="0" * 64,
    after_sha256="1" * 64,
    added_lines=1,
    removed_lines=1,
)


def result(call_id: str, text: str = "a late word", **rest: object) -> ToolCallFinished:
    fields = {
        "parent": "somewhere",
        "call_id": call_id,
        "outcome": "ok",
        "summary": "Late",
        "content": (TextBlock(text=text),),
        "variables": {"Read:x": 1},
    }
    return ToolCallFinished(**(fields | rest))


def finish(session: Session, finished: ToolCallFinished) -> None:
    """Let a result come in, as a tool's that went on by itself."""
    session._chat.finish_call(finished, turn_id="turn_gone")


async def after_two_turns(folder: Path):
    workspace = open_agent(
        folder,
        calls("Read", file_path="a.txt"),
        says("one"),
        calls("Read", file_path="b.txt"),
        says("two"),
    )
    session = await workspace.new_session("s1")
    for prompt in ("one", "two"):
        session.prompt(prompt)
        await session.idle()
    ids = [entry.call.id for entry in session.state.history if entry.type == "callResult"]
    return workspace, session, ids


@pytest.mark.parametrize("which", ["late", "unknown"])
async def test_a_result_that_nobody_waits_for_is_kept_told_and_inert(
    folder: Path, which: str
) -> None:
    workspace, session, ids = await after_two_turns(folder)
    call_id = {"late": ids[0], "unknown": "toolu_999"}[which]
    story = Story(session)
    before = session.state
    finish(session, result(call_id, changes=(CHANGE,)))
    assert session.state is before
    (moment,) = story.moments
    ignored = moment.envelope.event
    assert isinstance(ignored, ToolResultIgnored)
    assert (ignored.call_id, ignored.why) == (call_id, which)
    assert ignored.content[0].text == "a late word"
    assert ignored.changes == (CHANGE,)
    await session.flush()
    last = events(workspace.surroundings.store, "s1")[-1]
    assert last.event == ignored
    assert load(workspace.surroundings.store, "s1").state.history == before.history
    await workspace.aclose()


async def test_an_ignored_result_changes_neither_what_the_model_is_sent_nor_what_is_numbered(
    folder: Path,
) -> None:
    workspace = open_agent(
        folder,
        calls("Read", file_path="a.txt"),
        says("one"),
        {"text": "two", "expect": {"lastResult": "alpha"}},
    )
    session = await workspace.new_session("s1")
    session.prompt("one")
    await session.idle()
    (told,) = results(session)
    call_id = next(e.call.id for e in session.state.history if e.type == "callResult")
    seq = session.now.seq
    for _ in range(3):
        finish(session, result(call_id))
    assert session.now.seq == seq + 3, "each is on record"
    session.prompt("two")
    await session.idle()
    assert session.state.last_turn.status == "completed", session.state.last_turn
    assert results(session) == [told]
    await workspace.aclose()


async def test_a_second_result_of_a_call_while_its_turn_runs_is_a_duplicate(folder: Path) -> None:
    workspace = open_agent(
        folder,
        calls_together(
            calls("Read", file_path="a.txt"),
            calls("Bash", command="until [ -e go ]; do sleep 0.01; done"),
        ),
        says("done"),
        mode="bypassPermissions",
    )
    session = await workspace.new_session("s1")
    session.prompt("one")
    await until(lambda: any(call.status == "finished" for call in session.state.calls.values()))
    read = next(call for call in session.state.calls.values() if call.name == "Read")
    story = Story(session)
    before = session.state
    finish(session, result(read.id))
    assert session.state is before
    assert story.moments[0].envelope.event.why == "duplicate"
    (folder / "go").touch()
    await session.idle()
    assert "alpha" in results(session)[0]
    await workspace.aclose()


async def test_the_result_of_a_cancelled_call_that_comes_after_all_is_ignored(
    folder: Path,
) -> None:
    workspace = open_agent(
        folder, calls("Bash", command="touch on; sleep 60"), says("next"), mode="bypassPermissions"
    )
    session = await workspace.new_session("s1")
    turn = session.prompt("one").turn_id
    await until(lambda: (folder / "on").exists())
    session.cancel(turn)
    await session.idle()
    call = session.state.history[-1].call
    assert call.outcome == "cancelled"
    finish(session, result(call.id))
    assert session.state.history[-1].call.outcome == "cancelled"
    assert session.state.variables == {}
    session.prompt("two")
    await session.idle()
    assert session.state.last_turn.status == "completed"
    await workspace.aclose()


async def test_after_a_resume_results_of_old_calls_are_late_and_not_unknown(folder: Path) -> None:
    workspace, _, ids = await after_two_turns(folder)
    await workspace.aclose()
    again = open_agent(folder)
    session = await again.load_session("s1")
    story = Story(session)
    for call_id in (*ids, "toolu_999"):
        finish(session, result(call_id))
    whys = [moment.envelope.event.why for moment in story.moments]
    assert whys == ["late", "late", "unknown"]
    await again.aclose()


async def test_a_rewind_takes_back_what_a_late_result_did_to_files(folder: Path) -> None:
    workspace, session, ids = await after_two_turns(folder)
    store = workspace.surroundings.store
    before, after = store.contents.put(b"alpha\nbeta\n"), store.contents.put(b"late\n")
    (folder / "a.txt").write_bytes(b"late\n")
    change = CHANGE.model_copy(update={"before_sha256": before, "after_sha256": after})
    finish(session, result(ids[0], changes=(change,)))
    done = await session.rewind(session.state.history[0].id)
    assert [file.path for file in done.files] == ["a.txt"]
    assert (folder / "a.txt").read_bytes() == b"alpha\nbeta\n"
    await workspace.aclose()
