import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentls.errors import (
    ConnectionLost,
    ModelError,
    Overloaded,
    PromptTooLong,
    RateLimited,
    RequestRefused,
    ServerFailed,
    StreamBroken,
    StreamStalled,
    TryAgainLater,
    Unreachable,
)
from agentls.llm.model import ModelRequest
from agentls.llm.scripted import ScriptedModel
from tests.support.scenarios import (
    calls,
    calls_of,
    calls_together,
    collect,
    fails,
    input_of,
    says,
    text_of,
    write_scenario,
)

HELLO = {"role": "user", "content": [{"type": "text", "text": "hello"}]}


def request(*messages: dict[str, Any], system: str = "") -> ModelRequest:
    return ModelRequest("scripted", system, messages or (HELLO,))


@pytest.fixture
def script(tmp_path: Path) -> Any:
    def write(*answers: dict[str, Any]) -> ScriptedModel:
        return ScriptedModel.from_file(write_scenario(tmp_path / "scenario.json", *answers))

    return write


def ids_of(events: list[dict[str, Any]]) -> list[str]:
    starts = [e["content_block"] for e in events if e["type"] == "content_block_start"]
    return [events[0]["message"]["id"], *(block["id"] for block in starts if "id" in block)]


async def test_answers_come_in_order(script: Any) -> None:
    model = script(calls("Read", file_path="a.py"), says("Done."))

    first = await collect(model, request())
    assert calls_of(first) == [("Read", {"file_path": "a.py"})]
    assert first[-2]["delta"]["stop_reason"] == "tool_use"
    second = await collect(model, request())
    assert text_of(second) == "Done."
    assert second[-2]["delta"]["stop_reason"] == "end_turn"


async def test_thinking_then_text_then_calls(script: Any) -> None:
    read = calls_together(calls("Read", file_path="a"), calls("Read", file_path="b"))
    events = await collect(script({"thinking": "Hm.", "text": "I read.", **read}), request())

    starts = [e["content_block"]["type"] for e in events if e["type"] == "content_block_start"]
    assert starts == ["thinking", "text", "tool_use", "tool_use"]


async def test_ids_count_up(script: Any) -> None:
    model = script(calls("LS"), calls_together(calls("LS"), calls("LS")))

    assert ids_of(await collect(model, request())) == ["msg_1", "toolu_1"]
    assert ids_of(await collect(model, request())) == ["msg_2", "toolu_2", "toolu_3"]


async def test_ids_go_on_from_a_conversation_of_an_earlier_process(script: Any) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "LS", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a"}
    before = (
        HELLO,
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
        HELLO,
    )

    assert ids_of(await collect(script(calls("LS")), request(*before))) == ["msg_3", "toolu_2"]


async def test_chunk_sets_the_length_of_deltas(script: Any) -> None:
    events = await collect(script(says("abcdefgh", chunk=3)), request())

    deltas = [event["delta"]["text"] for event in events if event["type"] == "content_block_delta"]
    assert deltas == ["abc", "def", "gh"]


async def test_delay_leaves_room_for_a_cancel(script: Any) -> None:
    model = script(says("a b c", delayMs=60_000), says("Next."))
    reading = asyncio.create_task(collect(model, request()))
    await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading

    assert text_of(await collect(model, request())) == "Next."


async def test_raw_input_is_streamed_as_it_is(script: Any) -> None:
    answer = {"calls": [{"name": "Read", "rawInput": '{"file_path": '}]}
    events = await collect(script(answer), request())

    pieces = [e["delta"]["partial_json"] for e in events if e["type"] == "content_block_delta"]
    assert "".join(pieces) == '{"file_path": '
    with pytest.raises(ValueError, match="unexpected end"):
        input_of(events, 0)


async def test_usage_and_stop_reason_can_be_set(script: Any) -> None:
    answer = says("Half", inputTokens=7, outputTokens=9, stopReason="max_tokens")
    events = await collect(script(answer), request())

    assert events[-2]["usage"] == {"input_tokens": 7, "output_tokens": 9}
    assert events[-2]["delta"]["stop_reason"] == "max_tokens"


