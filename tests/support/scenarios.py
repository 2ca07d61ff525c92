"""Scenarios written in Python, and what is read out of a model's stream."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from agentls.llm.model import Model, ModelRequest, StreamEvent


def says(text: str, **rest: Any) -> dict[str, Any]:
    """Return an answer of text; `rest` are further fields of the scenario format."""
    return {"text": text, **rest}


def calls(name: str, **arguments: Any) -> dict[str, Any]:
    """Return an answer that calls one tool."""
    return {"calls": [{"name": name, "input": arguments}]}


def calls_together(*answers: dict[str, Any]) -> dict[str, Any]:
    """Return one answer that makes the calls of several."""
    return {"calls": [call for answer in answers for call in answer["calls"]]}


def fails(kind: str, message: str = "as scripted", **rest: Any) -> dict[str, Any]:
    """Return an answer that is an error: `fails("overloaded", retryAfter=1)`."""
    return {"error": {"kind": kind, "message": message, **rest}}


def write_scenario(path: Path, *answers: dict[str, Any]) -> Path:
    """Write a scenario file and return its path."""
    path.write_bytes(orjson.dumps({"version": 1, "answers": answers}, option=orjson.OPT_INDENT_2))
    return path


async def collect(model: Model, request: ModelRequest) -> list[StreamEvent]:
    """Return all events of an answer."""
    return [event async for event in model.stream(request)]


def text_of(events: Iterable[StreamEvent]) -> str:
    """Return the text of an answer, its text blocks joined."""
    return "".join(event["delta"].get("text", "") for event in events if "delta" in event)


def input_of(events: Iterable[StreamEvent], index: int) -> Any:
    """Return the input of the tool call that is block `index` of an answer."""
    pieces = (
        event["delta"]["partial_json"]
        for event in events
        if event["type"] == "content_block_delta" and event["index"] == index
    )
    return orjson.loads("".join(pieces))


def calls_of(events: Iterable[StreamEvent]) -> list[tuple[str, Any]]:
    """Return the names and inputs of the tool calls of an answer."""
    events = list(events)
    return [
        (event["content_block"]["name"], input_of(events, event["index"]))
        for event in events
        if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use"
    ]
