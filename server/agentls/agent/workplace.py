"""What the turns of one conversation work with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentls.agent.background import BackgroundTasks
from agentls.agent.chat import Chat
from agentls.agent.saving import Saving
from agentls.agent.surroundings import Surroundings

if TYPE_CHECKING:
    from agentls.tools.agents import Agents


@dataclass(frozen=True, slots=True)
class Workplace:
    """A conversation with all that is needed to go on with it."""

    chat: Chat
    saving: Saving
    surroundings: Surroundings
    background: BackgroundTasks
    """What runs beside it."""
    agents: "Agents | None"
    """Others that can be set to work; None for one that was set to work itself."""
    warn: Callable[[str], None]
    """Tells the user what no turn fails of."""
