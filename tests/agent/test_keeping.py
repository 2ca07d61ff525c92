import asyncio
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import orjson
import pytest

from agentls.agent import keeping
from agentls.agent.keeping import AnswerKeeper
from agentls.protocol.content import LivePart
from agentls.protocol.events.conversation import (
    AnswerProgressed,
    AnswerStarted,
    PartDelta,
    PartStarted,
)
from agentls.sessions.loading import events
from tests.support.agents import open_agent, until
from tests.support.scenarios import calls, says

LONG = "It is a long story, and nobody knows where it ends. " * 12
SLOW = {"text": LONG, "chunk": 4, "delayMs": 12}


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """What streams is kept every few milliseconds, not every second."""
    monkeypatch.setattr(keeping, "KEEP_SECONDS", 0.03)


class Kept:
    """A keeper, and what it passed on."""

    def __init__(self) -> None:
        self.told: list[object] = []
        self.keeper = AnswerKeeper("m1", "a-model", "m0", self.told.append)
        self.keeper(AnswerStarted(message_id="m1", model="a-model"))

    def start(self, part_id: str, kind: str = "text", name: str | None = None) -> None:
        part = LivePart.model_validate({"type": kind, "id": part_id, "name": name})
        self.keeper(PartStarted(message_id="m1", part=part))

    def add(self, part_id: str, offset: int, text: str) -> None:
        self.keeper(PartDelta(part_id=part_id, offset=offset, text=text))

    @property
    def progress(self) -> list[AnswerProgressed]:
        return [event for event in self.told if isinstance(event, AnswerProgressed)]


async def test_what_came_within_the_wait_is_kept_in_one_event(quickly: None) -> None:
    kept = Kept()
    kept.start("p1")
    for offset, word in ((0, "one "), (4, "two "), (8, "three")):
        kept.add("p1", offset, word)
    assert kept.progress == [], "nothing is kept before the wait is over"
    await until(lambda: kept.progress)
    (only,) = kept.progress
    assert (only.parent, only.message_id, only.model) == ("m0", "m1", "a-model")
    assert [(p.part_id, p.offset, p.text) for p in only.parts] == [("p1", 0, "one two three")]


async def test_an_increment_begins_where_the_last_one_ended(quickly: None) -> None:
    kept = Kept()
    kept.start("p1")
    kept.add("p1", 0, "é𝄞")
    await until(lambda: len(kept.progress) == 1)
    kept.add("p1", 2, "x")
    await until(lambda: len(kept.progress) == 2)
    assert [(p.offset, p.text) for event in kept.progress for p in event.parts] == [
        (0, "é𝄞"),
        (2, "x"),
    ]


async def test_the_parts_of_one_answer_are_kept_side_by_side(quickly: None) -> None:
    kept = Kept()
    kept.start("p1", "thinking")
    kept.add("p1", 0, "hm")
    kept.start("p2")
    kept.add("p2", 0, "So")
    await until(lambda: kept.progress)
    found = [(p.part_id, p.type, p.text) for p in kept.progress[0].parts]
    assert found == [("p1", "thinking", "hm"), ("p2", "text", "So")]


async def test_of_a_tool_call_nothing_is_kept(quickly: None) -> None:
    kept = Kept()
    kept.start("c1", "toolCall", "Read")
    kept.add("c1", 0, '{"file_path":')
    await asyncio.sleep(0.1)
    assert kept.progress == []
    kept.start("p1")
    kept.add("p1", 0, "text")
    await until(lambda: kept.progress)
    assert [part.part_id for part in kept.progress[0].parts] == ["p1"]


async def test_a_stopped_keeper_keeps_nothing_more(quickly: None) -> None:
    kept = Kept()
    kept.start("p1")
    kept.add("p1", 0, "text")
    kept.keeper.stop()
    await asyncio.sleep(0.1)
    assert kept.progress == []


async def test_what_was_kept_of_a_stream_adds_up_to_it_and_ends_with_the_answer(
    folder: Path, quickly: None
) -> None:
    workspace = open_agent(folder, SLOW | {"thinking": "Let me see. " * 20})
    session = await workspace.new_session("s1")
    session.prompt("one")
    await session.idle()
    await session.flush()
    kept = [envelope.event for envelope in events(workspace.surroundings.store, "s1")]
    names = [event.type for event in kept]
    assert names.count("answerProgressed") > 3
    assert "answerProgressed" not in names[names.index("answerFinished") :]
    streamed: dict[str, str] = {}
    for event in kept:
        if isinstance(event, AnswerProgressed):
            for part in event.parts:
                assert part.offset == len(streamed.get(part.part_id, ""))
                streamed[part.part_id] = streamed.get(part.part_id, "") + part.text
    parts = {part.id: part.text for part in session.state.history[-1].parts}
    assert streamed.keys() == parts.keys()
    assert all(parts[name].startswith(text) for name, text in streamed.items())
    await workspace.aclose()


