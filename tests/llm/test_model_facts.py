import json
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.config.settings import ModelSettings, PriceSettings, Settings
from agentls.llm import model_facts
from agentls.llm.catalog import CLAUDE_MODELS
from agentls.llm.model_facts import FREE, ModelFacts, Prices, Rates, facts_of, priced
from agentls.protocol.content import Usage

MILLION = 1_000_000
USD = 10**9
FILE = json.loads(Path(model_facts.__file__).with_name("models.json").read_text())


def settings(**models: dict[str, Any]) -> Settings:
    return Settings.model_validate({"models": models})


def facts(model: str, **about: Any) -> ModelFacts:
    """Return what is known of a model with `about` in the settings."""
    return facts_of(model, Settings.model_validate({"models": {model: about}} if about else {}))


def cost(model: str, **tokens: int) -> int:
    return priced(Usage(**tokens), facts(model)).cost_nano_usd


@pytest.mark.parametrize("model", CLAUDE_MODELS)
def test_every_listed_model_is_known_whole(model: str) -> None:
    known = facts(model)

    assert model in FILE["models"]
    assert known.window is not None
    assert known.window > known.max_output > 0
    assert known.prices is not None
    rates = known.prices.rates
    assert 0 < rates.cache_read < rates.input < rates.cache_write < rates.output
    assert rates.cache_write * 4 == rates.input * 5


@pytest.mark.parametrize(
    ("model", "usd"),
    [
        ("claude-fable-5-2", (8, 40, 10, "0.2")),
        ("claude-fable-5-1", (10, 50, "12.5", "0.25")),
        ("claude-opus-5-5", (4, 20, 5, "0.2")),
        ("claude-opus-5", (5, 25, "6.25", "0.5")),
        ("claude-sonnet-5-5", (2, 10, "2.5", "0.1")),
        ("claude-sonnet-5", (2, 10, "2.5", "0.2")),
        ("claude-haiku-4-5", (1, 5, "1.25", "0.1")),
    ],
)
def test_a_million_tokens_cost_the_list_price(model: str, usd: tuple[int | str, ...]) -> None:
    costs = (
        cost(model, input_tokens=MILLION),
        cost(model, output_tokens=MILLION),
        cost(model, cache_write_tokens=MILLION),
        cost(model, cache_read_tokens=MILLION),
    )

    assert costs == tuple(Fraction(price) * USD for price in usd)


def test_long_prompts_of_haiku_cost_more_for_every_token() -> None:
    haiku = "claude-haiku-5-5"
    at_most = {"input_tokens": 1, "cache_read_tokens": 90_000, "cache_write_tokens": 9_999}

    assert cost(haiku, **at_most, output_tokens=1_000) == 100 + 90_000 * 10 + 9_999 * 125 + 500_000
    assert cost(haiku, **at_most | {"input_tokens": 2}, output_tokens=1_000) == (
        2 * 500 + 90_000 * 50 + 9_999 * 625 + 2_500_000
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("claude-opus-5-5[1m]", "claude-opus-5-5"),
        ("claude-sonnet-5-20260630[1m]", "claude-sonnet-5"),
    ],
)
def test_a_days_version_and_a_wish_for_a_window_are_the_same_model(
    written: str, meant: str
) -> None:
    assert facts(written) == facts(meant)
    known = settings(**{meant: {"contextWindow": 50_000}})
    assert facts_of(written, known).window == 50_000


def test_thinking_is_known() -> None:
    assert facts("claude-sonnet-5-5").thinking
    assert not facts("claude-haiku-4-5").thinking
    assert not facts("qwen3:8b").thinking
    assert facts("qwen3:8b", thinking=True).thinking


def test_of_a_claude_yet_unknown_the_window_is_guessed_and_the_price_is_not() -> None:
    assert facts("claude-next-9") == ModelFacts(200_000, 16_384, thinking=False, prices=None)


def test_of_another_servers_model_nothing_is_known_but_what_the_settings_say() -> None:
    assert facts("qwen3:8b") == ModelFacts(None, 16_384, thinking=False, prices=None)
    said = facts(
        "qwen3:8b", contextWindow=32_000, maxOutput=8_000, price={"input": 0.1, "output": 0.000001}
    )
    assert said == ModelFacts(
        32_000, 8_000, thinking=False, prices=Prices(Rates(100_000, 1, 100_000, 100_000))
    )


