import asyncio
import threading

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentls.errors import (
    ContentMissing,
    LogUnreadable,
    UnknownSession,
)
from agentls.sessions.records import BLOB_BYTES, Header, header_of
from tests.sessions.conformance.events import (
    Gate,
    compacted,
    created,
    events_in,
    keep,
    kept,
    model_changed,
    prompted,
    resumed,
    said,
    seqs,
    summary,
)
from tests.support.lives import actions, lived

lives = settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
any_text = st.text(alphabet=st.characters(exclude_categories=["Cs"]))


@lives
@given(steps=actions)
async def test_whatever_a_session_went_through_is_read_back_as_it_was(new_place, steps):
    store = new_place().open()
    life = lived([("prompt", 1), *steps])
    await keep(store, *life.log)
    assert kept(store) == life.log


@lives
@given(texts=st.lists(any_text | st.just("a\u2028b\u2029c\x85\x00\r\n\x1f"), max_size=20))
async def test_any_text_is_read_back_as_it_was(new_place, texts):
    store = new_place().open()
    events = [created(), *(prompted(seq, text) for seq, text in enumerate(texts, start=2))]
    await keep(store, *events, prompted(len(events) + 1))
    assert kept(store) == [*events, prompted(len(events) + 1)]


@lives
@given(plan=st.lists(st.sampled_from(["append", "flush", "durable", "now", "reopen"]), max_size=30))
async def test_events_are_kept_once_and_in_order_whenever_they_are_written(new_place, plan):
    store = new_place().open()
    events = [created(), prompted(2)]
    log = store.create("s1")
    for event in events:
        log.append(event)
    for step in plan:
        match step:
            case "append":
                events.append(model_changed(len(events) + 1))
                log.append(events[-1])
            case "flush" | "durable":
                await log.flush(durable=step == "durable")
                assert kept(store) == events
                assert log.unsaved == 0
            case "now":
                log.write_now()
            case "reopen":
                await log.aclose()
                log = store.open("s1", after=len(events))
    await log.aclose()
    assert kept(store) == events


async def test_the_header_says_whose_log_it_is(store):
    await keep(store, created(), prompted(2))
    await keep(store, said(1, chat_id="agent1"))
    assert _header(store, "s1", "main") == Header(2, "s1", "main", ".")
    assert _header(store, "s1", "agent1") == Header(2, "s1", "agent1", ".")


def _header(store, session_id, chat_id):
    return header_of(orjson.loads(store.read(session_id, chat_id).header))


async def test_nothing_is_kept_before_the_first_prompt(store):
    log = store.create("s1")
    log.append(created())
    log.append(model_changed(2))
    log.describe(summary())
    await log.flush(durable=True)
    log.write_now()
    store.write_ahead()
    with pytest.raises(UnknownSession):
        store.read("s1")
    assert store.list() == ()
    log.append(prompted(3))
    await log.flush()
    assert seqs(store) == [1, 2, 3]
    await log.aclose()


async def test_a_session_without_a_prompt_leaves_nothing_behind(store):
    await keep(store, created(), model_changed(2))
    assert store.list() == ()
    with pytest.raises(UnknownSession):
        store.read("s1")


async def test_opening_a_session_leaves_it_as_it_is(place):
    await keep(place.open(), created(), prompted(2))
    before = place.open().read("s1", whole=True)
    log = place.open().open("s1", after=2)
    log.append(resumed(3))
    log.describe(summary())
    await log.flush(durable=True)
    assert place.open().read("s1", whole=True) == before
    log.append(model_changed(4))
    await log.aclose()
    assert kept(place.open()) == [created(), prompted(2), resumed(3), model_changed(4)]


async def test_who_asks_is_told_whether_a_session_is_there(place):
    store = place.open()
    assert not store.has("s1")
    assert not store.has("../no id")
    log = store.create("s1")
    log.append(created())
    await log.flush()
    assert not store.has("s1")
    log.append(prompted(2))
    await log.aclose()
    assert place.open().has("s1")
    assert not store.has("s2")
    store.trash("s1")
    assert not place.open().has("s1")
    store.restore("s1")
    assert store.has("s1")


