"""`agentls sessions`: what is saved, as a list and as a conversation."""

import os
import sys
from pathlib import Path
from typing import assert_never

import orjson

from agentls.agent.open import session_store
from agentls.cli.folder import absolute_folder
from agentls.errors import LogUnreadable
from agentls.protocol.content import TextPart
from agentls.protocol.history import Answer, CallResult, UserMessage
from agentls.protocol.requests import SessionSummary
from agentls.protocol.session_state import SessionState
from agentls.sessions.chain import replay
from agentls.stdio import tell

_MARKS = {"ok": "done", "error": "failed", "denied": "denied", "cancelled": "cancelled"}


def list_sessions(folder: Path, *, as_json: bool) -> int:
    """Print the sessions kept for `folder`, newest first."""
    folder = absolute_folder(folder)
    store, _ = session_store(folder, os.environ)
    summaries = store.list()
    if as_json:
        rows = [summary.model_dump(mode="json", by_alias=True) for summary in summaries]
        sys.stdout.write(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode() + "\n")
    elif not summaries:
        sys.stdout.write(f"no sessions in {folder}\n")
    else:
        for summary in summaries:
            sys.stdout.write(_row(summary) + "\n")
    return 0


def show_session(folder: Path, session_id: str, *, as_json: bool) -> int:
    """Print one session. Raises `UnknownSession` and `LogUnreadable`."""
    store, _ = session_store(absolute_folder(folder), os.environ)
    loaded = store.load(session_id)
    for problem in loaded.problems:
        tell(f"session {session_id}, line {problem.line}: {problem.message}")
    try:
        state = replay(loaded.envelopes)
    except LogUnreadable as error:
        raise LogUnreadable(f"session {session_id}: {error}") from error
    sys.stdout.write(state.model_dump_json(indent=2) if as_json else as_markdown(state))
    sys.stdout.write("\n")
    return 0


def as_markdown(state: SessionState) -> str:
    """Return a conversation as Markdown."""
    parts = [f"# {state.title or 'Session ' + state.meta.id}"]
    for entry in state.history:
        match entry:
            case UserMessage():
                text = "\n\n".join(block.text for block in entry.content)
                parts.append(f"## {entry.at[:16].replace('T', ' ')} · You\n\n{text}")
            case Answer():
                texts = [part.text for part in entry.parts if isinstance(part, TextPart)]
                parts.extend(texts)
            case CallResult():
                call = entry.call
                outcome = _MARKS[call.outcome or "ok"]
                parts.append(f"- **{call.name}** {outcome}: {call.summary or call.invocation}")
            case _ as never:
                assert_never(never)
    return "\n\n".join(parts)


def _row(summary: SessionSummary) -> str:
    when = summary.updated_at[:16].replace("T", " ")
    what = summary.title or summary.last_prompt or ""
    shown = what if len(what) <= 60 else what[:59] + "…"
    branch = f" [{summary.git_branch}]" if summary.git_branch else ""
    return f"{summary.id}  {when}  {summary.message_count:>4} messages  {shown}{branch}"
