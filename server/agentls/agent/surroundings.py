"""What all sessions of one workspace share: folders, tools, models, settings, host."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agentls.agent.host import Host
from agentls.agent.pace import Pace
from agentls.agent.recollection import FindIndex
from agentls.config.layers import LoadedSettings
from agentls.context.system_prompt import PromptSettings
from agentls.llm.catalog import ModelCatalog
from agentls.sessions.owner import Face, Owner
from agentls.sessions.store import SessionStore
from agentls.state.event_store import Clock

if TYPE_CHECKING:
    from agentls.tools.registry import ToolRegistry


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Everything a session works with that is not its own."""

    roots: tuple[Path, ...]
    """The workspace's folders, absolute; the first is the working folder."""
    store: SessionStore
    catalog: ModelCatalog
    toolbox: Callable[[], "ToolRegistry"]
    """The tools, made when they are first asked for."""
    host: Host
    settings: Callable[[], LoadedSettings]
    """The settings in force at this moment."""
    output_folder: Callable[[str], Path]
    """Where the output of a session's commands goes, by the session's id: closed to others."""
    index: FindIndex
    """The search index over the sessions, made when it is first asked for."""
    model: str | None = None
    """What the command line asks for, for sessions that are resumed too."""
    prompt: PromptSettings = field(default_factory=PromptSettings)
    instructions: Callable[[], str] = str
    """Reads what the project and its user want of an agent: `AGENTS.md` and the like. Blocks."""
    max_rounds: int | None = None
    """After how many answers of the model a turn ends; None: it is not limited."""
    protected: tuple[Path, ...] = ()
    """Folders whose files always ask before they are written: the user's own settings."""
    keeps_contents: bool = True
    """What files held before is kept, for rewinds."""
    face: Face = "cli"
    """Who opens the sessions: an editor's server, a script's run, a command."""
    pace: Pace = field(default_factory=Pace)
    """How time passes."""

    @property
    def tools(self) -> "ToolRegistry":
        """The tools that sessions have."""
        return self.toolbox()

    @property
    def clock(self) -> Clock:
        """The clock that events are dated by."""
        return self.pace.clock

    @property
    def owner(self) -> Owner:
        """Return this process, as the owner of its sessions."""
        return Owner.here(self.face)

    @property
    def cwd(self) -> Path:
        """The working folder."""
        return self.roots[0]
