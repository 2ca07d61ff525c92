"""What a list of sessions shows, read from the head and the tail of each log alone."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from agentls.errors import LogUnreadable
from agentls.protocol.content import TextBlock
from agentls.protocol.events.conversation import (
    PromptQueued,
    SessionCreated,
    TitleChanged,
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
)
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.requests import SessionSummary
from agentls.sessions.records import parse_log
from agentls.state.event_store import timestamp

WINDOW_BYTES = 64 << 10
LAST_PROMPT_LENGTH = 200


def summarise(path: Path) -> SessionSummary | None:
    """Return what a list shows of the log at `path`; None where it cannot be read."""
    try:
        with path.open("rb") as log:
            head = log.read(WINDOW_BYTES)
            size = log.seek(0, 2)
            log.seek(max(len(head), size - WINDOW_BYTES))
            tail = log.read(WINDOW_BYTES)
        changed = timestamp(datetime.fromtimestamp(path.stat().st_mtime, UTC))
    except OSError:
        return None
    # The windows cut lines in two; such halves are not JSON and fall out of themselves.
    try:
        envelopes = (*parse_log(head, str(path)).envelopes, *parse_log(tail, str(path)).envelopes)
    except LogUnreadable:  # of a newer agentls; whoever opens it is told
        return None
    summary = summary_of(envelopes)
    return summary and summary.model_copy(update={"updated_at": max(changed, summary.updated_at)})


def summary_of(envelopes: Iterable[Envelope]) -> SessionSummary | None:
    """Return what a list shows of these events; None where they hold no session's beginning."""
    created: Envelope | None = None
    shown: dict[str, object] = {}
    for envelope in envelopes:
        shown["updated_at"] = envelope.at
        match envelope.event:
            case SessionCreated():
                created = envelope
            case PromptQueued() | UserMessageReceived() as prompt:
                shown["last_prompt"] = _first_line(prompt.content)
            case TurnStarted() as turn:
                shown["model"] = turn.model
            case TurnFinished() as turn:
                shown["message_count"] = turn.message_count
            case TitleChanged() as titled:
                shown["title"] = titled.title
            case _:
                pass
    if created is None or not isinstance(created.event, SessionCreated):
        return None
    return SessionSummary.model_validate(
        {
            "title": None,
            "last_prompt": None,
            "message_count": 0,
            "model": created.event.model,
            **shown,
            "id": created.session_id,
            "created_at": created.at,
            "git_branch": created.event.session.git_branch,
            "open": False,
        }
    )


def _first_line(content: tuple[TextBlock, ...]) -> str:
    text = " ".join(block.text for block in content)
    return " ".join(text.split())[:LAST_PROMPT_LENGTH]
