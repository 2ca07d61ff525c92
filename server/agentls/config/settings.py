"""What can be set, and only what has an effect."""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from agentls.protocol.tool_calls import Mode
from agentls.protocol.wire_model import WireModel

PRICE_DECIMALS = 6
LONGEST_WAIT = 86_400
"""Seconds; nobody waits for longer than a day."""


class PermissionSettings(WireModel):
    """What tools may do."""

    allow: tuple[str, ...] = ()
    """Rules for calls that run without asking."""
    ask: tuple[str, ...] = ()
    """Rules for calls that always ask."""
    deny: tuple[str, ...] = ()
    """Rules for calls that never run."""
    default_mode: Mode = "default"
    """The mode that new sessions start in."""


class ViewSettings(WireModel):
    """How a client's view begins; the lasting part of `ViewState`."""

    expanded_view: Literal["none", "todos", "tasks"] = "none"
    verbose: bool = False
    brief: bool = False


StoreKind = Literal["folder", "memory", "sqlite"]


class SessionSettings(WireModel):
    """Where sessions are kept."""

    store: StoreKind = "folder"
    """`folder`: a log each under `.agentls/sessions`. `sqlite`: all in `.agentls/sessions.sqlite`.
    `memory`: nowhere, they end with the server."""


class RetrySettings(WireModel):
    """For how many seconds a turn waits, in all, until it gives a failing model up."""

    rate_limit_seconds: int = Field(default=300, ge=0, le=LONGEST_WAIT, strict=True)
    """Where there are too many requests; 0: it is asked again only where the server says when."""
    overload_seconds: int = Field(default=120, ge=0, le=LONGEST_WAIT, strict=True)
    """Where the model has no room."""
    network_seconds: int = Field(default=60, ge=0, le=LONGEST_WAIT, strict=True)
    """Where the server fails, cannot be reached or breaks off."""
    stall_seconds: int = Field(default=120, ge=1, le=LONGEST_WAIT, strict=True)
    """Without a word in the middle of an answer, until the answer counts as broken off."""
    first_word_seconds: int = Field(default=600, ge=1, le=LONGEST_WAIT, strict=True)
    """Without a first word; a local model reads a long conversation for minutes."""


class CompactionSettings(WireModel):
    """When a conversation is made shorter."""

    auto: bool = Field(default=True, strict=True)
    """By itself, before the model's window is full."""
    at_tokens: int | None = Field(default=None, ge=1_000, strict=True)
    """At this many tokens, where that is earlier than what the window demands."""


class TaskSettings(WireModel):
    """What commands in the background may use."""

    output_megabytes: int = Field(default=64, ge=1, le=10_240, strict=True)
    """How much output of one command is kept on the disk."""


def _within_decimals(value: float) -> float:
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    if isinstance(exponent, int) and -exponent > PRICE_DECIMALS:
        raise ValueError(f"A price has at most {PRICE_DECIMALS} decimals")
    return value


Price = Annotated[
    float,
    Field(ge=0, le=1_000_000, strict=True, allow_inf_nan=False),
    AfterValidator(_within_decimals),
]
"""US dollars for a million tokens."""


class PriceSettings(WireModel):
    """What a model's tokens cost, for prompts of any length."""

    input: Price | None = None
    output: Price | None = None
    cache_write: Price | None = None
    """Of a prefix that the server keeps for five minutes."""
    cache_read: Price | None = None


class ModelSettings(WireModel):
    """What is known of a model better than agentls knows it; None: as agentls knows it."""

    context_window: int | None = Field(default=None, ge=1_000, le=1_000_000_000, strict=True)
    """Tokens."""
    max_output: int | None = Field(default=None, ge=1, le=1_000_000_000, strict=True)
    """Tokens of one answer."""
    thinking: bool | None = Field(default=None, strict=True)
    """It can think before it answers, as much as it finds right."""
    price: PriceSettings = PriceSettings()


class Settings(WireModel):
    """The settings in force."""

    model: str | None = Field(default=None, min_length=1)
    """What new sessions start with."""
    fast_model: str | None = Field(default=None, min_length=1)
    """What answers in fast mode; None: a lighter model of the same kind, where there is one."""
    thinking: Literal["adaptive", "off"] = "adaptive"
    """Whether models that can think do."""
    parallel_reads: int = Field(default=8, ge=1, le=64, strict=True)
    """How many calls that only read may run at once."""
    permissions: PermissionSettings = PermissionSettings()
    sessions: SessionSettings = SessionSettings()
    retry: RetrySettings = RetrySettings()
    compaction: CompactionSettings = CompactionSettings()
    tasks: TaskSettings = TaskSettings()
    view: ViewSettings = ViewSettings()
    models: dict[str, ModelSettings] = Field(default_factory=dict[str, ModelSettings])
    """By the model's name."""
