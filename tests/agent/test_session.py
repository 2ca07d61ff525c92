import asyncio

import pytest

from agentls.errors import (
    ApprovalAlreadyAnswered,
    EmptyPrompt,
    InvalidRequest,
    NoCredentials,
    SessionClosed,
    UnknownCall,
    UnknownModel,
    UnknownQueueItem,
    UnknownSession,
)
from tests.support.agents import Story, open_agent, results, until
from tests.support.scenarios import calls, calls_together, says

SLOW = {"text": "slowly " * 50, "chunk": 5, "delayMs": 20}


async def test_prompts_sent_meanwhile_wait_in_order_and_can_be_removed(folder):
    workspace = open_agent(folder, SLOW, says("second"), says("third"))
    session = await workspace.new_session()
    story = Story(session)
    assert not session.prompt("one").queued
    two, three = session.prompt("two"), session.prompt("three")
    four = session.prompt("four")
    assert two.queued
    await until(lambda: session.state.turn)
    assert [item.id for item in session.state.queue] == [two.turn_id, three.turn_id, four.turn_id]
    session.remove_queued(three.turn_id)
    with pytest.raises(UnknownQueueItem, match=three.turn_id):
        session.remove_queued(three.turn_id)
    await session.idle()
    assert [line for line in story.lines if line.startswith("text")][1:] == [
        "text: second",
        "text: third",
    ]
    prompts = [entry.content[0].text for entry in session.state.history if entry.type == "user"]
    assert prompts == ["one", "two", "four"]
    await workspace.aclose()


async def test_the_same_turn_id_is_not_run_twice(folder):
    workspace = open_agent(folder, says("once"))
    session = await workspace.new_session()
    first = session.prompt("one", turn_id="mine")
    assert session.prompt("one", turn_id="mine").turn_id == first.turn_id == "mine"
    await session.idle()
    assert session.prompt("one", turn_id="mine").turn_id == "mine"
    await session.idle()
    assert [entry.type for entry in session.state.history] == ["user", "answer"]
    await workspace.aclose()


async def test_a_cancel_stops_the_stream_and_keeps_what_was_seen(folder):
    workspace = open_agent(folder, SLOW, says("next"))
    session = await workspace.new_session()
    story = Story(session)
    turn = session.prompt("one").turn_id
    await until(lambda: session.state.live and any(p.text for p in session.state.live.parts))
    assert session.cancel(turn)
    await session.idle()
    assert story.lines[-1] == "turn cancelled"
    assert session.state.history[-1].stop_reason == "cancelled"
    assert not session.cancel(turn), "a late cancel touches nothing"
    session.prompt("two")
    await session.idle()
    assert story.lines[-2:] == ["text: next", "turn finished"]
    await workspace.aclose()


async def test_a_cancel_right_after_the_prompt_is_not_lost(folder):
    workspace = open_agent(folder, SLOW)
    session = await workspace.new_session()
    turn = session.prompt("one").turn_id
    assert session.cancel(turn)
    await session.idle()
    assert session.state.turn is None
    assert session.state.queue == ()
    await workspace.aclose()


async def test_a_cancel_at_the_very_start_of_a_turn_ends_it(folder):
    workspace = open_agent(folder, says("never"), says("next"))
    session = await workspace.new_session()

    def cancel_at_once(new, old):
        if new.state.turn and not old.state.turn:
            asyncio.get_running_loop().call_soon(session.cancel, new.state.turn.id)

    leave = session.subscribe(cancel_at_once)
    session.prompt("one")
    await session.idle()
    leave()
    assert session.state.last_turn.status == "cancelled"
    assert session.state.turn is None
    session.prompt("two")
    await session.idle()
    assert session.state.last_turn.status == "completed"
    await workspace.aclose()


async def test_a_cancel_withdraws_an_approval_and_leaves_a_valid_history(folder):
    workspace = open_agent(folder, calls("Bash", command="rm a.txt"), says("fine"))
    session = await workspace.new_session()
    turn = session.prompt("one").turn_id
    await until(lambda: session.state.calls)
    call_id = next(iter(session.state.calls))
    await until(lambda: session.state.calls[call_id].status == "waiting")
    session.cancel(turn)
    await session.idle()
    assert session.state.history[-1].call.outcome == "cancelled"
    with pytest.raises(ApprovalAlreadyAnswered):
        session.answer_approval(call_id, "allow")
    session.prompt("two")
    await session.idle()
    assert session.state.last_turn.status == "completed"
    await workspace.aclose()


