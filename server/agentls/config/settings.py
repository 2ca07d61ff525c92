"""What can be set, and only what has an effect."""

from typing import Literal

from pydantic import Field

from agentls.protocol.tool_calls import Mode
from agentls.protocol.wire_model import WireModel


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


class Settings(WireModel):
    """The settings in force."""

    model: str | None = Field(default=None, min_length=1)
    """What new sessions start with."""
    parallel_reads: int = Field(default=8, ge=1, le=64, strict=True)
    """How many calls that only read may run at once."""
    permissions: PermissionSettings = PermissionSettings()
    sessions: SessionSettings = SessionSettings()
    view: ViewSettings = ViewSettings()
