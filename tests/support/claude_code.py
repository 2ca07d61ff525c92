"""Files of Claude Code, written in Python, and what is made of them."""

from pathlib import Path
from typing import Any

import orjson

from agentls.cli.sessions_plain import as_text
from agentls.protocol.session_state import SessionState
from agentls.sessions.interop.report import ImportReport

FILES = Path(__file__).parents[1] / "sessions" / "interop" / "claude_code"


def write(path: Path, *records: dict[str, Any] | bytes) -> Path:
    """Write a file of records, or of bytes as they are, and return its path."""
    lines = (record if isinstance(record, bytes) else orjson.dumps(record) for record in records)
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def user(uuid: str, parent: str | None, text: Any = "Go.", **fields: Any) -> dict[str, Any]:
    """Return a record of what the user said, or of results."""
    return {
        "type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": "s1", **fields,
        "timestamp": "2026-10-01T09:00:00.000Z", "message": {"role": "user", "content": text},
    }  # fmt: skip


def assistant(uuid: str, parent: str | None, *blocks: Any, **fields: Any) -> dict[str, Any]:
    """Return a record of an answer."""
    content = blocks or ({"type": "text", "text": "Yes."},)
    message = {"id": f"msg_{uuid}", "role": "assistant", "model": "m", "content": content}
    return {
        "type": "assistant", "uuid": uuid, "parentUuid": parent, "sessionId": "s1", **fields,
        "timestamp": "2026-10-01T09:00:01.000Z", "message": message,
    }  # fmt: skip


def call(call_id: str, name: str = "Bash", **given: Any) -> dict[str, Any]:
    """Return a block that calls a tool."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def result(call_id: str, content: Any = "ok", **fields: Any) -> dict[str, Any]:
    """Return a block with what came of a call."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def left_out(report: ImportReport) -> dict[str, tuple[int, int]]:
    """Return how often what was left out, and from which line on."""
    return {out.what: (out.count, out.first_line) for out in report.left_out}


def texts(state: SessionState) -> list[str]:
    """What the conversation says, a word or so for each entry."""
    return [line.strip() for line in as_text(state).split("\n") if line.startswith("  ")]
