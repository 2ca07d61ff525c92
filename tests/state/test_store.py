import logging

import pytest

from agentls.state.store import Store


def test_an_update_that_returns_the_same_object_stops_there():
    value = [1]
    store, heard = Store(value), []
    store.subscribe(lambda new, old: heard.append(new))
    store.update(lambda old: old)
    assert heard == []
    store.update(lambda old: [1])
    assert heard == [[1]]
    assert store.value is not value


def test_the_hook_runs_before_every_subscriber():
    order = []
    store = Store(0, hook=lambda new, old: order.append("hook"))
    store.subscribe(lambda new, old: order.append("subscriber"))
    store.update(lambda old: old + 1)
    assert order == ["hook", "subscriber"]


def test_an_update_from_inside_a_listener_waits_until_everyone_has_heard():
    store, heard = Store(0), []

    def push_on(new, old):
        if new == 1:
            store.update(lambda value: value + 1)
        heard.append(("first", new))

    store.subscribe(push_on)
    store.subscribe(lambda new, old: heard.append(("second", new)))
    store.update(lambda old: 1)
    assert heard == [("first", 1), ("second", 1), ("first", 2), ("second", 2)]


def test_an_update_from_inside_the_hook_waits_as_well():
    heard = []

    def hook(new, old):
        if new < 3:
            store.update(lambda value: value + 1)

    store = Store(0, hook=hook)
    store.subscribe(lambda new, old: heard.append(new))
    store.update(lambda old: 1)
    assert heard == [1, 2, 3]


def test_a_subscriber_that_raises_harms_nobody_else(caplog):
    store, heard = Store(0), []

    def broken(new, old):
        raise RuntimeError("broken listener")

    store.subscribe(broken)
    store.subscribe(lambda new, old: heard.append(new))
    with caplog.at_level(logging.ERROR):
        store.update(lambda old: 1)
    assert heard == [1]
    assert "broken listener" in caplog.text


def test_a_listener_added_twice_counts_once_and_leaves_at_once():
    store, heard = Store(0), []

    def listener(new, old):
        heard.append(new)

    leave = store.subscribe(listener)
    store.subscribe(listener)
    store.update(lambda old: 1)
    leave()
    store.update(lambda old: 2)
    assert heard == [1]


def test_a_slice_is_told_only_when_it_is_another_object():
    store, heard = Store({"a": (1,), "b": (1,)}), []
    store.subscribe_to(lambda value: value["a"], lambda new, old: heard.append((new, old)))
    store.update(lambda old: {**old, "b": (2,)})
    store.update(lambda old: {**old, "a": (3,)})
    assert heard == [((3,), (1,))]


def test_a_change_that_raises_leaves_the_store_usable():
    store = Store(0)
    with pytest.raises(ZeroDivisionError):
        store.update(lambda old: 1 // old)
    store.update(lambda old: 5)
    assert store.value == 5
