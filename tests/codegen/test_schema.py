import json
from dataclasses import replace
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import Field, create_model

from agentls.codegen import schema as schema_module
from agentls.codegen.schema import PREFIX, definitions, document, referenced
from agentls.protocol.content import TextBlock
from agentls.protocol.methods import NOTIFICATIONS, REQUESTS
from agentls.protocol.wire_model import WireModel
from tests.support.wire_examples import (
    EXAMPLE_FILES,
    NOTIFICATIONS_BY_NAME,
    REQUESTS_BY_NAME,
    read_example,
)

TYPES = definitions()


def problems(name: str, value: Any, types: dict[str, Any] = TYPES) -> list[str]:
    root = {"$ref": PREFIX + name, **document(types)}
    return [error.message for error in Draft202012Validator(root).iter_errors(value)]


def test_document_is_a_json_schema() -> None:
    Draft202012Validator.check_schema(document(TYPES))


@pytest.mark.parametrize("path", EXAMPLE_FILES, ids=lambda path: path.stem)
def test_examples_are_what_the_schema_says(path) -> None:
    message = read_example(path)
    if request := REQUESTS_BY_NAME.get(message["method"]):
        assert problems(request.params.__name__, message["params"]) == []
        assert problems(request.result.__name__, message["result"]) == []
    else:
        notification = NOTIFICATIONS_BY_NAME[message["method"]]
        assert problems(notification.params.__name__, message["params"]) == []


def test_every_field_the_server_sends_is_required() -> None:
    sent = {request.result.__name__ for request in REQUESTS} | {"ServerOptions"}
    sent |= {
        notification.params.__name__
        for notification in NOTIFICATIONS
        if not notification.name.endswith("/didChange")
    }
    for name in _reached(sent):
        fields = TYPES[name].get("properties", {})
        assert set(TYPES[name].get("required", ())) == set(fields), name


def test_slices_are_optional_in_did_change_and_whole_inside() -> None:
    change = TYPES["StateDidChangeParams"]

    assert change["required"] == ["sessionId", "seq"]
    assert problems("StateDidChangeParams", {"sessionId": "s", "seq": 1}) == []
    thin = {"sessionId": "s", "seq": 1, "permissions": {"mode": "plan"}}
    assert problems("StateDidChangeParams", thin) != []


def test_what_clients_send_is_optional_where_it_has_a_default() -> None:
    assert "required" not in TYPES["SessionListParams"]
    assert TYPES["SessionListParams"]["properties"]["limit"]["default"] == 50
    assert TYPES["ModelSetParams"]["required"] == ["sessionId", "model"]
    assert problems("SessionNewParams", {}) == []
    assert problems("SessionNewParams", {"sessionId": "../etc"}) != []


def test_only_what_clients_send_has_defaults() -> None:
    received = {request.params.__name__ for request in REQUESTS} | {"ClientOptions"}
    received |= {"Attachment", "QuestionAnswerInput"}  # within these
    with_defaults = {name for name, schema in TYPES.items() if '"default": ' in json.dumps(schema)}

    assert with_defaults - {"ModelChoice"} <= received  # ModelChoice has a field of that name
    assert TYPES["ModelChoice"]["properties"].keys() == {"session", "default", "fast"}


def test_titles_are_gone_but_fields_called_title_are_not() -> None:
    assert "title" in TYPES["TitleChanged"]["properties"]
    assert "title" in TYPES["TitleChanged"]["required"]
    assert not any("title" in schema for schema in _all_schemas(TYPES.values()))


def test_noise_is_gone() -> None:
    for schema in _all_schemas(TYPES.values()):
        assert "discriminator" not in schema
        assert schema.get("additionalProperties") is not True


def test_docstrings_are_kept_in_the_words_of_json() -> None:
    text = json.dumps(TYPES, ensure_ascii=False)

    assert TYPES["Todo"]["description"] == "One line of the agent's plan."
    assert TYPES["Todo"]["properties"]["content"]["description"].startswith("What is to be done")
    assert TYPES["StopReason"]["description"].startswith("Why an answer ended: the Messages")
    assert "None" not in text
    assert not any("\n" in part and "\n\n" not in part for part in _descriptions())


