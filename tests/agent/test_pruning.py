"""What files held before is kept within a quota, and whose was let go of is told."""

import os
import time
from pathlib import Path

import pytest

from agentls.agent import workspace as workspace_module
from agentls.checkpoints import pruning
from tests.support.agents import open_agent
from tests.support.scenarios import calls, says


async def test_beyond_the_quota_the_oldest_sessions_files_are_let_go_of_and_it_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "big.txt").write_text("old\n" * 10_000)
    workspace = open_agent(folder, calls("Bash", command="echo new > big.txt"), says("Done."))
    session = await workspace.new_session("old-one", mode="bypassPermissions")
    session.prompt("Change it.")
    await session.idle()
    assert session.state.history[2].call.changes
    await workspace.aclose()
    checkpoints = folder / ".agentls/checkpoints"
    long_ago = time.time() - 2 * pruning.GRACE
    for path in checkpoints.rglob("*"):
        os.utime(path, (long_ago, long_ago))
    monkeypatch.setattr(workspace_module, "CONTENTS_QUOTA_BYTES", 1)

    again = open_agent(folder, says("Hi."))
    await again.prune_contents()

    (notice,) = [n for n in again.app.now.state.notices if "rewound" in n.message]
    assert "old-one" in notice.message
    kept = [path for path in checkpoints.rglob("*") if path.is_file() and path.stat().st_size > 99]
    assert kept == []
    await again.aclose()


async def test_within_the_quota_nothing_that_a_session_needs_goes(folder: Path) -> None:
    workspace = open_agent(folder, calls("Bash", command="echo new > a.txt"), says("Done."))
    session = await workspace.new_session("s1", mode="bypassPermissions")
    before = (folder / "a.txt").read_text()
    session.prompt("Change it.")
    await session.idle()
    await workspace.prune_contents()
    assert workspace.app.now.state.notices == ()
    await session.rewind(session.state.history[0].id)
    assert (folder / "a.txt").read_text() == before
    await workspace.aclose()
