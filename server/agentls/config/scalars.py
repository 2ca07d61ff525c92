"""Which settings are single values, and what one layer says of each.

A single value is had from one layer, the highest that has it; an object of settings is no value,
it is taken apart. Lists, which join, are not for here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, cast

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from agentls.config.settings import ModelSettings, Settings
from agentls.protocol.wire_model import JsonObject, WireModel

Keys = tuple[str, ...]
"""The keys that lead to a value: `("view", "brief")`."""

JOINED: frozenset[Keys] = frozenset(("permissions", name) for name in ("allow", "ask", "deny"))
"""What is no single value."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value that one layer sets."""

    path: Keys
    value: Any


@dataclass(frozen=True, slots=True)
class Misfit:
    """Something that a layer sets and that cannot count."""

    path: Keys
    what: str
    """A sentence's middle, to be read behind the path."""


def scalars_in(values: JsonObject) -> Iterator[Scalar | Misfit]:
    """Yield what a layer says, in the order of `Settings`; null says nothing."""
    keys = _keys_of(Settings)
    yield from _read(values, keys)
    models = values.get("models")
    if models is not None and not isinstance(models, dict):
        yield Misfit(("models",), _NO_OBJECT)
    for name, about in object_in(values, ("models",)).items():
        if isinstance(about, dict):
            yield from _read(about, _keys_of(ModelSettings), ("models", name))
        elif about is not None:
            yield Misfit(("models", name), _NO_OBJECT)


def unknown_in(values: JsonObject) -> Iterator[Misfit]:
    """Yield the keys inside of objects of settings that are no settings.

    Those at the top are left alone: another program, or a newer agentls, may have put them there.
    """
    yield from _unknown(values, _keys_of(Settings))
    for name, about in object_in(values, ("models",)).items():
        if isinstance(about, dict):
            yield from _unknown(about, _keys_of(ModelSettings), ("models", name))


def object_in(values: JsonObject, path: Keys) -> JsonObject:
    """Return the object at `path`, an empty one where there is none."""
    for name in path:
        inside = values.get(name)
        values = cast("JsonObject", inside) if isinstance(inside, dict) else {}
    return values


def put_in(values: dict[str, Any], path: Keys, value: Any) -> None:
    """Set the value at `path`, with the objects around it where they are not there yet."""
    *around, last = path
    for name in around:
        values = values.setdefault(name, {})
    values[last] = value


_NO_OBJECT = "is passed over: it must be an object"
_Checks = Mapping[Keys, type[WireModel]]
"""The single values inside of a model, and the model that checks each."""


@cache
def _keys_of(model: type[WireModel]) -> _Checks:
    return MappingProxyType(dict(_walk(model, ())))


def _walk(model: type[WireModel], above: Keys) -> Iterator[tuple[Keys, type[WireModel]]]:
    for field_name, field in model.model_fields.items():
        path = (*above, to_camel(field_name))
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, WireModel):
            yield from _walk(inner, path)
        elif path not in JOINED and path != ("models",):
            yield path, model


def _read(values: JsonObject, keys: _Checks, above: Keys = ()) -> Iterator[Scalar | Misfit]:
    for section in _sections(keys):
        if section and not isinstance(_at(values, section), dict | None):
            yield Misfit(above + section, _NO_OBJECT)
    for path, model in keys.items():
        value = _at(values, path)
        if value is not None:
            yield _checked(above + path, value, model)


def _checked(path: Keys, value: Any, model: type[WireModel]) -> Scalar | Misfit:
    try:
        model.model_validate({path[-1]: value})
    except ValidationError as error:
        what = error.errors(include_input=False, include_url=False)[0]["msg"]
        return Misfit(path, f"is passed over: {what}")
    return Scalar(path, value)


def _unknown(values: JsonObject, keys: _Checks, above: Keys = ()) -> Iterator[Misfit]:
    joined = () if above else JOINED
    sections = _sections(keys)
    for section in sections:
        if not (above or section):
            continue
        known = {path[len(section)] for path in (*keys, *joined, *sections) if _in(path, section)}
        for name in object_in(values, section):
            if name not in known:
                yield Misfit((*above, *section, name), "is passed over: there is no such setting")


def _at(values: JsonObject, path: Keys) -> Any:
    return object_in(values, path[:-1]).get(path[-1])


def _sections(keys: _Checks) -> tuple[Keys, ...]:
    """Return the paths of the objects that hold `keys`, the outermost first."""
    found = {path[:length]: None for path in keys for length in range(len(path))}
    return tuple(sorted(found, key=len))


def _in(path: Keys, section: Keys) -> bool:
    return len(path) > len(section) and path[: len(section)] == section
