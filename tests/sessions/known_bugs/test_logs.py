"""What others' logs lose: spliced, cut off, orphaned and swept away."""

import json
import os
import shutil
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentls.agent.library import Library
from agentls.agent.workspace import Workspace
from tests.sessions.known_bugs.at_work import Sent, ask, log_of, refused, texts
from tests.support.agents import open_agent, results
from tests.support.raw_client import RpcError
from tests.support.repositories import contents
from tests.support.scenarios import calls, calls_together, says, write_scenario
from tests.support.scripts import Script
from tests.support.servers import editor

LINE_ENDS = "one\u2028two\u2029three\u0085four\x0bfive\x0csix"
OLD_LOG = Path(__file__).parents[1] / "logs" / "version-1.jsonl"
MESSAGES = ("userMessageReceived", "answerFinished")
YEARS = 3 * 365 * 24 * 3600.0


def seqs(log: Path) -> list[int]:
    """Return the numbers of a log's events; each of its lines must be one sound record."""
    data = log.read_bytes()
    assert data.endswith(b"\n")
    lines = [json.loads(line) for line in data[:-1].split(b"\n")]
    return [line["seq"] for line in lines if "seq" in line]


async def three_turns(folder: Path) -> list[str]:
    """Leave a session `s1` of three prompts; return what was said."""
    workspace = open_agent(folder, says("one"), says("two"), says("three"))
    session = await workspace.new_session("s1")
    await ask(session, "first", "second", "third")
    await workspace.aclose()
    return texts(session)


@contextmanager
def third_prompt(log: Path) -> Generator[dict[str, Any]]:
    """Yield the event of the third prompt, and write what has become of it."""
    lines = log.read_bytes().split(b"\n")
    said = [number for number, line in enumerate(lines) if b'"userMessageReceived"' in line]
    record = json.loads(lines[said[2]])
    yield record["event"]
    lines[said[2]] = json.dumps(record).encode()
    log.write_bytes(b"\n".join(lines))


def notices(workspace: Workspace) -> list[str]:
    return [notice.message for notice in workspace.app.now.state.notices]


def test_two_terminals_on_one_session_do_not_splice_its_log(script: Script) -> None:
    """Two records ended up on one line, and neither could be read."""
    script.run("-p", "Begin.", "--model", script.plays(says("Begun.")))
    [log] = script.logs
    model = script.plays(says("and so on " * 300, chunk=40), says("x"))
    at_once = [
        ("-p", f"Prompt {number}.", "--resume", log.stem, "--model", model) for number in range(3)
    ]
    with (
        script.started(*at_once[0]) as one,
        script.started(*at_once[1]) as two,
        script.started(*at_once[2]) as three,
    ):
        codes = [run.finish().code for run in (one, two, three)]
    assert set(codes) <= {0, 75}
    assert 0 in codes
    numbers = seqs(log)
    assert numbers == list(range(1, len(numbers) + 1))
    shown = script.command("sessions", "show", log.stem, "--cwd", str(script.folder)).stdout
    for number, code in enumerate(codes):
        assert shown.count(f"Prompt {number}.") == (1 if code == 0 else 0)


async def test_a_prompt_after_a_kill_in_the_middle_of_a_write_is_not_spliced_to_it(
    folder: Path,
) -> None:
    """The first record of the resumed session continued the torn line, so both were lost."""
    said = await three_turns(folder)
    log = log_of(folder)
    torn = log.read_bytes().rstrip(b"\n").rpartition(b"\n")[2][:-20]
    with log.open("ab") as file:
        file.write(torn)
    again = open_agent(folder, says("four"))
    await ask(await again.load_session("s1"), "fourth")
    await again.aclose()
    last = open_agent(folder)
    assert texts(await last.load_session("s1")) == [*said, "fourth", "four"]
    await last.aclose()
    assert torn in log.read_bytes().split(b"\n")


@pytest.mark.parametrize("kept", [9, 0, None])
async def test_a_parent_id_that_was_half_written_hides_nothing(
    folder: Path, kept: int | None
) -> None:
    """A resumed session showed the few messages after the broken link."""
    said = await three_turns(folder)
    with third_prompt(log_of(folder)) as event:
        event["parent"] = None if kept is None else event["parent"][:kept]
    again = open_agent(folder, says("four"))
    session = await again.load_session("s1")
    assert texts(session) == said
    assert len(notices(again)) == 1
    await ask(session, "fourth")
    await again.aclose()


