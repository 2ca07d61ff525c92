"""Whether a prompt cache is hit, over real HTTP, and what is said where it is not."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from agentls.config.secrets import Credentials
from agentls.errors import RequestRefused
from agentls.llm.anthropic import AnthropicModel
from agentls.llm.cache_watch import CacheWatch
from agentls.llm.model import EncodedPrefix, ModelRequest, ToolSpec
from agentls.llm.normalise import Conversation
from agentls.protocol.content import Usage
from agentls.protocol.events.retries import CacheMissed
from agentls.protocol.history import Entry, History
from tests.support.cache_server import CacheServer, CacheUsage, PromptCache, serving_cache
from tests.support.histories import answer, call, result, summary, text, user
from tests.support.scenarios import collect

BEGIN = datetime(2026, 11, 30, 15, tzinfo=UTC)
PROSE = "All of this is said at some length, so that there is something to be kept. " * 20
SYSTEM = "You work on a project. " + PROSE * 3
TOOLS = (
    ToolSpec("Read", "Reads a file. " + PROSE, {"type": "object", "properties": {"a": {}}}),
    ToolSpec("Write", "Writes a file. " + PROSE, {"type": "object"}),
)


class Talk:
    """A conversation with the server, watched as a session's is."""

    def __init__(self, server: CacheServer) -> None:
        self.server = server
        self.history = History()
        self.model = "claude-sonnet-5-5"
        self.system = SYSTEM
        self.tools: tuple[ToolSpec, ...] = TOOLS
        self.thinking = False
        self.watch = CacheWatch()
        self._conversation = Conversation()
        self._client = AnthropicModel(Credentials(api_key="sk-test", base_url=server.url))

    def say(self, *entries: Entry) -> None:
        """Add to the conversation."""
        for entry in entries:
            self.history = self.history.append(entry)

    async def ask(self) -> CacheMissed | None:
        """Send the conversation and return what was missed."""
        messages = self._conversation.messages(self.history)
        request = ModelRequest(
            model=self.model,
            system=self.system,
            messages=messages,
            tools=self.tools,
            thinking=self.thinking,
            encoded=messages.encoded,
        )
        now = BEGIN + timedelta(seconds=self.server.cache.now)
        self.watch.asked(request, now)
        start, *_ = await collect(self._client, request)
        return self.watch.answered(usage_of(start["message"]["usage"]), start["message"]["id"])

    async def round(self, number: int, calls: int = 1) -> CacheMissed | None:
        """Ask, and add an answer that makes so many calls, and their results."""
        missed = await self.ask()
        names = [f"call_{number}_{index}" for index in range(calls)]
        self.say(answer(text(f"Round {number}."), *(call(name, file_path=name) for name in names)))
        self.say(*(result(name, f"{name}: {PROSE}") for name in names))
        self.server.wait(20)
        return missed

    async def aclose(self) -> None:
        await self._client.aclose()


@pytest.fixture
def server() -> Iterator[CacheServer]:
    with serving_cache({"text": "So be it."}) as server:
        yield server


@pytest.fixture
async def talk(server: CacheServer) -> AsyncIterator[Talk]:
    talk = Talk(server)
    talk.say(user("Look at this project. " + PROSE))
    yield talk
    await talk.aclose()


def usage_of(usage: dict[str, int]) -> Usage:
    return Usage(
        input_tokens=usage["input_tokens"],
        output_tokens=usage["output_tokens"],
        cache_read_tokens=usage["cache_read_input_tokens"],
        cache_write_tokens=usage["cache_creation_input_tokens"],
    )


@pytest.mark.parametrize("calls", [1, 30])
async def test_every_round_after_the_first_reads_all_that_was_sent_before(
    talk: Talk, calls: int
) -> None:
    missed = [await talk.round(number, calls) for number in range(30)]

    assert missed == [None] * 30
    usages = talk.server.usages
    assert usages[0].read == 0
    assert usages[0].written > 1_024
    for before, now in pairwise(usages):
        assert now.read == before.read + before.written
        assert now.input == 0


async def test_prompts_read_what_was_kept_in_the_turn_before(talk: Talk) -> None:
    for number in range(5):
        assert await talk.ask() is None
        talk.say(answer(text(f"Answer {number}.")), user(f"And {number}?"))

    assert all(usage.read > 1_024 for usage in talk.server.usages[1:])
    assert all(usage.input == 0 for usage in talk.server.usages)


