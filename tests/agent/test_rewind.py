import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentls.agent.session import Session
from agentls.agent.workspace import Workspace
from agentls.checkpoints.applying import Restorer
from agentls.errors import SessionBusy, UnknownMessage, WrongPhase
from agentls.protocol.kept_sessions import SessionRewindResult
from agentls.protocol.session_state import SessionState
from agentls.sessions.loading import load
from tests.support.agents import WAIT_SECONDS, open_agent, until
from tests.support.repositories import contents
from tests.support.scenarios import calls, says

EDIT_A = calls("Edit", file_path="a.txt", old_string="beta", new_string="delta")
WRITE_C = calls("Write", file_path="new/c.txt", content="made\n")
SHELL = calls("Bash", command="rm b.txt; echo more >> a.txt; mv new/c.txt new/d.txt")


async def begun(folder: Path, *script: dict[str, Any]) -> tuple[Workspace, Session]:
    workspace = open_agent(folder, *script, mode="bypassPermissions")
    return workspace, await workspace.new_session("s1")


async def ask(session: Session, *prompts: str) -> None:
    for prompt in prompts:
        session.prompt(prompt)
        async with asyncio.timeout(WAIT_SECONDS):
            await session.idle()
        assert session.state.last_turn.status == "completed", session.state.last_turn


async def edited(folder: Path, *more: dict[str, Any]) -> tuple[Workspace, Session]:
    """Return a session of three prompts that have changed files in all ways."""
    read_a, read_b = (calls("Read", file_path=name) for name in ("a.txt", "b.txt"))
    script = (read_a, EDIT_A, says("1"), read_b, WRITE_C, says("2"), SHELL, says("3"))
    workspace, session = await begun(folder, *script, *more)
    await ask(session, "first", "second", "third")
    return workspace, session


def prompts_of(session: Session) -> list[str]:
    return [entry.id for entry in session.state.history if entry.type == "user"]


def done(result: SessionRewindResult) -> dict[str, str]:
    return {file.path: file.action for file in result.files}


def lasting(state: SessionState) -> dict[str, Any]:
    """Return what of a state must be the same after a load."""
    return state.model_dump(exclude={"access", "storage", "gates"})


async def test_the_conversation_goes_back_and_files_stay(folder: Path) -> None:
    workspace, session = await edited(folder)
    before = contents(folder)
    second = prompts_of(session)[1]
    result = await session.rewind(second, "conversation")
    assert (result.applied, result.prompt, result.files) == (True, "second", ())
    assert result.head == session.state.head
    assert result.messages == 10
    kinds = [entry.type for entry in session.state.history]
    assert kinds == ["user", "answer", "callResult", "answer", "callResult", "answer"]
    assert contents(folder) == before
    await workspace.aclose()


async def test_files_go_back_and_the_conversation_stays(folder: Path) -> None:
    workspace, session = await edited(folder)
    head, history = session.state.head, session.state.history
    result = await session.rewind(prompts_of(session)[2], "files")
    assert done(result) == {
        "a.txt": "restore",
        "b.txt": "create",
        "new/c.txt": "create",
        "new/d.txt": "delete",
    }
    assert (result.head, result.messages) == (head, 0)
    assert session.state.history == history
    assert (folder / "a.txt").read_text() == "alpha\ndelta\n"
    assert (folder / "new/c.txt").read_text() == "made\n"
    assert not (folder / "new/d.txt").exists()
    await workspace.aclose()


async def test_both_go_back_to_the_very_beginning_and_forth_again(folder: Path) -> None:
    original = contents(folder)
    workspace, session = await edited(folder)
    at_the_end, state = contents(folder), session.state
    result = await session.rewind(prompts_of(session)[0])
    assert (result.head, session.state.head) == (None, None)
    assert len(session.state.history) == 0
    assert contents(folder) == original
    redone = await session.redo()
    assert redone.head == state.head
    assert redone.prompt is None
    assert contents(folder) == at_the_end
    assert session.state.history == state.history
    assert session.state.redo == ()
    await workspace.aclose()


async def test_a_dry_run_changes_nothing_and_tells_what_would_be_done(folder: Path) -> None:
    workspace, session = await edited(folder)
    files, moment = contents(folder), session.now
    preview = await session.rewind(prompts_of(session)[0], dry_run=True)
    assert not preview.applied
    assert contents(folder) == files
    assert session.now == moment
    applied = await session.rewind(prompts_of(session)[0])
    assert applied.model_copy(update={"applied": False}) == preview
    preview = await session.redo(dry_run=True)
    assert not preview.applied
    applied = await session.redo()
    assert applied.model_copy(update={"applied": False}) == preview
    await workspace.aclose()


async def test_two_rewinds_are_undone_one_by_one(folder: Path) -> None:
    workspace, session = await edited(folder)
    states, files = [lasting(session.state)["history"]], [contents(folder)]
    prompts = prompts_of(session)
    for prompt in (prompts[2], prompts[0]):
        await session.rewind(prompt)
        states.append(lasting(session.state)["history"])
        files.append(contents(folder))
    assert len(session.state.redo) == 2
    for back in (1, 0):
        await session.redo()
        assert lasting(session.state)["history"] == states[back]
        assert contents(folder) == files[back]
    with pytest.raises(WrongPhase, match="no rewind to be undone"):
        await session.redo()
    await workspace.aclose()


async def test_a_new_prompt_ends_the_redo(folder: Path) -> None:
    workspace, session = await edited(folder, says("other"))
    await session.rewind(prompts_of(session)[1])
    assert session.state.redo
    await ask(session, "another way")
    assert session.state.redo == ()
    with pytest.raises(WrongPhase):
        await session.redo()
    await workspace.aclose()


