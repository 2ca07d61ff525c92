from pathlib import Path

import pytest

from agentls.protocol.events.envelope import EVENT_TYPES
from agentls.protocol.methods import NOTIFICATIONS, REQUESTS, SESSION_EVENT
from agentls.protocol.requests import ClientOptions, ServerOptions
from tests.support.wire_examples import (
    EXAMPLE_FILES,
    NOTIFICATIONS_BY_NAME,
    REQUESTS_BY_NAME,
    guide_messages,
    read_example,
    written,
    written_again,
)

each_example = pytest.mark.parametrize("path", EXAMPLE_FILES, ids=lambda path: path.stem)


@each_example
def test_example_is_parsed_and_written_unchanged(path: Path) -> None:
    message = read_example(path)

    assert written_again(message) == message


@each_example
def test_example_has_no_field_the_protocol_does_not_know(path: Path) -> None:
    message = read_example(path)
    known = (
        {"method", "params", "result"}
        if message["method"] in REQUESTS_BY_NAME
        else {
            "method",
            "params",
        }
    )

    assert message.keys() == known
    assert _unknown_fields(_models_of(message)) == []


@each_example
def test_example_is_called_what_it_shows(path: Path) -> None:
    message = read_example(path)
    shown = message["method"].replace("/", ".")
    if message["method"] == SESSION_EVENT.name:
        shown += f".{message['params']['event']['type']}"

    assert path.name == f"{shown}.json"


def test_every_method_and_every_event_has_an_example() -> None:
    shown = {path.stem for path in EXAMPLE_FILES}
    methods = {method.name.replace("/", ".") for method in (*REQUESTS, *NOTIFICATIONS)}
    events = {f"agent.session.event.{type_}" for type_ in EVENT_TYPES}

    assert shown == methods - {"agent.session.event"} | events


def test_guide_shows_messages_as_they_travel() -> None:
    asked: dict[int, str] = {}
    for arrow, message in guide_messages():
        name = message.get("method") or asked[message["id"]]
        if "id" in message and "method" in message:
            asked[message["id"]] = name
        if not name.startswith("agent/"):
            continue
        if "result" in message:
            result = REQUESTS_BY_NAME[name].result.model_validate(message["result"])
            assert written(result, partial=False) == message["result"]
            continue
        method = REQUESTS_BY_NAME.get(name) or NOTIFICATIONS_BY_NAME[name]
        params = method.params.model_validate(message["params"])
        partial = name in REQUESTS_BY_NAME or name.endswith("/didChange")
        assert arrow == ("→" if name in REQUESTS_BY_NAME else "←")
        assert written(params, partial=partial) == message["params"]

    assert {"agent/session/new", "agent/session/prompt", "agent/approval/answer"} <= set(
        asked.values()
    )


def test_guide_shows_a_handshake_both_sides_understand() -> None:
    messages = [message for _, message in guide_messages()]
    request, answer = messages[:2]
    said = request["params"]["initializationOptions"]["agentls"]
    heard = answer["result"]["capabilities"]["experimental"]["agentls"]

    assert written(ClientOptions.model_validate(said), partial=True) == said
    assert written(ServerOptions.model_validate(heard), partial=False) == heard


def _models_of(message):
    method = REQUESTS_BY_NAME.get(message["method"]) or NOTIFICATIONS_BY_NAME[message["method"]]
    yield method.params.model_validate(message["params"])
    if "result" in message:
        yield method.result.model_validate(message["result"])


def _unknown_fields(values) -> list[str]:
    """Return the fields, however deep, that the models keep without knowing them."""
    unknown: list[str] = []
    for value in values:
        if hasattr(value, "model_fields_set"):
            unknown += [f"{type(value).__name__}.{name}" for name in value.__pydantic_extra__ or ()]
            unknown += _unknown_fields(vars(value).values())
        elif isinstance(value, list | tuple):
            unknown += _unknown_fields(value)
        elif isinstance(value, dict):
            unknown += _unknown_fields(value.values())
    return unknown
