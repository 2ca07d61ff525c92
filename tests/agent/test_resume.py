import json

import pytest

from agentls.errors import UnknownSession
from agentls.sessions.loading import events
from agentls.sessions.records import envelope_line
from tests.support.agents import PersonHost, open_agent, results, until
from tests.support.scenarios import calls, calls_together, says


async def test_a_session_comes_back_as_it_was(folder):
    workspace = open_agent(
        folder,
        calls("Read", file_path="a.txt"),
        calls("TodoWrite", todos=[{"content": "x", "status": "pending", "activeForm": "xing"}]),
        says("Done."),
    )
    session = await workspace.new_session("s1")
    session.rename("A title")
    session.set_mode("acceptEdits")
    session.prompt("one")
    await session.idle()
    state = session.state
    await workspace.aclose()

    again = open_agent(folder)
    loaded = await again.load_session("s1")
    assert loaded.state == state
    assert loaded.now.seq == session.now.seq + 1  # it is on record that it was opened again
    await again.aclose()


async def test_nothing_is_written_before_the_first_prompt(folder):
    workspace = open_agent(folder, says("hi"))
    session = await workspace.new_session("s1")
    session.set_mode("plan")
    await workspace.aclose()
    assert not (folder / ".agentls").exists()


async def test_the_log_is_private_and_kept_out_of_git(folder):
    workspace = open_agent(folder, says("hi"))
    session = await workspace.new_session("s1")
    session.prompt("one")
    await session.idle()
    await workspace.aclose()
    log = folder / ".agentls/sessions/s1.jsonl"
    assert log.stat().st_mode & 0o777 == 0o600
    assert log.parent.stat().st_mode & 0o777 == 0o700
    assert (folder / ".agentls/.gitignore").read_text().splitlines()[1] == "*"
    lines = [json.loads(line) for line in log.read_bytes().splitlines()]
    header = {"log": "agentls", "version": 2, "sessionId": "s1", "chatId": "main", "cwd": "."}
    assert lines[0] == header
    numbers = [line["seq"] for line in lines[1:] if "seq" in line]
    assert numbers == list(range(1, len(numbers) + 1))
    assert lines[-1]["summary"]["lastPrompt"] == "one"


async def test_an_approval_survives_the_end_of_the_server(folder):
    script = (calls("Bash", command="echo yes > out.txt"), says("Done."))
    workspace = open_agent(folder, *script)
    session = await workspace.new_session("s1")
    session.prompt("one")
    await until(lambda: any(c.status == "waiting" for c in session.state.calls.values()))
    await workspace.aclose()
    assert session.state.turn is not None

    again = open_agent(folder, says("Done."))
    loaded = await again.load_session("s1")
    (call,) = loaded.state.calls.values()
    assert call.status == "waiting"
    assert not (folder / "out.txt").exists()
    loaded.answer_approval(call.id, "allow")
    await loaded.idle()
    assert (folder / "out.txt").read_text() == "yes\n"
    assert loaded.state.last_turn.status == "completed"
    await again.aclose()


async def test_an_approval_that_nobody_can_give_any_more_is_a_no(folder):
    workspace = open_agent(folder, calls("Bash", command="touch out.txt"))
    session = await workspace.new_session("s1")
    session.prompt("one")
    await until(lambda: any(c.status == "waiting" for c in session.state.calls.values()))
    await workspace.aclose()

    again = open_agent(folder, says("Then not."), host=PersonHost(can_ask=False))
    loaded = await again.load_session("s1")
    await loaded.idle()
    assert "nobody is there" in results(loaded)[0]
    assert loaded.state.history[-2].call.decision.decided_by == "host"
    assert not (folder / "out.txt").exists()
    await again.aclose()


async def test_a_running_command_is_stopped_and_marked_when_the_server_ends(folder):
    workspace = open_agent(
        folder, calls("Bash", command="echo $$ > pid; sleep 600"), mode="bypassPermissions"
    )
    session = await workspace.new_session("s1")
    session.prompt("one")
    await until(lambda: (folder / "pid").exists())
    await workspace.aclose()
    assert session.state.last_turn.status == "interrupted"

    again = open_agent(folder, says("I look."))
    loaded = await again.load_session("s1")
    assert "Check whether it took effect" in results(loaded)[0]
    assert loaded.state.permissions.mode == "default", "a dangerous mode is not restored"
    loaded.prompt("go on")
    await loaded.idle()
    assert loaded.state.last_turn.status == "completed"
    await again.aclose()