async def test_after_another_way_a_rewind_goes_to_the_first_prompt(folder: Path) -> None:
    original = contents(folder)
    read_a = calls("Read", file_path="a.txt")
    other = calls("Edit", file_path="a.txt", old_string="alpha", new_string="omega")
    workspace, session = await edited(folder, read_a, other, says("other"))
    await session.rewind(prompts_of(session)[1], "conversation")
    await ask(session, "another way")
    assert (folder / "a.txt").read_text() == "omega\ndelta\nmore\n"
    left = prompts_of(session)
    result = await session.rewind(left[0])
    assert result.messages == 12
    assert contents(folder) == original, "what the branch left behind had done is taken back too"
    await workspace.aclose()


async def test_a_prompt_of_another_branch_and_what_is_no_prompt_are_refused(folder: Path) -> None:
    workspace, session = await edited(folder)
    first, second, _ = prompts_of(session)
    answer = session.state.history[1].id
    await session.rewind(second)
    files, moment = contents(folder), session.now
    for message in (second, answer, "nothing"):
        with pytest.raises(UnknownMessage, match=message):
            await session.rewind(message)
    assert contents(folder) == files
    assert session.now == moment
    await session.rewind(first, dry_run=True)
    await workspace.aclose()


async def test_a_session_at_work_is_not_rewound(folder: Path) -> None:
    workspace, session = await begun(
        folder, says("1"), {"text": "slowly " * 50, "chunk": 5, "delayMs": 20}
    )
    await ask(session, "first")
    turn = session.prompt("second").turn_id
    await until(lambda: session.state.turn)
    with pytest.raises(SessionBusy):
        await session.rewind(prompts_of(session)[0])
    with pytest.raises(SessionBusy):
        await session.redo()
    session.cancel(turn)
    await session.idle()
    await session.rewind(prompts_of(session)[1])
    assert len(session.state.history) == 2
    await workspace.aclose()


@pytest.mark.parametrize("redone", [False, True])
async def test_a_rewind_survives_a_restart(folder: Path, redone: bool) -> None:
    workspace, session = await edited(folder)
    await session.rewind(prompts_of(session)[2])
    await session.rewind(prompts_of(session)[1], "conversation")
    if redone:
        await session.redo()
    state = session.state
    assert lasting(load(workspace.surroundings.store, "s1").state) == lasting(state)
    await workspace.aclose()
    again = open_agent(folder, says("on"))
    loaded = await again.load_session("s1")
    assert lasting(loaded.state)["history"] == lasting(state)["history"]
    assert loaded.state.redo == state.redo
    await loaded.redo()
    await ask(loaded, "go on")
    await again.aclose()


async def test_a_resumed_session_is_rewound_to_before_it_was_closed(folder: Path) -> None:
    original = contents(folder)
    workspace, _ = await edited(folder)
    await workspace.aclose()
    again = open_agent(folder, calls("Bash", command="echo x > a.txt; rm -r new"), says("4"))
    loaded = await again.load_session("s1")
    loaded.set_mode("bypassPermissions")
    await ask(loaded, "fourth")
    await loaded.rewind(prompts_of(loaded)[0])
    assert contents(folder) == original
    await again.aclose()


async def test_a_prompt_that_comes_during_a_rewind_is_not_lost(folder: Path) -> None:
    workspace, session = await edited(folder, says("4"))
    rewinding = asyncio.create_task(session.rewind(prompts_of(session)[1]))
    await asyncio.sleep(0)
    refused = False
    try:
        session.prompt("fourth")
    except SessionBusy:
        refused = True
    await asyncio.wait([rewinding])
    async with asyncio.timeout(WAIT_SECONDS):
        await session.idle()
    rewound = rewinding.exception() is None
    assert rewound or not refused, "one of the two is done"
    texts = [e.content[0].text for e in session.state.history if e.type == "user"]
    assert ("fourth" in texts) is not refused
    await session.flush()
    assert lasting(load(workspace.surroundings.store, "s1").state) == lasting(session.state)
    await workspace.aclose()


async def test_of_two_rewinds_at_once_both_are_whole_or_one_is_refused(folder: Path) -> None:
    workspace, session = await edited(folder)
    end = contents(folder)
    _, second, third = prompts_of(session)
    await asyncio.gather(session.rewind(third), session.rewind(second), return_exceptions=True)
    await session.flush()
    assert lasting(load(workspace.surroundings.store, "s1").state) == lasting(session.state)
    while session.state.redo:
        result = await session.redo()
        assert [file for file in result.files if file.conflict or file.failed] == []
    assert contents(folder) == end
    assert len(session.state.history) == 16
    await workspace.aclose()


async def test_a_rewind_that_is_cancelled_has_on_record_what_it_did(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, session = await edited(folder)
    end = contents(folder)
    begun_at = Restorer._carry_out
    seen = []

    async def slowly(self: Restorer, step: Any, *, forced: bool) -> Any:
        seen.append(step.name)
        if len(seen) == 2:
            rewinding.cancel()
        await asyncio.sleep(0.01)
        return await begun_at(self, step, forced=forced)

    monkeypatch.setattr(Restorer, "_carry_out", slowly)
    rewinding = asyncio.create_task(session.rewind(prompts_of(session)[0]))
    await asyncio.wait([rewinding])
    monkeypatch.setattr(Restorer, "_carry_out", begun_at)
    assert len(seen) >= 2
    assert session.state.redo, "what was done to files can be taken back"
    result = await session.redo()
    assert [file for file in result.files if file.conflict or file.failed] == []
    assert contents(folder) == end
    await workspace.aclose()
