from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.config.scalars import Misfit, Scalar, put_in, scalars_in, unknown_in
from agentls.config.settings import Settings


def paths(values: dict[str, Any]) -> list[str]:
    return [".".join(said.path) for said in scalars_in(values)]


def misfits(values: dict[str, Any]) -> dict[str, str]:
    return {
        ".".join(said.path): said.what for said in scalars_in(values) if isinstance(said, Misfit)
    }


def test_values_are_told_one_by_one_in_the_order_of_the_settings() -> None:
    values = {
        "view": {"brief": True},
        "models": {"qwen2.5:7b": {"price": {"output": 1}, "contextWindow": 32_000}},
        "retry": {"stallSeconds": 5},
        "model": "m",
        "permissions": {"allow": ["Bash"], "defaultMode": "plan"},
    }

    assert paths(values) == [
        "model",
        "permissions.defaultMode",
        "retry.stallSeconds",
        "view.brief",
        "models.qwen2.5:7b.contextWindow",
        "models.qwen2.5:7b.price.output",
    ]
    assert misfits(values) == {}


def test_null_says_nothing() -> None:
    nothing = {"model": None, "retry": None, "view": {"brief": None}, "models": {"m": None}}

    assert paths(nothing) == []
    assert paths({"models": {"m": {"price": None, "thinking": None}}}) == []


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"retry": 5}, "retry"),
        ({"retry": {"rateLimitSeconds": -1}}, "retry.rateLimitSeconds"),
        ({"retry": {"rateLimitSeconds": "60"}}, "retry.rateLimitSeconds"),
        ({"retry": {"stallSeconds": 0}}, "retry.stallSeconds"),
        ({"compaction": {"auto": "no"}}, "compaction.auto"),
        ({"compaction": {"atTokens": 10}}, "compaction.atTokens"),
        ({"tasks": {"outputMegabytes": True}}, "tasks.outputMegabytes"),
        ({"thinking": "on"}, "thinking"),
        ({"fastModel": ""}, "fastModel"),
        ({"models": []}, "models"),
        ({"models": {"m": 1}}, "models.m"),
        ({"models": {"m": {"price": 1}}}, "models.m.price"),
        ({"models": {"m": {"contextWindow": 1.5}}}, "models.m.contextWindow"),
        ({"models": {"m": {"thinking": "yes"}}}, "models.m.thinking"),
        ({"models": {"m": {"price": {"input": -1}}}}, "models.m.price.input"),
        ({"models": {"m": {"price": {"input": "1"}}}}, "models.m.price.input"),
        ({"models": {"m": {"price": {"input": 0.0000001}}}}, "models.m.price.input"),
        ({"models": {"m": {"price": {"input": True}}}}, "models.m.price.input"),
    ],
)
def test_what_does_not_fit_is_named(values: dict[str, Any], path: str) -> None:
    assert list(misfits(values)) == [path]
    assert misfits(values)[path].startswith("is passed over: ")


@pytest.mark.parametrize("price", [0, 1, 0.125, 0.000001, 999_999.999999])
def test_prices_have_up_to_six_decimals(price: float) -> None:
    (said,) = scalars_in({"models": {"m": {"price": {"cacheRead": price}}}})

    assert said == Scalar(("models", "m", "price", "cacheRead"), price)


def test_keys_that_are_no_settings_are_told_but_at_the_top() -> None:
    values = {
        "newer": {"x": 1},
        "permissions": {"deny": [], "denny": []},
        "retry": {"seconds": 1},
        "models": {"m": {"contextwindow": 1, "price": {"in": 1}, "allow": 1}},
    }

    assert [".".join(said.path) for said in unknown_in(values)] == [
        "permissions.denny",
        "retry.seconds",
        "models.m.contextwindow",
        "models.m.allow",
        "models.m.price.in",
    ]


NAMES = st.sampled_from(
    ["model", "retry", "models", "price", "input", "view", "stallSeconds", "m", "contextWindow"]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(values=st.dictionaries(NAMES, ANYTHING, max_size=4))
def test_what_fits_of_anything_makes_settings(values: dict[str, Any]) -> None:
    chosen: dict[str, Any] = {}
    for said in scalars_in(values):
        if isinstance(said, Scalar):
            put_in(chosen, said.path, said.value)
    list(unknown_in(values))

    Settings.model_validate(chosen)
