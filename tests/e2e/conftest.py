"""The servers of the Messages API, running while a module's tests do; click's source, copied."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e import click_turn
from tests.support import mocks

SPLIT_PROMPT = "Wave at me."
SPLIT_ANSWER = "Hello 👋👋👋 and 👋👋👋, or 👋👋👋👋."
"""aimock cuts answers into pieces of six UTF-16 units, and so some of these in two."""


@pytest.fixture(scope="module")
def aimock_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[mocks.Aimock]:
    folder = tmp_path_factory.mktemp("aimock")
    fixtures = [
        *mocks.aimock_fixtures(click_turn.PROMPT, click_turn.ANSWERS),
        *mocks.aimock_fixtures(
            click_turn.MORE_PROMPT, click_turn.MORE_ANSWERS, first=len(click_turn.ANSWERS)
        ),
        *mocks.aimock_fixtures(SPLIT_PROMPT, [{"text": SPLIT_ANSWER, "usage": (1, 1)}]),
    ]
    path = folder / "fixtures.json"
    path.write_text(json.dumps({"fixtures": fixtures}))
    with mocks.aimock(path, folder / "aimock.log") as server:
        yield server


@pytest.fixture(scope="module")
def llmock_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[mocks.Llmock]:
    with mocks.llmock(tmp_path_factory.mktemp("llmock") / "llmock.log") as server:
        yield server


@pytest.fixture
def tree(tmp_path: Path) -> click_turn.ClickTree:
    return click_turn.ClickTree(mocks.copy_click(tmp_path / "click"))