async def test_a_message_whose_parent_was_never_written_hides_no_other(folder: Path) -> None:
    """A resumed session showed the few messages after the broken link."""
    said = await three_turns(folder)
    with third_prompt(log_of(folder)) as event:
        del event["parent"]
    again = open_agent(folder)
    session = await again.load_session("s1")
    assert set(said) - set(texts(session)) <= {"third"}
    assert len(notices(again)) == 1
    await again.aclose()


async def test_all_of_an_answers_parallel_calls_come_back(folder: Path, sent: Sent) -> None:
    """Of a message with two children only the last was resumed."""
    reads = (calls("Read", file_path="a.txt"), calls("Read", file_path="b.txt"))
    workspace = open_agent(folder, calls_together(*reads), says("done"), says("on"))
    session = await workspace.new_session("s1")
    await ask(session, "first")
    await workspace.aclose()
    again = open_agent(folder, says("on"))
    loaded = await again.load_session("s1")
    assert len(results(loaded)) == 2
    assert results(loaded) == results(session)
    await ask(loaded, "second")
    assert refused(sent) == []
    await again.aclose()


async def test_the_way_that_was_left_by_a_rewind_is_still_there_after_a_resume(
    folder: Path,
) -> None:
    """A message with two children lost one of them, and all that came after it."""
    said = await three_turns(folder)
    workspace = open_agent(folder, says("another two"))
    session = await workspace.load_session("s1")
    left = session.state.head
    second = [entry.id for entry in session.state.history if entry.type == "user"][1]
    await session.rewind(second, "conversation")
    await ask(session, "other words")
    await workspace.aclose()
    again = open_agent(folder)
    session = await again.load_session("s1")
    assert texts(session) == ["first", "one", "other words", "another two"]
    assert texts(await Library(again).fork("s1", left, "s2")) == said
    await again.aclose()


async def test_of_two_messages_that_follow_the_same_one_neither_is_lost(folder: Path) -> None:
    """Two windows had answered the same message, and a resume dropped what one of them had."""
    said = await three_turns(folder)
    log = log_of(folder)
    lines = [json.loads(line) for line in log.read_bytes().split(b"\n")[1:-1]]
    messages = [line for line in lines if line.get("event", {}).get("type") in MESSAGES]
    last = messages[-1]["event"]["id"]
    sibling = messages[2] | {"seq": lines[-2]["seq"] + 1, "turnId": "turn_elsewhere"}
    sibling["event"] = sibling["event"] | {
        "id": "msg_elsewhere",
        "content": [{"type": "text", "text": "elsewhere"}],
    }
    with log.open("ab") as file:
        file.write(json.dumps(sibling).encode() + b"\n")
    again = open_agent(folder)
    session = await again.load_session("s1")
    assert texts(session) == ["first", "one", "elsewhere"]
    assert texts(await Library(again).fork("s1", last, "s2")) == said
    await again.aclose()


async def test_tool_output_with_unicode_line_ends_does_not_brick_the_session(
    folder: Path,
) -> None:
    """The log was split at them, and no line of it could be read."""
    (folder / "odd.txt").write_text(LINE_ENDS, newline="")
    script = (calls("Bash", command="cat odd.txt"), says(LINE_ENDS))
    workspace = open_agent(folder, *script, mode="bypassPermissions")
    session = await workspace.new_session("s1")
    await ask(session, LINE_ENDS)
    await workspace.aclose()
    assert LINE_ENDS in results(session)[0]
    again = open_agent(folder)
    loaded = await again.load_session("s1")
    assert loaded.state.history == session.state.history
    assert notices(again) == []
    assert [kept.id for kept in await again.list_sessions()] == ["s1"]
    await again.aclose()


