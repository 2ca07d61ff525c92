import pytest

from agentls.errors import SessionExists, UnknownSession
from tests.sessions.conformance.events import (
    created,
    keep,
    kept,
    model_changed,
    moment,
    prompted,
    said,
    seqs,
    summary,
    titled,
)


def ids(store, *, trashed=False):
    return [found.id for found in store.list(trashed=trashed)]


async def test_an_empty_place_has_nothing_to_list(store):
    assert store.list() == ()
    assert store.list(trashed=True) == ()


async def test_the_newest_session_is_listed_first(store):
    for number, session_id in enumerate(["s1", "s2", "s3"], start=1):
        await keep(
            store,
            created(session_id, at=number * 10),
            prompted(2, session_id=session_id, at=number * 10 + 1),
        )
    assert ids(store) == ["s3", "s2", "s1"]


async def test_a_list_shows_what_the_session_was_described_as(store):
    log = store.create("s1")
    log.append(created())
    log.append(prompted(2))
    log.describe(summary(title="Before"))
    log.describe(summary())
    await log.aclose()
    (shown,) = store.list()
    assert _without_time(shown) == _without_time(summary())


async def test_what_came_after_the_description_is_shown_too(store):
    log = store.create("s1")
    log.append(created())
    log.append(prompted(2))
    log.describe(summary(at=3))
    log.append(titled(3, "A newer title", at=20))
    log.append(prompted(4, "a newer prompt", at=21))
    await log.aclose()
    (shown,) = store.list()
    expected = summary(title="A newer title", last_prompt="a newer prompt")
    assert _without_time(shown) == _without_time(expected)


async def test_a_description_after_others_wins(store):
    log = store.create("s1")
    log.append(created())
    log.append(prompted(2))
    log.describe(summary(title="first"))
    await log.aclose()
    log = store.open("s1", after=2)
    log.append(titled(3, "second"))
    log.describe(summary(title="second", message_count=8))
    await log.aclose()
    (shown,) = store.list()
    assert (shown.title, shown.message_count) == ("second", 8)
    assert seqs(store) == [1, 2, 3]


async def test_a_session_that_was_never_described_is_listed_by_its_events(store):
    await keep(store, created(at=1), prompted(2, "what I asked", at=2), titled(3, "Its name", at=3))
    (shown,) = store.list()
    assert shown.id == "s1"
    assert (shown.title, shown.last_prompt) == ("Its name", "what I asked")
    assert shown.created_at == moment(1)
    assert not shown.open


async def test_a_long_session_that_was_never_described_is_listed_by_its_ends(store):
    events = [created(at=1), prompted(2, "the first", at=2)]
    events += [prompted(seq, f"{seq} " * 30, at=seq) for seq in range(3, 1500)]
    await keep(store, *events, prompted(1500, "the last", at=1500))
    (shown,) = store.list()
    assert (shown.id, shown.last_prompt) == ("s1", "the last")
    assert (shown.created_at, shown.updated_at) == (moment(1), moment(1500))


async def test_the_same_description_is_kept_once(store):
    log = store.create("s1")
    log.append(created())
    log.append(prompted(2))
    for _ in range(3):
        log.describe(summary())
        log.describe(summary(open=True))
        await log.flush()
    await log.aclose()
    lines = store.read("s1", whole=True).lines
    assert len([line for line in lines if line.startswith(b'{"summary"')]) == 1


async def test_a_subagents_log_is_no_session(store):
    await keep(store, created(), prompted(2))
    await keep(store, said(1, chat_id="agent1"))
    assert ids(store) == ["s1"]


async def test_a_session_goes_to_the_trash_with_all_that_is_its(place):
    await _session_with_everything(place.open())
    place.open().trash("s1")
    store = place.open()
    assert (ids(store), ids(store, trashed=True)) == ([], ["s1"])
    for call in (
        lambda: store.read("s1"),
        lambda: store.read("s1", "agent1"),
        lambda: store.read_new("s1", 0),
        lambda: store.chats("s1"),
        lambda: store.trash("s1"),
    ):
        with pytest.raises(UnknownSession):
            call()


async def test_a_session_comes_back_from_the_trash_with_all_that_is_its(place):
    await _session_with_everything(place.open())
    place.open().trash("s1")
    place.open().restore("s1")
    store = place.open()
    assert (ids(store), ids(store, trashed=True)) == (["s1"], [])
    assert kept(store) == [created(), prompted(2), prompted(3, "x" * 100_000)]
    assert seqs(store, "s1", "agent1") == [1]
    assert store.list()[0].title == "A title"
    log = store.open("s1", after=3)
    log.append(model_changed(4))
    await log.aclose()
    assert seqs(store) == [1, 2, 3, 4]


async def test_a_session_is_deleted_for_good(place):
    await _session_with_everything(place.open())
    place.open().trash("s1")
    place.open().purge("s1")
    store = place.open()
    assert (ids(store), ids(store, trashed=True)) == ([], [])
    for call in (lambda: store.restore("s1"), lambda: store.purge("s1"), lambda: store.read("s1")):
        with pytest.raises(UnknownSession):
            call()


async def test_only_what_is_in_the_trash_is_deleted(store):
    await keep(store, created(), prompted(2))
    with pytest.raises(UnknownSession):
        store.purge("s1")
    assert seqs(store) == [1, 2]


async def test_a_session_is_not_restored_over_another_one(store):
    await keep(store, created(), prompted(2, "old"))
    store.trash("s1")
    await keep(store, created(), prompted(2, "new"))
    with pytest.raises(SessionExists):
        store.restore("s1")
    assert kept(store)[1] == prompted(2, "new")
    assert ids(store, trashed=True) == ["s1"]


async def test_only_what_is_in_the_trash_is_restored(store):
    await keep(store, created(), prompted(2))
    with pytest.raises((UnknownSession, SessionExists)):
        store.restore("s1")
    assert seqs(store) == [1, 2]


async def _session_with_everything(store):
    log = store.create("s1")
    for event in (created(), prompted(2), prompted(3, "x" * 100_000)):
        log.append(event)
    log.describe(summary())
    await log.aclose()
    await keep(store, said(1, chat_id="agent1"))


def _without_time(shown):
    return shown.model_copy(update={"updated_at": ""})