async def test_a_subagents_first_message_begins_its_log(store):
    await keep(store, created(), prompted(2))
    log = store.create("s1", "agent1")
    log.append(said(1, chat_id="agent1"))
    await log.flush()
    assert seqs(store, "s1", "agent1") == [1]
    await log.aclose()


async def test_what_is_appended_is_written_without_being_flushed(store):
    log = store.create("s1")
    log.append(created())
    log.append(prompted(2))
    async with asyncio.timeout(10):
        while log.unsaved:
            await asyncio.sleep(0.01)
    assert seqs(store) == [1, 2]
    await log.aclose()


async def test_sessions_and_their_chats_are_apart(store):
    logs = {}
    for session_id in ("s1", "s2"):
        await keep(store, created(session_id), prompted(2, session_id, session_id))
        for chat_id in ("agent1", "agent2"):
            logs[session_id, chat_id] = store.create(session_id, chat_id)
    for number in range(1, 20):
        for (session_id, chat_id), log in logs.items():
            event = said(number, f"{session_id} {chat_id} {number}", chat_id)
            log.append(event.model_copy(update={"session_id": session_id}))
    for log in logs.values():
        await log.aclose()
    for session_id, chat_id in logs:
        texts = [event.event.content[0].text for event in kept(store, session_id, chat_id)]
        assert texts == [f"{session_id} {chat_id} {number}" for number in range(1, 20)]
        assert store.chats(session_id) == ("agent1", "agent2")
        assert seqs(store, session_id) == [1, 2]


async def test_a_session_without_subagents_has_no_other_chats(store):
    await keep(store, created(), prompted(2))
    assert store.chats("s1") == ()


async def test_many_events_at_once_are_all_kept(store):
    events = [created(), prompted(2), *(model_changed(seq) for seq in range(3, 5000))]
    await keep(store, *events)
    assert seqs(store) == list(range(1, 5000))


async def test_big_values_lie_beside_the_log_and_come_back(store):
    texts = ["ä" * BLOB_BYTES, "x" * (BLOB_BYTES + 1), "x" * (BLOB_BYTES + 1), "y" * BLOB_BYTES]
    events = [created(), *(prompted(seq, text) for seq, text in enumerate(texts, start=2))]
    await keep(store, *events)
    lines = store.read("s1", whole=True).lines
    assert [b'"blobs":' in line for line in lines] == [False, True, True, True, False]
    assert all(len(line) < BLOB_BYTES + 1000 for line in lines)
    assert kept(store) == events


async def test_big_values_of_a_subagents_chat_come_back_too(store):
    await keep(store, created(), prompted(2))
    await keep(store, said(1, "z" * 200_000, chat_id="agent1"))
    assert kept(store, "s1", "agent1")[0].event.content[0].text == "z" * 200_000


async def test_a_value_that_is_not_there_is_told(store):
    await keep(store, created(), prompted(2))
    with pytest.raises(ContentMissing, match="0" * 64):
        store.blob("s1", "0" * 64)


async def test_a_second_opening_sees_what_the_first_has_written(place):
    await keep(place.open(), created(), prompted(2), prompted(3, "x" * 100_000))
    await keep(place.open(), said(1, chat_id="agent1"))
    store = place.open()
    assert kept(store) == [created(), prompted(2), prompted(3, "x" * 100_000)]
    assert store.chats("s1") == ("agent1",)
    log = store.open("s1", after=3)
    log.append(model_changed(4))
    await log.aclose()
    assert seqs(place.open()) == [1, 2, 3, 4]


async def test_a_log_is_read_from_its_last_compaction_on(store):
    before = [said(seq, f"text {seq}") for seq in range(3, 40)]
    events = [created(), prompted(2), *before, compacted(40, None), *map(said, range(41, 60))]
    events += [compacted(60, 55), said(61)]
    await keep(store, *events)
    whole, needed = store.read("s1", whole=True), store.read("s1")
    assert events_in(store, whole) == events
    assert (whole.complete, whole.first_line) == (True, 2)
    assert needed.header == whole.header
    assert needed.position == whole.position
    assert needed.lines == whole.lines[-len(needed.lines) :]
    assert needed.complete == (needed.lines == whole.lines) == (needed.first_line == 2)
    # 0: what comes before was not counted.
    assert needed.first_line in (0, 2 + len(whole.lines) - len(needed.lines))
    found = [event.seq for event in events_in(store, needed)]
    assert found == list(range(found[0], 62))
    assert found[0] <= 55


