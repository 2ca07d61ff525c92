from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentls.errors import StorageError
from agentls.tools.memory import Memory, Passage, Recollection
from agentls.tools.recall import MOST_CHARACTERS, Recall
from agentls.tools.registry import parse_input
from agentls.tools.tool import ToolContext, ToolResult
from tests.support.workbench import Workbench, told

tool = Recall()
AT = "2026-11-30T12:00:00.000Z"


def passage(text: str, message_id: str | None = "m1", session_id: str = "s1") -> Passage:
    return Passage(session_id, message_id, AT, "user", text)


class Kept:
    """A memory that finds each passage that holds the query, and remembers what it was asked."""

    def __init__(self, *passages: Passage, note: str | None = None) -> None:
        self.asked: list[dict[str, Any]] = []
        self._passages = passages
        self._note = note

    async def search(
        self, query: str, *, limit: int, length: int, session_id: str | None
    ) -> Recollection:
        self.asked.append({"limit": limit, "length": length, "session_id": session_id})
        matching = [
            replace(kept, text=kept.text[:length])
            for kept in self._passages
            if query in kept.text and session_id in (None, kept.session_id)
        ]
        return Recollection(tuple(matching[:limit]), self._note)

    async def message(self, message_id: str, *, session_id: str | None) -> Recollection:
        self.asked.append({"message_id": message_id, "session_id": session_id})
        return Recollection(
            tuple(
                kept
                for kept in self._passages
                if kept.message_id == message_id and session_id in (None, kept.session_id)
            ),
            self._note,
        )


class Unreachable:
    async def search(self, *_: Any, **__: Any) -> Recollection:
        raise StorageError("the disk is gone")

    message = search


class Remembering(Workbench):
    """A workbench whose calls can look into a memory."""

    memory: Memory | None = None

    def context(self, progress: Any = None) -> ToolContext:
        return replace(super().context(progress), memory=self.memory)


@pytest.fixture
def bench(tmp_path: Path) -> Remembering:
    return Remembering(tmp_path)


async def recall(bench: Remembering, memory: Memory | None, **raw: Any) -> ToolResult:
    bench.memory = memory
    return await bench.run(tool, **raw)


async def test_passages_come_with_time_role_and_message(bench: Remembering) -> None:
    memory = Kept(passage("the red roof"), passage("a red door", "m7"), passage("blue"))
    result = await recall(bench, memory, query="red")
    assert told(result) == (
        "2 passages for “red” in this session:\n\n"
        f"--- {AT}, user, message m1\nthe red roof\n\n"
        f"--- {AT}, user, message m7\na red door"
    )
    assert result.summary == "Recalled 2 passages for “red”"
    assert not result.is_error
    assert memory.asked[0]["session_id"] == "s1"
    assert memory.asked[0]["limit"] == 10


async def test_other_sessions_are_looked_into_on_request_and_named(bench: Remembering) -> None:
    memory = Kept(passage("red", None, "s2"))
    here = await recall(bench, memory, query="red")
    everywhere = await recall(bench, memory, query="red", scope="all")
    assert 'or scope="all"' in told(here)
    assert here.summary == "Recalled nothing for “red”"
    assert (
        told(everywhere)
        == f"1 passage for “red” in all sessions:\n\n--- {AT}, user, session s2\nred"
    )


async def test_what_comes_is_bounded_whatever_is_asked_for(bench: Remembering) -> None:
    memory = Kept(*(passage("red " * 5_000, f"m{number}") for number in range(200)))
    for limit in (1, 10, 50, 10_000):
        result = await recall(bench, memory, query="red", limit=limit)
        assert len(told(result)) <= MOST_CHARACTERS + 500
        assert f"the best {min(limit, 50)} are shown" in told(result)


async def test_message_is_shown_whole_with_its_calls(bench: Remembering) -> None:
    call = Passage("s1", "m1", AT, "Bash call", "pytest -q")
    result = await recall(bench, Kept(passage("I run it"), call), message_id="m1")
    assert told(result) == (
        f"--- {AT}, user, message m1\nI run it\n\n--- {AT}, Bash call, message m1\npytest -q"
    )
    assert result.summary == "Recalled message m1"


async def test_long_message_comes_in_pages_that_join_to_the_whole(bench: Remembering) -> None:
    memory = Kept(passage("".join(f"{number:05} " for number in range(4_000))))
    text, offset = "", 0
    for _ in range(10):
        page = told(await recall(bench, memory, message_id="m1", offset=offset))
        body, _, note = page.rpartition("\n\n[PARTIAL view: characters ")
        text += body
        if "Read on with offset=" not in note:
            break
        offset = int(note.partition("offset=")[2].rstrip(".]"))
    assert len(body) <= MOST_CHARACTERS
    assert text.count("\n") == 1
    assert text.endswith("03999 ")
    assert len(text.split()) == 4_000 + 5
    short = await recall(bench, memory, message_id="m1", offset=10, limit=20)
    assert "[PARTIAL view: characters 10 to 30 of 24,0" in told(short)
    beyond = await recall(bench, memory, message_id="m1", offset=99_999)
    assert beyond.is_error
    assert "there is nothing at offset 99,999" in told(beyond)


async def test_message_of_another_session_is_found_after_ones_own(bench: Remembering) -> None:
    memory = Kept(passage("other", "m1", "s2"), passage("own", "m1"), passage("far", "m9", "s2"))
    assert told(await recall(bench, memory, message_id="m1")).endswith("own")
    far = told(await recall(bench, memory, message_id="m9"))
    assert far == f"--- {AT}, user, message m9, session s2\nfar"
    missing = await recall(bench, memory, message_id="m0")
    assert missing.is_error
    assert "There is no message 'm0'" in told(missing)


async def test_notes_of_the_memory_reach_the_model(bench: Remembering) -> None:
    memory = Kept(passage("red"), note="the latest may be missing")
    for raw in ({"query": "red"}, {"query": "blue"}, {"message_id": "m1"}):
        assert told(await recall(bench, memory, **raw)).endswith("\n\n[the latest may be missing]")


async def test_without_a_memory_it_says_that_nothing_is_kept(bench: Remembering) -> None:
    result = await recall(bench, None, query="red")
    assert result.is_error
    assert told(result).startswith("Nothing is kept of conversations here")


async def test_failing_memory_is_a_result_the_model_reads(bench: Remembering) -> None:
    for raw in ({"query": "red"}, {"message_id": "m1"}):
        result = await recall(bench, Unreachable(), **raw)
        assert result.is_error
        assert told(result) == "Nothing could be recalled: the disk is gone"


async def test_query_and_message_are_alternatives(bench: Remembering) -> None:
    for raw in ({}, {"query": "red", "message_id": "m1"}):
        result = await recall(bench, Kept(), **raw)
        assert result.is_error
        assert told(result).startswith("Give query to search, or message_id")


@pytest.mark.parametrize(
    "raw",
    [{"query": ""}, {"query": "x", "scope": "world"}, {"query": "x", "limit": 0}, {"offset": -1}],
)
def test_wrong_arguments_are_told(raw: dict[str, Any]) -> None:
    assert isinstance(parse_input(tool, raw), ToolResult)


def test_call_is_announced_in_one_line() -> None:
    assert tool.invocation(tool.input_type(query="red\n roof")) == "Recalling “red roof”"
    assert tool.wish(tool.input_type(message_id="m1")) == "Recall message m1"
    assert len(tool.wish(tool.input_type(query="long " * 300))) < 120
    assert tool.read_only
