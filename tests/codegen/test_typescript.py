import json
import re
import shutil
import subprocess

import pytest

from agentls.codegen.schema import definitions
from agentls.codegen.typescript import (
    WIDTH,
    camel_name,
    render_methods,
    render_types,
    type_text,
)
from agentls.protocol.methods import NOTIFICATIONS, REQUESTS
from tests.support.wire_examples import ROOT

TYPES = definitions()
NODE_MODULES = ROOT / "client-vscode" / "node_modules"

needs_tsc = pytest.mark.skipif(
    not (NODE_MODULES / "typescript").is_dir() or shutil.which("node") is None,
    reason="needs `npm ci` in client-vscode",
)

CONSUMER = """
import type { RequestType } from "vscode-languageclient/node";
import { sessionEvent, sessionPrompt, stateDidChange } from "./methods";
import { PROTOCOL_VERSION } from "./protocol";
import type {
  AppGetParams, Envelope, JsonValue, Mode, SessionEvent, SessionNewParams, SessionState,
  StateDidChangeParams, TodoStatus,
} from "./protocol";

declare function send<P, R, E>(type: RequestType<P, R, E>, params: P): R;
export const version: number = PROTOCOL_VERSION;
export const names: string[] = [sessionEvent.method, sessionPrompt.method, stateDidChange.method];
export const queued: boolean = send(sessionPrompt, { sessionId: "s", text: "Go." }).queued;
// @ts-expect-error a prompt has a text
export const mute = send(sessionPrompt, { sessionId: "s" });

export function told(event: SessionEvent): string {
  switch (event.type) {
    case "userMessageReceived":
      return event.content.map((block) => (block.type === "text" ? block.text : "")).join("");
    case "turnFinished":
      return event.error?.message ?? event.status;
    default:
      return event.type;
  }
}

const modes = {
  default: 1, acceptEdits: 2, plan: 3, dontAsk: 4, bypassPermissions: 5,
} satisfies Record<Mode, number>;
export const mode: number = modes["plan"];

export const empty: SessionNewParams = {};
export const nothing: AppGetParams = {};
export const partial: StateDidChangeParams = { sessionId: "s", seq: 1, title: null };
export const deep: JsonValue = { a: [1, "two", { three: null }] };

export function titleOf(state: SessionState): string {
  // @ts-expect-error a title may be null
  return state.title;
}
export function grown(state: SessionState): void {
  // @ts-expect-error a history is not changed in place
  state.history.push();
}
// @ts-expect-error the server always sends every field of an envelope
export const thin: Envelope = { seq: 1, sessionId: "s" };
// @ts-expect-error no such status
export const wrong: TodoStatus = "done";
"""

TSCONFIG = {
    "compilerOptions": {
        "target": "ES2022",
        "module": "ESNext",
        "moduleResolution": "Bundler",
        "types": [],
        "strict": True,
        "noUncheckedIndexedAccess": True,
        "exactOptionalPropertyTypes": True,
        "noUnusedLocals": True,
        "verbatimModuleSyntax": True,
        "isolatedModules": True,
        "skipLibCheck": True,
        "noEmit": True,
    },
    "include": ["*.ts"],
}


@needs_tsc
def test_types_and_methods_compile_strictly_and_mean_what_they_should(tmp_path) -> None:
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    (tmp_path / "tsconfig.json").write_text(json.dumps(TSCONFIG))
    (tmp_path / "protocol.ts").write_text(render_types(TYPES))
    (tmp_path / "methods.ts").write_text(render_methods(TYPES))
    (tmp_path / "consumer.ts").write_text(CONSUMER)

    tsc = ["node", str(NODE_MODULES / "typescript" / "bin" / "tsc"), "-p", str(tmp_path)]
    done = subprocess.run(tsc, capture_output=True, text=True, timeout=120, check=False)

    assert done.stdout == ""
    assert done.returncode == 0


def test_types_import_nothing_so_that_a_webview_can_use_them() -> None:
    code = re.sub(r"/\*.*?\*/", "", render_types(TYPES), flags=re.S)
    assert not re.search(r"\bimport\b", code)


