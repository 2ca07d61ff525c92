"""Write what is generated from the protocol, or say which files are out of date."""

import json
from pathlib import Path
from typing import Any

from agentls.codegen import markdown, openrpc, schema, typescript
from agentls.errors import ConfigurationError


def generate(root: Path, more: schema.Roots = ()) -> list[Path]:
    """Write the files below `root` that differ from what the protocol says, and return them.

    `root` is a checkout of agentls; `more` are further types for schema.json alone. Raises
    ConfigurationError where it is none.
    """
    stale = check(root, more)
    texts = render(more)
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(texts[path.relative_to(root).as_posix()].encode())
    return stale


def check(root: Path, more: schema.Roots = ()) -> list[Path]:
    """Return the files that `generate` would write; write nothing."""
    if not (root / "server" / "agentls" / "protocol").is_dir():
        raise ConfigurationError(
            f"{root.resolve()} is not a checkout of agentls (it has no server/agentls/protocol):"
            " run `agentls generate` at the top of one"
        )
    return [
        root / name for name, text in render(more).items() if _content(root / name) != text.encode()
    ]


def render(more: schema.Roots = ()) -> dict[str, str]:
    """Return the text of every generated file by its path below the checkout."""
    types = schema.definitions()
    return {
        "client-vscode/src/methods.ts": typescript.render_methods(types),
        "client-vscode/src/protocol.ts": typescript.render_types(types),
        "protocol-docs/openrpc.json": _json_text(openrpc.document(types)),
        "protocol-docs/reference.md": markdown.render(types),
        "protocol-docs/schema.json": _json_text(
            schema.document(schema.definitions(more) if more else types)
        ),
    }


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _json_text(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
