import json
import re
from pathlib import Path
from typing import Any

import pytest

from agentls.config.scalars import Misfit, scalars_in, unknown_in
from agentls.config.settings import Settings

DOCUMENT = (Path(__file__).parents[2] / "protocol-docs" / "settings.md").read_text("utf-8")
EXAMPLE = json.loads(re.findall(r"```json\n(.*?)```", DOCUMENT, re.DOTALL)[0])
ROWS = re.findall(r"^\| (`.*) \| .* \| (.*) \|$", DOCUMENT, re.MULTILINE)


def documented() -> dict[str, str]:
    """Return every key in the table, with its default as it stands there."""
    found: dict[str, str] = {}
    for keys, default in ROWS:
        first, *others = re.findall(r"`([^`]+)`", keys)
        section = first.rpartition(".")[0]
        for key in (first, *(section + other for other in others)):
            found[key] = default.strip("`")
    return found


def test_the_example_holds_and_has_every_setting() -> None:
    assert not [said for said in scalars_in(EXAMPLE) if isinstance(said, Misfit)]
    assert list(unknown_in(EXAMPLE)) == []
    Settings.model_validate(EXAMPLE)
    shown = {".".join(said.path).replace("qwen3:8b", "NAME") for said in scalars_in(EXAMPLE)}
    lists = {f"permissions.{name}" for name in ("allow", "ask", "deny")}
    assert shown | lists == set(documented())


@pytest.mark.parametrize("key", [key for key in documented() if not key.startswith("models.")])
def test_a_documented_default_is_the_one_that_holds(key: str) -> None:
    value: Any = Settings().model_dump()
    for name in key.split("."):
        value = value[name]
    written = documented()[key]

    if value in (None, ()):
        assert "none" in written
    else:
        assert written == (value if isinstance(value, str) else json.dumps(value))
