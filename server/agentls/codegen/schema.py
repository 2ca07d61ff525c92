"""The one JSON Schema from which everything else is printed: every type of the wire, by name.

Fields are optional only in what clients send, and in the notifications that carry no more than
what changed; all else is described as the server sends it, whole.
"""

import ast
import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_origin

from pydantic import TypeAdapter
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaMode

from agentls import protocol
from agentls.protocol.methods import NOTIFICATIONS, REQUESTS
from agentls.protocol.requests import ClientOptions, ServerOptions

JsonSchema = dict[str, Any]

Roots = Sequence[tuple[str, JsonSchemaMode, Any]]
"""Types by name: `validation` for what is read from outside, `serialization` for what is sent."""

PREFIX = "#/$defs/"

_ByRoot = dict[tuple[str, JsonSchemaMode], JsonSchema]
_ByName = dict[str, JsonSchema]

_SENT: JsonSchemaMode = "serialization"
_ALIAS_ORIGINS = (Annotated, Literal, Union, UnionType, dict)


def document(types: Mapping[str, JsonSchema]) -> JsonSchema:
    """Return one JSON Schema document that holds `types`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "agentls protocol",
        "description": "Every type of the `agent/*` messages. GENERATED from"
        " server/agentls/protocol by `agentls generate`. Do not edit.",
        "$defs": dict(types),
    }


def definitions(more: Roots = ()) -> dict[str, JsonSchema]:
    """Return the schema of every type that the wire and `more` know, sorted by name.

    A module-level alias of the protocol (`StopReason`, `AnswerPart`, ...) is a type of its own.
    Raises ValueError where two types would share a name, or one type would have two.
    """
    aliases = _aliases()
    roots = [*_wire_roots(), *more]
    alias_roots: Roots = [(alias.name, _SENT, alias.type) for alias in aliases]
    by_root, types_by_name = _generate([*roots, *alias_roots])
    shapes = _add_aliases(types_by_name, aliases, by_root)
    starts = [_add_root(types_by_name, name, by_root[name, mode]) for name, mode, _ in roots]
    for name, required in _partial_params():
        types_by_name[name]["required"] = required
    name_aliases = _namer(shapes)
    named = {name: map_children(schema, name_aliases) for name, schema in types_by_name.items()}
    named["JsonValue"] = {"description": "Any JSON value."}
    return dict(sorted(_reachable(named, starts).items()))


def referenced(schema: JsonSchema) -> list[str]:
    """Return the name of every type that `schema` refers to, in order."""
    names = [schema["$ref"].removeprefix(PREFIX)] if "$ref" in schema else []

    def visit(child: JsonSchema) -> JsonSchema:
        names.extend(referenced(child))
        return child

    map_children(schema, visit)
    return names


def map_children(schema: JsonSchema, change: Callable[[JsonSchema], JsonSchema]) -> JsonSchema:
    """Return `schema` with each schema directly in it changed; data such as defaults is not."""
    changed = dict(schema)
    for key in ("properties", "$defs"):
        if key in changed:
            changed[key] = {name: change(child) for name, child in changed[key].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(changed.get(key), dict):
            changed[key] = change(changed[key])
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if key in changed:
            changed[key] = [change(child) for child in changed[key]]
    return changed


@dataclass(frozen=True, slots=True)
class _Alias:
    name: str
    type: Any
    description: str | None


def _aliases() -> list[_Alias]:
    """Return the type aliases in the protocol's modules; `AnyX` is called `X` on the wire."""
    found: list[_Alias] = []
    for module_info in pkgutil.walk_packages(protocol.__path__, f"{protocol.__name__}."):
        module = importlib.import_module(module_info.name)
        body = ast.parse(inspect.getsource(module)).body
        for statement, after in zip(body, [*body[1:], None], strict=True):
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)]):
                    value = getattr(module, name)
                case _:
                    continue
            if get_origin(value) in _ALIAS_ORIGINS:
                found.append(_Alias(name.removeprefix("Any"), value, _docstring(after)))
    return found


def _docstring(statement: ast.stmt | None) -> str | None:
    match statement:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return _wire_words(inspect.cleandoc(text))
        case _:
            return None


def _wire_roots() -> Roots:
    roots: list[tuple[str, JsonSchemaMode, Any]] = [
        ("ClientOptions", "validation", ClientOptions),
        ("ServerOptions", "serialization", ServerOptions),
    ]
    for request in REQUESTS:
        roots.append((request.params.__name__, "validation", request.params))
        roots.append((request.result.__name__, "serialization", request.result))
    for notification in NOTIFICATIONS:
        roots.append((notification.params.__name__, "serialization", notification.params))
    return roots


