"""Events and lines for tests of logs, and processes that write them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from agentls.protocol.content import TextBlock, Usage
from agentls.protocol.events.conversation import (
    PromptQueued,
    SessionCreated,
    SessionMeta,
    TitleChanged,
    TurnFinished,
    UserMessageReceived,
)
from agentls.protocol.events.envelope import Envelope, SessionEvents
from agentls.protocol.requests import SessionSummary
from agentls.sessions.store import SessionLog, SessionStore

NOBODY = 65534


def at(seq: int) -> str:
    return f"2026-11-30T12:{seq // 60 % 60:02d}:{seq % 60:02d}.000Z"


def enveloped(seq: int, event: SessionEvents, session_id: str = "s") -> Envelope:
    return Envelope(
        seq=seq, session_id=session_id, turn_id=None, origin=None, at=at(seq), event=event
    )


def created(session_id: str = "s") -> Envelope:
    meta = SessionMeta(
        id=session_id, created_at=at(1), cwd=".", agentls_version="0", git_branch="trunk"
    )
    return enveloped(1, SessionCreated(session=meta, model="m"), session_id)


def queued(seq: int, text: str, session_id: str = "s") -> Envelope:
    event = PromptQueued(item_id=f"t{seq}", content=(TextBlock(text=text),))
    return enveloped(seq, event, session_id)


def said(seq: int, text: str, session_id: str = "s") -> Envelope:
    event = UserMessageReceived(id=f"m{seq}", parent=None, content=(TextBlock(text=text),))
    return enveloped(seq, event, session_id)


def titled(seq: int, title: str, session_id: str = "s") -> Envelope:
    return enveloped(seq, TitleChanged(title=title), session_id)


def finished(seq: int, count: int, session_id: str = "s") -> Envelope:
    event = TurnFinished(parent="m", status="completed", message_count=count, duration_ms=1)
    return enveloped(seq, event, session_id)


def summary(session_id: str = "s", **changed: object) -> SessionSummary:
    return SessionSummary.model_validate(
        {
            "id": session_id,
            "title": None,
            "tag": None,
            "last_prompt": "hello",
            "created_at": at(1),
            "updated_at": at(2),
            "message_count": 2,
            "model": "m",
            "git_branch": "trunk",
            "usage": Usage(input_tokens=10, output_tokens=1),
            "forked_from": None,
            "open": True,
            **changed,
        }
    )


async def keep(log: SessionLog, *envelopes: Envelope) -> SessionLog:
    """Have these events in the file, and return the log."""
    for envelope in envelopes:
        log.append(envelope)
    await log.flush()
    return log


async def kept(store: SessionStore, *envelopes: Envelope, session_id: str = "s") -> None:
    """Keep a session of these events, and close it."""
    begin = created(session_id), queued(2, "hello", session_id)
    await (await keep(store.create(session_id), *begin, *envelopes)).aclose()


def records(path: Path) -> list[dict]:
    """Return what can be read of a log's lines."""
    found = []
    for line in path.read_bytes().split(b"\n"):
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def seqs(path: Path) -> list[int]:
    return [record["seq"] for record in records(path) if "seq" in record]


def run_script(script: str, *arguments: object, as_nobody: bool = False) -> subprocess.Popen[str]:
    """Start a Python process; `as_nobody` gives up root, to which no permission applies."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    if as_nobody and os.geteuid() == 0:
        command = ["setpriv", f"--reuid={NOBODY}", "--clear-groups", *command]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def can_be_nobody() -> bool:
    return os.geteuid() != 0 or shutil.which("setpriv") is not None


def give_to_nobody(folder: Path) -> None:
    """Let a process without privileges own `folder` and reach it."""
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, -1)
    for parent in (folder, *folder.parents[:3]):
        parent.chmod(parent.stat().st_mode | 0o711)
