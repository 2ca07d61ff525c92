"""A real server rewinds a real session in every kind of workspace, and touches no git."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.repositories import (
    KINDS,
    Snapshot,
    contents,
    git,
    git_snapshot,
    snapshot,
)
from tests.support.scenarios import calls, says, write_scenario
from tests.support.servers import Editor, editor

COMMANDS = (
    "echo more >> b.txt; rm src/old.py; mv src/main.py src/renamed.py",
    "chmod 755 a.txt; ln -s a.txt link; mkdir -p made/deep; echo x > made/deep/x.txt",
)
SCRIPT = (
    calls("Read", file_path="a.txt"),
    calls("Edit", file_path="a.txt", old_string="beta", new_string="delta"),
    calls("Write", file_path="docs/new.md", content="# New\n"),
    says("first done"),
    calls("Bash", command=COMMANDS[0]),
    calls("Bash", command=COMMANDS[1]),
    says("second done"),
    says("another way"),
)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@asynccontextmanager
async def begun(folder: Path, *script: dict[str, Any]) -> AsyncIterator[Editor]:
    """Yield an editor whose session has had two prompts that changed files."""
    scenario = write_scenario(folder.parent / "scenario.json", *(script or SCRIPT))
    async with editor(folder, "--model", f"scripted:{scenario}") as made:
        await made.new_session(mode="bypassPermissions")
        await ask(made, "first")
        await ask(made, "second")
        yield made


async def ask(made: Editor, text: str) -> None:
    number = len(made.events("turnFinished")) + 1
    await made.prompt(text)
    finished = await made.event("turnFinished", number)
    assert finished["status"] == "completed", finished


async def state_of(made: Editor) -> dict[str, Any]:
    got = await made.ask("state/get", sessionId="s1")
    return got["snapshot"]["state"]


async def prompts_of(made: Editor) -> list[str]:
    history = (await state_of(made))["history"]
    return [entry["id"] for entry in history if entry["type"] == "user"]


async def rewind(made: Editor, message_id: str, **params: Any) -> dict[str, Any]:
    result = await made.ask("session/rewind", sessionId="s1", messageId=message_id, **params)
    troubled = [file for file in result["files"] if file["conflict"] or file["failed"]]
    assert troubled == []
    return result


def git_of(folder: Path) -> Snapshot:
    return git_snapshot(folder)


@pytest.mark.parametrize("kind", KINDS)
async def test_rewind_and_redo_leave_git_as_it_was_to_the_byte(workspace: Path, kind: str) -> None:
    KINDS[kind](workspace)
    git_before, original = git_of(workspace), contents(workspace)
    assert (git_before != {}) == (kind != "no repository")
    async with begun(workspace) as made:
        at_the_end = contents(workspace)
        first, second = await prompts_of(made)
        result = await rewind(made, second)
        assert result["prompt"] == "second"
        middle = contents(workspace)
        assert "docs/new.md" in middle
        assert middle["src/main.py"] == original["src/main.py"]
        assert "made" not in middle
        await rewind(made, first)
        assert contents(workspace) == original
        await made.ask("session/redo", sessionId="s1")
        assert contents(workspace) == middle
        await made.ask("session/redo", sessionId="s1")
        assert contents(workspace) == at_the_end
        await rewind(made, first)
        await ask(made, "another way")
        assert await made.client.shut_down() == 0
    assert contents(workspace) == original
    assert git_of(workspace) == git_before


async def test_files_that_git_ignores_and_those_it_does_not_know_stay(workspace: Path) -> None:
    KINDS["repository"](workspace)
    apart = {"debug.log", "build", "build/out.bin", "untracked.txt"}
    before = {name: entry for name, entry in snapshot(workspace).items() if name in apart}
    async with begun(workspace) as made:
        await rewind(made, (await prompts_of(made))[0])
    assert {n: entry for n, entry in snapshot(workspace).items() if n in apart} == before
    assert git(workspace, "status", "--porcelain", "--", ".", ":!.agentls").splitlines() == [
        " M b.txt",
        "M  src/old.py",
        "?? untracked.txt",
    ]


async def test_a_change_in_a_submodule_is_taken_back(workspace: Path) -> None:
    KINDS["submodule"](workspace)
    original, git_before = contents(workspace), git_of(workspace)
    script = (
        calls("Bash", command="echo 'answer = 43' > lib/lib.py; touch lib/new.py"),
        says("1"),
        says("2"),
    )
    async with begun(workspace, *script) as made:
        result = await rewind(made, (await prompts_of(made))[0])
        assert {file["path"] for file in result["files"]} == {"lib/lib.py", "lib/new.py"}
    assert contents(workspace) == original
    assert git_of(workspace) == git_before


async def test_what_a_command_did_to_git_itself_is_not_touched(workspace: Path) -> None:
    KINDS["repository"](workspace)
    commit = "git -c user.name=A -c user.email=a@localhost commit -qam second"
    script = (
        calls("Bash", command=commit),
        says("1"),
        calls("Bash", command="rm a.txt"),
        says("2"),
    )
    async with begun(workspace, *script) as made:
        after = git_of(workspace)
        await rewind(made, (await prompts_of(made))[0])
    assert git_of(workspace) == after
    assert git(workspace, "log", "--format=%s").split() == ["second", "first"]
    assert (workspace / "a.txt").read_text() == "alpha\nbeta\n"


async def test_a_rewind_is_there_after_the_server_was_killed(workspace: Path) -> None:
    KINDS["repository"](workspace)
    original = contents(workspace)
    async with begun(workspace) as made:
        at_the_end = contents(workspace)
        await rewind(made, (await prompts_of(made))[0])
        made.client.process.kill()
    assert contents(workspace) == original
    async with editor(workspace) as made:
        loaded = await made.ask("session/load", sessionId="s1")
        assert loaded["snapshot"]["state"]["history"] == []
        redone = await made.ask("session/redo", sessionId="s1")
        assert [file for file in redone["files"] if file["conflict"] or file["failed"]] == []
        assert contents(workspace) == at_the_end
        assert len((await state_of(made))["history"]) > 0


async def test_a_conflict_is_told_over_the_wire_and_can_be_forced(workspace: Path) -> None:
    KINDS["no repository"](workspace)
    async with begun(workspace) as made:
        (workspace / "b.txt").write_text("the user's own\n")
        first = (await prompts_of(made))[0]
        asked = {"sessionId": "s1", "messageId": first}
        preview = await made.ask("session/rewind", **asked, dryRun=True)
        assert not preview["applied"]
        (conflict,) = [file for file in preview["files"] if file["conflict"]]
        assert (conflict["path"], conflict["action"]) == ("b.txt", "restore")
        assert len(made.events("headMoved")) == 0
        result = await made.ask("session/rewind", **asked, force=["b.txt"])
        assert result["applied"]
        assert (workspace / "b.txt").read_text() == "gamma\n"
        moved = await made.event("headMoved")
        assert moved["reason"] == "rewind"
