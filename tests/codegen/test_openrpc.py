from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agentls.codegen.openrpc import COMPONENTS, document
from agentls.codegen.schema import definitions
from agentls.protocol.methods import NOTIFICATIONS, REQUESTS
from tests.support.wire_examples import EXAMPLE_FILES, read_example

DOCUMENT = document(definitions())
METHODS = {method["name"]: method for method in DOCUMENT["methods"]}


def test_document_has_what_openrpc_asks_for() -> None:
    assert DOCUMENT["openrpc"].startswith("1.3.")
    assert DOCUMENT["info"].keys() >= {"title", "version"}
    assert DOCUMENT.keys() <= {"openrpc", "info", "methods", "components"}
    assert DOCUMENT["components"].keys() <= {"schemas", "errors"}


def test_every_method_is_there_once_in_order() -> None:
    names = [method["name"] for method in DOCUMENT["methods"]]

    assert names == [method.name for method in (*REQUESTS, *NOTIFICATIONS)]


@pytest.mark.parametrize("method", DOCUMENT["methods"], ids=lambda method: method["name"])
def test_method_object_is_well_formed(method: dict[str, Any]) -> None:
    names = [param["name"] for param in method["params"]]
    required = [param["required"] for param in method["params"]]

    assert method["description"]
    assert method["paramStructure"] == "by-name"
    assert len(set(names)) == len(names)
    assert required == sorted(required, reverse=True), "required params come first"
    assert all(isinstance(param["schema"], dict) for param in method["params"])


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: request.name)
def test_request_has_its_result_and_its_errors(request_) -> None:
    method = METHODS[request_.name]

    assert method["x-direction"] == "clientToServer"
    assert method["result"]["name"] == request_.result.__name__
    assert method["result"]["schema"] == {"$ref": COMPONENTS + request_.result.__name__}
    assert {_resolved(error["$ref"])["code"] for error in method["errors"]} >= {-32602, -32603}


@pytest.mark.parametrize("notification", NOTIFICATIONS, ids=lambda method: method.name)
def test_notification_has_no_result_and_comes_from_the_server(notification) -> None:
    method = METHODS[notification.name]

    assert method["x-direction"] == "serverToClient"
    assert "result" not in method
    assert "errors" not in method


def test_every_reference_leads_somewhere() -> None:
    references = list(_references(DOCUMENT))

    assert references
    assert all(_resolved(reference) for reference in references)


def test_component_schemas_are_json_schemas() -> None:
    for schema in DOCUMENT["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("path", EXAMPLE_FILES, ids=lambda path: path.stem)
def test_examples_have_the_params_the_document_names(path) -> None:
    message = read_example(path)
    params = METHODS[message["method"]]["params"]

    assert message["params"].keys() <= {param["name"] for param in params}
    assert {param["name"] for param in params if param["required"]} <= message["params"].keys()
    for param in params:
        if param["name"] in message["params"]:
            schema = {**param["schema"], "components": DOCUMENT["components"]}
            Draft202012Validator(schema).validate(message["params"][param["name"]])


def _references(value: Any):
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for child in value.values():
            yield from _references(child)
    elif isinstance(value, list):
        for child in value:
            yield from _references(child)


def _resolved(reference: str) -> Any:
    value: Any = DOCUMENT
    for step in reference.removeprefix("#/").split("/"):
        value = value[step]
    return value
