"""Copies a conversation up to one of its messages, under a new session's name and numbers."""

from collections.abc import Iterable

from agentls.errors import UnknownMessage
from agentls.protocol.events.approvals import ApprovalAnswered, ApprovalRequested
from agentls.protocol.events.compaction import (
    CompactionFailed,
    CompactionStarted,
    ConversationCompacted,
)
from agentls.protocol.events.conversation import (
    ForkOrigin,
    HeadMoved,
    PromptDequeued,
    PromptQueued,
    SessionCreated,
    SessionMeta,
    ToolCallFinished,
    UsageRecorded,
)
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.events.kinds import MessageEvent, RecordEvent
from agentls.protocol.events.questions import QuestionsAnswered, QuestionsAsked
from agentls.protocol.events.retries import RetryEnded, RetryScheduled
from agentls.protocol.events.tasks import TaskAdded, TaskFinished, TasksEvicted, TaskStarted
from agentls.sessions.chain import select_branch
from agentls.sessions.restamping import restamped

LEFT_BEHIND = (
    HeadMoved, PromptQueued, PromptDequeued, UsageRecorded, RecordEvent, CompactionStarted,
    CompactionFailed, RetryScheduled, RetryEnded, TaskAdded, TaskStarted, TaskFinished,
    TasksEvicted,
)  # fmt: skip
"""What belongs to the life of the old session, not to the conversation: it has paid its tokens, its
tasks run in it, and what it waits for the model's side with goes on in it alone."""
_OF_OLD_LIFE = ("queue", "usage", "tasks", "redo")
"""The same in the state that a compaction holds."""


def fork(
    envelopes: Iterable[Envelope], meta: SessionMeta, message_id: str | None
) -> tuple[Envelope, ...]:
    """Return the events of a new session `meta` that begins as the old one was at `message_id`.

    None stands for where the old one is now. Times stay; numbers begin anew. Raises
    `UnknownMessage`.
    """
    kept = list(envelopes)
    if message_id is not None:
        kept = _up_to(kept, message_id)
    branch = [e for e in select_branch(kept) if not isinstance(e.event, LEFT_BEHIND)]
    finished = {e.event.call_id for e in branch if isinstance(e.event, ToolCallFinished)}
    branch = [e for e in branch if not _is_open_question(e, finished)]
    head = next((e.event.id for e in reversed(branch) if isinstance(e.event, MessageEvent)), None)
    if head is None:
        raise UnknownMessage("the conversation has no message yet: there is nothing to fork")
    origin = ForkOrigin(session_id=kept[0].session_id, message_id=head)
    born = meta.model_copy(update={"forked_from": origin})
    return restamped(_linked([_begun(envelope, born) for envelope in branch]), born.id)


def _is_open_question(envelope: Envelope, finished: set[str]) -> bool:
    """Whether it is about what a person was asked of a call that waits, or has just been answered.

    It is answered where it was asked, and once.
    """
    match envelope.event:
        case ApprovalRequested() as asked:
            return asked.approval.call_id not in finished
        case QuestionsAsked() as asked:
            return asked.questions.call_id not in finished
        case ApprovalAnswered() | QuestionsAnswered() as answered:
            return answered.call_id not in finished
        case _:
            return False


def _linked(envelopes: list[Envelope]) -> list[Envelope]:
    """Return the events with each message after one that is there.

    What a compaction kept may follow an earlier compaction, which is not copied.
    """
    linked: list[Envelope] = []
    ids: set[str | None] = {None}
    last: str | None = None
    for envelope in envelopes:
        event = envelope.event
        if isinstance(event, ConversationCompacted) and event.logical_parent not in ids:
            event = event.model_copy(update={"logical_parent": last})
        elif isinstance(event, MessageEvent) and event.parent not in ids:
            event = event.model_copy(update={"parent": last})
        if isinstance(event, MessageEvent):
            last = event.id
            ids.add(last)
        linked.append(envelope.model_copy(update={"event": event}))
    return linked


def _up_to(envelopes: list[Envelope], message_id: str) -> list[Envelope]:
    """Return the events with the head at `message_id`, and nothing of what was chosen later."""
    if not any(_is_message(envelope, message_id) for envelope in envelopes):
        raise UnknownMessage(f"there is no message {message_id!r} in the session")
    last = envelopes[-1]
    moved = HeadMoved(head=message_id)
    return [*envelopes, last.model_copy(update={"seq": last.seq + 1, "event": moved})]


def _is_message(envelope: Envelope, message_id: str) -> bool:
    return isinstance(envelope.event, MessageEvent) and envelope.event.id == message_id


def _begun(envelope: Envelope, born: SessionMeta) -> Envelope:
    """Return the event as one of the new session, which has lived no other life."""
    match envelope.event:
        case SessionCreated() as created:
            event = created.model_copy(update={"session": born})
        case ConversationCompacted() as compacted:
            own = {key: value for key, value in compacted.state.items() if key not in _OF_OLD_LIFE}
            own["meta"] = born.model_dump(mode="json", by_alias=True)
            event = compacted.model_copy(update={"state": own})
        case _:
            return envelope
    return envelope.model_copy(update={"event": event})