async def test_a_log_that_stops_anywhere_loads_and_takes_the_next_prompt(folder):
    script = (
        calls_together(calls("Read", file_path="a.txt"), calls("Read", file_path="b.txt")),
        calls("Edit", file_path="a.txt", old_string="beta", new_string="delta"),
        says("Done."),
    )
    workspace = open_agent(folder, *script, mode="acceptEdits")
    session = await workspace.new_session("s1")
    session.prompt("one")
    await session.idle()
    await workspace.aclose()
    log = folder / ".agentls/sessions/s1.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    for kept in range(3, len(lines) + 1):
        log.write_bytes(b"".join(lines[:kept]))
        again = open_agent(folder, *([says("Go on.")] * 3))
        loaded = await again.load_session("s1")
        await loaded.idle()
        assert loaded.state.turn is None
        loaded.prompt("next")
        await loaded.idle()
        assert loaded.state.last_turn.status == "completed", loaded.state.last_turn
        await again.aclose()


async def test_damage_in_a_log_is_told_and_the_rest_still_loads(folder):
    workspace = open_agent(folder, says("Fine.\u2028 Really."), says("Second."))
    session = await workspace.new_session("s1")
    session.prompt("one")
    await session.idle()
    session.prompt("two")
    await session.idle()
    await workspace.aclose()
    log = folder / ".agentls/sessions/s1.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    titled = next(i for i, line in enumerate(lines) if b"usageRecorded" in line)
    lines[titled] = b'{"torn": \n'
    log.write_bytes(b"".join(lines) + b'{"seq": 99, "half a li')

    again = open_agent(folder)
    loaded = await again.load_session("s1")
    texts = [e.parts[0].text for e in loaded.state.history if e.type == "answer"]
    assert texts == ["Fine.\u2028 Really.", "Second."]
    told = [notice.message for notice in again.app.now.state.notices]
    assert len(told) == 1
    assert f"line {titled + 1}" in told[0]
    assert f"line {len(lines) + 1}" in told[0]
    await again.aclose()


async def test_events_of_a_newer_version_are_passed_over_and_their_fields_kept(folder):
    workspace = open_agent(folder, says("hi"))
    session = await workspace.new_session("s1")
    session.prompt("one")
    await session.idle()
    await workspace.aclose()
    log = folder / ".agentls/sessions/s1.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    newer = json.loads(next(line for line in reversed(lines) if b'"seq"' in line))
    newer |= {"seq": newer["seq"] + 1, "event": {"type": "spaceshipLaunched", "to": "mars"}}
    known = json.loads(lines[2])
    known["event"]["colour"] = "green"
    log.write_bytes(b"".join([*lines[:2], json.dumps(known).encode() + b"\n", *lines[3:]]))
    with log.open("ab") as file:
        file.write(json.dumps(newer).encode() + b"\n")

    again = open_agent(folder)
    loaded = await again.load_session("s1")
    assert loaded.state.history == session.state.history
    assert again.app.now.state.notices == ()
    envelope = events(again.surroundings.store, "s1")[1]
    assert json.loads(envelope_line(envelope))["event"]["colour"] == "green"
    await again.aclose()


async def test_sessions_are_listed_newest_first_and_unknown_ones_named(folder):
    workspace = open_agent(folder, says("hi"), says("ho"))
    for name in ("older", "newer"):
        session = await workspace.new_session(name)
        session.prompt(f"prompt of {name}")
        await session.idle()
    listed = await workspace.list_sessions()
    assert [summary.id for summary in listed] == ["newer", "older"]
    assert listed[0].last_prompt == "prompt of newer"
    assert (listed[0].message_count, listed[0].open) == (2, True)
    with pytest.raises(UnknownSession, match="nope"):
        await workspace.load_session("nope")
    with pytest.raises(UnknownSession):
        await workspace.load_session("../../etc/passwd")
    await workspace.aclose()
