import pytest

from agentls.errors import LogConflict, LogNotWritten
from agentls.sessions.memory import MemoryStore
from tests.sessions.conformance.events import (
    compacted,
    created,
    events_in,
    keep,
    model_changed,
    prompted,
    said,
    seqs,
)


@pytest.fixture
def store():
    return MemoryStore()


def test_what_is_appended_is_kept_at_once(store):
    log = store.create("s1")
    log.append(created())
    log.append(prompted(2))
    assert log.unsaved == 0
    assert seqs(store) == [1, 2]


async def test_two_stores_have_nothing_in_common(store):
    await keep(store, created(), prompted(2))
    assert MemoryStore().list() == ()


async def test_a_log_is_read_from_what_its_last_compaction_needs(store):
    events = [created(), prompted(2), said(3), compacted(4, None), said(5), said(6), said(7)]
    await keep(store, *events, compacted(8, 6), said(9))
    raw = store.read("s1")
    assert [event.seq for event in events_in(store, raw)] == [6, 7, 8, 9]
    assert (raw.first_line, raw.complete) == (7, False)


async def test_a_compaction_that_keeps_what_is_not_there_is_read_with_all_before_it(store):
    await keep(store, created(), prompted(2), said(4), compacted(5, 3), said(6))
    assert store.read("s1") == store.read("s1", whole=True)


async def test_a_conflict_waits_until_somebody_hears_of_it(store):
    await keep(store, created(), prompted(2))
    first, second = store.open("s1", after=2), store.open("s1", after=2)
    first.append(model_changed(3))
    second.append(prompted(3, "second"))
    second.write_now()
    with pytest.raises(LogConflict, match=r"up to number 3.*up to 2"):
        await second.flush()
    assert second.unsaved > 0
    assert seqs(store) == [1, 2, 3]


async def test_a_session_trashed_under_its_writer_is_told_and_goes_on_when_restored(store):
    log = store.create("s1")
    log.append(created())
    log.append(prompted(2))
    store.trash("s1")
    log.append(model_changed(3))
    with pytest.raises(LogNotWritten, match="trash"):
        await log.flush()
    assert not store.has("s1")
    store.restore("s1")
    await log.aclose()
    assert seqs(store) == [1, 2, 3]