@pytest.mark.parametrize("model", ["offline", "scripted:demo.json"])
def test_what_is_no_language_model_costs_nothing(model: str) -> None:
    known = facts(model)

    assert (known.window, known.prices) == (None, FREE)
    spent = priced(Usage(input_tokens=9, output_tokens=9), known)
    assert (spent.cost_nano_usd, spent.unpriced_responses) == (0, 0)
    assert facts(model, contextWindow=20_000).window == 20_000


def test_an_answer_leaves_room_for_a_prompt_in_a_small_window() -> None:
    assert facts("scripted:demo.json", contextWindow=20_000).max_output == 10_000
    assert facts("claude-opus-5-5", contextWindow=100_000).max_output == 50_000
    assert facts("claude-opus-5-5", contextWindow=100_000, maxOutput=90_000).max_output == 90_000


def test_settings_change_one_price_and_leave_the_others_whatever_the_length() -> None:
    known = facts("claude-haiku-5-5", price={"cacheRead": 0.000001})

    assert known.prices is not None
    assert known.prices.rates == Rates(100_000, 500_000, 125_000, 1)
    assert known.prices.long_rates == Rates(500_000, 2_500_000, 625_000, 1)


def test_half_a_price_is_none() -> None:
    assert facts("qwen3", price={"input": 1}).prices is None
    assert facts("qwen3", price={"cacheRead": 1, "output": 2}).prices is None


def test_a_response_without_a_price_is_counted() -> None:
    used = Usage(input_tokens=5, output_tokens=7, cost_nano_usd=3)

    spent = priced(used, facts("claude-next-9"))

    assert spent == Usage(input_tokens=5, output_tokens=7, unpriced_responses=1)


def test_the_sum_of_a_response_is_rounded_and_not_its_parts() -> None:
    known = facts("m", price={"input": 0.0004, "output": 0.0001})

    assert priced(Usage(input_tokens=1), known).cost_nano_usd == 0
    assert priced(Usage(input_tokens=1, output_tokens=1), known).cost_nano_usd == 1
    assert priced(Usage(output_tokens=4), known).cost_nano_usd == 0


PRICES = st.integers(0, 10**12).map(lambda micro: micro / 10**6)
TOKENS = st.integers(0, 10**9)
USAGES = st.builds(
    Usage,
    input_tokens=TOKENS,
    output_tokens=TOKENS,
    cache_read_tokens=TOKENS,
    cache_write_tokens=TOKENS,
)
PRICE_SETTINGS = st.builds(
    PriceSettings, input=PRICES, output=PRICES, cache_write=PRICES, cache_read=PRICES
)


@given(price=PRICE_SETTINGS, usage=USAGES)
def test_a_cost_is_exact_to_half_a_billionth_of_a_dollar(price: Any, usage: Usage) -> None:
    known = facts_of("m", Settings(models={"m": ModelSettings(price=price)}))
    exact = sum(
        tokens * Fraction(repr(usd)) * 1_000
        for tokens, usd in [
            (usage.input_tokens, price.input),
            (usage.output_tokens, price.output),
            (usage.cache_write_tokens, price.cache_write),
            (usage.cache_read_tokens, price.cache_read),
        ]
    )

    cost = priced(usage, known).cost_nano_usd

    assert cost >= 0
    assert abs(cost - exact) <= Fraction(1, 2)


@given(
    spent=st.lists(st.tuples(st.sampled_from([*FILE["models"], "qwen3"]), USAGES), max_size=8),
    data=st.data(),
)
def test_costs_add_up_to_the_same_sum_in_any_order(
    spent: list[tuple[str, Usage]], data: st.DataObject
) -> None:
    usages = [priced(usage, facts(model)) for model, usage in spent]
    shuffled = data.draw(st.permutations(usages))
    split = data.draw(st.integers(0, len(usages)))

    def total(some: list[Usage]) -> Usage:
        return reduce(Usage.__add__, some, Usage())

    assert total(usages) == total(shuffled) == total(shuffled[:split]) + total(shuffled[split:])
    assert total(usages).cost_nano_usd == sum(usage.cost_nano_usd for usage in usages) >= 0
    assert total(usages).unpriced_responses == sum(model == "qwen3" for model, _ in spent)
