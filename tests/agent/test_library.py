"""Fork, continue, tag, trash, export, import, search: what is done with kept sessions."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from agentls.agent.library import Library
from agentls.agent.session import Session
from agentls.agent.workspace import Workspace
from agentls.errors import (
    ImportRefused,
    SessionBusy,
    SessionExists,
    UnknownMessage,
    UnknownSession,
)
from agentls.protocol.content import Usage
from agentls.sessions.loading import events
from tests.support.agents import WAIT_SECONDS, open_agent, results, until
from tests.support.claude_code import FILES
from tests.support.repositories import contents
from tests.support.scenarios import calls, says

CLAUDE = FILES / "plain.jsonl"


async def prompt(session: Session, *texts: str) -> None:
    for text in texts:
        session.prompt(text)
        async with asyncio.timeout(WAIT_SECONDS):
            await session.idle()
        assert session.state.last_turn.status == "completed", session.state.last_turn


async def two_turns(folder: Path, *more: dict[str, Any]) -> tuple[Workspace, Session, Library]:
    workspace = open_agent(
        folder, calls("Read", file_path="a.txt"), says("one"), says("two"), *more
    )
    session = await workspace.new_session("s1")
    await prompt(session, "first words", "second words")
    return workspace, session, Library(workspace)


def texts(session: Session) -> list[str]:
    return [
        entry.content[0].text if entry.type == "user" else entry.parts[0].text
        for entry in session.state.history
        if entry.type == "user" or (entry.type == "answer" and entry.parts[0].type == "text")
    ]


async def test_a_fork_of_the_head_has_all_of_it_and_its_own_name_and_times(folder: Path) -> None:
    workspace, session, library = await two_turns(folder)
    fork = await library.fork("s1", None, "s2")
    assert fork.id == fork.state.meta.id == "s2"
    assert texts(fork) == texts(session)
    origin = fork.state.meta.forked_from
    assert (origin.session_id, origin.message_id) == ("s1", session.state.head)
    assert fork.state.meta.created_at >= session.state.meta.created_at
    kept = events(workspace.surroundings.store, "s2")
    assert {envelope.session_id for envelope in kept} == {"s2"}
    assert [envelope.seq for envelope in kept] == list(range(1, len(kept) + 1))
    assert session.state.meta.forked_from is None
    await workspace.aclose()


async def test_a_fork_has_used_nothing_yet(folder: Path) -> None:
    workspace, session, library = await two_turns(folder, says("three"))
    fork = await library.fork("s1")
    assert session.state.usage.total != Usage()
    assert (fork.state.usage.total, fork.state.usage.responses) == (Usage(), 0)
    listed = {summary.id: summary for summary in await workspace.list_sessions()}
    assert listed[fork.id].usage == Usage()
    assert listed[fork.id].forked_from == "s1"
    await prompt(fork, "third")
    assert fork.state.usage.responses == 1
    await workspace.aclose()


async def test_a_fork_from_the_middle_ends_there_and_goes_its_own_way(folder: Path) -> None:
    workspace, session, library = await two_turns(folder, says("another two"))
    before = session.state
    answer = session.state.history[3].id
    fork = await library.fork("s1", answer, "s2")
    assert texts(fork) == ["first words", "one"]
    assert fork.state.head == answer
    await prompt(fork, "other words")
    assert texts(fork) == ["first words", "one", "other words", "another two"]
    assert session.state is before
    await workspace.aclose()
    again = open_agent(folder)
    assert texts(await again.load_session("s1")) == texts(session)
    assert texts(await again.load_session("s2")) == texts(fork)
    await again.aclose()


async def test_a_fork_at_a_call_has_its_result_and_can_be_sent(folder: Path) -> None:
    workspace, session, library = await two_turns(folder, says("on"))
    fork = await library.fork("s1", session.state.history[1].id, "s2")
    assert [entry.type for entry in fork.state.history] == ["user", "answer", "callResult"]
    await prompt(fork, "go on")
    await workspace.aclose()


async def test_an_id_that_is_taken_and_a_message_that_is_not_there_are_refused(
    folder: Path,
) -> None:
    workspace, _, library = await two_turns(folder)
    with pytest.raises(SessionExists, match="s1"):
        await library.fork("s1", None, "s1")
    with pytest.raises(UnknownMessage, match="nowhere"):
        await library.fork("s1", "nowhere", "s2")
    with pytest.raises(UnknownSession, match="none"):
        await library.fork("none")
    assert not workspace.surroundings.store.has("s2")
    await workspace.aclose()


async def test_an_id_that_a_new_session_has_which_is_not_yet_on_disk_is_taken_too(
    folder: Path,
) -> None:
    workspace, _, library = await two_turns(folder, says("mine"))
    fresh = await workspace.new_session("s2")
    with pytest.raises(SessionExists, match="s2"):
        await library.fork("s1", None, "s2")
    await prompt(fresh, "hello")
    assert texts(fresh) == ["hello", "mine"]
    await workspace.aclose()


async def test_a_fork_of_a_rewound_session_has_what_is_left_of_it(folder: Path) -> None:
    workspace, session, library = await two_turns(folder)
    left = session.state.history[4].id
    await session.rewind(left, "conversation")
    fork = await library.fork("s1", None, "s2")
    assert texts(fork) == ["first words", "one"]
    assert fork.state.redo == ()
    await workspace.aclose()


async def test_a_fork_takes_files_back_even_after_its_original_is_gone(folder: Path) -> None:
    original = contents(folder)
    workspace = open_agent(
        folder, calls("Bash", command="echo x > a.txt"), says("1"), mode="bypassPermissions"
    )
    session = await workspace.new_session("s1")
    await prompt(session, "one")
    library = Library(workspace)
    fork = await library.fork("s1", None, "s2")
    for kept in (folder / ".agentls/checkpoints").rglob("*"):
        os.utime(kept, (1_700_000_000, 1_700_000_000))  # long ago: nothing is spared for its youth
    await library.trash("s1")
    await library.purge("s1")
    result = await fork.rewind(fork.state.history[0].id)
    assert [(file.path, file.conflict) for file in result.files] == [("a.txt", None)]
    assert contents(folder) == original
    await workspace.aclose()


async def test_a_tag_is_kept_listed_by_and_taken_away(folder: Path) -> None:
    workspace, session, _ = await two_turns(folder)
    session.set_tag("release")
    await session.save()
    assert [s.id for s in await workspace.list_sessions(tag="release")] == ["s1"]
    assert await workspace.list_sessions(tag="other") == ()
    session.set_tag(None)
    await session.save()
    assert await workspace.list_sessions(tag="release") == ()
    await workspace.aclose()


async def test_a_session_at_work_is_not_trashed(folder: Path) -> None:
    slow = {"text": "slowly " * 50, "chunk": 5, "delayMs": 20}
    workspace, session, library = await two_turns(folder, slow)
    turn = session.prompt("third").turn_id
    await until(lambda: session.state.turn)
    with pytest.raises(SessionBusy, match="stop its turn"):
        await library.trash("s1")
    assert workspace.is_open("s1")
    session.cancel(turn)
    await session.idle()
    await library.trash("s1")
    await workspace.aclose()


async def test_a_trashed_session_is_closed_listed_apart_restored_and_purged(folder: Path) -> None:
    workspace, session, library = await two_turns(folder)
    history = texts(session)
    await library.trash("s1")
    assert not workspace.is_open("s1")
    assert await workspace.list_sessions() == ()
    assert [s.id for s in await workspace.list_sessions(trashed=True)] == ["s1"]
    with pytest.raises(UnknownSession):
        await workspace.load_session("s1")
    with pytest.raises(UnknownSession):
        await library.trash("s1")
    await library.restore("s1")
    assert texts(await workspace.load_session("s1")) == history
    with pytest.raises(UnknownSession):
        await library.purge("s1")
    await library.trash("s1")
    await library.purge("s1")
    assert await workspace.list_sessions(trashed=True) == ()
    left = [p.name for p in (folder / ".agentls").rglob("*") if "s1" in p.name]
    assert left == []
    await workspace.aclose()


async def test_an_exported_session_is_imported_as_it_was(folder: Path, tmp_path: Path) -> None:
    workspace, session, library = await two_turns(folder, says("three"))
    text = await library.export("s1", "json")
    path = tmp_path / "exported.json"
    path.write_text(text)
    with pytest.raises(SessionExists):
        await library.import_file(path)
    await library.trash("s1")
    await library.purge("s1")
    report = await library.import_file(path)
    assert report.left_out == ()
    loaded = await workspace.load_session(report.session_id)
    assert texts(loaded) == texts(session)
    assert results(loaded) == results(session)
    await prompt(loaded, "third")
    await workspace.aclose()


async def test_markdown_holds_what_was_said_and_done(folder: Path) -> None:
    workspace, _, library = await two_turns(folder)
    text = await library.export("s1", "markdown")
    said = ("first words", "of a.txt", "\none\n", "> second words", "\ntwo")
    places = [text.index(words) for words in said]
    assert places == sorted(places)
    await workspace.aclose()


async def test_a_session_of_claude_code_is_taken_in_and_goes_on(folder: Path) -> None:
    workspace = open_agent(folder, says("on"))
    library = Library(workspace)
    report = await library.import_file(CLAUDE)
    assert report.messages > 0
    session = await workspace.load_session(report.session_id)
    assert len(session.state.history) >= report.messages
    await prompt(session, "go on")
    with pytest.raises(SessionExists):
        await library.import_file(CLAUDE)
    await workspace.aclose()


async def test_what_is_no_session_is_refused_with_the_reason(folder: Path, tmp_path: Path) -> None:
    workspace = open_agent(folder)
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"some": "thing"}))
    with pytest.raises(ImportRefused, match=r"x\.jsonl"):
        await Library(workspace).import_file(path)
    with pytest.raises(ImportRefused, match="gone"):
        await Library(workspace).import_file(tmp_path / "gone.jsonl")
    assert await workspace.list_sessions() == ()
    await workspace.aclose()


async def test_a_search_finds_what_has_just_been_said(folder: Path) -> None:
    workspace, session, library = await two_turns(folder)
    (hit,) = await library.search('"second words"')
    assert (hit.session_id, hit.kind, hit.message_id) == (
        "s1",
        "prompt",
        session.state.history[4].id,
    )
    assert "«second»" in hit.snippet or "«second words»" in hit.snippet
    assert await library.search("words", session_id="elsewhere") == ()
    assert len(await library.search("words", limit=1)) == 1
    await library.trash("s1")
    assert await library.search("words") == ()
    await workspace.aclose()


async def test_the_model_recalls_what_was_said_in_another_session(folder: Path) -> None:
    workspace, _, _ = await two_turns(
        folder,
        calls("Recall", query="second words", scope="all"),
        {"text": "I remember.", "expect": {"lastResult": "second words"}},
    )
    other = await workspace.new_session("s2")
    await prompt(other, "what did I say?")
    assert "s1" in results(other)[0]
    await workspace.aclose()


async def test_the_session_used_last_is_the_one_that_is_continued(folder: Path) -> None:
    workspace, session, library = await two_turns(folder, says("x"), says("y"))
    other = await workspace.new_session("s2")
    await prompt(other, "later")
    assert (await library.latest()).id == "s2"
    await prompt(session, "latest")
    assert (await library.latest()).id == "s1"
    await workspace.aclose()
    (folder.parent / "empty").mkdir()
    empty = open_agent(folder.parent / "empty")
    with pytest.raises(UnknownSession, match="no session to continue"):
        await Library(empty).latest()
    await empty.aclose()
