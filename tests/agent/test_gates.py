from typing import Any

import pytest

from agentls.agent.gates import LIGHT_CLAUDE, gates
from agentls.config.settings import Settings
from agentls.llm.model_facts import facts_of
from agentls.protocol.events.settings import Gates


def allowed(model: str, **values: Any) -> Gates:
    settings = Settings.model_validate(values)
    return gates(model, settings, facts_of(model, settings))


def test_settings_say_how_many_calls_read_at_once() -> None:
    assert allowed("offline").parallel_reads == 8
    assert allowed("offline", parallelReads=3).parallel_reads == 3


@pytest.mark.parametrize(
    ("model", "values", "thinks"),
    [
        ("claude-sonnet-5-5", {}, True),
        ("claude-sonnet-5-5", {"thinking": "off"}, False),
        ("claude-haiku-4-5-20251001", {}, False),
        ("qwen3", {}, False),
        ("qwen3", {"models": {"qwen3": {"thinking": True}}}, True),
        ("offline", {}, False),
    ],
)
def test_a_model_thinks_where_it_can_and_may(
    model: str, values: dict[str, Any], thinks: bool
) -> None:
    assert allowed(model, **values).thinking is thinks


@pytest.mark.parametrize(
    ("model", "values", "fast"),
    [
        ("claude-opus-5-5", {}, LIGHT_CLAUDE),
        ("claude-sonnet-5[1m]", {}, LIGHT_CLAUDE),
        ("claude-haiku-4-5", {}, LIGHT_CLAUDE),
        (LIGHT_CLAUDE, {}, None),
        (f"{LIGHT_CLAUDE}[1m]", {}, None),
        ("claude-next-9", {}, None),
        ("claude-next-9", {"models": {"claude-next-9": {"price": {"input": 1, "output": 2}}}},
         LIGHT_CLAUDE),
        ("qwen3", {}, None),
        ("qwen3", {"fastModel": "qwen3:1b"}, "qwen3:1b"),
        ("offline", {}, None),
        ("claude-opus-5-5", {"fastModel": "claude-sonnet-5-5"}, "claude-sonnet-5-5"),
        ("claude-opus-5-5", {"fastModel": "claude-opus-5-5"}, None),
        ("claude-opus-5-5", {"models": {"claude-opus-5-5": {"price": {"input": 0}}}}, None),
    ],
)  # fmt: skip
def test_fast_mode_has_the_model_of_the_settings_or_a_cheaper_claude(
    model: str, values: dict[str, Any], fast: str | None
) -> None:
    assert allowed(model, **values).fast_model == fast
