from typing import Any

import pytest

from agentls.errors import LogUnreadable
from agentls.protocol.content import TextBlock, Todo
from agentls.protocol.events.compaction import ConversationCompacted
from agentls.protocol.events.conversation import (
    HeadMoved,
    SessionCreated,
    TitleChanged,
    TodosChanged,
    UserMessageReceived,
)
from agentls.protocol.events.envelope import Envelope, SessionEvents
from agentls.protocol.history import Gap, Summary
from agentls.sessions.chain import choose, replay, select_branch
from agentls.sessions.rows import row_of_envelope
from tests.support.lives import META


def log_of(*events: SessionEvents) -> list[Envelope]:
    """Return a log of a session's creation and these events."""
    return [
        Envelope(
            seq=seq,
            session_id="s1",
            turn_id=None,
            origin=None,
            at="2026-11-30T12:00:00.000Z",
            event=event,
        )
        for seq, event in enumerate([SessionCreated(session=META, model="m"), *events], start=1)
    ]


def said(message_id: str, parent: str | None) -> UserMessageReceived:
    return UserMessageReceived(id=message_id, parent=parent, content=(TextBlock(text=message_id),))


def planned(parent: str, content: str) -> TodosChanged:
    return TodosChanged(
        parent=parent, todos=(Todo(content=content, active_form="doing", status="pending"),)
    )


def compacted(logical_parent: str, kept_from: str | None, **more: Any) -> ConversationCompacted:
    state = {"meta": META.model_dump(by_alias=True), **more}
    return ConversationCompacted(
        id="sum", parent=None, logical_parent=logical_parent, kept_from=kept_from,
        kept_from_seq=None, summary="so far", message_count=3, state=state,
    )  # fmt: skip


def shown(log: list[Envelope]) -> list[str]:
    """Return the conversation as ids, gaps as what is missing."""
    return [
        f"gap before: {entry.missing}" if isinstance(entry, Gap) else entry.id
        for entry in replay(log).history
    ]


def told(log: list[Envelope]) -> list[tuple[int, str]]:
    rows = [row_of_envelope(envelope, line) for line, envelope in enumerate(log, start=2)]
    return [(damage.line, damage.what) for damage in choose(rows).damage]


def test_the_branch_of_the_last_message_is_chosen():
    log = log_of(said("a", None), said("b", "a"), said("c", "a"), said("d", "c"))
    assert shown(log) == ["a", "c", "d"]
    assert told(log) == []


def test_a_sibling_stays_reachable():
    log = log_of(said("a", None), said("b", "a"), said("c", "a"), HeadMoved(head="b"))
    assert shown(log) == ["a", "b"]
    assert shown([*log, *log_of(HeadMoved(head="c"))[1:]]) == ["a", "c"]


def test_a_head_moved_to_the_start_leaves_nothing_but_the_session():
    log = log_of(said("a", None), TitleChanged(title="t"), HeadMoved(head=None))
    assert shown(log) == []
    assert replay(log).title == "t"


def test_what_is_attached_counts_where_its_message_does():
    log = log_of(
        said("a", None), planned("a", "kept"), said("b", "a"), planned("b", "left"), said("c", "a")
    )
    assert [todo.content for todo in replay(log).todos] == ["kept"]


def test_a_missing_parent_is_bridged_and_shown_as_a_gap():
    log = log_of(said("a", None), said("b", "a"), said("d", "lost"), said("e", "d"))
    assert shown(log) == ["a", "b", "gap before: lost", "d", "e"]
    assert told(log) == [
        (
            5,
            "the message before this one, lost, is missing or comes later; "
            "joined to the message before it in the log",
        )
    ]


def test_a_missing_first_message_leaves_a_gap_at_the_start():
    assert shown(log_of(said("b", "lost"))) == ["gap before: lost", "b"]


def test_a_gap_after_a_rewind_is_bridged_to_where_the_rewind_led():
    log = log_of(said("a", None), said("b", "a"), HeadMoved(head="a"), said("d", "lost"))
    assert shown(log) == ["a", "gap before: lost", "d"]


def test_a_parent_that_comes_later_does_not_hide_what_is_there():
    log = log_of(said("a", None), said("c", "b"), said("b", "a"), said("d", "c"))
    assert shown(log) == ["a", "gap before: b", "c", "d"]
    assert [line for line, _ in told(log)] == [4]


