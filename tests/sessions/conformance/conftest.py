import itertools
from collections.abc import Callable

import pytest

from agentls.sessions.store import SessionStore
from tests.sessions.conformance.places import PLACES, SHARED, Place


@pytest.fixture(params=PLACES)
def new_place(request, tmp_path) -> Callable[[], Place]:
    """Return what makes an empty place of each kind."""
    numbers = itertools.count()

    def make() -> Place:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        return PLACES[request.param](folder)

    return make


@pytest.fixture(params=SHARED)
def shared_place(request, tmp_path) -> Place:
    """Return an empty place that other processes see too, of each kind that there is."""
    return PLACES[request.param](tmp_path)


@pytest.fixture
def place(new_place) -> Place:
    return new_place()


@pytest.fixture
def store(place) -> SessionStore:
    return place.open()
