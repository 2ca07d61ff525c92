from pathlib import Path

import pytest

from tests.support.scripts import Script


@pytest.fixture
def script(tmp_path: Path) -> Script:
    return Script(tmp_path)
