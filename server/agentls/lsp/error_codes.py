"""JSON-RPC error codes: the one place where an exception becomes what a client is told.

Codes of JSON-RPC and LSP, as they are defined there:

    -32700  the body is no JSON
    -32600  the message is no request, or comes at the wrong time (twice, after `shutdown`)
    -32601  no such method
    -32602  bad params; `InvalidRequest`
    -32603  a bug here, or a result that cannot be written; the traceback is in the server's log
    -32002  a request before `initialize`
    -32800  cancelled

Codes of agentls, from the range -32000 to -32099 that JSON-RPC leaves to servers, clear of the two
in it that LSP uses (-32001, -32002):

    -32000  any other `AgentError`
    -32004  `NotFound`
    -32005  `WrongPhase`
    -32006  `ConfigurationError`
    -32007  `StorageError`
    -32008  `ModelError`

`data.kind` is the exception's class in agentls/errors.py, or `Bug`. Where waiting helps,
`data.retryAfter` is for how many seconds, or null.
"""

from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from agentls import errors

CODES: dict[type[errors.AgentError], int] = {
    errors.AgentError: -32000,
    errors.NotFound: -32004,
    errors.WrongPhase: -32005,
    errors.ConfigurationError: -32006,
    errors.StorageError: -32007,
    errors.ModelError: -32008,
    errors.InvalidRequest: types.ErrorCodes.InvalidParams,
}

_MAX_TEXT = 300


def response_error(error: BaseException) -> types.ResponseError:
    """Return what a client is told of `error`."""
    match error:
        case errors.AgentError():
            return types.ResponseError(_code_of(error), str(error), _data_of(error))
        case JsonRpcException():
            return error.to_response_error()
        case _:
            text = f"{type(error).__name__}: {error}".removesuffix(": ")
            if len(text) > _MAX_TEXT:
                text = text[:_MAX_TEXT] + "…"
            return types.ResponseError(
                types.ErrorCodes.InternalError,
                f"agentls failed; its log has the details. {text}",
                {"kind": "Bug"},
            )


def is_bug(error: BaseException) -> bool:
    """Whether `error` is ours to mend, and its traceback worth a place in the log."""
    return not isinstance(error, errors.AgentError | JsonRpcException)


def _code_of(error: errors.AgentError) -> int:
    return next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)


def _data_of(error: errors.AgentError) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": type(error).__name__}
    if isinstance(error, errors.TryAgainLater):
        data["retryAfter"] = error.retry_after
    return data
