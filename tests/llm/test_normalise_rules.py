"""The lists that what is sent is held against do find what is wrong."""

import base64
from typing import Any

import pytest

from tests.support.api_rules import violations
from tests.support.attachments import pdf
from tests.support.histories import noise, picture
from tests.support.sdk_types import sdk_refusals

HI = {"role": "user", "content": [{"type": "text", "text": "Hi."}]}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(call_id: str = "1", name: str = "Read", arguments: Any = None) -> dict[str, Any]:
    arguments = {} if arguments is None else arguments
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def got(call_id: str = "1", *content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": list(content), **more}


def shot(data: bytes, media_type: str = "image/png") -> dict[str, Any]:
    source = {
        "type": "base64",
        "media_type": media_type,
        "data": base64.b64encode(data).decode(),
    }
    return {"type": "image", "source": source}


def paper(data: bytes, media_type: str = "application/pdf", **more: Any) -> dict[str, Any]:
    return {**shot(data, media_type), "type": "document", **more}


def says(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def tells(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def thinks(words: str = "Hm.", signature: str = "s") -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": signature}


def test_good_messages_pass() -> None:
    messages = [
        tells(text("Hi."), shot(picture())),
        says(thinks(""), text("Yes. "), use("1"), use("2")),
        tells(got("1", text("a"), shot(picture())), got("2", is_error=True), text("Go on.")),
        says(use("3")),
        tells(got("3", paper(pdf())), paper(pdf(2), title="a.pdf")),
    ]

    assert violations(messages, thoughts=[thinks("")]) == []
    assert sdk_refusals(messages) == []


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([], "at least one"),
        ([says(text("a")), HI], "first message"),
        ([HI, HI], "alternate"),
        ([HI, says(text("a"))], "end with a user"),
        ([tells()], "content is empty"),
        ([tells(text(" \n"))], "non-whitespace"),
        ([tells(text("\ud800"))], "not JSON"),
        ([HI, says(use(arguments={"\ud800": 1})), tells(got())], "not JSON"),
        ([HI, says(use(arguments={"a": float("nan")})), tells(got())], "not JSON"),
        ([HI, says(use(arguments=[])), tells(got())], "not an object"),
        ([HI, says(use("a/b")), tells(got("a/b"))], "tool_use.id"),
        ([HI, says(use(name="n" * 129)), tells(got())], "tool_use.name"),
        ([HI, says(use(), use()), tells(got(), got())], "must be unique"),
        ([HI, says(use()), HI], "follow the calls"),
        ([HI, says(use())], "follow the calls"),
        ([HI, says(use()), tells(got(), got())], "follow the calls"),
        ([HI, says(use("1"), use("2")), tells(got("2"), got("1"))], "follow the calls"),
        ([tells(got())], "follow the calls"),
        ([HI, says(use()), tells(text("a"), got())], "comes after"),
        ([HI, says(use()), tells(got("1", text("")))], "non-whitespace"),
        ([HI, says(use()), tells(got("1", shot(picture()), is_error=True))], "is_error"),
        ([HI, says(text("a"), thinks()), HI], "final block"),
        ([HI, says(thinks(signature=""), text("a")), HI], "signature"),
        ([tells(thinks(), text("a"))], "message of the user"),
        ([tells({**text("a"), "id": "x"})], "extra inputs"),
        ([tells(shot(picture(), "image/bmp"))], "media_type"),
        ([tells(shot(picture(), "image/jpeg"))], "appears to be PNG"),
        ([tells(shot(b"nothing"))], "Could not process"),
        ([tells(shot(picture(8001, 1)))], "8001 x 1"),
        ([tells(shot(picture(2001, 1)), *[shot(picture())] * 20)], "2001 x 1"),
        ([tells(*[shot(picture())] * 101)], "101 images"),
        ([tells(shot(noise(1500, 1400)))], "exceeds 5 MB"),
        ([tells(*[shot(noise(1100, 1000))] * 8)], "bytes of at most"),
        ([tells(paper(b"PK"))], "not valid"),
        ([tells(paper(pdf(), "text/plain"))], "media_type"),
        ([tells(paper(pdf(trailer=b"/Encrypt 1 0 R")))], "password protected"),
        ([tells(paper(pdf(), title=""))], "title"),
        ([tells(paper(pdf(), name="a"))], "extra inputs"),
        ([tells(paper(pdf(301)), paper(pdf(300)))], "600 PDF pages"),
        ([tells(paper(pdf(1, 24_000_000)))], "bytes of at most"),
        ([says(paper(pdf())), HI], "message of the assistant"),
        ([HI, says(use()), tells(got("1", paper(pdf()), is_error=True))], "is_error"),
    ],
)
def test_what_the_api_refuses_is_found(messages: list[dict[str, Any]], said: str) -> None:
    assert [found for found in violations(messages) if said in found]


def test_thought_that_is_not_as_it_came_is_found() -> None:
    one, two = thinks("One."), thinks("Two.")
    sent = [HI, says(two, one, text("a")), HI]

    assert violations(sent, thoughts=[two, one]) == []
    assert violations(sent, thoughts=[one, two])
    assert violations(sent, thoughts=[two, thinks("One")])


@pytest.mark.parametrize(
    "message",
    [
        {**HI, "id": "x"},
        {"role": "robot", "content": []},
        tells({**text("a"), "id": "x"}),
        tells({"type": "text"}),
        tells({"type": "text", "text": 1}),
        tells(shot(picture(), "image/bmp")),
        tells(paper(pdf(), "text/html")),
        tells(paper(pdf(), name="a")),
        says({"type": "thinking", "thinking": "a"}),
        says(use(arguments=[])),
        tells(got("1", {"type": "text", "text": None})),
        tells({"type": "gossip"}),
    ],
)
def test_what_is_no_message_of_the_sdk_is_found(message: dict[str, Any]) -> None:
    assert sdk_refusals([message])
