import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.checkpoints import Yard


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return Yard(folder)


@pytest.fixture
def open_place() -> Generator[Path]:
    """A folder that another user can get at, which pytest's own are not."""
    folder = Path(tempfile.mkdtemp(prefix="agentls-test-")).resolve()
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        for above, folders, _ in os.walk(folder):
            for name in folders:
                Path(above, name).chmod(0o700)
        shutil.rmtree(folder)
