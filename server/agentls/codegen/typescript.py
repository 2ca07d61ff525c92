"""Print the protocol as TypeScript: the types, which import nothing, and the methods.

The two are apart so that code which runs where `vscode-languageclient` does not, such as a
webview, has the types all the same.
"""

import json
import textwrap
from collections.abc import Mapping
from typing import Any

from agentls.codegen.schema import PREFIX, JsonSchema
from agentls.protocol.methods import NOTIFICATIONS, REQUESTS, Notification, Request
from agentls.protocol.requests import PROTOCOL_VERSION

HEADER = "// GENERATED from server/agentls/protocol by `agentls generate`. Do not edit.\n"

WIDTH = 100

_JSON_VALUE = """\
export type JsonValue =
  string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };
"""


def render_types(types: Mapping[str, JsonSchema]) -> str:
    """Return protocol.ts: an interface or alias for each of `types`."""
    version = f"export const PROTOCOL_VERSION = {PROTOCOL_VERSION};\n"
    return "\n".join([HEADER, version, *map(_declaration, types.keys(), types.values())])


def render_methods(types: Mapping[str, JsonSchema]) -> str:
    """Return methods.ts: a constant for every method, described as its params are."""
    methods = (*REQUESTS, *NOTIFICATIONS)
    names = {method.params.__name__ for method in methods}
    names |= {request.result.__name__ for request in REQUESTS}
    imported = "".join(f"  {name},\n" for name in sorted(names))
    parts = [
        HEADER,
        'import { NotificationType, RequestType } from "vscode-languageclient/node";\n',
        f'import type {{\n{imported}}} from "./protocol";\n',
    ]
    for method in methods:
        description = types[method.params.__name__].get("description")
        parts.append(_comment(description, "") + _constant(method))
    return "\n".join(parts)


def camel_name(method: str) -> str:
    """Return the TypeScript name of a method: `agent/session/prompt` is `sessionPrompt`."""
    first, *rest = method.removeprefix("agent/").split("/")
    return first + "".join(word[0].upper() + word[1:] for word in rest)


def type_text(schema: JsonSchema) -> str:
    """Return the TypeScript type of a schema, on one line."""
    return " | ".join(_options(schema))


def _declaration(name: str, schema: JsonSchema) -> str:
    comment = _comment(schema.get("description"), "")
    if name == "JsonValue":
        return comment + _JSON_VALUE
    if "properties" not in schema:
        return comment + _assignment(f"export type {name} =", _options(schema), "")
    if not schema["properties"]:
        return comment + f"export type {name} = Record<string, never>;\n"
    required = set(schema.get("required", ()))
    fields = [
        _field(field, prop, optional=field not in required)
        for field, prop in schema["properties"].items()
    ]
    return comment + f"export interface {name} {{\n" + "".join(fields) + "}\n"


def _field(name: str, schema: JsonSchema, *, optional: bool) -> str:
    description = schema.get("description")
    if "default" in schema:
        default = f"Default: `{json.dumps(schema['default'])}`."
        description = f"{description} {default}" if description else default
    left = f"  {name}{'?' if optional else ''}:"
    return _comment(description, "  ") + _assignment(left, _options(schema), "  ")


def _assignment(left: str, options: list[str], indent: str) -> str:
    """Return `left` and a type, each option on its own line where one line is too long."""
    line = f"{left} {' | '.join(options)};\n"
    if len(line) <= WIDTH + 1 or len(options) == 1:
        return line
    return left + "".join(f"\n{indent}  | {option}" for option in options) + ";\n"


def _constant(method: Request[Any, Any] | Notification[Any]) -> str:
    params = method.params.__name__
    match method:
        case Request():
            made, types = "RequestType", [params, method.result.__name__, "void"]
        case Notification():
            made, types = "NotificationType", [params]
    left = f"export const {camel_name(method.name)} = new {made}"
    head = f"{left}<{', '.join(types)}>("
    line = f'{head}"{method.name}");\n'
    if len(line) <= WIDTH + 1:
        return line
    if len(head) <= WIDTH:
        return f'{head}\n  "{method.name}",\n);\n'
    listed = ",\n  ".join(types)
    return f'{left}<\n  {listed}\n>("{method.name}");\n'


def _options(schema: JsonSchema) -> list[str]:
    """Return the alternatives of a type; most have one."""
    if "$ref" in schema:
        return [schema["$ref"].removeprefix(PREFIX)]
    if "const" in schema:
        return [json.dumps(schema["const"])]
    if "enum" in schema:
        return [json.dumps(value) for value in schema["enum"]]
    if choices := schema.get("oneOf") or schema.get("anyOf"):
        return [option for choice in choices for option in _options(choice)]
    match schema.get("type"):
        case "array" if "items" in schema:
            item = type_text(schema["items"])
            return [f"readonly ({item})[]" if _is_compound(item) else f"readonly {item}[]"]
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            return [f"Record<string, {type_text(schema['additionalProperties'])}>"]
        case "integer" | "number":
            return ["number"]
        case "string" | "boolean" | "null" as primitive:
            return [primitive]
        case _:
            raise ValueError(f"no TypeScript is known for the schema {schema}")


def _is_compound(type_: str) -> bool:
    return " | " in type_ or type_.startswith("readonly ")


def _comment(text: str | None, indent: str) -> str:
    """Return a documentation comment, on one line where it fits."""
    if not text:
        return ""
    text = text.replace("*/", "*\\/")
    line = f"{indent}/** {text} */\n"
    if "\n" not in text and len(line) <= WIDTH + 1:
        return line
    lines = [
        f"{indent} * {part}".rstrip() + "\n"
        for paragraph in text.split("\n")
        for part in _wrapped(paragraph, WIDTH - len(indent) - 3)
    ]
    return f"{indent}/**\n{''.join(lines)}{indent} */\n"


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
