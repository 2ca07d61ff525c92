"""What is chosen for a session: model, mode, rules."""

from typing import Literal

from agentls.protocol.events.kinds import SessionEvent
from agentls.protocol.tool_calls import Mode


class ModelChanged(SessionEvent):
    """Another model answers from the next model call on; null: the default again."""

    type: Literal["modelChanged"] = "modelChanged"
    model: str | None
    scope: Literal["session", "user"]
    """`user`: new sessions start with it too."""


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
