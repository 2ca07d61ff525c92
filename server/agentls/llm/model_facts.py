"""What is known of models: how much they take in, how much they say, what they cost.

It stands in `models.json`; the settings know better. Money is counted in whole numbers, so that
sums are the same in any order.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from agentls.config.settings import ModelSettings, PriceSettings, Settings
from agentls.protocol.content import Usage

T = TypeVar("T")

OFFLINE = "offline"
SCRIPTED_PREFIX = "scripted:"
CLAUDE_PREFIX = "claude-"

UNKNOWN_CLAUDE_WINDOW = 200_000
"""Tokens; no Claude model in use has a smaller one."""
UNKNOWN_MAX_OUTPUT = 16_384
"""Tokens; what every server takes that has been met so far."""

PICO_PER_NANO = 1_000
PICO_USD_PER_TOKEN = 10**6
"""For a price of one US dollar for a million tokens."""


@dataclass(frozen=True, slots=True)
class Rates:
    """What tokens cost, in millionths of a millionth of a US dollar each."""

    input: int
    output: int
    cache_write: int
    cache_read: int


@dataclass(frozen=True, slots=True)
class Prices:
    """A model's list prices."""

    rates: Rates
    long_rates: Rates | None = None
    """For every token of a request whose prompt is longer than `long_above`."""
    long_above: int = 0

    @property
    def input_usd_per_mtok(self) -> float:
        """US dollars for a million input tokens."""
        return self.rates.input / PICO_USD_PER_TOKEN

    @property
    def output_usd_per_mtok(self) -> float:
        """US dollars for a million output tokens."""
        return self.rates.output / PICO_USD_PER_TOKEN

    def rates_of(self, prompt_tokens: int) -> Rates:
        """Return what the tokens cost of a request with so long a prompt."""
        if self.long_rates is not None and prompt_tokens > self.long_above:
            return self.long_rates
        return self.rates


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model."""

    window: int | None
    """Tokens of prompt and answer together; None: not known."""
    max_output: int
    """Tokens of one answer."""
    thinking: bool
    """It can think before it answers, as much as it finds right."""
    prices: Prices | None
    """None: not known."""


FREE = Prices(Rates(0, 0, 0, 0))


def facts_of(model: str, settings: Settings) -> ModelFacts:
    """Return what is known of a model, whatever its name."""
    name = _bare(model)
    said = settings.models.get(model) or settings.models.get(name) or ModelSettings()
    known = _known().get(name) or _unknown(model)
    window = _first(said.context_window, known.window)
    return ModelFacts(
        window=window,
        max_output=_first(said.max_output, _within(known.max_output, window)),
        thinking=_first(said.thinking, known.thinking),
        prices=_with_prices_of(said.price, known.prices),
    )


def priced(usage: Usage, facts: ModelFacts) -> Usage:
    """Return one response's usage with its cost, or as one whose price is not known."""
    if facts.prices is None:
        return usage.model_copy(update={"cost_nano_usd": 0, "unpriced_responses": 1})
    prompt = usage.input_tokens + usage.cache_write_tokens + usage.cache_read_tokens
    rates = facts.prices.rates_of(prompt)
    pico = (
        usage.input_tokens * rates.input
        + usage.output_tokens * rates.output
        + usage.cache_write_tokens * rates.cache_write
        + usage.cache_read_tokens * rates.cache_read
    )
    nano = (pico + PICO_PER_NANO // 2) // PICO_PER_NANO
    return usage.model_copy(update={"cost_nano_usd": nano, "unpriced_responses": 0})


def _bare(model: str) -> str:
    """Return the name without what only says which window or which day's version is meant."""
    return _SUFFIX.sub("", model) if model.startswith(CLAUDE_PREFIX) else model


_SUFFIX = re.compile(r"(-20\d{6})?(\[1m\])?$")


def _unknown(model: str) -> ModelFacts:
    if model == OFFLINE or model.startswith(SCRIPTED_PREFIX):
        return ModelFacts(None, UNKNOWN_MAX_OUTPUT, thinking=False, prices=FREE)
    window = UNKNOWN_CLAUDE_WINDOW if model.startswith(CLAUDE_PREFIX) else None
    return ModelFacts(window, UNKNOWN_MAX_OUTPUT, thinking=False, prices=None)


def _within(max_output: int, window: int | None) -> int:
    """Return `max_output`, or less where that would leave a small window no room for a prompt."""
    return max_output if window is None else min(max_output, window // 2)


def _first(said: T | None, known: T) -> T:
    return known if said is None else said


def _with_prices_of(said: PriceSettings, known: Prices | None) -> Prices | None:
    """Return `known`, with what the settings say in its place, whatever the prompt's length."""
    own = {
        name: _pico(Decimal(repr(price)))
        for name in ("input", "output", "cache_write", "cache_read")
        if (price := getattr(said, name)) is not None
    }
    if not own:
        return known
    rates = _rates(own, known.rates if known else None)
    if rates is None or known is None:
        return rates and Prices(rates)
    long_rates = known.long_rates and _rates(own, known.long_rates)
    return Prices(rates, long_rates, known.long_above)


def _rates(own: Mapping[str, int], known: Rates | None) -> Rates | None:
    if known is not None:
        return Rates(
            input=own.get("input", known.input),
            output=own.get("output", known.output),
            cache_write=own.get("cache_write", known.cache_write),
            cache_read=own.get("cache_read", known.cache_read),
        )
    if "input" not in own or "output" not in own:
        return None
    # A server without a cache reports no such tokens; one with a cache is not made cheaper here.
    return Rates(
        input=own["input"],
        output=own["output"],
        cache_write=own.get("cache_write", own["input"]),
        cache_read=own.get("cache_read", own["input"]),
    )


@cache
def _known() -> Mapping[str, ModelFacts]:
    text = Path(__file__).with_name("models.json").read_text(encoding="utf-8")
    models = json.loads(text, parse_float=Decimal)["models"]
    return {name: _facts(about) for name, about in models.items()}


def _facts(about: Mapping[str, Any]) -> ModelFacts:
    long = about.get("longPrompts")
    prices = Prices(
        rates=_read_rates(about["price"]),
        long_rates=_read_rates(long["price"]) if long else None,
        long_above=long["above"] if long else 0,
    )
    return ModelFacts(about["contextWindow"], about["maxOutput"], about["thinking"], prices)


def _read_rates(price: Mapping[str, Decimal | int]) -> Rates:
    return Rates(
        input=_pico(price["input"]),
        output=_pico(price["output"]),
        cache_write=_pico(price["cacheWrite"]),
        cache_read=_pico(price["cacheRead"]),
    )


def _pico(usd_per_mtok: Decimal | int) -> int:
    return int(usd_per_mtok * PICO_USD_PER_TOKEN)