async def test_a_streaming_answer_is_kept_no_more_often_than_promised(folder: Path) -> None:
    workspace = open_agent(folder, {"text": "slowly " * 90, "chunk": 4, "delayMs": 10})
    session = await workspace.new_session("s1")
    session.prompt("one")
    await session.idle()
    await session.flush()
    kept = events(workspace.surroundings.store, "s1")
    times = [datetime.fromisoformat(e.at) for e in kept if e.event.type == "answerProgressed"]
    assert times
    assert 0.5 < keeping.KEEP_SECONDS < 1
    for earlier, later in pairwise(times):
        assert (later - earlier).total_seconds() > keeping.KEEP_SECONDS - 0.01
    await workspace.aclose()


async def cut_in_the_stream(folder: Path, answer: dict, enough: int) -> None:
    """Leave the log as a process leaves it that ends while `answer` streams."""
    workspace = open_agent(folder, answer)
    session = await workspace.new_session("s1")
    session.prompt("one")
    await until(lambda: session.state.live and session.state.live.kept >= enough)
    await session.flush()
    log = folder / ".agentls/sessions/s1.jsonl"
    left = log.read_bytes()
    await workspace.aclose()
    log.write_bytes(left)


async def test_an_answer_that_was_cut_by_a_crash_comes_back_marked(
    folder: Path, quickly: None
) -> None:
    await cut_in_the_stream(folder, SLOW, 60)
    again = open_agent(folder, {"text": "Go on.", "expect": {"user": "two"}})
    session = await again.load_session("s1")
    await session.idle()
    user, answer = session.state.history
    assert answer.stop_reason == "interrupted"
    assert len(answer.parts[0].text) >= 60
    assert LONG.startswith(answer.parts[0].text)
    assert session.state.live is None
    assert session.state.last_turn.status == "interrupted"
    session.prompt("two")
    await session.idle()
    assert session.state.last_turn.status == "completed", session.state.last_turn
    assert session.state.history[-1].parts[0].text == "Go on."
    await again.aclose()
    assert user.id == session.state.history[0].id


async def test_a_cut_answer_is_cut_once_however_often_it_is_loaded(
    folder: Path, quickly: None
) -> None:
    await cut_in_the_stream(folder, SLOW, 20)
    histories = []
    for _ in range(2):
        again = open_agent(folder)
        session = await again.load_session("s1")
        histories.append(orjson.dumps([e.model_dump() for e in session.state.history]))
        await again.aclose()
    assert histories[0] == histories[1]


async def test_of_a_crash_while_thinking_the_thoughts_are_kept_and_can_be_sent(
    folder: Path, quickly: None
) -> None:
    await cut_in_the_stream(folder, {"thinking": LONG, "chunk": 4, "delayMs": 12}, 30)
    again = open_agent(folder, says("Go on."))
    session = await again.load_session("s1")
    (part,) = session.state.history[-1].parts
    assert part.type == "thinking"
    assert LONG.startswith(part.text)
    assert part.signature == ""
    session.prompt("two")
    await session.idle()
    assert session.state.last_turn.status == "completed", session.state.last_turn
    await again.aclose()


async def test_a_crash_after_thinking_and_text_keeps_both_parts(
    folder: Path, quickly: None
) -> None:
    answer = SLOW | {"thinking": "Let me see. " * 3}
    await cut_in_the_stream(folder, answer, 80)
    again = open_agent(folder)
    session = await again.load_session("s1")
    assert [part.type for part in session.state.history[-1].parts] == ["thinking", "text"]
    await again.aclose()


async def test_a_crash_before_anything_was_kept_leaves_no_empty_answer(folder: Path) -> None:
    await cut_in_the_stream(folder, SLOW, 0)
    again = open_agent(folder, says("Go on."))
    session = await again.load_session("s1")
    assert [entry.type for entry in session.state.history] == ["user"]
    session.prompt("two")
    await session.idle()
    assert session.state.last_turn.status == "completed"
    await again.aclose()


async def test_a_stream_that_breaks_keeps_its_progress_and_an_answer_a_try(
    folder: Path, quickly: None
) -> None:
    broken = SLOW | {"error": {"kind": "streamBroken", "message": "as scripted"}}
    workspace = open_agent(folder, broken, says("the rest"))
    session = await workspace.new_session("s1")
    session.prompt("one")
    await session.idle()
    await session.flush()
    assert session.state.last_turn.status == "completed"
    _, cut, rest = session.state.history
    assert (cut.stop_reason, cut.parts[0].text) == ("cut", LONG)
    assert (rest.stop_reason, rest.parts[0].text) == ("endTurn", "the rest")
    names = [e.event.type for e in events(workspace.surroundings.store, "s1")]
    assert names.count("answerFinished") == 2
    assert names.index("answerProgressed") < names.index("answerFinished")
    assert names.index("answerFinished") < names.index("retryScheduled")
    assert names[-1] != "answerProgressed"
    await workspace.aclose()


async def test_an_answer_that_only_calls_a_tool_is_not_kept_in_pieces(
    folder: Path, quickly: None
) -> None:
    call = calls("Read", file_path="a.txt") | {"chunk": 1, "delayMs": 20}
    workspace = open_agent(folder, call, says("Done."))
    session = await workspace.new_session("s1")
    session.prompt("one")
    await session.idle()
    await session.flush()
    kept = events(workspace.surroundings.store, "s1")
    gained = [p.type for e in kept if e.event.type == "answerProgressed" for p in e.event.parts]
    assert "toolCall" not in gained
    await workspace.aclose()
