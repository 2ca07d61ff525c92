"""The language server: pygls for lifecycle and document sync, our own wire under it."""

import asyncio
import logging
from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import Any, cast

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter, lsp_method
from pygls.uris import to_fs_path

from agentls.agent.workspace import Workspace
from agentls.errors import InvalidRequest
from agentls.lsp.client import Client, name_of, options_of, view_from
from agentls.lsp.connection import serve_stdio
from agentls.lsp.documents import Documents
from agentls.lsp.handlers import Handlers
from agentls.lsp.host import OpenWorkspace, SharedAgent
from agentls.lsp.joining import Joining
from agentls.lsp.kept_handlers import KeptHandlers
from agentls.lsp.publisher import Publisher
from agentls.lsp.rpc import AgentProtocol, on_request, outbox_of
from agentls.lsp.wire import Pipes
from agentls.protocol.methods import REQUESTS, handler_name
from agentls.protocol.requests import PROTOCOL_VERSION, ServerOptions
from agentls.version import VERSION

logger = logging.getLogger(__name__)


def serve(open_workspace: OpenWorkspace, pipes: Pipes) -> int:
    """Serve the editor that started this process, and return the exit code."""
    return asyncio.run(_serve(open_workspace, pipes))


async def _serve(open_workspace: OpenWorkspace, pipes: Pipes) -> int:
    agent = SharedAgent(open_workspace)
    return await serve_stdio(lambda: AgentServer(agent), on_end=agent.aclose, pipes=pipes)


class ServerProtocol(AgentProtocol):
    """The protocol of an `AgentServer`: its `initialize` tells what the agent can do."""

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(
        self, params: types.InitializeParams
    ) -> Generator[Any, Any, types.InitializeResult]:
        """Answer `initialize`; pygls runs the server's own handler on the way."""
        result = yield from super().lsp_initialize(params)
        server = cast(AgentServer, self._server)
        self._workspace = Documents(
            self._workspace and self._workspace.root_uri,
            types.TextDocumentSyncKind.Incremental,
            params.workspace_folders or [],
            result.capabilities.position_encoding,
        )
        ours = server.server_options.model_dump(by_alias=True)
        result.capabilities.experimental = {"agentls": ours}
        return result


class AgentServer(LanguageServer):
    """One connection's server; what it serves is the agent that all connections share."""

    def __init__(self, agent: SharedAgent) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            "agentls", VERSION, protocol_cls=ServerProtocol, converter_factory=default_converter
        )
        self._agent = agent
        self._client: Client | None = None
        self._publisher: Publisher | None = None
        self._agent_workspace: Workspace | None = None
        self._preparing: asyncio.Task[None] | None = None
        for method, handle in (
            (types.INITIALIZE, self._on_initialize),
            (types.INITIALIZED, self._on_initialized),
            (types.SHUTDOWN, self._on_shutdown),
            (types.TEXT_DOCUMENT_DID_SAVE, self._on_save),
        ):
            # pygls marks what it registers, and a bound method cannot be marked.
            self.feature(method)(partial(handle))

    @property
    def server_options(self) -> ServerOptions:
        """What the server says of itself to this client."""
        assert self._client is not None
        return ServerOptions(
            version=PROTOCOL_VERSION, client_id=self._client.id, view=self._client.view
        )

    async def _on_initialize(self, params: types.InitializeParams) -> None:
        try:
            options = options_of(params)
        except ValueError as error:
            raise InvalidRequest(str(error)) from error
        name = name_of(params, options)
        workspace = self._agent.open(_roots(params))
        view = view_from(workspace.surroundings.settings().settings)
        client = Client(self._agent.next_client_id(name), name, options, view)
        outbox_of(self).write_ahead = workspace.surroundings.store.write_ahead
        publisher = Publisher(self, options)
        self._client, self._publisher, self._agent_workspace = client, publisher, workspace
        joining = Joining(client, publisher, lambda: self.protocol.msg_id)
        live = Handlers(workspace, client, joining)
        kept = KeptHandlers(workspace, joining)
        for request in REQUESTS:
            name = handler_name(request)
            handlers = kept if hasattr(KeptHandlers, name) else live
            on_request(self, request, getattr(handlers, name))

    async def _on_initialized(self, params: types.InitializedParams) -> None:
        if not (self._client and self._publisher and self._agent_workspace):
            return
        self._publisher.follow_app(self._agent_workspace.app)
        self._agent.join(self._client, self)
        # Slow to import, and needed by the first prompt: begun now, while nobody waits.
        self._preparing = asyncio.create_task(self._agent_workspace.prepare(), name="prepare")

    async def _on_save(self, params: types.DidSaveTextDocumentParams) -> None:
        path = to_fs_path(params.text_document.uri)
        if self._agent_workspace is not None and path:
            await self._agent_workspace.user_saved(Path(path))

    async def _on_shutdown(self, params: None) -> None:
        """Have everything on disk before `shutdown` is answered: some editors kill right after."""
        self._leave()
        if self._preparing is not None:
            self._preparing.cancel()
        await self._agent.aclose()

    def _leave(self) -> None:
        if self._publisher is not None:
            self._publisher.close()
        if self._client is not None:
            self._agent.leave(self._client)


def _roots(params: types.InitializeParams) -> tuple[Path, ...]:
    uris = [folder.uri for folder in params.workspace_folders or ()]
    if not uris and params.root_uri:
        uris = [params.root_uri]
    paths = [to_fs_path(uri) for uri in uris]
    if not paths and params.root_path:
        paths = [params.root_path]
    return tuple(Path(path) for path in paths if path)
