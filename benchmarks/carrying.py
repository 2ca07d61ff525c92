"""What a growing history costs its sender: bytes to move, and the model's server to read them."""

import http.client
import time
from collections.abc import Iterator
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import orjson
from subjects import MODEL, note
from turns import PLAIN

REQUESTS_PER_TURN = 2
READINGS = 15


def milliseconds(model_url: str, *, turns: int) -> float:
    """Return what the requests of one more turn take, sent ready-made after a history of `turns`.

    The history is in the shape that agentls sends, lines numbered. No agent can be faster with it.
    """
    body = orjson.dumps(
        {"model": MODEL, "max_tokens": 16_384, "stream": True, "messages": list(_messages(turns))}
    )
    connection = http.client.HTTPConnection(urlsplit(model_url).netloc)
    try:
        seconds = [_request(connection, body) for _ in range(READINGS)]
    finally:
        connection.close()
    return median(seconds) * 1e3 * REQUESTS_PER_TURN


def _messages(turns: int) -> Iterator[dict[str, Any]]:
    numbered = (f"{number:>6}\t{line}" for number, line in enumerate(note(0).splitlines(), 1))
    text = "\n".join(numbered)
    for turn in range(turns):
        call_id = f"toolu_{turn}_0"
        call = {"id": call_id, "name": "Read", "input": {"file_path": "notes/0.txt"}}
        yield {"role": "user", "content": _text("[[reads:1:notes/0.txt]]")}
        yield {"role": "assistant", "content": [{"type": "tool_use", **call}]}
        result = {"type": "tool_result", "tool_use_id": call_id, "content": _text(text)}
        yield {"role": "user", "content": [result]}
        yield {"role": "assistant", "content": _text("done")}
    yield {"role": "user", "content": _text(PLAIN)}


def _text(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def _request(connection: http.client.HTTPConnection, body: bytes) -> float:
    start = time.perf_counter()
    connection.request("POST", "/v1/messages", body, {"content-type": "application/json"})
    connection.getresponse().read()
    return time.perf_counter() - start
