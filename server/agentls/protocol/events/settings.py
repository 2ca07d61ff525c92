"""What is chosen for a session: model, mode, rules."""

from typing import Literal

from agentls.protocol.events.kinds import EphemeralEvent, SessionEvent
from agentls.protocol.tool_calls import Mode
from agentls.protocol.wire_model import WireModel


class ModelChanged(SessionEvent):
    """Another model answers from the next model call on; null: the default again."""

    type: Literal["modelChanged"] = "modelChanged"
    model: str | None
    scope: Literal["session", "user"]
    """`user`: new sessions start with it too."""


class FastModeChanged(SessionEvent):
    """A lighter model answers until fast mode is left; null: it is left."""

    type: Literal["fastModeChanged"] = "fastModeChanged"
    model: str | None


class Gates(WireModel):
    """What the model and the settings together allow at the moment."""

    parallel_reads: int = 1
    """How many calls that only read may run at once."""
    thinking: bool = False
    """The model thinks before it answers."""
    fast_model: str | None = None
    """The model that fast mode would choose; null: there is no fast mode here."""


class GatesChanged(EphemeralEvent):
    """The model or the settings changed, and with them what is allowed."""

    type: Literal["gatesChanged"] = "gatesChanged"
    gates: Gates


class ModeChanged(SessionEvent):
    """The permission mode is another one."""

    type: Literal["modeChanged"] = "modeChanged"
    mode: Mode


class RuleAdded(SessionEvent):
    """A permission rule holds from now on, for this session."""

    type: Literal["ruleAdded"] = "ruleAdded"
    behaviour: Literal["allow", "ask", "deny"]
    rule: str
    source: str
    """Where it comes from, for a person: "approval in VS Code", "--allowed-tools"."""