def _generate(roots: Roots) -> tuple[_ByRoot, _ByName]:
    """Return the schema of each root by name and mode, and of each model by name."""
    inputs: list[tuple[str, JsonSchemaMode, TypeAdapter[Any]]] = [
        (name, mode, TypeAdapter(type_)) for name, mode, type_ in roots
    ]
    by_root, generated = TypeAdapter.json_schemas(inputs)
    return (
        {root: _clean(schema) for root, schema in by_root.items()},
        {_wire_name(name): _clean(schema) for name, schema in generated["$defs"].items()},
    )


def _wire_name(name: str) -> str:
    """Return a model's name; one that differs by direction is plain as sent, `...Input` as read."""
    if "__" in name:
        raise ValueError(f"two types are called {name.rpartition('__')[2]}: rename one")
    return name.removesuffix("-Output").replace("-Input", "Input")


def _add_aliases(
    types_by_name: _ByName, aliases: Sequence[_Alias], by_root: _ByRoot
) -> dict[str, str]:
    """Add each alias to the types, and return the alias of each shape."""
    shapes: dict[str, str] = {}
    for alias in aliases:
        schema = by_root[alias.name, _SENT]
        other = shapes.setdefault(_shape(schema), alias.name)
        if other != alias.name:
            raise ValueError(f"the aliases {other} and {alias.name} are the same type: keep one")
        _add(types_by_name, alias.name, _described(schema, alias.description))
    return shapes


def _add_root(types_by_name: _ByName, name: str, schema: JsonSchema) -> str:
    """Add a root that is not a model, and return the name under which it is found."""
    if set(schema) == {"$ref"}:
        return schema["$ref"].removeprefix(PREFIX)
    _add(types_by_name, name, schema)
    return name


def _add(types_by_name: _ByName, name: str, schema: JsonSchema) -> None:
    if name in types_by_name:
        raise ValueError(f"two types are called {name}: rename one")
    types_by_name[name] = schema


def _clean(schema: JsonSchema) -> JsonSchema:
    """Return `schema` without what says nothing to a reader of the wire."""
    kept = map_children(schema, _clean)
    kept.pop("title", None)
    kept.pop("discriminator", None)  # each option's own `const` says it
    if "properties" in kept and kept.get("additionalProperties") is True:
        del kept["additionalProperties"]
    if "const" in kept or kept.get("default", ...) is None:
        kept.pop("default", None)
    if "properties" in kept:
        kept["properties"] = _tag_first(kept["properties"])
    for name in kept.get("required", ()):
        kept["properties"][name].pop("default", None)
    if "$ref" in kept:
        kept["$ref"] = PREFIX + _wire_name(kept["$ref"].removeprefix(PREFIX))
    return _described(kept, _wire_words(kept.get("description", "")))


def _tag_first(properties: JsonSchema) -> JsonSchema:
    """Return `properties` with the one that tells the type from others before the rest."""
    return dict(sorted(properties.items(), key=lambda item: "const" not in item[1]))


def _wire_words(text: str) -> str:
    """Return a docstring's text, a line for each paragraph, in the words of JSON."""
    for python_word, json_word in (("None", "null"), ("True", "true"), ("False", "false")):
        text = re.sub(rf"`{python_word}`|\b{python_word}\b", f"`{json_word}`", text)
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text)


def _described(schema: JsonSchema, description: str | None) -> JsonSchema:
    """Return `schema` with `description`, where there is one, before all else."""
    if not description:
        return schema
    rest = {key: value for key, value in schema.items() if key != "description"}
    return {"description": description, **rest}


def _partial_params() -> Iterator[tuple[str, list[str]]]:
    """Yield the params that hold only what changed, with the fields they always have."""
    for notification in NOTIFICATIONS:
        if notification.name.endswith("/didChange"):
            fields = notification.params.model_fields
            yield (
                notification.params.__name__,
                [to_camel(name) for name, field in fields.items() if field.is_required()],
            )


def _namer(shapes: dict[str, str]) -> Callable[[JsonSchema], JsonSchema]:
    """Return a function that puts a reference to an alias wherever its schema is written out."""

    def name_aliases(schema: JsonSchema) -> JsonSchema:
        for kept in (("default",), ("description", "default")):
            bare = {key: value for key, value in schema.items() if key not in kept}
            if name := shapes.get(_shape(bare)):
                beside = {key: schema[key] for key in kept if key in schema}
                return {**beside, "$ref": PREFIX + name}
        return map_children(schema, name_aliases)

    return name_aliases


def _shape(schema: JsonSchema) -> str:
    return json.dumps(schema, sort_keys=True)


def _reachable(all_types: dict[str, JsonSchema], names: Iterable[str]) -> dict[str, JsonSchema]:
    reached: dict[str, JsonSchema] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached[name] = all_types[name]
            waiting.extend(referenced(all_types[name]))
    return reached
