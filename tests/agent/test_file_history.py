"""What calls do to files is kept, and a rewind takes it back."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from agentls.agent.session import Session
from agentls.agent.workspace import Workspace
from agentls.protocol.content import FileChange
from agentls.tools.disk_files import DiskFiles
from tests.support.agents import WAIT_SECONDS, PersonHost, open_agent, until
from tests.support.repositories import contents
from tests.support.scenarios import calls, calls_together, says


def bash(command: str) -> dict[str, Any]:
    return calls("Bash", command=command)


async def run(folder: Path, *script: dict[str, Any], **rest: Any) -> tuple[Workspace, Session]:
    """Run one prompt that makes these calls."""
    workspace = open_agent(folder, *script, says("done"), mode="bypassPermissions", **rest)
    session = await workspace.new_session("s1")
    await prompt(session, "one")
    return workspace, session


async def prompt(session: Session, text: str) -> None:
    session.prompt(text)
    async with asyncio.timeout(WAIT_SECONDS):
        await session.idle()
    assert session.state.last_turn.status == "completed", session.state.last_turn


def changes(session: Session) -> list[FileChange]:
    return [
        change
        for entry in session.state.history
        if entry.type == "callResult"
        for change in entry.call.changes
    ]


def first(session: Session) -> str:
    return session.state.history[0].id


@pytest.mark.parametrize(
    "command",
    [
        "echo new > new.txt",
        "echo more >> a.txt",
        "rm a.txt",
        "mv a.txt c.txt",
        "mv a.txt b.txt",
        "chmod 755 a.txt",
        "chmod 755 a.txt; echo more >> a.txt",
        "ln -s a.txt link",
        "ln -sf b.txt here; rm a.txt; ln -s b.txt a.txt",
        "mkdir -p deep/er; echo x > deep/er/x.txt",
        "rm a.txt; mkdir a.txt; echo x > a.txt/x",
        "rm -r src",
        "mv src lib",
        "printf '\\000\\377' > a.txt",
        ": > a.txt",
        "mkdir 'a folder'; echo x > 'a folder/ü 日本.txt'",
        "printf x > $'not-\\377-utf8'",
    ],
)
async def test_what_a_command_did_is_taken_back_and_done_again(folder: Path, command: str) -> None:
    (folder / "src").mkdir()
    (folder / "src/main.py").write_text("main\n")
    (folder / "here").symlink_to("a.txt")
    original = contents(folder)
    workspace, session = await run(folder, bash(command))
    after = contents(folder)
    assert after != original
    result = await session.rewind(first(session))
    assert [file for file in result.files if file.conflict or file.failed] == []
    assert contents(folder) == original
    await session.redo()
    assert contents(folder) == after
    await workspace.aclose()


async def test_a_folder_that_was_empty_before_a_write_is_still_there_after_the_rewind(
    folder: Path,
) -> None:
    (folder / "logs").mkdir()
    original = contents(folder)
    workspace, session = await run(folder, calls("Write", file_path="logs/x.txt", content="x\n"))
    await session.rewind(first(session))
    assert contents(folder) == original
    await workspace.aclose()


async def test_a_folder_that_a_write_made_is_gone_after_the_rewind(folder: Path) -> None:
    original = contents(folder)
    workspace, session = await run(folder, calls("Write", file_path="x/y/z.txt", content="x\n"))
    assert changes(session)[0].made_folders == 2
    await session.rewind(first(session))
    assert contents(folder) == original
    await workspace.aclose()


async def test_a_change_by_somebody_else_is_a_conflict_left_alone_unless_forced(
    folder: Path,
) -> None:
    workspace, session = await run(folder, bash("echo x > a.txt; echo x > b.txt; echo x > c.txt"))
    (folder / "a.txt").write_text("the user's own\n")
    (folder / "c.txt").unlink()
    result = await session.rewind(first(session))
    told = {file.path: (file.action, file.conflict) for file in result.files}
    assert told == {
        "a.txt": ("restore", "was changed by something else since"),
        "b.txt": ("restore", None),
    }
    assert (folder / "a.txt").read_text() == "the user's own\n"
    assert (folder / "b.txt").read_text() == "gamma\n"
    await session.redo()
    assert (folder / "b.txt").read_text() == "x\n"
    result = await session.rewind(first(session), force=frozenset(["a.txt"]))
    assert (folder / "a.txt").read_text() == "alpha\nbeta\n"
    await session.redo()
    assert (folder / "a.txt").read_text() == "the user's own\n", "what was replaced was kept"
    await workspace.aclose()


async def test_what_a_cancelled_command_did_is_taken_back_too(folder: Path) -> None:
    workspace = open_agent(
        folder, bash("echo x > a.txt; rm b.txt; touch on; sleep 60"), mode="bypassPermissions"
    )
    original = contents(folder)
    session = await workspace.new_session("s1")
    turn = session.prompt("one").turn_id
    await until(lambda: (folder / "on").exists())
    session.cancel(turn)
    await session.idle()
    assert {change.path for change in changes(session)} == {"a.txt", "b.txt", "on"}
    await session.rewind(first(session))
    assert contents(folder) == original
    await workspace.aclose()


async def test_what_a_command_did_that_the_servers_end_stopped_is_taken_back(folder: Path) -> None:
    original = contents(folder)
    workspace = open_agent(folder, bash("rm b.txt; touch on; sleep 60"), mode="bypassPermissions")
    session = await workspace.new_session("s1")
    session.prompt("one")
    await until(lambda: (folder / "on").exists())
    await workspace.aclose()
    again = open_agent(folder)
    loaded = await again.load_session("s1")
    await loaded.rewind(first(loaded))
    assert contents(folder) == original
    await again.aclose()


async def test_what_a_command_did_that_took_too_long_is_taken_back(folder: Path) -> None:
    original = contents(folder)
    workspace, session = await run(folder, calls("Bash", command="rm b.txt; sleep 60", timeout=300))
    await session.rewind(first(session))
    assert contents(folder) == original
    await workspace.aclose()


class SlowFiles(DiskFiles):
    """Files that take a moment, after the disk has them, to say so."""

    def __init__(self) -> None:
        super().__init__()
        self.written = asyncio.Event()

    async def write(self, path: Path, data: bytes, *, expected_sha256: str | None) -> Any:
        content = await super().write(path, data, expected_sha256=expected_sha256)
        self.written.set()
        await asyncio.sleep(0.05)
        return content


async def test_a_write_that_was_cancelled_after_it_was_done_is_taken_back(folder: Path) -> None:
    original = contents(folder)
    host = PersonHost()
    host._files = SlowFiles()
    workspace = open_agent(
        folder,
        calls("Write", file_path="new.txt", content="x\n"),
        mode="bypassPermissions",
        host=host,
    )
    session = await workspace.new_session("s1")
    turn = session.prompt("one").turn_id
    async with asyncio.timeout(WAIT_SECONDS):
        await host._files.written.wait()
    session.cancel(turn)
    await session.idle()
    assert (folder / "new.txt").exists()
    await session.rewind(first(session))
    assert contents(folder) == original
    await workspace.aclose()


async def test_an_ignored_file_that_the_session_has_read_is_taken_back(folder: Path) -> None:
    (folder / ".gitignore").write_text("*.env\n")
    (folder / "local.env").write_text("KEY=1\n")
    original = contents(folder)
    workspace, session = await run(
        folder, calls("Read", file_path="local.env"), bash("echo KEY=2 > local.env")
    )
    assert [change.path for change in changes(session)] == ["local.env"]
    await session.rewind(first(session))
    assert contents(folder) == original
    await workspace.aclose()


async def test_an_ignored_file_that_was_edited_before_a_resume_is_known_after_it(
    folder: Path,
) -> None:
    (folder / ".gitignore").write_text("*.env\n")
    (folder / "local.env").write_text("KEY=1\n")
    original = contents(folder)
    workspace, _ = await run(
        folder,
        calls("Read", file_path="local.env"),
        calls("Edit", file_path="local.env", old_string="1", new_string="2"),
    )
    await workspace.aclose()
    again = open_agent(folder, bash("echo KEY=3 > local.env"), says("done"))
    session = await again.load_session("s1")
    session.set_mode("bypassPermissions")
    await prompt(session, "two")
    assert [change.path for change in changes(session)] == ["local.env", "local.env"]
    result = await session.rewind(first(session))
    assert [file.conflict for file in result.files] == [None]
    assert contents(folder) == original
    await again.aclose()


async def test_a_write_and_an_edit_say_what_they_need_to_be_undone(folder: Path) -> None:
    os.chmod(folder / "a.txt", 0o755)  # noqa: PTH101
    workspace, session = await run(
        folder,
        calls("Read", file_path="a.txt"),
        calls_together(
            calls("Edit", file_path="a.txt", old_string="beta", new_string="delta"),
            calls("Write", file_path="new.txt", content="x\n"),
        ),
    )
    edit, write = changes(session)
    assert (edit.kind, edit.before_mode, edit.after_mode) == ("modified", 0o100755, 0o100755)
    assert edit.restorable
    assert (write.kind, write.before_sha256, write.before_mode) == ("created", None, None)
    await workspace.aclose()


async def test_an_edit_through_a_link_is_recorded_at_the_file_itself(folder: Path) -> None:
    (folder / "link.txt").symlink_to("a.txt")
    original = contents(folder)
    workspace, session = await run(
        folder,
        calls("Read", file_path="link.txt"),
        calls("Edit", file_path="link.txt", old_string="beta", new_string="delta"),
        bash("echo more >> a.txt"),
    )
    assert [change.path for change in changes(session)] == ["a.txt", "a.txt"]
    await session.rewind(first(session))
    assert contents(folder) == original
    await workspace.aclose()


async def test_without_kept_sessions_calls_run_and_nothing_is_kept(folder: Path) -> None:
    workspace, session = await run(folder, bash("echo x > a.txt"), keep_sessions=False)
    assert changes(session) == []
    assert not (folder / ".agentls").exists()
    await workspace.aclose()


async def test_what_two_sessions_do_is_told_apart(folder: Path) -> None:
    workspace = open_agent(
        folder,
        bash("echo one > one.txt"),
        says("1"),
        bash("echo two > two.txt"),
        says("2"),
        mode="bypassPermissions",
    )
    one, two = await workspace.new_session("s1"), await workspace.new_session("s2")
    await prompt(one, "one")
    await prompt(two, "two")
    await one.rewind(first(one))
    assert not (folder / "one.txt").exists()
    assert (folder / "two.txt").read_text() == "two\n"
    await workspace.aclose()
