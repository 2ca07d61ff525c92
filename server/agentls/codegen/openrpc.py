"""Describe the methods as an OpenRPC document.

OpenRPC knows no messages from the server: those stand among the methods, have no result, and
`x-direction` tells them apart.
"""

from collections.abc import Mapping
from typing import Any

from agentls.codegen.schema import PREFIX, JsonSchema, map_children
from agentls.protocol.methods import NOTIFICATIONS, REQUESTS, Notification, Request
from agentls.protocol.requests import PROTOCOL_VERSION

COMPONENTS = "#/components/schemas/"

ERRORS = {
    "InvalidParams": {"code": -32602, "message": "The params are not what the method takes."},
    "InternalError": {"code": -32603, "message": "A bug in the server; the server lives on."},
    "RequestCancelled": {"code": -32800, "message": "The client took the request back."},
}
"""What any request may be answered with. What is particular to agentls is not known here."""


def document(types: Mapping[str, JsonSchema]) -> dict[str, Any]:
    """Return the OpenRPC document of all methods, whose types are in `types`."""
    return {
        "openrpc": "1.3.2",
        "info": {
            "title": "agentls",
            "version": str(PROTOCOL_VERSION),
            "description": "The `agent/*` messages between editors and the agent language server."
            " GENERATED from server/agentls/protocol by `agentls generate`. Do not edit.",
        },
        "methods": [
            *(_request(request, types) for request in REQUESTS),
            *(_notification(notification, types) for notification in NOTIFICATIONS),
        ],
        "components": {
            "schemas": {name: _in_components(schema) for name, schema in types.items()},
            "errors": ERRORS,
        },
    }


def _request(request: Request[Any, Any], types: Mapping[str, JsonSchema]) -> dict[str, Any]:
    result = request.result.__name__
    return {
        **_method(request, types),
        "result": {
            "name": result,
            "description": types[result]["description"],
            "schema": {"$ref": COMPONENTS + result},
        },
        "errors": [{"$ref": f"#/components/errors/{name}"} for name in ERRORS],
        "x-direction": "clientToServer",
    }


def _notification(
    notification: Notification[Any], types: Mapping[str, JsonSchema]
) -> dict[str, Any]:
    return {**_method(notification, types), "x-direction": "serverToClient"}


def _method(
    method: Request[Any, Any] | Notification[Any], types: Mapping[str, JsonSchema]
) -> dict[str, Any]:
    params = types[method.params.__name__]
    required = set(params.get("required", ()))
    # OpenRPC wants what is required before what is not.
    fields = sorted(params["properties"].items(), key=lambda field: field[0] not in required)
    return {
        "name": method.name,
        "description": params["description"],
        "paramStructure": "by-name",
        "params": [_descriptor(name, schema, name in required) for name, schema in fields],
    }


def _descriptor(name: str, schema: JsonSchema, required: bool) -> dict[str, Any]:
    descriptor: dict[str, Any] = {"name": name}
    if "description" in schema:
        descriptor["description"] = schema["description"]
    return {**descriptor, "required": required, "schema": _in_components(schema)}


def _in_components(schema: JsonSchema) -> JsonSchema:
    moved = map_children(schema, _in_components)
    if "$ref" in moved:
        moved["$ref"] = COMPONENTS + moved["$ref"].removeprefix(PREFIX)
    return moved
