import json

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from agentls.protocol.content import AnswerPart, TextBlock, ToolCallPart, Usage
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.methods import NOTIFICATIONS, REQUESTS
from agentls.protocol.requests import SessionNewParams, SessionPromptParams
from agentls.protocol.tool_calls import ApprovalOption
from agentls.protocol.wire_model import WireModel

LONE = "a\ud800b"
LONE_IN_JSON = '{"text": "a\\ud800b"}'

ENVELOPE = {
    "seq": 7,
    "sessionId": "s",
    "chatId": "main",
    "turnId": None,
    "origin": {"clientId": "c", "clientSeq": 2, "host": "laptop"},
    "at": "2026-11-30T14:56:35.123Z",
    "event": {"type": "titleChanged", "title": "A title", "colour": "green"},
    "signature": {"by": ["x", None]},
}


def _wire_models(class_: type[BaseModel] = WireModel) -> set[type[BaseModel]]:
    children = class_.__subclasses__()
    return {class_}.union(*map(_wire_models, children))


@pytest.mark.parametrize("model", _wire_models(), ids=lambda model: model.__name__)
def test_every_model_is_frozen_and_camel_case(model: type[BaseModel]) -> None:
    assert model.model_config["frozen"]
    assert model.model_config["serialize_by_alias"]
    for name, field in model.model_fields.items():
        first, *rest = name.split("_")
        assert field.alias == first + "".join(word.title() for word in rest)


def test_a_value_cannot_be_changed() -> None:
    block = TextBlock(text="before")

    with pytest.raises(ValidationError, match="frozen"):
        block.text = "after"
    assert block.text == "before"


def test_unknown_fields_survive_a_round_trip_however_deep() -> None:
    envelope = Envelope.model_validate(ENVELOPE)

    assert envelope.model_dump(mode="json") == ENVELOPE
    assert json.loads(envelope.model_dump_json()) == ENVELOPE
    assert Envelope.model_validate_json(envelope.model_dump_json()) == envelope


def test_unknown_fields_of_a_request_are_ignored() -> None:
    params = SessionPromptParams.model_validate(
        {"sessionId": "s", "text": "Go on.", "temperature": 1}
    )

    assert params.model_dump(exclude_unset=True) == {"sessionId": "s", "text": "Go on."}


def test_python_names_and_wire_names_are_both_understood() -> None:
    assert Usage(input_tokens=1) == Usage.model_validate({"inputTokens": 1})


def test_what_is_left_out_at_the_top_does_not_thin_out_what_is_inside() -> None:
    """`exclude_unset` reaches into nested values; a notification of slices must not use it."""
    option = ApprovalOption(id="deny", kind="deny", label="Deny")

    class Slices(WireModel):
        options: tuple[ApprovalOption, ...] | None = None
        title: str | None = None

    slices = Slices(options=(option,))

    assert slices.model_dump(exclude_unset=True)["options"][0].keys() == {"id", "kind", "label"}
    whole = slices.model_dump(include=slices.model_fields_set)
    assert whole.keys() == {"options"}
    assert whole["options"][0].keys() == {"id", "kind", "label", "rule", "mode"}


def test_lone_surrogate_in_json_is_refused_with_its_place() -> None:
    with pytest.raises(ValidationError, match=r"Invalid JSON: .* at line 1 column"):
        TextBlock.model_validate_json(LONE_IN_JSON)


def test_lone_surrogate_as_raw_bytes_is_refused_with_its_place() -> None:
    with pytest.raises(ValidationError, match=r"invalid unicode code point at line 1 column"):
        TextBlock.model_validate_json(f'{{"text": "{LONE}"}}'.encode("utf-8", "surrogatepass"))


def test_lone_surrogate_where_a_text_is_checked_is_refused_by_name() -> None:
    with pytest.raises(ValidationError, match=r"session_id\n.*unicode string"):
        SessionNewParams(session_id=LONE)
    with pytest.raises(ValidationError, match="does not match any of the expected tags"):
        TypeAdapter(AnswerPart).validate_python({"type": LONE})


@pytest.mark.parametrize(
    "model",
    [
        TextBlock(text=LONE),
        TextBlock.model_validate(json.loads(LONE_IN_JSON)),
        TextBlock.model_validate({"text": "fine", "unknown": LONE}),
        ToolCallPart(id="c", name="Bash", input={"command": [LONE]}),
    ],
    ids=["field", "parsed by json", "unknown field", "JSON value"],
)
def test_lone_surrogate_from_python_is_only_noticed_when_it_is_written(model: WireModel) -> None:
    """Whoever lets text in from outside has to make it writable first; the models do not."""
    with pytest.raises(PydanticSerializationError, match="surrogates not allowed"):
        model.model_dump_json()


def test_lone_surrogate_in_a_key_is_written_as_replacement_characters() -> None:
    call = ToolCallPart(id="c", name="Bash", input={LONE: 1})

    assert json.loads(call.model_dump_json())["input"] == {"a\ufffd\ufffd\ufffdb": 1}


def test_separators_and_control_characters_are_data() -> None:
    text = "\0\x1b\u2028\u2029\ufeff\U0001f600"

    assert TextBlock.model_validate_json(TextBlock(text=text).model_dump_json()).text == text


def test_registry_holds_nothing_but_wire_models() -> None:
    used = [method.params for method in (*REQUESTS, *NOTIFICATIONS)]
    used += [request.result for request in REQUESTS]

    assert all(issubclass(model, WireModel) for model in used)
