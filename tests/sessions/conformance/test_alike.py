"""A session is the same wherever it is kept."""

from hypothesis import HealthCheck, given, settings

from agentls.sessions.loading import load
from tests.sessions.conformance.events import (
    compacted,
    created,
    keep,
    model_changed,
    prompted,
    said,
)
from tests.sessions.conformance.places import PLACES
from tests.support.lives import actions, lived

EVENTS = (
    created(),
    prompted(2, "x" * 100_000),
    said(3, "\u2028"),
    said(4),
    compacted(5, 4),
    model_changed(6),
    said(7),
)


async def test_every_place_keeps_the_very_same_lines(tmp_path):
    found = []
    for name, make in PLACES.items():
        (tmp_path / name).mkdir()
        store = make(tmp_path / name).open()
        await keep(store, *EVENTS)
        await keep(store, said(1, chat_id="agent1"))
        logs = [store.read("s1"), store.read("s1", whole=True), store.read("s1", "agent1")]
        found.append([(raw.header, raw.lines, raw.complete, raw.torn) for raw in logs])
    assert len(found) == len(PLACES)
    assert all(logs == found[0] for logs in found)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=actions)
async def test_a_session_is_loaded_the_same_from_every_place(tmp_path_factory, steps):
    life = lived([("prompt", 1), *steps])
    loaded = []
    for make in PLACES.values():
        store = make(tmp_path_factory.mktemp("place")).open()
        await keep(store, *life.log)
        loaded.append(load(store, "s1"))
    assert all(session.state == loaded[0].state for session in loaded)
    assert all(session.seq == life.log[-1].seq for session in loaded)
    assert all(session.damage == () for session in loaded)
