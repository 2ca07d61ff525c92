from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.commands import marked
from tests.support.task_bench import TaskBench


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small workspace."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "a.txt").write_text("alpha\nbeta\n")
    (workspace / "b.txt").write_text("gamma\n")
    return workspace


@pytest.fixture
async def bench(folder: Path) -> AsyncIterator[TaskBench]:
    """A session's tasks, of which nothing is left behind."""
    bench = TaskBench(folder)
    yield bench
    await bench.aclose()
    assert not marked(folder)