async def test_a_cancel_kills_the_command_that_runs(folder):
    script = calls("Bash", command="echo $$ > pid; sleep 600")
    workspace = open_agent(folder, script, mode="bypassPermissions")
    session = await workspace.new_session()
    turn = session.prompt("one").turn_id
    pid_file = folder / "pid"
    await until(lambda: pid_file.exists() and pid_file.read_text().strip())
    session.cancel(turn)
    await session.idle()
    assert session.state.last_turn.status == "cancelled"
    await until(lambda: not _is_alive(int(pid_file.read_text())))
    await workspace.aclose()


async def test_the_first_answer_to_an_approval_wins(folder):
    workspace = open_agent(folder, calls("Bash", command="echo hi"), says("done"))
    session = await workspace.new_session()
    session.prompt("one")
    await until(lambda: any(c.status == "waiting" for c in session.state.calls.values()))
    call_id = next(iter(session.state.calls))
    with pytest.raises(InvalidRequest, match="'maybe' is none of this approval's options: allow"):
        session.answer_approval(call_id, "maybe")
    assert session.answer_approval(call_id, "allow").behaviour == "allow"
    with pytest.raises(ApprovalAlreadyAnswered, match="settled already: allow"):
        session.answer_approval(call_id, "deny")
    with pytest.raises(UnknownCall, match="toolu_nope"):
        session.answer_approval("toolu_nope", "allow")
    await session.idle()
    with pytest.raises(ApprovalAlreadyAnswered):
        session.answer_approval(call_id, "deny")
    await workspace.aclose()


async def test_an_edited_input_runs_in_place_of_what_the_model_wrote(folder):
    workspace = open_agent(folder, calls("Bash", command="echo theirs"), says("done"))
    session = await workspace.new_session()
    session.prompt("one")
    await until(lambda: any(c.status == "waiting" for c in session.state.calls.values()))
    call_id = next(iter(session.state.calls))
    session.answer_approval(call_id, "allow", edited_input={"command": "echo mine"})
    await session.idle()
    assert "mine" in results(session)[0]
    await workspace.aclose()


async def test_readers_side_by_side_run_while_one_of_them_waits_for_a_person(folder, tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("secret plans\n")
    reads = calls_together(
        calls("Read", file_path="a.txt"),
        calls("Read", file_path=str(outside)),
        calls("Read", file_path="b.txt"),
    )
    workspace = open_agent(folder, reads, says("done"))
    session = await workspace.new_session()
    session.prompt("one")
    await until(lambda: len(session.state.history) == 4)
    statuses = [call.status for call in session.state.calls.values()]
    assert statuses == ["finished", "waiting", "finished"]
    waiting = next(call for call in session.state.calls.values() if call.status == "waiting")
    session.answer_approval(waiting.id, "allow")
    await session.idle()
    assert "secret plans" in results(session)[2]
    await workspace.aclose()


async def test_bad_prompts_and_choices_are_refused_with_a_way_out(folder):
    workspace = open_agent(folder, says("hi"))
    session = await workspace.new_session()
    with pytest.raises(EmptyPrompt, match="no text"):
        session.prompt(" \n\t")
    with pytest.raises(UnknownModel, match="claude-"):
        session.set_model("gpt-nope", "session")
    with pytest.raises(NoCredentials, match="--model offline"):
        session.set_model("claude-sonnet-5-5", "session")
    with pytest.raises(UnknownSession, match="agent/session/load"):
        workspace.session("nope")
    await session.aclose()
    with pytest.raises(SessionClosed):
        session.prompt("late")
    await workspace.aclose()


async def test_two_sessions_run_at_the_same_time_and_never_see_each_other(folder):
    workspace = open_agent(folder, SLOW, SLOW)
    first, second = await workspace.new_session("one"), await workspace.new_session("two")
    first.prompt("a")
    second.prompt("b")
    await until(lambda: first.state.live and second.state.live)
    await asyncio.gather(first.idle(), second.idle())
    for session, prompt in ((first, "a"), (second, "b")):
        assert session.state.history[0].content[0].text == prompt
        assert len(session.state.history) == 2
    await workspace.aclose()


def _is_alive(pid: int) -> bool:
    import psutil

    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
