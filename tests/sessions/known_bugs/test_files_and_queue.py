"""Files that a checkpoint took away or brought back too old, and prompts that got lost."""

import os
import time
from pathlib import Path

from agentls.agent.session import Session
from tests.sessions.known_bugs.at_work import HOLDS, ask, at_rest, killed_in_a_tool, texts
from tests.support.agents import open_agent, until
from tests.support.checkpoints import git, git_state
from tests.support.scenarios import calls, says

WEEKS = 6 * 7 * 24 * 3600.0


def prompts_of(session: Session) -> list[str]:
    return [entry.id for entry in session.state.history if entry.type == "user"]


def in_git(folder: Path) -> None:
    """Make the workspace a repository whose `.gitignore` is not committed yet."""
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    (folder / ".gitignore").write_text("secret.env\nshell.*\n.agentls/\n")
    (folder / "secret.env").write_text("KEY=1\n")


async def test_an_interrupted_checkpoint_leaves_git_and_an_uncommitted_gitignore_alone(
    folder: Path,
) -> None:
    """The repository's folder was left under another name, and a restore deleted ignored files."""
    in_git(folder)
    before, ignored = git_state(folder), (folder / ".gitignore").read_bytes()
    change = calls("Bash", command="echo changed > a.txt; echo made > made.txt; echo >> .gitignore")
    await killed_in_a_tool(folder, change, HOLDS)
    assert git_state(folder) == before
    again = open_agent(folder, says("I see."))
    session = await again.load_session("s1")
    await at_rest(session)
    await session.rewind(prompts_of(session)[0])
    await again.aclose()
    assert (folder / "a.txt").read_text() == "alpha\nbeta\n"
    assert not (folder / "made.txt").exists()
    assert (folder / ".gitignore").read_bytes() == ignored
    assert (folder / "secret.env").read_text() == "KEY=1\n"
    assert git_state(folder) == before


async def test_a_rewind_after_weeks_restores_what_was_at_that_prompt_and_nothing_older(
    folder: Path,
) -> None:
    """An undo brought back the tree of weeks ago: what the user had done since was gone."""
    change = calls("Bash", command="echo of the agent > a.txt; echo of the agent > c.txt")
    workspace = open_agent(folder, change, says("one"), mode="bypassPermissions")
    await ask(await workspace.new_session("s1"), "first")
    await workspace.aclose()
    then = time.time() - WEEKS
    for path in (folder / ".agentls").rglob("*"):
        os.utime(path, (then, then))
    for name in ("a.txt", "b.txt", "own.txt"):
        (folder / name).write_text("of the user, weeks later\n")
    (folder / "c.txt").unlink()

    again = open_agent(folder, change, says("two"), mode="bypassPermissions")
    session = await again.load_session("s1")
    session.set_mode("bypassPermissions")
    await ask(session, "second")
    assert (folder / "a.txt").read_text() == "of the agent\n"
    await session.rewind(prompts_of(session)[1])
    await again.aclose()
    for name in ("a.txt", "b.txt", "own.txt"):
        assert (folder / name).read_text() == "of the user, weeks later\n"
    assert not (folder / "c.txt").exists()


async def test_a_prompt_queued_while_a_tool_runs_survives_a_cancel(folder: Path) -> None:
    """What was said to a busy agent was gone when its turn was stopped."""
    workspace = open_agent(folder, HOLDS, says("To the second."), mode="bypassPermissions")
    session = await workspace.new_session("s1")
    turn = session.prompt("first").turn_id
    await until((folder / "shell.pid").exists)
    assert session.prompt("second").queued
    assert session.cancel(turn)
    await at_rest(session)
    assert texts(session) == ["first", "second", "To the second."]
    await workspace.aclose()


async def test_a_prompt_queued_while_a_tool_runs_survives_a_crash(folder: Path) -> None:
    """What was said to a busy agent was gone when its process died."""
    await killed_in_a_tool(folder, HOLDS, queued="second")
    again = open_agent(folder, *[says("Answered.")] * 2)
    session = await again.load_session("s1")
    await at_rest(session)
    assert texts(session)[0] == "first"
    assert texts(session).count("second") == 1
    assert texts(session)[-1] == "Answered."
    assert session.state.queue == ()
    await again.aclose()


async def test_a_cancel_that_comes_late_does_not_stop_the_next_prompt(folder: Path) -> None:
    """A cancel meant for a turn that had just ended stopped the one after it."""
    workspace = open_agent(
        folder,
        says("one"),
        calls("Bash", command="touch began; sleep 0.3"),
        says("two"),
        mode="bypassPermissions",
    )
    session = await workspace.new_session("s1")
    turn = session.prompt("first").turn_id
    await at_rest(session)
    session.prompt("second")
    await until((folder / "began").exists)
    assert not session.cancel(turn)
    await at_rest(session)
    assert texts(session) == ["first", "one", "second", "two"]
    assert session.state.last_turn.status == "completed"
    await workspace.aclose()
