"""What the types of Anthropic's SDK say of messages."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError


def sdk_refusals(messages: Sequence[dict[str, Any]]) -> list[str]:
    """Return where messages are no `MessageParam`s, a line each.

    The SDK's types take any iterable as content, which pydantic checks only when it is read, and
    take blocks of an answer as models with extra fields; both would let everything pass.
    """
    try:
        read = list(_read(_adapter().validate_python(list(messages), strict=True)))
    except ValidationError as error:
        return [f"{first['loc']}: {first['msg']}" for first in error.errors()[:3]]
    return [f"taken as an answer's {type(value).__name__}" for value in read]


@cache
def _adapter() -> TypeAdapter[Any]:
    from anthropic.types import MessageParam

    return TypeAdapter(list[MessageParam], config=ConfigDict(extra="forbid"))


def _read(value: Any) -> Iterator[BaseModel]:
    """Read every iterable to its end, and yield the models in it."""
    if isinstance(value, BaseModel):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _read(inner)
    elif not isinstance(value, str | bytes | int | float | None):
        for inner in value:
            yield from _read(inner)
