import inspect

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from agentls import errors
from agentls.lsp.error_codes import CODES, is_bug, response_error

LSP_CODES = {member.value for member in (*types.ErrorCodes, *types.LSPErrorCodes)}
KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_of_the_tree_has_a_code_and_says_its_kind(
    kind: type[errors.AgentError],
) -> None:
    told = response_error(kind("what happened"))
    assert told.message == "what happened"
    assert told.data["kind"] == kind.__name__
    assert told.code in CODES.values()


def test_codes_of_our_own_lie_in_the_servers_range_and_clash_with_none_of_lsp() -> None:
    own = [code for kind, code in CODES.items() if kind is not errors.InvalidRequest]
    assert len(set(own)) == len(own)
    assert all(-32099 <= code <= -32000 for code in own)
    assert not set(own) & LSP_CODES


def test_the_nearest_class_decides() -> None:
    assert response_error(errors.UnknownSession("x")).code == CODES[errors.NotFound]
    assert response_error(errors.RateLimited("x")).code == CODES[errors.ModelError]


def test_where_waiting_helps_it_says_how_long() -> None:
    told = response_error(errors.RateLimited("x", retry_after=3.5))
    assert told.data == {"kind": "RateLimited", "retryAfter": 3.5}


def test_a_json_rpc_error_passes_as_it_is() -> None:
    error = JsonRpcInvalidParams("no", data={"a": 1})
    assert response_error(error) == types.ResponseError(-32602, "no", {"a": 1})


def test_a_bug_is_told_in_short() -> None:
    told = response_error(ValueError("x" * 10_000))
    assert told.code == -32603
    assert len(told.message) < 400
    assert told.data == {"kind": "Bug"}


def test_what_is_ours_to_mend_is_known() -> None:
    assert is_bug(KeyError("x"))
    assert not is_bug(errors.NotFound("x"))
    assert not is_bug(JsonRpcInvalidParams())