async def test_another_model_is_told(talk: Talk) -> None:
    await talk.round(0)
    talk.model = "claude-haiku-5-5"
    kept = talk.server.usages[0]

    assert await talk.ask() == CacheMissed(
        response_id="msg_1",
        cause="model",
        expected_tokens=kept.read + kept.written,
        read_tokens=0,
    )


@pytest.mark.parametrize(
    "tools",
    [
        TOOLS[:1],
        TOOLS[::-1],
        (replace(TOOLS[0], description="Reads."), TOOLS[1]),
        (replace(TOOLS[0], input_schema={"properties": {"a": {}}, "type": "object"}), TOOLS[1]),
    ],
    ids=["one less", "another order", "another description", "another order of keys"],
)
async def test_other_tools_are_told(talk: Talk, tools: tuple[ToolSpec, ...]) -> None:
    await talk.round(0)
    talk.tools = tools

    missed = await talk.ask()

    assert missed is not None
    assert (missed.cause, missed.read_tokens) == ("tools", 0)


async def test_another_system_prompt_is_told_and_the_tools_are_still_read(talk: Talk) -> None:
    await talk.round(0)
    talk.system += "It is another day."

    missed = await talk.ask()

    assert missed is not None
    assert missed.cause == "system"
    assert missed.read_tokens < missed.expected_tokens / 2


async def test_thinking_switched_on_is_told(talk: Talk) -> None:
    for number in range(3):
        await talk.round(number)
    talk.thinking = True

    missed = await talk.ask()

    assert missed is not None
    assert missed.cause == "thinking"
    assert 0 < missed.read_tokens < missed.expected_tokens


@pytest.mark.parametrize("kept_entries", [1, 3, 6])
async def test_a_rewritten_history_is_told(talk: Talk, kept_entries: int) -> None:
    for number in range(4):
        await talk.round(number)
    talk.history = History(talk.history[:kept_entries])
    talk.say(summary("They did this and that."), user("Go on. " + PROSE))

    missed = await talk.ask()

    assert missed is not None
    assert missed.cause == "history"
    assert await talk.ask() is None


async def test_words_said_otherwise_at_the_end_are_a_rewritten_history(talk: Talk) -> None:
    talk.say(user("Read all of this: " + PROSE * 20))
    await talk.ask()
    talk.history = History([user("Look at something else.")])

    missed = await talk.ask()

    assert missed is not None
    assert missed.cause == "history"


async def test_a_wait_that_was_too_long_is_told(talk: Talk) -> None:
    await talk.round(0)
    talk.server.wait(6 * 60)

    missed = await talk.round(1)

    assert missed is not None
    assert (missed.cause, missed.read_tokens) == ("expired", 0)
    assert await talk.ask() is None


async def test_a_server_that_loses_what_it_kept_is_told_without_a_cause(talk: Talk) -> None:
    await talk.round(0)
    talk.server.cache = PromptCache()

    missed = await talk.ask()

    assert missed is not None
    assert missed.cause == "unknown"


async def test_a_history_that_grew_within_its_last_message_is_the_same(talk: Talk) -> None:
    await talk.ask()
    talk.say(user("One thing more."))
    talk.server.cache = PromptCache()

    missed = await talk.ask()

    assert missed is not None
    assert missed.cause == "unknown"


async def test_the_first_cause_is_told_where_there_are_several(talk: Talk) -> None:
    await talk.round(0)
    talk.model, talk.system, talk.tools = "claude-opus-5", "Be brief.", ()
    talk.server.wait(6 * 60)

    missed = await talk.ask()

    assert missed is not None
    assert missed.cause == "model"


def asked(*words: str, encoded: int = 0) -> ModelRequest:
    messages = [{"role": "user", "content": [{"type": "text", "text": word}]} for word in words]
    request = ModelRequest("m", "system", messages)
    if not encoded:
        return request
    conversation = b",".join(
        b'{"role":"user","content":[{"type":"text","text":"%b"}]}' % word.encode()
        for word in words[:encoded]
    )
    return replace(request, encoded=EncodedPrefix(encoded, conversation))


def watched(*exchanges: tuple[ModelRequest, int, int]) -> list[CacheMissed | None]:
    """Return what is said of requests, each with the tokens read and written."""
    watch = CacheWatch()
    said: list[CacheMissed | None] = []
    for request, read, written in exchanges:
        watch.asked(request, BEGIN)
        usage = Usage(cache_read_tokens=read, cache_write_tokens=written, input_tokens=5)
        said.append(watch.answered(usage, "r"))
    return said


