"""The servers of the Messages API, running while a module's tests do; click's source, copied."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.e2e import click_turn
from tests.support import mocks


@pytest.fixture(scope="module")
def aimock_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[mocks.Aimock]:
    folder = tmp_path_factory.mktemp("aimock")
    fixtures = [
        *mocks.aimock_fixtures(click_turn.PROMPT, click_turn.ANSWERS),
        *mocks.aimock_fixtures(
            click_turn.MORE_PROMPT, click_turn.MORE_ANSWERS, first=len(click_turn.ANSWERS)
        ),
        *mocks.aimock_fixtures(click_turn.SPLIT_PROMPT, click_turn.SPLIT_ANSWERS),
        *mocks.aimock_fixtures(mocks.PLAIN_PROMPT, [mocks.PLAIN_ANSWER]),
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


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A small workspace; a process that still works in it afterwards is a failure."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "a.txt").write_text("alpha\nbeta\n")
    yield workspace
    left = [process for process in psutil.process_iter() if _works_in(process, tmp_path)]
    for process in left:
        process.kill()
    assert left == []


def _works_in(process: psutil.Process, folder: Path) -> bool:
    try:
        return Path(process.cwd()).is_relative_to(folder) and process.pid != os.getpid()
    except (psutil.Error, OSError):
        return False
