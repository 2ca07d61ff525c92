import re

import pytest

from agentls.protocol import at_work, kept_sessions, methods, requests
from agentls.protocol.methods import NOTIFICATIONS, REQUESTS, Notification, Request
from agentls.protocol.wire_model import Params

METHODS = (*REQUESTS, *NOTIFICATIONS)
WRITTEN = {**vars(requests), **vars(kept_sessions), **vars(at_work)}
CONSTANTS = {
    name: value
    for name, value in vars(methods).items()
    if isinstance(value, Request | Notification)
}

each_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)


def words_of(method: str) -> list[str]:
    """Return the words of a method: `agent/state/didChange` is state, did, change."""
    return re.findall(r"[A-Z]?[a-z]+", method.removeprefix("agent/"))


@each_method
def test_method_is_agent_then_a_resource_then_a_verb(method) -> None:
    assert re.fullmatch(r"agent/[a-z]+([A-Z][a-z]+)*/[a-z]+([A-Z][a-z]+)*", method.name)


@each_method
def test_constant_derives_from_the_method(method) -> None:
    constant = "_".join(word.upper() for word in words_of(method.name))

    assert CONSTANTS[constant] is method


@each_method
def test_params_and_result_derive_from_the_method(method) -> None:
    name = "".join(word.capitalize() for word in words_of(method.name))

    if method is methods.SESSION_EVENT:  # its params are the log's line
        assert method.params.__name__ == "Envelope"
        return
    assert method.params.__name__ == f"{name}Params"
    assert WRITTEN[f"{name}Params"] is method.params
    if isinstance(method, Request):
        assert method.result.__name__ == f"{name}Result"
        assert WRITTEN[f"{name}Result"] is method.result


def test_registry_holds_every_constant_once() -> None:
    assert len({method.name for method in METHODS}) == len(METHODS) == len(CONSTANTS)
    assert set(map(id, CONSTANTS.values())) == set(map(id, METHODS))


def test_every_params_and_result_class_belongs_to_a_method() -> None:
    used = {method.params for method in METHODS} | {request.result for request in REQUESTS}
    written = {
        value
        for name, value in WRITTEN.items()
        if name.endswith(("Params", "Result")) and value is not Params
    }

    assert written <= used


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: request.name)
def test_what_a_client_sends_ignores_unknown_fields_and_what_it_gets_keeps_them(request_) -> None:
    assert issubclass(request_.params, Params)
    assert request_.params.model_config["extra"] == "ignore"
    assert request_.result.model_config["extra"] == "allow"


@pytest.mark.parametrize("notification", NOTIFICATIONS, ids=lambda method: method.name)
def test_slices_that_may_be_absent_are_those_of_did_change(notification) -> None:
    optional = {
        name for name, field in notification.params.model_fields.items() if not field.is_required()
    }

    if notification.name.endswith("/didChange"):
        assert {"seq"} <= notification.params.model_fields.keys() - optional
        assert optional
    else:
        assert optional <= {"chat_id"}
