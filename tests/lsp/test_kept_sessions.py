"""What is asked about kept sessions, as an editor asks it of a real server."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.claude_code import FILES
from tests.support.raw_client import RpcError
from tests.support.scenarios import calls, says, write_scenario
from tests.support.servers import Editor, editor

CLAUDE = FILES / "plain.jsonl"
SLOW = {"text": "slowly " * 60, "chunk": 5, "delayMs": 20}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "a.txt").write_text("alpha\nbeta\n")
    return workspace


@asynccontextmanager
async def begun(folder: Path, *script: dict[str, Any]) -> AsyncIterator[Editor]:
    """Yield an editor with a session of two prompts; `script` is what comes after."""
    answers = (calls("Read", file_path="a.txt"), says("one"), says("two"), *script)
    scenario = write_scenario(folder.parent / "scenario.json", *answers)
    async with editor(folder, "--model", f"scripted:{scenario}") as made:
        await made.new_session()
        await ask(made, "first words")
        await ask(made, "second words")
        yield made


async def ask(made: Editor, text: str, session_id: str = "s1") -> None:
    number = len(made.events("turnFinished")) + 1
    await made.prompt(text, session_id)
    finished = await made.event("turnFinished", number)
    assert finished["status"] == "completed", finished


async def history(made: Editor, session_id: str = "s1") -> list[dict[str, Any]]:
    got = await made.ask("state/get", sessionId=session_id)
    return got["snapshot"]["state"]["history"]


def said(entries: list[dict[str, Any]]) -> list[str]:
    return [
        entry["content"][0]["text"] if entry["type"] == "user" else entry["parts"][0]["text"]
        for entry in entries
        if entry["type"] == "user"
        or (entry["type"] == "answer" and entry["parts"][0]["type"] == "text")
    ]


async def listed(made: Editor, **params: Any) -> list[str]:
    return [s["id"] for s in (await made.ask("session/list", **params))["sessions"]]


async def refused(made: Editor, method: str, **params: Any) -> RpcError:
    with pytest.raises(RpcError) as caught:
        await made.ask(method, **params)
    return caught.value


async def test_a_fork_is_joined_at_once_and_works_on_by_itself(folder: Path) -> None:
    async with begun(folder, says("three")) as made:
        forked = await made.ask("session/fork", sessionId="s1", newSessionId="s2")
        assert forked["sessionId"] == "s2"
        state = forked["snapshot"]["state"]
        assert state["meta"]["forkedFrom"]["sessionId"] == "s1"
        assert state["usage"]["responses"] == 0
        await ask(made, "third words", "s2")
        assert said(await history(made, "s2"))[-2:] == ["third words", "three"]
        assert said(await history(made)) == ["first words", "one", "second words", "two"]
        told = made.client.notifications("agent/session/event")
        assert {params["sessionId"] for params in told} == {"s1", "s2"}


async def test_a_fork_from_a_message_in_the_middle_ends_with_it(folder: Path) -> None:
    async with begun(folder) as made:
        middle = (await history(made))[3]["id"]
        forked = await made.ask("session/fork", sessionId="s1", messageId=middle)
        assert said(forked["snapshot"]["state"]["history"]) == ["first words", "one"]
        assert forked["sessionId"] not in ("s1", "")


async def test_a_fork_that_cannot_be_says_why(folder: Path) -> None:
    async with begun(folder) as made:
        taken = await refused(made, "session/fork", sessionId="s1", newSessionId="s1")
        assert "'s1' already" in taken.message
        unknown = await refused(made, "session/fork", sessionId="s1", messageId="nowhere")
        assert "nowhere" in unknown.message
        assert "none" in (await refused(made, "session/fork", sessionId="none")).message
        await refused(made, "session/fork", sessionId="s1", newSessionId="../x")
        assert await listed(made) == ["s1"]


async def test_the_last_session_is_continued(folder: Path) -> None:
    async with begun(folder, says("x")) as made:
        await made.new_session("s2")
        await ask(made, "later", "s2")
        assert (await made.ask("session/continue"))["sessionId"] == "s2"
        await made.client.shut_down()
    async with editor(folder) as made:
        result = await made.ask("session/continue")
        assert result["sessionId"] == "s2"
        assert said(result["snapshot"]["state"]["history"]) == ["later", "x"]


async def test_where_there_is_nothing_to_continue_that_is_said(folder: Path) -> None:
    async with editor(folder) as made:
        assert "no session to continue" in (await refused(made, "session/continue")).message


async def test_a_tag_is_told_listed_by_and_taken_away(folder: Path) -> None:
    async with begun(folder) as made:
        await made.ask("session/tag", sessionId="s1", tag="release")
        assert (await made.event("tagChanged"))["tag"] == "release"
        assert await listed(made, tag="release") == ["s1"]
        assert await listed(made, tag="other") == []
        await made.ask("session/tag", sessionId="s1", tag=None)
        assert await listed(made, tag="release") == []
        await refused(made, "session/tag", sessionId="s1", tag="x" * 61)


async def test_a_deleted_session_is_gone_restored_and_purged(folder: Path) -> None:
    async with begun(folder) as made:
        await made.ask("session/delete", sessionId="s1")
        assert await listed(made) == []
        assert await listed(made, trashed=True) == ["s1"]
        assert (await made.ask("app/get"))["state"]["sessions"] == []
        assert "s1" in (await refused(made, "session/load", sessionId="s1")).message
        assert "s1" in (await refused(made, "session/delete", sessionId="s1")).message
        await made.ask("session/restore", sessionId="s1")
        loaded = await made.ask("session/load", sessionId="s1")
        assert len(said(loaded["snapshot"]["state"]["history"])) == 4
        await refused(made, "session/purge", sessionId="s1")
        await made.ask("session/delete", sessionId="s1")
        await made.ask("session/purge", sessionId="s1")
        assert await listed(made, trashed=True) == []
        await refused(made, "session/restore", sessionId="s1")


async def test_a_session_at_work_is_not_deleted(folder: Path) -> None:
    async with begun(folder, SLOW) as made:
        turn = await made.prompt("third words")
        await made.event("turnStarted", 3)
        assert "at work" in (await refused(made, "session/delete", sessionId="s1")).message
        await made.ask("turn/cancel", sessionId="s1", turnId=turn)
        await made.event("turnFinished", 3)
        await made.ask("session/delete", sessionId="s1")


async def test_a_session_that_nothing_was_said_in_can_be_deleted(folder: Path) -> None:
    async with editor(folder) as made:
        await made.new_session("empty")
        await made.ask("session/delete", sessionId="empty")
        assert (await made.ask("app/get"))["state"]["sessions"] == []
        assert await listed(made) == []


async def test_an_exported_session_is_imported(folder: Path, tmp_path: Path) -> None:
    async with begun(folder, says("three")) as made:
        text = (await made.ask("session/export", sessionId="s1", format="json"))["text"]
        path = tmp_path / "exported.json"
        path.write_text(text)
        before = said(await history(made))
        await refused(made, "session/import", path=str(path))
        await made.ask("session/delete", sessionId="s1")
        await made.ask("session/purge", sessionId="s1")
        report = await made.ask("session/import", path=str(path))
        assert report["leftOut"] == []
        await made.ask("session/load", sessionId=report["sessionId"])
        assert said(await history(made, report["sessionId"])) == before
        await ask(made, "third words", report["sessionId"])


async def test_markdown_is_what_an_export_gives_people(folder: Path) -> None:
    async with begun(folder) as made:
        text = (await made.ask("session/export", sessionId="s1"))["text"]
        assert text.index("first words") < text.index("one") < text.index("second words")
        assert "a.txt" in text
        await refused(made, "session/export", sessionId="s1", format="html")


async def test_a_session_of_claude_code_is_imported_and_reported(folder: Path) -> None:
    async with begun(folder) as made:
        report = await made.ask("session/import", path=str(CLAUDE))
        assert report["messages"] > 0
        loaded = await made.ask("session/load", sessionId=report["sessionId"])
        assert loaded["snapshot"]["state"]["history"]
        assert report["sessionId"] in await listed(made)
        assert "already" in (await refused(made, "session/import", path=str(CLAUDE))).message


async def test_an_import_that_cannot_be_says_why(folder: Path, tmp_path: Path) -> None:
    async with begun(folder) as made:
        relative = await refused(made, "session/import", path="x.jsonl")
        assert "not absolute" in relative.message
        missing = await refused(made, "session/import", path=str(tmp_path / "gone.jsonl"))
        assert "gone.jsonl" in missing.message
        other = tmp_path / "other.json"
        other.write_text(json.dumps({"some": "thing"}))
        assert "other.json" in (await refused(made, "session/import", path=str(other))).message


async def test_a_search_finds_what_was_said_just_now(folder: Path) -> None:
    async with begun(folder) as made:
        hits = (await made.ask("session/search", query="second"))["hits"]
        (hit,) = hits
        assert (hit["sessionId"], hit["kind"]) == ("s1", "prompt")
        assert hit["messageId"] == (await history(made))[4]["id"]
        assert "«second»" in hit["snippet"]
        assert (await made.ask("session/search", query="words", sessionId="s9"))["hits"] == []
        assert len((await made.ask("session/search", query="words", limit=1))["hits"]) == 1
        await refused(made, "session/search", query="words", limit=0)


async def test_the_model_recalls_what_was_said_earlier(folder: Path) -> None:
    recall = calls("Recall", query="first words")
    told = {"text": "I remember.", "expect": {"lastResult": "first words"}}
    async with begun(folder, recall, told) as made:
        await ask(made, "what was it again?")


async def test_a_session_of_another_server_is_followed(folder: Path) -> None:
    async with begun(folder, says("three"), says("four")) as owner, editor(folder) as other:
        in_use = await refused(other, "session/load", sessionId="s1")
        assert f"{owner.client.pid}" in in_use.message
        loaded = await other.ask("session/load", sessionId="s1", ifInUse="follow")
        assert loaded["snapshot"]["state"]["access"]["mode"] == "follower"
        await ask(owner, "third words")
        await other.event("turnFinished")
        assert said(await history(other)) == said(await history(owner))
        no = await refused(other, "session/prompt", sessionId="s1", text="mine")
        assert "only followed" in no.message
        assert (await owner.client.shut_down()) == 0
        await other.client.wait_until(
            lambda: other.slices().get("access", {"owner": 1})["owner"] is None, "no owner"
        )
        taken = await other.ask("session/load", sessionId="s1")
        assert taken["snapshot"]["state"]["access"]["mode"] == "owner"
        await other.ask("session/rename", sessionId="s1", title="Mine now")
        assert (await other.event("titleChanged"))["title"] == "Mine now"


async def test_a_rewind_and_its_redo_are_told_to_who_draws_the_conversation(folder: Path) -> None:
    async with begun(folder, says("other")) as made:
        second = (await history(made))[4]["id"]
        asked = {"sessionId": "s1", "messageId": second, "scope": "conversation"}
        result = await made.ask("session/rewind", **asked)
        assert (result["prompt"], result["messages"]) == ("second words", 2)
        moved = await made.event("headMoved")
        assert (moved["head"], moved["reason"]) == (result["head"], "rewind")
        assert (
            "none"
            in (await refused(made, "session/rewind", sessionId="none", messageId="x")).message
        )
        await refused(made, "session/rewind", **(asked | {"messageId": second}))
        await made.ask("session/redo", sessionId="s1")
        assert len(said(await history(made))) == 4
        assert "no rewind" in (await refused(made, "session/redo", sessionId="s1")).message
