"""The bytes of a request: thinking, cache marks, and what stays the same from one to the next."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import orjson
import pytest
from hypothesis import given

from agentls.config.secrets import Credentials
from agentls.llm.anthropic import AnthropicModel, request_body, request_headers
from agentls.llm.model import ModelRequest, ToolSpec
from agentls.llm.normalise import Conversation
from agentls.protocol.history import Entry, History
from benchmarks.messages_api import serving
from tests.support.any_histories import HISTORIES
from tests.support.histories import answer, call, image, picture, result, text, user
from tests.support.scenarios import collect

TOOLS = (ToolSpec("Read", "Reads.", {}), ToolSpec("Bash", "Runs.", {}))
MARK = {"type": "ephemeral"}
BINDING = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}


def body_of(
    *messages: dict[str, Any], model: str = "claude-opus-5-5", **rest: Any
) -> dict[str, Any]:
    return orjson.loads(request_body(ModelRequest(model, "Be brief.", messages, **rest)))


def said(*blocks: dict[str, Any] | str, role: str = "user") -> dict[str, Any]:
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    return {"role": role, "content": content}


def marks(value: Any, path: str = "") -> Iterator[str]:
    """Yield where there are cache marks."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        if "cache_control" in fields:
            assert fields["cache_control"] == MARK
            yield path
        for key, inner in fields.items():
            yield from marks(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[Any]", value)):
            yield from marks(inner, f"{path}[{index}]")


def test_thinking_is_asked_for_where_the_request_says_so() -> None:
    assert "thinking" not in body_of(said("hello"))
    assert body_of(said("hello"), thinking=True)["thinking"] == {
        "type": "adaptive",
        "display": "summarized",
        **BINDING,
    }


@pytest.mark.parametrize(
    ("model", "binds"),
    [
        ("claude-opus-5-5", True),
        ("claude-haiku-5-5", True),
        ("claude-fable-5-1", True),
        ("claude-opus-6", True),
        ("anthropic/claude-sonnet-5-5@20260928", True),
        ("us.anthropic.claude-opus-5-5-v1:0", True),
        ("claude-opus-5", False),
        ("claude-opus-5-20260901", False),
        ("claude-haiku-4-5-20251001", False),
        ("claude-3-5-sonnet-20241022", False),
        ("qwen3:30b", False),
    ],
)
def test_thoughts_are_bound_from_a_version_on_and_the_header_goes_with_it(
    model: str, binds: bool
) -> None:
    body = body_of(said("hello"), model=model, thinking=True)
    headers = request_headers(ModelRequest(model, "", (), thinking=True))

    assert ("block_binding" in body["thinking"]) is binds
    assert headers.get("anthropic-beta") == (
        "thinking-binding-controls-2026-08-01" if binds else None
    )
    assert "anthropic-beta" not in request_headers(ModelRequest(model, "", ()))


async def test_header_arrives_with_the_body() -> None:
    async with serving() as api:
        model = AnthropicModel(Credentials(api_key="sk-test-0123456789", base_url=api.url))
        await collect(model, ModelRequest("claude-opus-5-5", "", (said("hi"),), thinking=True))
        await model.aclose()

    assert api.headers["anthropic-beta"] == "thinking-binding-controls-2026-08-01"
    assert api.headers["content-type"] == "application/json"
    assert api.requests[-1]["thinking"]["type"] == "adaptive"


def test_tools_system_and_the_users_last_two_messages_are_marked() -> None:
    messages = [
        said("One."),
        said("Yes.", role="assistant"),
        said("Two.", "And."),
        said("No.", role="assistant"),
        said("Three."),
    ]

    assert list(marks(body_of(*messages, tools=TOOLS))) == [
        ".tools[1]",
        ".system[0]",
        ".messages[2].content[1]",
        ".messages[4].content[0]",
    ]


def test_first_request_has_one_mark_in_its_messages() -> None:
    assert list(marks(body_of(said("One.")))) == [".system[0]", ".messages[0].content[0]"]


@pytest.mark.parametrize(
    ("blocks", "marked"),
    [
        (("a", " \n"), True),
        ((" ",), False),
        (("a", {"type": "thinking", "thinking": "x", "signature": "s"}), True),
        (("a", {"type": "redacted_thinking", "data": "d"}), True),
        (({"type": "tool_result", "tool_use_id": "1", "content": "x"},), True),
        (({"type": "image", "source": "x"},), True),
        ((), False),
    ],
)
def test_mark_is_on_a_block_that_may_have_one(blocks: tuple[Any, ...], marked: bool) -> None:
    found = list(marks(body_of(said(*blocks))["messages"]))

    assert found == (["[0].content[0]"] if marked else [])


def test_system_prompt_without_a_word_is_not_sent() -> None:
    body = orjson.loads(request_body(ModelRequest("m", " \n", (said("hello"),))))

    assert "system" not in body


def sent(history: Sequence[Entry], conversation: Conversation) -> bytes:
    messages = conversation.messages(history)
    return request_body(
        ModelRequest("m", "Be brief.", messages, TOOLS, encoded=messages.encoded, thinking=True)
    )


ROUNDS: list[Entry] = [
    user("Look.", image(picture())),
    answer(text("I look."), call("1"), call("2")),
    result("1", "a"),
    result("2", "b"),
    answer(call("3")),
    result("3", "c"),
    answer(text("Done.")),
    user("And now?"),
]


def test_each_request_begins_with_the_bytes_of_the_one_before_up_to_its_last_mark() -> None:
    conversation = Conversation()
    first, second = sent(ROUNDS[:1], conversation), sent(ROUNDS[:4], conversation)

    assert first.endswith(b"]}")
    assert second.startswith(first[: -len(b"]}")])
    assert second.count(b"cache_control") == 4


def test_what_is_said_stays_the_same_but_for_the_marks() -> None:
    conversation, before = Conversation(), b""
    history = History()
    for entry in ROUNDS:
        history = history.append(entry)
        if entry.type == "answer":
            continue
        # The message of the user that is not over yet may grow.
        now = sent(history, conversation).replace(b',"cache_control":{"type":"ephemeral"}', b"")
        assert now.startswith(before[: before.rfind(b'{"role":"user"')])
        before = now


@given(HISTORIES)
def test_no_request_has_more_than_four_marks(entries: list[Entry]) -> None:
    body = orjson.loads(sent(entries, Conversation()))
    found = list(marks(body))

    assert len(found) <= 4
    assert any(path.startswith(f".messages[{len(body['messages']) - 1}]") for path in found)