async def test_what_the_cache_had_can_be_told(script: Any) -> None:
    answer = says("Yes", inputTokens=1, outputTokens=2, cacheReadTokens=3, cacheWriteTokens=0)
    events = await collect(script(answer), request())
    usage = {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 0,
    }

    assert events[-2]["usage"] == usage
    assert events[0]["message"]["usage"] == {**usage, "output_tokens": 1}


async def test_thinking_can_be_signed(script: Any) -> None:
    events = await collect(script({"thinking": "Hm.", "signature": "s", "text": "Yes."}), request())

    deltas = [e["delta"] for e in events if e["type"] == "content_block_delta"]
    assert {"type": "signature_delta", "signature": "s"} in deltas


async def test_answer_that_repeats_is_given_to_every_further_request(script: Any) -> None:
    model = script(says("One."), {**calls("LS"), "repeat": True})
    await collect(model, request())
    ids = [ids_of(await collect(model, request())) for _ in range(3)]

    assert ids == [["msg_2", "toolu_1"], ["msg_3", "toolu_2"], ["msg_4", "toolu_3"]]


async def test_failure_can_repeat(script: Any) -> None:
    model = script({**fails("serverFailed"), "repeat": True})
    for _ in range(3):
        with pytest.raises(ServerFailed):
            await collect(model, request())


async def test_request_for_a_summary_can_be_expected(script: Any) -> None:
    model = script(says("So far: nothing.", expect={"user": "Write a summary"}))
    asked = [{"type": "text", "text": "hello"}, {"type": "text", "text": "Write a summary of it."}]

    events = await collect(model, request({"role": "user", "content": asked}))
    assert text_of(events) == "So far: nothing."


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("promptTooLong", PromptTooLong),
        ("rateLimited", RateLimited),
        ("overloaded", Overloaded),
        ("serverFailed", ServerFailed),
        ("connectionLost", ConnectionLost),
        ("unreachable", Unreachable),
        ("streamStalled", StreamStalled),
    ],
)
async def test_error_is_raised(script: Any, kind: str, error: type[ModelError]) -> None:
    with pytest.raises(error, match="No room"):
        await collect(script(fails(kind, "No room.")), request())


async def test_error_says_when_to_try_again(script: Any) -> None:
    with pytest.raises(TryAgainLater) as caught:
        await collect(script(fails("rateLimited", retryAfter=3)), request())

    assert caught.value.retry_after == 3


async def test_error_comes_after_what_was_streamed(script: Any) -> None:
    events = script(says("Half", **fails("streamBroken"))).stream(request())
    seen = [await anext(events) for _ in range(4)]
    with pytest.raises(StreamBroken):
        await anext(events)

    assert text_of(seen) == "Half"


async def test_failed_answer_is_used_up(script: Any) -> None:
    model = script(fails("overloaded"), says("Here."))
    with pytest.raises(Overloaded):
        await collect(model, request())

    assert text_of(await collect(model, request())) == "Here."


async def test_end_of_the_scenario_is_a_clear_error(script: Any, tmp_path: Path) -> None:
    model = script(says("One."))
    await collect(model, request())

    with pytest.raises(RequestRefused) as caught:
        await collect(model, request())
    assert f"{tmp_path / 'scenario.json'} is at its end: it has 1 answer" in str(caught.value)


async def test_expectation_that_holds_is_silent(script: Any) -> None:
    said = [{"type": "text", "text": "42 lines"}]
    result = {"type": "tool_result", "tool_use_id": "t", "content": said}
    call = {"type": "tool_use", "id": "t", "name": "Read", "input": {}}
    expect = {"user": "hell", "lastResult": "42", "system": "brief"}
    messages = (
        HELLO,
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    )
    model = script(says("Right.", expect=expect))

    assert text_of(await collect(model, request(*messages, system="Be brief."))) == "Right."


async def test_expectation_that_fails_says_what_came_instead(script: Any) -> None:
    model = script(says("Wrong.", expect={"user": "goodbye", "lastResult": "42"}))

    with pytest.raises(RequestRefused) as caught:
        await collect(model, request())
    assert str(caught.value).endswith(
        "answers[0].expect: user should hold 'goodbye' and is 'hello'; "
        "lastResult should hold '42' and is ''"
    )
