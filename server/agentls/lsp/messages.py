"""The JSON of JSON-RPC: from a frame to a message, and back to bytes. Knows no methods."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import orjson
from lsprotocol.types import ErrorCodes

from agentls.lsp.framing import BadFrame, Frame

MessageId = int | str
ToJson = Callable[[Any], Any]

_OPTIONS = orjson.OPT_NON_STR_KEYS


@dataclass(frozen=True, slots=True)
class IncomingRequest:
    """A message that is owed an answer."""

    id: MessageId
    method: str
    params: Any


@dataclass(frozen=True, slots=True)
class IncomingNotification:
    """A message that is not answered, whatever is wrong with it."""

    method: str
    params: Any


@dataclass(frozen=True, slots=True)
class IncomingResponse:
    """An answer to a request of ours; `error` is None where it is good."""

    id: Any
    result: Any
    error: Any


class MalformedMessage(Exception):
    """A frame holds no message. `id` is the id to answer with, None where it has none."""

    def __init__(self, code: int, text: str, id: MessageId | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.id = id


def read_message(frame: Frame) -> IncomingRequest | IncomingNotification | IncomingResponse:
    """Return the message that `frame` holds. Raises MalformedMessage."""
    if isinstance(frame, BadFrame):
        raise MalformedMessage(ErrorCodes.ParseError, frame.reason)
    data = _parse(frame)
    if isinstance(data, list):
        raise _invalid("LSP has no batches: send each message in a frame of its own.")
    if not isinstance(data, dict):
        raise _invalid("A message is a JSON object.")
    return _classify(cast(dict[str, Any], data))


def write_message(message: dict[str, Any], quick: ToJson, plain: ToJson) -> bytes:
    """Return `message` as JSON. Raises TypeError, ValueError, RecursionError.

    `quick` turns what is no JSON into what orjson takes, `plain` into what json takes. Half a
    surrogate pair, as in a file name that is no UTF-8, becomes a question mark.
    """
    try:
        return orjson.dumps(message, default=quick, option=_OPTIONS)
    except TypeError:
        # orjson refuses lone surrogates and integers of more than 64 bits; json does not.
        text = json.dumps(message, default=plain, ensure_ascii=False, allow_nan=False)
        return text.encode("utf-8", "replace")


def _classify(
    data: dict[str, Any],
) -> IncomingRequest | IncomingNotification | IncomingResponse:
    given = data.get("id")
    id_ = given if type(given) in (int, str) else None
    if "method" not in data and ("result" in data or "error" in data):
        return IncomingResponse(given, data.get("result"), data.get("error"))
    if data.get("jsonrpc") != "2.0":
        raise _invalid("'jsonrpc' must be \"2.0\".", id_)
    method = data.get("method")
    if not isinstance(method, str):
        raise _invalid("'method' must be a string.", id_)
    if "id" not in data:
        return IncomingNotification(method, data.get("params"))
    if id_ is None:
        raise _invalid("'id' must be a string or an integer.")
    return IncomingRequest(id_, method, data.get("params"))


def _parse(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        try:
            return _parse_with_surrogates(body)
        except (ValueError, RecursionError):
            raise MalformedMessage(ErrorCodes.ParseError, f"No valid JSON: {error}.") from None


def _parse_with_surrogates(body: bytes) -> Any:
    """Parse what an editor in JavaScript may send: an escaped half of a surrogate pair.

    A question mark takes its place, which keeps the UTF-16 columns of the text as they are.
    """
    text = json.dumps(json.loads(body), ensure_ascii=False)
    return orjson.loads(text.encode("utf-8", "replace"))


def _invalid(text: str, id_: MessageId | None = None) -> MalformedMessage:
    return MalformedMessage(ErrorCodes.InvalidRequest, text, id_)
