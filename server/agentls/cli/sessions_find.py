"""Which session, and which message, a person means by what they typed."""

from collections.abc import Sequence

from agentls.cli.sessions_table import age, fitted, label
from agentls.errors import InvalidRequest, UnknownMessage, UnknownSession
from agentls.protocol.history import CallResult, UserMessage
from agentls.protocol.requests import SessionSummary
from agentls.protocol.session_state import SessionState
from agentls.sessions.store import SessionStore
from agentls.state.transcript_text import one_line

LATEST = "latest"
_MOST_CANDIDATES = 10


def find_session(store: SessionStore, typed: str, *, trashed: bool = False) -> str:
    """Return the id of the session that `typed` is, or is the only beginning of.

    Raises `UnknownSession`, and `InvalidRequest` with the candidates where there are several.
    """
    summaries = store.list(trashed=trashed)
    ids = [summary.id for summary in summaries]
    place = "in the trash" if trashed else "here"
    if typed in ids or (typed and not trashed and store.has(typed)):  # some cannot be listed
        return typed
    if typed == LATEST:
        if not ids:
            raise UnknownSession(f"there is no session {place}")
        return ids[0]
    meant = [summary for summary in summaries if typed and summary.id.startswith(typed)]
    if not meant:
        shown = "`agentls sessions list --trashed`" if trashed else "`agentls sessions list`"
        raise UnknownSession(f"there is no session {typed!r} {place}; {shown} shows them")
    if len(meant) > 1:
        raise InvalidRequest(_ambiguous(typed, meant))
    return meant[0].id


def find_message(state: SessionState, typed: str) -> str:
    """Return the id of the message of the conversation that `typed` is a beginning of.

    One that is not in the conversation may be on another branch, and is returned as it is.
    """
    ids = [entry.id for entry in state.history if not isinstance(entry, CallResult)]
    meant = [message_id for message_id in ids if message_id.startswith(typed)] if typed else []
    if typed in ids or not meant:
        return typed
    if len(meant) > 1:
        raise InvalidRequest(f"{typed!r} may be any of {', '.join(meant[:_MOST_CANDIDATES])}")
    return meant[0]


def latest_prompt(state: SessionState) -> str:
    """Return the id of the newest prompt. Raises `UnknownMessage` where there is none."""
    prompts = [entry.id for entry in state.history if isinstance(entry, UserMessage)]
    if not prompts:
        raise UnknownMessage(f"session {state.meta.id} holds no prompt to go back to")
    return prompts[-1]


def _ambiguous(typed: str, meant: Sequence[SessionSummary]) -> str:
    rows = [
        f"{summary.id} ({age(summary.updated_at)}: {one_line(fitted(label(summary), 40))})"
        for summary in meant[:_MOST_CANDIDATES]
    ]
    more = len(meant) - len(rows)
    listed = "; ".join([*rows, *([f"and {more} more"] if more else [])])
    return f"{typed!r} is the beginning of {len(meant)} sessions: {listed}"
