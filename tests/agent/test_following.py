"""Two workspaces over one folder stand for two processes: one owns a session, one follows it."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from agentls.agent import following
from agentls.agent.library import Library
from agentls.errors import SessionInUse, SessionReadOnly
from tests.support.agents import WAIT_SECONDS, Story, open_agent, until
from tests.support.scenarios import calls, says

SLOW = {"text": "slowly " * 40, "chunk": 5, "delayMs": 10}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "POLL_SECONDS", 0.02)
    monkeypatch.setattr(following, "OWNER_SECONDS", 0.06)


async def pair(folder: Path, *script: dict):
    """Return an owner with one prompt answered, and a follower of it, with their workspaces."""
    ours = open_agent(folder, says("one"), *script, mode="bypassPermissions")
    owner = await ours.new_session("s1")
    owner.prompt("first")
    await owner.idle()
    await owner.flush()
    theirs = open_agent(folder, says("theirs"))
    follower = await theirs.load_session("s1", follow=True)
    return ours, owner, theirs, follower


async def prompt(session, text: str) -> None:
    session.prompt(text)
    async with asyncio.timeout(WAIT_SECONDS):
        await session.idle()


def same(one, other) -> bool:
    return one.state.history == other.state.history and one.now.seq == other.now.seq


async def test_a_session_in_use_is_refused_unless_it_is_to_be_followed(folder: Path) -> None:
    ours, owner, theirs, follower = await pair(folder)
    another = open_agent(folder)
    with pytest.raises(SessionInUse, match=r"s1.*process \d+"):
        await another.load_session("s1")
    assert follower.state.access.mode == "follower"
    assert follower.state.history == owner.state.history
    for workspace in (another, theirs, ours):
        await workspace.aclose()


async def test_a_follower_hears_of_every_event_the_owner_keeps(folder: Path) -> None:
    ours, owner, theirs, follower = await pair(folder, calls("Bash", command="echo hi"), says("2"))
    story = Story(follower)
    seq = follower.now.seq
    await prompt(owner, "second")
    await owner.flush()
    await until(lambda: same(owner, follower))
    assert story.lines == ["turn started", "Bash: ok", "text: 2", "turn finished"]
    kept = [m.envelope for m in story.moments if m.envelope and m.seq > seq]
    numbers = [envelope.seq for envelope in kept]
    assert numbers == sorted(set(numbers)), "each once, in order"
    await theirs.aclose()
    await ours.aclose()


async def test_nothing_can_be_changed_from_a_follower(folder: Path) -> None:
    ours, owner, theirs, follower = await pair(folder, SLOW, says("3"))
    owner.prompt("second")
    queued = owner.prompt("third").turn_id
    await owner.flush()
    await until(lambda: follower.state.queue)
    moment = follower.now
    for attempt in (
        lambda: follower.prompt("mine"),
        lambda: follower.set_mode("plan"),
        lambda: follower.rename("x"),
        lambda: follower.set_tag("x"),
        lambda: follower.set_model("offline", "session"),
        lambda: follower.remove_queued(queued),
        lambda: follower.cancel(queued),
    ):
        with pytest.raises(SessionReadOnly, match=r"s1.*fork"):
            attempt()
    assert follower.state.queue == moment.state.queue
    await owner.idle()
    await owner.flush()
    await until(lambda: same(owner, follower))
    await theirs.aclose()
    await ours.aclose()


async def test_a_follower_goes_along_with_a_rewind_and_a_redo(folder: Path) -> None:
    ours, owner, theirs, follower = await pair(folder, says("2"), says("3"))
    await prompt(owner, "second")
    second = owner.state.history[2].id
    await owner.rewind(second, "conversation")
    await until(lambda: same(owner, follower))
    assert len(follower.state.history) == 2
    assert follower.state.access.mode == "follower"
    await owner.redo()
    await until(lambda: same(owner, follower))
    await owner.rewind(second, "conversation")
    await prompt(owner, "another way")
    await owner.flush()
    await until(lambda: same(owner, follower))
    await theirs.aclose()
    await ours.aclose()


async def test_a_follower_can_fork_and_work_on_the_copy(folder: Path) -> None:
    ours, owner, theirs, follower = await pair(folder)
    fork = await Library(theirs).fork("s1", None, "s2")
    await prompt(fork, "second")
    assert fork.state.last_turn.status == "completed"
    assert len(owner.state.history) == len(follower.state.history) == 2
    await theirs.aclose()
    await ours.aclose()


async def test_a_follower_takes_over_once_the_owner_has_closed(folder: Path) -> None:
    ours, owner, theirs, follower = await pair(folder, says("2"))
    await prompt(owner, "second")
    history = owner.state.history
    assert await theirs.load_session("s1", follow=True) is follower
    await ours.aclose()
    await until(lambda: follower.is_stale)
    with pytest.raises(SessionReadOnly):
        follower.prompt("not yet loaded again")
    taken = await theirs.load_session("s1")
    assert taken is not follower
    assert taken.state.access.mode == "owner"
    assert taken.state.history == history
    await prompt(taken, "third")
    assert taken.state.last_turn.status == "completed"
    assert theirs.session("s1") is taken
    again = open_agent(folder)
    with pytest.raises(SessionInUse):
        await again.load_session("s1")
    await again.aclose()
    await theirs.aclose()


async def test_a_session_that_is_only_followed_is_not_trashed(folder: Path) -> None:
    ours, owner, theirs, _ = await pair(folder, says("2"))
    with pytest.raises((SessionInUse, SessionReadOnly)):
        await Library(theirs).trash("s1")
    await prompt(owner, "second")
    await owner.flush()
    assert owner.state.last_turn.status == "completed"
    await theirs.aclose()
    await ours.aclose()


async def test_a_follower_of_a_running_turn_sees_the_answer_grow_and_end(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentls.agent.keeping.KEEP_SECONDS", 0.05)
    ours, owner, theirs, follower = await pair(folder, SLOW)
    seen: list[str] = []

    def watch(new, old) -> None:
        if new.state.live and new.state.live.parts:
            seen.append(new.state.live.parts[0].text)

    follower.subscribe(watch)
    await prompt(owner, "second")
    await owner.flush()
    await until(lambda: same(owner, follower))
    assert seen
    assert all(later.startswith(earlier) for earlier, later in pairwise(seen))
    assert follower.state.live is None
    await theirs.aclose()
    await ours.aclose()


async def test_a_follower_leaves_the_log_as_it_is(folder: Path) -> None:
    ours, owner, theirs, follower = await pair(folder)
    log = folder / ".agentls/sessions/s1.jsonl"
    before = log.read_bytes()
    await theirs.close_session("s1")
    assert log.read_bytes() == before
    assert not theirs.is_open("s1")
    assert owner.state.access.mode == "owner"
    assert follower.state.access.mode == "follower"
    await ours.aclose()
    await theirs.aclose()
