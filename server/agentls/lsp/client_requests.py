"""Requests that the client has been sent and has not answered."""

import logging
import uuid
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, cast

import cattrs
from pygls.exceptions import JsonRpcException

from agentls.lsp.messages import IncomingResponse, MessageId
from agentls.lsp.structure import result_type, to_lsp

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Asked:
    method: str
    answer: Future[Any] = field(default_factory=Future[Any])


class ClientRequests:
    """Matches answers with what was asked; an answer to nothing is ignored."""

    def __init__(self, converter: cattrs.Converter) -> None:
        self._converter = converter
        self._open: dict[MessageId, _Asked] = {}
        self._closed = False

    def add(self, method: str, id_: MessageId | None = None) -> tuple[MessageId, Future[Any]]:
        """Expect an answer; return its id and where it will be. Raises ConnectionError."""
        if self._closed:
            raise ConnectionError("The client is gone.")
        id_ = id_ if id_ is not None else str(uuid.uuid4())
        asked = self._open[id_] = _Asked(method)
        return id_, asked.answer

    def forget(self, id_: MessageId) -> bool:
        """Expect no answer any more; return whether it was still open."""
        return self._open.pop(id_, None) is not None

    def settle(self, response: IncomingResponse) -> None:
        """Hand an answer to whoever waits for it."""
        asked = self._open.pop(response.id, None) if _is_id(response.id) else None
        if asked is None or not asked.answer.set_running_or_notify_cancel():
            log.info("Ignored an answer to no open request: %r", response.id)
        elif response.error is not None:
            asked.answer.set_exception(_as_exception(response.error))
        else:
            self._settle_with_result(asked, response.result)

    def close(self) -> None:
        """Fail what is open with ConnectionError, and what comes later."""
        self._closed = True
        asked, self._open = self._open, {}
        for request in asked.values():
            if request.answer.set_running_or_notify_cancel():
                request.answer.set_exception(ConnectionError("The client is gone."))

    def _settle_with_result(self, asked: _Asked, result: Any) -> None:
        expected = result_type(asked.method)
        if expected is None or result is None:
            asked.answer.set_result(result)
            return
        try:
            result = to_lsp(self._converter, expected, result)
        except JsonRpcException as error:
            asked.answer.set_exception(not_understood(asked.method, error))
        else:
            asked.answer.set_result(result)


def not_understood(method: str, error: JsonRpcException) -> JsonRpcException:
    """Return what to raise where the client's answer does not have the shape it should."""
    return JsonRpcException(f"The client's answer to {method} is not understood. {error.message}")


def _is_id(value: Any) -> bool:
    return type(value) in (int, str)


def _as_exception(error: Any) -> JsonRpcException:
    if not isinstance(error, dict):
        return JsonRpcException(str(error))
    fields = cast(dict[str, Any], error)
    code = fields.get("code")
    return JsonRpcException(
        str(fields.get("message") or "The client answered with an error."),
        code if isinstance(code, int) else None,
        fields.get("data"),
    )