def test_a_server_without_a_cache_misses_nothing() -> None:
    assert watched(*[(asked("a"), 0, 0)] * 4) == [None] * 4


def test_the_first_request_misses_nothing() -> None:
    assert watched((asked("a"), 0, 9_000)) == [None]


@pytest.mark.parametrize(
    ("kept", "read", "missed"),
    [(1_023, 0, False), (1_024, 0, True), (2_000, 1_800, False), (2_000, 1_799, True)],
)
def test_a_miss_is_a_tenth_of_what_is_worth_keeping(kept: int, read: int, missed: bool) -> None:
    said = watched((asked("a"), 0, kept), (asked("a"), read, kept))

    assert [found is not None for found in said] == [False, missed]


@pytest.mark.parametrize(
    ("before", "now", "cause"),
    [
        (asked("a", "b"), asked("a", "b", "c", encoded=2), "unknown"),
        (asked("a", "b", encoded=1), asked("a", "b", "c", encoded=3), "unknown"),
        (asked("a", "b", encoded=2), asked("a", "b"), "history"),
        (asked("a", "b", encoded=1), asked("x", "b", "c", encoded=2), "history"),
        (asked("a", "b", encoded=1), asked("a", "x", "c", encoded=2), "history"),
        (asked("a", "b", encoded=1), asked("a", encoded=1), "history"),
        (asked("a", "b", "c", encoded=3), asked("a", "b", encoded=2), "history"),
    ],
)
def test_what_was_sent_is_found_again_however_much_of_it_is_encoded(
    before: ModelRequest, now: ModelRequest, cause: str
) -> None:
    _, missed = watched((before, 0, 5_000), (now, 0, 5_000))

    assert missed is not None
    assert missed.cause == cause


def test_a_request_that_was_never_answered_is_none_to_compare_with() -> None:
    watch = CacheWatch()
    watch.asked(asked("a"), BEGIN)
    watch.answered(Usage(cache_write_tokens=5_000), "r1")
    watch.asked(asked("x"), BEGIN + timedelta(minutes=6))
    watch.asked(asked("a", "b"), BEGIN + timedelta(minutes=7))

    missed = watch.answered(Usage(cache_write_tokens=5_000), "r2")

    assert missed is not None
    assert (missed.cause, missed.response_id) == ("expired", "r2")


def test_an_answer_that_nobody_asked_for_is_passed_over() -> None:
    assert CacheWatch().answered(Usage(cache_read_tokens=1), "r") is None


def test_in_this_server_what_is_not_marked_is_not_kept() -> None:
    cache = PromptCache()
    request = prompt(*["long " * 2_000] * 3)

    assert [cache.use(request).written for _ in range(2)] == [0, 0]


def test_in_this_server_a_mark_is_found_from_19_blocks_behind_it_and_not_from_20() -> None:
    for more, read in ((19, True), (20, False)):
        cache = PromptCache()
        cache.use(prompt("long " * 2_000, marks=[0]))
        words = ["long " * 2_000, *map(str, range(more))]
        usage = cache.use(prompt(*words, marks=[more]))
        assert (usage.read > 0) is read


def test_in_this_server_too_little_is_not_kept() -> None:
    cache = PromptCache()

    usages = [cache.use(prompt("short", marks=[0])) for _ in range(2)]

    assert [(usage.read, usage.written) for usage in usages] == [(0, 0)] * 2


def test_in_this_server_a_use_keeps_for_five_minutes_more() -> None:
    cache = PromptCache()
    request = prompt("long " * 2_000, marks=[0])
    first = cache.use(request)
    for _ in range(3):
        cache.now += 299
        assert cache.use(request) == CacheUsage(0, first.written, 0)
    cache.now += 301
    assert cache.use(request) == first


async def test_in_this_server_five_marks_are_refused(server: CacheServer) -> None:
    client = AnthropicModel(Credentials(base_url=server.url))
    marked = prompt(*["a"] * 5, marks=range(5))["messages"]

    with pytest.raises(RequestRefused, match="A maximum of 4 blocks with cache_control"):
        await collect(client, ModelRequest("m", "", (*marked, answered())))
    await client.aclose()


def prompt(*words: str, marks: Any = ()) -> dict[str, Any]:
    """Return a request of one message, with marks on some of its blocks."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": word} for word in words]
    for mark in marks:
        blocks[mark]["cache_control"] = {"type": "ephemeral"}
    return {"model": "m", "messages": [{"role": "user", "content": blocks}]}


def answered() -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": "So?"}]}