def test_continue_twice_at_once_does_not_mix_two_runs_in_one_transcript(script: Script) -> None:
    """Both runs wrote into the latest session, each between the other's messages."""
    script.run("-p", "Begin.", "--model", script.plays(says("Begun.")))
    [log] = script.logs
    model = script.plays(says("and so on " * 100, chunk=20, delayMs=2))
    common = ("--continue", "--model", model)
    with (
        script.started("-p", "Prompt A.", *common) as one,
        script.started("-p", "Prompt B.", *common) as two,
    ):
        done = {"Prompt A.": one.finish(), "Prompt B.": two.finish()}
    shown = script.command("sessions", "show", log.stem, "--cwd", str(script.folder)).stdout
    assert script.logs == [log]
    assert [run.code for run in done.values()].count(0) >= 1
    for prompt, run in done.items():
        assert shown.count(prompt) == (1 if run.code == 0 else 0)
        assert run.code == 0 or "in use" in run.told or "process" in run.told
    kinds = [json.loads(line).get("event", {}).get("type") for line in log.read_text().splitlines()]
    turns = [kind for kind in kinds if kind in ("turnStarted", "turnFinished")]
    assert turns == ["turnStarted", "turnFinished"] * (len(turns) // 2)


async def test_a_second_window_does_not_fork_a_transcript_in_silence(folder: Path) -> None:
    """Two windows had one session open, and each went on from where it was."""
    model = f"scripted:{write_scenario(folder.parent / 'script.json', says('one'), says('two'))}"
    async with editor(folder, "--model", model) as one, editor(folder, "--model", model) as two:
        await one.new_session()
        await one.prompt("first")
        await one.event("turnFinished")
        with pytest.raises(RpcError, match=f"process {one.client.pid}"):
            await two.ask("session/load", sessionId="s1")
        await two.ask("session/load", sessionId="s1", ifInUse="follow")
        with pytest.raises(RpcError, match="fork it"):
            await two.prompt("elsewhere")
        await one.prompt("second")
        await two.event("turnFinished")
    again = open_agent(folder)
    assert texts(await again.load_session("s1")) == ["first", "one", "second", "two"]
    await again.aclose()


def test_resume_exit_and_start_again_leave_one_log_with_everything(script: Script) -> None:
    """What resuming had begun was taken for an empty session, and its removal took the real one."""
    script.run("-p", "Remember me.", "--model", script.plays(says("One.")))
    [log] = script.logs
    before = log.read_bytes()
    nothing = script.run("--resume", log.stem, "--model", script.plays(says("None.")))
    assert nothing.code != 0
    assert script.logs == [log]
    assert log.read_bytes().startswith(before)
    script.run("-p", "Anew.", "--model", script.plays(says("Fresh.")))
    script.run("-p", "Go on.", "--resume", log.stem, "--model", script.plays(says("Two.")))
    assert len(script.logs) == 2
    shown = script.command("sessions", "show", log.stem, "--cwd", str(script.folder)).stdout
    assert "Remember me." in shown
    assert [shown.count(text) for text in ("One.", "Go on.", "Two.", "Fresh.")] == [1, 1, 1, 0]


async def test_sessions_of_years_ago_are_not_swept_away(folder: Path) -> None:
    """Sessions older than a month were deleted, and nobody was told."""
    await three_turns(folder)
    kept = [path for path in (folder / ".agentls").rglob("*") if path.is_file()]
    old = [log_of(folder).with_name(f"old{number}.jsonl") for number in range(20)]
    for path in old:
        shutil.copyfile(log_of(folder), path)
    then = time.time() - YEARS
    for path in [*kept, *old, log_of(folder).parent]:
        os.utime(path, (then, then))
    workspace = open_agent(folder, says("new"))
    listed = {summary.id for summary in await workspace.list_sessions()}
    await workspace.load_session("old7")
    await workspace.close_session("old7")
    await ask(await workspace.new_session("fresh"), "hello")
    await workspace.aclose()
    assert listed == {"s1", *(path.stem for path in old)}
    assert all(path.exists() for path in [*kept, *old])
    assert not (folder / ".agentls/trash").exists()


async def test_a_session_of_an_older_version_is_there_after_an_update(folder: Path) -> None:
    """After an update the list was empty."""
    before = OLD_LOG.read_bytes()
    session_id = json.loads(before.split(b"\n")[0])["sessionId"]
    log = log_of(folder).with_name(f"{session_id}.jsonl")
    log.parent.mkdir(parents=True)
    log.write_bytes(before)
    workspace = open_agent(folder, says("still here"))
    assert [summary.id for summary in await workspace.list_sessions()] == [session_id]
    session = await workspace.load_session(session_id)
    said = texts(session)
    await ask(session, "Are you there?")
    await workspace.aclose()
    assert said
    assert texts(session) == [*said, "Are you there?", "still here"]
    assert log.read_bytes().startswith(before)


async def test_a_project_that_is_moved_keeps_its_sessions(folder: Path) -> None:
    """Sessions were filed under the folder's path, and a new name of it left them behind."""
    edit = calls("Write", file_path="new.txt", content="new\n")
    workspace = open_agent(folder, edit, says("one"), mode="acceptEdits")
    session = await workspace.new_session("s1")
    await ask(session, "first")
    await workspace.aclose()
    moved = Path(shutil.move(folder, folder.with_name("elsewhere")))
    again = open_agent(moved, says("two"))
    [listed] = await again.list_sessions()
    loaded = await again.load_session(listed.id)
    assert texts(loaded) == ["first", "one"]
    await ask(loaded, "second")
    await loaded.rewind(loaded.state.history[0].id)
    await again.aclose()
    assert set(contents(moved)) - {".agentls"} == {"a.txt", "b.txt"}
    assert folder not in moved.parent.iterdir()