async def test_a_log_without_a_compaction_is_read_whole(store):
    await keep(store, created(), prompted(2), said(3))
    assert store.read("s1") == store.read("s1", whole=True)


async def test_whoever_follows_a_log_is_given_every_line_once(place):
    writing, following = place.open(), place.open()
    log = writing.create("s1")
    log.append(created())
    log.append(prompted(2))
    await log.flush()
    position = following.read("s1").position
    assert following.read_new("s1", position) == ([], position)
    found = []
    for first in (3, 6, 9):
        for seq in range(first, first + 3):
            log.append(model_changed(seq))
        await log.flush()
        lines, position = following.read_new("s1", position)
        found += lines
    assert following.read_new("s1", position) == ([], position)
    assert tuple(found) == following.read("s1", whole=True).lines[2:]
    assert position == following.read("s1").position
    await log.aclose()


async def test_a_log_is_followed_from_its_very_beginning(store):
    await keep(store, created(), prompted(2))
    raw = store.read("s1")
    assert store.read_new("s1", 0) == ([raw.header, *raw.lines], raw.position)


async def test_following_a_log_that_became_shorter_is_refused(store):
    await keep(store, created(), prompted(2))
    position = store.read("s1").position
    with pytest.raises(LogUnreadable):
        store.read_new("s1", position + 1000)


async def test_what_is_unknown_is_told(store):
    await keep(store, created("other"), prompted(2, session_id="other"))
    calls = [
        lambda: store.read("s1"),
        lambda: store.read("s1", whole=True),
        lambda: store.read("other", "agent1"),
        lambda: store.read_new("s1", 0),
        lambda: store.chats("s1"),
        lambda: store.trash("s1"),
        lambda: store.restore("s1"),
        lambda: store.purge("s1"),
    ]
    for call in calls:
        with pytest.raises(UnknownSession):
            call()


async def test_a_value_of_an_unknown_session_is_missing(store):
    with pytest.raises((UnknownSession, ContentMissing)):
        store.blob("s1", "0" * 64)


async def test_a_log_may_be_closed_twice_and_flushed_after(store):
    log = store.create("s1")
    log.append(created())
    log.append(prompted(2))
    await log.aclose()
    await log.aclose()
    await log.flush(durable=True)
    log.write_now()
    assert seqs(store) == [1, 2]


async def test_a_log_that_was_never_used_is_closed(store):
    await store.create("s1").aclose()
    await keep(store, created("s2"), prompted(2, session_id="s2"))
    await store.open("s2", after=2).aclose()
    assert seqs(store, "s2") == [1, 2]


async def test_any_thread_may_write_what_waits(store):
    log = store.create("s1")
    log.append(created())
    events = [created(), prompted(2), *(model_changed(seq) for seq in range(3, 400))]
    ended = threading.Event()

    def write():
        while not ended.is_set():
            log.write_now()
            store.write_ahead()

    threads = [threading.Thread(target=write) for _ in range(3)]
    for thread in threads:
        thread.start()
    for event in events[1:]:
        log.append(event)
        if event.seq % 50 == 0:
            await log.flush()
    ended.set()
    for thread in threads:
        thread.join()
    await log.aclose()
    assert kept(store) == events


async def test_before_anything_is_told_all_open_logs_are_written(store):
    gate = Gate()
    refused = store.create("s0", lease=gate)
    gate.trouble = "no"
    refused.append(created("s0"))
    refused.append(prompted(2, session_id="s0"))
    logs = [store.create(f"s{number}") for number in range(1, 4)]
    for number, log in enumerate(logs, start=1):
        log.append(created(f"s{number}"))
        log.append(prompted(2, session_id=f"s{number}"))
    await asyncio.to_thread(store.write_ahead)
    assert [seqs(store, f"s{number}") for number in range(1, 4)] == [[1, 2]] * 3
    gate.trouble = None
    for log in [refused, *logs]:
        await log.aclose()
    assert seqs(store, "s0") == [1, 2]
