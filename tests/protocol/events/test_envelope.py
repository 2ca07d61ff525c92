import pkgutil
from importlib import import_module
from typing import get_args

import pytest

from agentls.protocol import events
from agentls.protocol.events import envelope, kinds
from agentls.protocol.events.app import AppEvent
from agentls.protocol.requests import PROTOCOL_VERSION

KINDS = (
    kinds.MessageEvent,
    kinds.AttachedEvent,
    kinds.SessionEvent,
    kinds.RecordEvent,
    kinds.EphemeralEvent,
)
SESSION_EVENTS = get_args(envelope.SessionEvents)
APP_EVENTS = get_args(get_args(AppEvent)[0])

each_event = pytest.mark.parametrize(
    "event", [*SESSION_EVENTS, *APP_EVENTS], ids=lambda event: event.__name__
)


def test_every_event_class_is_in_a_union() -> None:
    for module in pkgutil.iter_modules(events.__path__, f"{events.__name__}."):
        import_module(module.name)

    assert _leaves(kinds.Event) - set(KINDS) == {*SESSION_EVENTS, *APP_EVENTS}


@pytest.mark.parametrize("event", SESSION_EVENTS, ids=lambda event: event.__name__)
def test_session_event_has_one_of_the_five_kinds(event) -> None:
    assert [kind for kind in KINDS if issubclass(event, kind)] == [event.__bases__[0]]


@each_event
def test_type_is_the_class_name_in_camel_case(event) -> None:
    name = event.__name__
    literal = event.model_fields["type"]

    assert get_args(literal.annotation) == (name[0].lower() + name[1:],)
    assert literal.default == name[0].lower() + name[1:]


@each_event
def test_event_says_what_it_is_and_since_when(event) -> None:
    assert event.__doc__ != kinds.Event.__doc__
    assert event.__doc__.endswith((".", ".\n    "))
    assert 1 <= event.since <= PROTOCOL_VERSION


def test_types_are_told_apart_and_known() -> None:
    types = [event.model_fields["type"].default for event in SESSION_EVENTS]

    assert len(set(types)) == len(types)
    assert set(types) == envelope.EVENT_TYPES


def _leaves(class_) -> set[type]:
    children = class_.__subclasses__()
    return {leaf for child in children for leaf in _leaves(child)} if children else {class_}
