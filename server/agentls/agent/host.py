"""The port to whoever hosts the agent: an editor, a script, a test."""

from typing import TYPE_CHECKING, Protocol

from agentls.tools.files import Files

if TYPE_CHECKING:
    from agentls.checkpoints.present import OpenBuffers


class Host(Protocol):
    """What the agent needs of its host."""

    @property
    def files(self) -> Files:
        """Files as the host's user sees them."""
        ...

    @property
    def buffers(self) -> "OpenBuffers":
        """The files that the user has open in an editor."""
        ...

    def can_ask(self) -> bool:
        """Whether somebody is there who can answer an approval."""
        ...
