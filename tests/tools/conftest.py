from pathlib import Path

import pytest

from tests.support.workbench import Workbench


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    folder = tmp_path / "project"
    folder.mkdir()
    return Workbench(folder)