def test_a_message_that_is_its_own_parent_is_told_and_bridged():
    log = log_of(said("a", None), said("b", "b"), said("c", "b"))
    assert shown(log) == ["a", "gap before: b", "b", "c"]
    assert told(log)[0][1].startswith("a message that names itself")


def test_messages_that_name_each_other_end_in_no_cycle():
    log = log_of(said("a", "c"), said("b", "a"), said("c", "b"))
    assert shown(log) == ["gap before: c", "a", "b", "c"]


def test_a_duplicate_id_is_dropped_and_told():
    log = log_of(said("a", None), said("b", "a"), said("a", "b"), said("c", "b"))
    assert shown(log) == ["a", "b", "c"]
    assert told(log) == [(5, "another message with the id a; passed over")]


def test_a_head_that_is_missing_changes_nothing():
    log = log_of(said("a", None), said("b", "a"), HeadMoved(head="lost"), said("c", "b"))
    assert shown(log) == ["a", "b", "c"]
    assert told(log)[0][1].startswith("the message that was gone back to, lost, is missing")


def test_a_rewind_by_another_writer_leaves_no_gap_where_none_is():
    log = log_of(said("a", None), said("b", "a"), HeadMoved(head="a"), said("c", "b"))
    assert shown(log) == ["a", "b", "c"]


def test_a_second_beginning_does_not_begin_the_session_anew():
    log = log_of(said("a", None), SessionCreated(session=META, model="other"), said("b", "a"))
    assert shown(log) == ["a", "b"]
    assert replay(log).model.default == "m"
    assert told(log) == [(4, "the session begins a second time; passed over")]


def test_a_log_without_a_beginning_is_refused():
    with pytest.raises(LogUnreadable, match="does not begin"):
        replay(log_of(said("a", None))[1:])


def test_after_a_compaction_come_its_summary_and_what_it_keeps():
    log = log_of(
        said("a", None), said("b", "a"), planned("b", "b's"), said("c", "b"),
        compacted("c", "b"), said("d", "sum"),
    )  # fmt: skip
    assert shown(log) == ["sum", "b", "c", "d"]
    assert isinstance(replay(log).history[0], Summary)
    branch = [envelope.seq for envelope in select_branch(log)]
    assert branch == [1, 3, 4, 5, 6, 7]


def test_a_compaction_of_a_compacted_conversation_keeps_what_that_had_kept():
    first = compacted("b", "b").model_copy(update={"id": "first"})
    log = log_of(
        said("a", None), said("b", "a"), first, said("c", "first"),
        compacted("c", "b"), said("d", "sum"),
    )  # fmt: skip
    assert shown(log) == ["sum", "b", "c", "d"]
    again = log_of(
        said("a", None), said("b", "a"), first, said("c", "first"),
        compacted("c", "first"), said("d", "sum"),
    )  # fmt: skip
    assert shown(again) == ["sum", "first", "b", "c", "d"]


def test_a_rewind_to_before_a_compaction_brings_the_old_conversation_back():
    log = log_of(
        said("a", None), said("b", "a"), compacted("b", None), said("c", "sum"),
        HeadMoved(head="a"),
    )  # fmt: skip
    assert shown(log) == ["a"]


def test_a_turn_that_a_compaction_stands_in_can_end():
    turn = {"id": "t", "messageId": "a", "startedAt": "x", "model": "m"}
    log = log_of(
        said("a", None), said("b", "a"), compacted("b", None, turn=turn), planned("a", "after"),
    )  # fmt: skip
    assert [todo.content for todo in replay(log).todos] == ["after"]


def test_a_compaction_whose_first_kept_message_is_missing_is_told():
    log = log_of(said("a", None), compacted("a", "lost"), said("b", "sum"))
    assert shown(log) == ["sum", "b"]
    assert told(log) == [(4, "the message lost, which a compaction keeps, is missing")]


def test_a_compaction_whose_message_before_is_missing_follows_the_one_in_the_log():
    log = log_of(said("a", None), said("b", "a"), compacted("lost", "b"), said("c", "sum"))
    assert shown(log) == ["sum", "b", "c"]
    assert told(log) == [
        (
            5,
            "the message before a compaction, lost, is missing; "
            "joined to the message before it in the log",
        )
    ]
