"""What the model and the settings together allow."""

from agentls.config.settings import Settings
from agentls.llm.model_facts import CLAUDE_PREFIX, ModelFacts, facts_of
from agentls.protocol.events.settings import Gates

LIGHT_CLAUDE = "claude-haiku-5-5"
"""What answers in fast mode where a heavier Claude model is chosen."""


def gates(model: str, settings: Settings, facts: ModelFacts) -> Gates:
    """Return what is allowed while `model` is chosen, of which `facts` are known."""
    return Gates(
        parallel_reads=settings.parallel_reads,
        thinking=settings.thinking == "adaptive" and facts.thinking,
        fast_model=_fast_model(model, settings, facts),
    )


def _fast_model(model: str, settings: Settings, facts: ModelFacts) -> str | None:
    if settings.fast_model is not None:
        return settings.fast_model if settings.fast_model != model else None
    light = facts_of(LIGHT_CLAUDE, settings).prices
    if not model.startswith(CLAUDE_PREFIX) or facts.prices is None or light is None:
        return None
    dearer = facts.prices.rates.input > light.rates.input
    return LIGHT_CLAUDE if dearer else None