def test_no_type_is_any() -> None:
    for text in (render_types(TYPES), render_methods(TYPES)):
        code = re.sub(r'/\*.*?\*/|"\w*"', "", text, flags=re.S)
        assert not re.search(r"\b(any|unknown|object)\b", code)


def test_every_type_is_exported_once() -> None:
    exported = re.findall(r"^export (?:interface|type) (\w+)", render_types(TYPES), re.M)

    assert exported == list(TYPES)


def test_every_method_has_a_constant_of_its_types() -> None:
    text = re.sub(r"\(\n  (.*),\n\)", r"(\1)", render_methods(TYPES))
    text = re.sub(r"<\n  (\w+),\n  (\w+),\n  (\w+)\n>", r"<\1, \2, \3>", text)

    for request in REQUESTS:
        types = f"{request.params.__name__}, {request.result.__name__}, void"
        made = f'new RequestType<{types}>("{request.name}");\n'
        assert f"export const {camel_name(request.name)} = {made}" in text
    for notification in NOTIFICATIONS:
        made = f'new NotificationType<{notification.params.__name__}>("{notification.name}");\n'
        assert f"export const {camel_name(notification.name)} = {made}" in text


def test_names_derive_from_the_method() -> None:
    assert camel_name("agent/session/prompt") == "sessionPrompt"
    assert camel_name("agent/state/didChange") == "stateDidChange"


def test_lines_fit_unless_they_hold_a_single_name() -> None:
    for text in (render_types(TYPES), render_methods(TYPES)):
        assert [line for line in text.splitlines() if len(line) > WIDTH] == []


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "integer"}, "number"),
        ({"type": "boolean"}, "boolean"),
        ({"const": "text", "type": "string"}, '"text"'),
        ({"enum": ["a", 'say "b"'], "type": "string"}, '"a" | "say \\"b\\""'),
        ({"$ref": "#/$defs/Usage"}, "Usage"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string | null"),
        ({"type": "array", "items": {"type": "string"}}, "readonly string[]"),
        (
            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/X"}]}},
            "readonly (string | X)[]",
        ),
        (
            {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
            "readonly (readonly number[])[]",
        ),
        (
            {"type": "object", "additionalProperties": {"$ref": "#/$defs/Usage"}},
            "Record<string, Usage>",
        ),
    ],
)
def test_schema_becomes_type(schema, expected) -> None:
    assert type_text(schema) == expected


@pytest.mark.parametrize(
    "schema", [{}, {"type": "array"}, {"type": "object"}, {"not": {"type": "null"}}]
)
def test_schema_with_no_type_is_refused_not_guessed(schema) -> None:
    with pytest.raises(ValueError, match="no TypeScript is known for the schema"):
        type_text(schema)


def test_declaration_is_laid_out_for_reading() -> None:
    long_names = [f"aRatherLongAlternative{number}" for number in range(4)]
    types = {
        "Thing": {
            "description": "A thing */ with\n\nmore to say. " + "word " * 25,
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "Its name."},
                "limit": {"type": "integer", "default": 50, "description": "How many."},
                "kind": {"enum": long_names, "type": "string"},
            },
            "required": ["name", "kind"],
        },
        "Empty": {"type": "object", "properties": {}},
    }

    assert render_types(types).split("\n\n", 2)[2] == (
        "/**\n"
        " * A thing *\\/ with\n"
        " *\n"
        f" * more to say. {'word ' * 16}word\n"
        f" * {'word ' * 7}word\n"
        " */\n"
        "export interface Thing {\n"
        "  /** Its name. */\n"
        "  name: string;\n"
        "  /** How many. Default: `50`. */\n"
        "  limit?: number;\n"
        "  kind:\n"
        '    | "aRatherLongAlternative0"\n'
        '    | "aRatherLongAlternative1"\n'
        '    | "aRatherLongAlternative2"\n'
        '    | "aRatherLongAlternative3";\n'
        "}\n"
        "\n"
        "export type Empty = Record<string, never>;\n"
    )
