"""The order of a conversation: which of a log's events lie on the chosen branch."""

from collections.abc import Iterable, Sequence

from agentls.errors import LogUnreadable
from agentls.protocol.events.conversation import HeadMoved, SessionCreated
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.events.kinds import AttachedEvent, MessageEvent
from agentls.protocol.session_state import SessionState
from agentls.state.reduce import reduce


def replay(envelopes: Sequence[Envelope]) -> SessionState:
    """Return the state that a log adds up to. Raises `LogUnreadable` where it has no beginning."""
    if not envelopes or not isinstance(envelopes[0].event, SessionCreated):
        raise LogUnreadable(
            "the log does not begin with the session's creation, so it cannot be opened; "
            "it is left as it is"
        )
    state = SessionState(meta=envelopes[0].event.session)
    for envelope in select_branch(envelopes):
        state = reduce(state, envelope)
    return state


def select_branch(envelopes: Iterable[Envelope]) -> list[Envelope]:
    """Return the events that count: the chosen branch's, and the session's own, in order.

    The branch runs from the last message, or from where a `HeadMoved` after it points, back through
    the parents. A message whose id came before is dropped.
    """
    kept, parents, head = _without_duplicates(envelopes)
    branch: set[str] = set()
    while head is not None and head not in branch:
        branch.add(head)
        head = parents.get(head)
    return [envelope for envelope in kept if _counts(envelope, branch)]


def _without_duplicates(
    envelopes: Iterable[Envelope],
) -> tuple[list[Envelope], dict[str, str | None], str | None]:
    kept: list[Envelope] = []
    parents: dict[str, str | None] = {}
    head: str | None = None
    for envelope in envelopes:
        match envelope.event:
            case MessageEvent() as message:
                if message.id in parents:
                    continue
                parents[message.id] = message.parent
                head = message.id
            case HeadMoved() as moved:
                head = moved.head
            case _:
                pass
        kept.append(envelope)
    return kept, parents, head


def _counts(envelope: Envelope, branch: set[str]) -> bool:
    match envelope.event:
        case MessageEvent() as message:
            return message.id in branch
        case AttachedEvent() as attached:
            return attached.parent in branch
        case _:
            return True