def test_aliases_of_the_protocol_are_types_of_their_own() -> None:
    assert TYPES["TodosChanged"]["properties"]["todos"]["items"] == {"$ref": "#/$defs/Todo"}
    assert TYPES["Todo"]["properties"]["status"] == {"$ref": "#/$defs/TodoStatus"}
    assert TYPES["Envelope"]["properties"]["event"] == {"$ref": "#/$defs/SessionEvent"}
    assert TYPES["SessionState"]["properties"]["history"]["items"] == {
        "$ref": "#/$defs/HistoryEntry"
    }
    assert TYPES["ToolCall"]["properties"]["outcome"]["anyOf"] == [
        {"$ref": "#/$defs/CallOutcome"},
        {"type": "null"},
    ]
    assert TYPES["TurnFinished"]["properties"]["status"]["$ref"] == "#/$defs/TurnStatus"
    assert "description" in TYPES["TurnFinished"]["properties"]["status"]
    assert {"Mode", "CallStatus", "OptionKind", "StopReason", "AnswerPart"} <= TYPES.keys()


def test_options_of_a_union_are_told_apart_by_a_constant() -> None:
    options = [TYPES[name] for name in referenced(TYPES["SessionEvent"])]
    tags = [option["properties"]["type"]["const"] for option in options]

    assert len(set(tags)) == len(tags) > 20
    assert all(next(iter(option["properties"])) == "type" for option in options)


def test_every_reference_leads_somewhere_and_nothing_is_left_over() -> None:
    roots = {"ClientOptions", "ServerOptions"}
    roots |= {method.params.__name__ for method in (*REQUESTS, *NOTIFICATIONS)}
    roots |= {request.result.__name__ for request in REQUESTS}

    assert _reached(roots) == set(TYPES)
    assert list(TYPES) == sorted(TYPES)


class Line(WireModel):
    """A line of output."""

    type: Literal["line"] = "line"
    stop: Literal["pending", "inProgress", "completed"]
    blocks: tuple[TextBlock, ...] = ()


class Ask(WireModel):
    """A line of input."""

    type: Literal["ask"] = "ask"
    blocks: tuple[TextBlock, ...] = ()


def test_more_types_can_be_added_without_changing_the_rest() -> None:
    anything = Annotated[Line | Ask, Field(discriminator="type")]
    types = definitions([("Line", "serialization", Line), ("AnyLine", "serialization", anything)])

    assert types["Line"]["required"] == ["type", "stop", "blocks"]
    assert types["Line"]["properties"]["stop"] == {"$ref": "#/$defs/TodoStatus"}
    assert types["AnyLine"] == {"oneOf": [{"$ref": "#/$defs/Line"}, {"$ref": "#/$defs/Ask"}]}
    assert {name: types[name] for name in TYPES} == TYPES
    assert types.keys() - TYPES.keys() == {"Line", "Ask", "AnyLine"}


def test_type_that_is_sent_and_read_is_described_for_both() -> None:
    types = definitions([("Ask", "validation", Ask)])

    assert "required" not in types["Ask"]
    assert types["TextBlock"] == TYPES["TextBlock"]
    assert types["TextBlockInput"]["required"] == ["text"]
    assert types["Ask"]["properties"]["blocks"]["items"] == {"$ref": "#/$defs/TextBlockInput"}


def test_two_types_of_one_name_are_refused() -> None:
    other = create_model("Usage", __base__=WireModel, cost=(float, ...))

    with pytest.raises(ValueError, match="two types are called Usage: rename one"):
        definitions([("Usage", "serialization", other)])
    with pytest.raises(ValueError, match="two types are called Mode: rename one"):
        definitions([("Mode", "serialization", list[str])])


def test_alias_that_says_what_another_says_is_refused(monkeypatch) -> None:
    known = schema_module._aliases()
    twin = replace(next(alias for alias in known if alias.name == "Mode"), name="Manner")
    monkeypatch.setattr(schema_module, "_aliases", lambda: [*known, twin])

    with pytest.raises(ValueError, match="the aliases Mode and Manner are the same type"):
        definitions()


def _reached(names: set[str]) -> set[str]:
    reached: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += referenced(TYPES[name])
    return reached


def _all_schemas(schemas):
    for schema in schemas:
        yield schema
        yield from _all_schemas(schema.get("properties", {}).values())
        yield from _all_schemas(schema.get("anyOf", []) + schema.get("oneOf", []))
        nested = [schema.get("items"), schema.get("additionalProperties")]
        yield from _all_schemas([child for child in nested if isinstance(child, dict)])


def _descriptions() -> list[str]:
    return [schema.get("description", "") for schema in _all_schemas(TYPES.values())]
