"""The agent behind one or several connections, and the host it has in them."""

from collections.abc import Callable
from pathlib import Path

from pygls.lsp.server import LanguageServer

from agentls.agent.host import Host
from agentls.agent.workspace import Workspace
from agentls.lsp.buffers import EditorBuffers
from agentls.lsp.client import Client
from agentls.protocol.events import app
from agentls.tools.disk_files import DiskFiles
from agentls.tools.files import Files

OpenWorkspace = Callable[[tuple[Path, ...], Host], Workspace]
"""Opens the agent's workspace over the client's folders, () where it has none."""


class EditorHost:
    """The host that connected editors make together."""

    def __init__(self) -> None:
        self._files = DiskFiles()
        self.clients: dict[str, Client] = {}
        self.servers: dict[str, LanguageServer] = {}
        self.buffers = EditorBuffers(lambda: tuple(self.servers.values()))
        """What editors hold open; see the port."""

    @property
    def files(self) -> Files:
        """Files on disk; see the port."""
        return self._files

    def can_ask(self) -> bool:
        """Whether a client is connected whose user can answer; see the port."""
        return any(client.options.can_approve for client in self.clients.values())


class SharedAgent:
    """One workspace for all connections of this process; the first client opens it."""

    def __init__(self, open_workspace: OpenWorkspace) -> None:
        self._open_workspace = open_workspace
        self._host = EditorHost()
        self._workspace: Workspace | None = None
        self._joined = 0

    def next_client_id(self, name: str) -> str:
        """Return a name for a connection that no other has: "neovim-1"."""
        self._joined += 1
        plain = "".join(char if char.isalnum() else "-" for char in name.lower()).strip("-")
        return f"{plain or 'client'}-{self._joined}"

    def open(self, roots: tuple[Path, ...]) -> Workspace:
        """Return the workspace. Raises `WorkspaceUnusable` where its folder cannot be."""
        if self._workspace is None:
            self._workspace = self._open_workspace(roots, self._host)
        return self._workspace

    def join(self, client: Client, server: LanguageServer) -> None:
        """Take in a client that has finished its handshake, and the server of its connection."""
        self._host.clients[client.id] = client
        self._host.servers[client.id] = server
        if self._workspace is not None:
            told = app.Client(
                id=client.id, name=client.name, can_approve=client.options.can_approve
            )
            self._workspace.app.emit(app.ClientConnected(client=told))

    def leave(self, client: Client) -> None:
        """Let a client go; again changes nothing."""
        self._host.servers.pop(client.id, None)
        if self._host.clients.pop(client.id, None) and self._workspace is not None:
            self._workspace.app.emit(app.ClientDisconnected(client_id=client.id))

    async def aclose(self) -> None:
        """Close every session and write what is left."""
        if self._workspace is not None:
            await self._workspace.aclose()
