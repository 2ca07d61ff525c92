"""The base of every model that travels or is kept."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from agentls.protocol.docstrings import describe_fields

Timestamp = Annotated[
    str, Field(description="A moment in UTC, ISO 8601 with milliseconds: 2026-11-30T14:56:35.123Z.")
]

JsonObject = dict[str, JsonValue]


class WireModel(BaseModel):
    """A frozen value, camelCase on the wire, snake_case in Python.

    Fields it does not know are kept and written again, so that a log or a message of a newer
    agentls passes through an older one unharmed.
    """

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        extra="allow",
        json_schema_extra=describe_fields,
        # Built at first use: a process uses few of them, and an editor waits for its start.
        defer_build=True,
        json_schema_serialization_defaults_required=True,
    )


class Params(WireModel):
    """What a request or notification carries; fields it does not know are ignored."""

    model_config = ConfigDict(extra="ignore")
