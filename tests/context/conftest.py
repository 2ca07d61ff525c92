from pathlib import Path

import pytest

from tests.support.mentioned import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A workspace to mention files of."""
    (tmp_path / "work").mkdir()
    return Folder(tmp_path / "work")
