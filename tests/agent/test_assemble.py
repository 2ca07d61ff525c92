import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentls.agent.assemble import AnswerAssembler
from agentls.protocol.content import TextPart, ThinkingPart, ToolCallPart
from agentls.protocol.events.conversation import PartDelta, PartStarted

texts = st.lists(st.text(min_size=1, max_size=8), max_size=30)


def block(
    index: int, kind: str, deltas: list[dict[str, Any]], **start: Any
) -> list[dict[str, Any]]:
    opening = {"type": kind, **start}
    return [
        {"type": "content_block_start", "index": index, "content_block": opening},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text_deltas(pieces: list[str]) -> list[dict[str, Any]]:
    return [{"type": "text_delta", "text": piece} for piece in pieces]


def fold(events: list[dict[str, Any]], taken: set[str] = frozenset(), *, pause: bool = False):
    """Feed events inside a loop; return the assembler and what it emitted."""
    emitted: list[Any] = []

    async def run() -> AnswerAssembler:
        assembler = AnswerAssembler("msg", "m", emitted.append, taken.__contains__)
        for event in events:
            assembler.feed(event)
            if pause:
                await asyncio.sleep(0.004)
        return assembler

    return asyncio.run(run()), emitted


@given(st.lists(texts, max_size=4))
def test_what_was_streamed_is_exactly_what_is_finished(parts):
    events = [e for i, pieces in enumerate(parts) for e in block(i, "text", text_deltas(pieces))]
    assembler, emitted = fold(events)
    streamed: dict[str, str] = {}
    for event in emitted:
        if isinstance(event, PartDelta):
            assert event.offset == len(streamed.get(event.part_id, ""))
            streamed[event.part_id] = streamed.get(event.part_id, "") + event.text
    finished = {part.id: part.text for part in assembler.finish(None).parts}
    assert finished == streamed
    assert [text for text in finished.values()] == ["".join(p) for p in parts if p]


def test_the_first_text_is_told_at_once_and_the_rest_is_joined():
    events = block(0, "text", text_deltas(["one ", *["more "] * 50]))[:-1]
    _, emitted = fold(events)
    deltas = [event for event in emitted if isinstance(event, PartDelta)]
    assert [delta.text for delta in deltas] == ["one "]


def test_joined_text_is_told_while_the_model_pauses():
    events = block(0, "text", text_deltas(["a", *["b"] * 20]))[:-1]
    _, emitted = fold(events, pause=True)
    deltas = [event for event in emitted if isinstance(event, PartDelta)]
    assert 2 <= len(deltas) < 20


def test_a_call_is_assembled_from_pieces_of_json():
    pieces = ['{"file_', 'path": "a', '.py"}']
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    assembler, emitted = fold(block(0, "tool_use", deltas, id="toolu_1", name="Read", input={}))
    assert assembler.finish(None).parts == (
        ToolCallPart(id="toolu_1", name="Read", input={"file_path": "a.py"}),
    )
    started = next(event for event in emitted if isinstance(event, PartStarted))
    assert (started.part.type, started.part.name) == ("toolCall", "Read")


def test_an_input_that_comes_whole_with_the_block_is_taken():
    events = block(0, "tool_use", [], id="c", name="LS", input={"path": "."})
    assembler, _ = fold(events)
    assert assembler.finish(None).parts[0].input == {"path": "."}


def test_arguments_that_are_no_object_are_kept_as_written():
    too_deep = '{"a": ' + "[" * 300 + "]" * 300 + "}"
    for written in ('{"a": ', "[1]", '"x"', too_deep):
        deltas = [{"type": "input_json_delta", "partial_json": written}]
        assembler, _ = fold(block(0, "tool_use", deltas, id="c", name="LS"))
        part = assembler.finish(None).parts[0]
        assert (part.input, part.malformed_input) == ({}, written)


def test_a_call_id_that_was_used_before_is_made_unique():
    events = [
        *block(0, "tool_use", [], id="call_1", name="LS", input={"path": "."}),
        *block(1, "tool_use", [], id="call_1", name="LS", input={"path": "."}),
    ]
    assembler, _ = fold(events, {"call_1"})
    assert [part.id for part in assembler.finish(None).parts] == ["call_1-2", "call_1-3"]


def test_thinking_keeps_its_signature_and_unknown_blocks_are_passed_over():
    deltas = [
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "signature_delta", "signature": "sig"},
    ]
    events = [
        *block(0, "thinking", deltas),
        *block(1, "hologram", [{"type": "hologram_delta", "x": 1}]),
        *block(2, "redacted_thinking", [], data="xyz"),
        {"type": "ping"},
        {"type": "spaceship"},
    ]
    assembler, _ = fold(events)
    thinking, redacted = assembler.finish(None).parts
    assert (thinking.text, thinking.signature) == ("hm", "sig")
    assert isinstance(thinking, ThinkingPart)
    assert redacted.data == "xyz"


def test_a_cut_answer_keeps_its_text_and_drops_its_calls():
    events = [
        *block(0, "text", text_deltas(["I will "])),
        *block(1, "tool_use", [], id="c", name="Bash", input={"command": "x"}),
    ]
    assembler, _ = fold(events)
    answer = assembler.cut("parent", "cancelled")
    assert answer is not None
    assert answer.parts == (TextPart(id="msg.0", text="I will "),)
    assert (answer.stop_reason, answer.parent) == ("cancelled", "parent")


def test_a_cut_answer_without_text_leaves_nothing():
    assembler, _ = fold(block(0, "tool_use", [], id="c", name="Bash", input={"command": "x"}))
    assert assembler.cut(None, "cancelled") is None


def test_usage_is_what_the_last_word_of_the_server_says():
    events = [
        {
            "type": "message_start",
            "message": {
                "id": "resp_1",
                "usage": {"input_tokens": 5, "output_tokens": 1, "cache_read_input_tokens": 7},
            },
        },
        {
            "type": "message_delta",
            "delta": {"stop_reason": "max_tokens"},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    ]
    assembler, _ = fold(events)
    answer = assembler.finish(None)
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (5, 9)
    assert answer.usage.cache_read_tokens == 7
    assert (answer.stop_reason, answer.response_id) == ("maxTokens", "resp_1")
