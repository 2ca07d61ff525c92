import pytest

from agentls.errors import (
    LeaseLost,
    LogConflict,
    LogNotWritten,
)
from tests.sessions.conformance.events import (
    Gate,
    created,
    keep,
    kept,
    model_changed,
    prompted,
    seqs,
    titled,
)


async def test_who_comes_too_late_is_told_and_overwrites_nothing(place):
    await keep(place.open(), created(), prompted(2))
    first, second = place.open().open("s1", after=2), place.open().open("s1", after=2)
    first.append(titled(3, "first"))
    await first.flush()
    second.append(titled(3, "second"))
    with pytest.raises(LogConflict):
        await second.flush()
    assert second.unsaved > 0
    second.append(model_changed(4))
    with pytest.raises(LogConflict):
        await second.flush()
    first.append(model_changed(4))
    await first.aclose()
    assert kept(place.open()) == [created(), prompted(2), titled(3, "first"), model_changed(4)]
    with pytest.raises(LogConflict):
        await second.aclose()


async def test_who_has_read_too_little_is_told_with_the_numbers(place):
    await keep(place.open(), created(), prompted(2), prompted(3), prompted(4))
    late = place.open().open("s1", after=2)
    late.append(titled(3, "late"))
    with pytest.raises(LogConflict, match=r"4.*2"):
        await late.flush()
    with pytest.raises(LogConflict):
        await late.aclose()
    assert seqs(place.open()) == [1, 2, 3, 4]


async def test_a_session_is_not_begun_over_one_that_is_there(place):
    await keep(place.open(), created(), prompted(2, "first"))
    log = place.open().create("s1")
    log.append(created())
    log.append(prompted(2, "second"))
    with pytest.raises(LogConflict):
        await log.flush()
    with pytest.raises(LogConflict):
        await log.aclose()
    assert kept(place.open()) == [created(), prompted(2, "first")]


async def test_what_could_not_be_written_is_written_later_and_once(store):
    gate = Gate()
    log = store.create("s1", lease=gate)
    log.append(created())
    log.append(prompted(2))
    await log.flush()
    gate.trouble = "the disk is full"
    log.append(prompted(3, "x" * 100_000))
    with pytest.raises(LogNotWritten, match="the disk is full"):
        await log.flush()
    log.append(model_changed(4))
    with pytest.raises(LogNotWritten):
        await log.flush(durable=True)
    store.write_ahead()
    assert log.unsaved > 0
    assert seqs(store) == [1, 2]
    gate.trouble = None
    await log.flush(durable=True)
    assert log.unsaved == 0
    log.append(model_changed(5))
    await log.aclose()
    assert kept(store) == [
        created(), prompted(2), prompted(3, "x" * 100_000), model_changed(4), model_changed(5),
    ]  # fmt: skip


async def test_what_could_not_be_written_when_closing_is_written_when_asked_again(store):
    gate = Gate()
    log = store.create("s1", lease=gate)
    gate.trouble = "the disk is full"
    log.append(created())
    log.append(prompted(2))
    with pytest.raises(LogNotWritten, match="the disk is full"):
        await log.aclose()
    assert log.unsaved > 0
    gate.trouble = None
    await log.flush()
    await log.aclose()
    assert seqs(store) == [1, 2]


async def test_who_has_lost_the_lease_writes_nothing_more(store):
    gate = Gate()
    log = store.create("s1", lease=gate)
    log.append(created())
    log.append(prompted(2))
    await log.flush()
    gate.mine = False
    log.append(model_changed(3))
    with pytest.raises(LeaseLost, match="it is another's"):
        await log.flush()
    store.write_ahead()
    assert log.unsaved > 0
    with pytest.raises(LeaseLost):
        await log.aclose()
    assert seqs(store) == [1, 2]
