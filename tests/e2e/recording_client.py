"""pytest-lsp's client, made to keep what `agent/*` messages hold as it came."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import default_converter
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCResponseMessage
from pytest_lsp import LanguageClient
from pytest_lsp.client import register_lsp_features
from pytest_lsp.protocol import LanguageClientProtocol

from agentls.protocol.methods import NOTIFICATIONS

WAIT_SECONDS = 60.0

Json = dict[str, Any]


class RecordingProtocol(LanguageClientProtocol):
    """Leaves the params and results of `agent/*` alone; by itself pygls makes objects of them."""

    def structure_message(self, data: Any) -> Any:
        if data.get("jsonrpc") != "2.0":
            return data
        method = data.get("method", "")
        if method.startswith("agent/"):
            return JsonRPCNotification(method=method, params=data["params"], jsonrpc="2.0")
        if "result" in data and self._result_types.get(data["id"]) is None:
            return JsonRPCResponseMessage(id=data["id"], result=data["result"], jsonrpc="2.0")
        return super().structure_message(data)


class RecordingClient(LanguageClient):
    """An editor that draws the conversation."""

    def __init__(self) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            protocol_cls=RecordingProtocol, converter_factory=default_converter
        )
        register_lsp_features(self)
        self.told: list[tuple[str, Json]] = []
        """Every `agent/*` notification, in order."""
        for notification in NOTIFICATIONS:
            self._record(notification.name)

    async def greet(self, root_uri: str, capabilities: types.ClientCapabilities) -> None:
        """Do the handshake and check that the server knows this client."""
        result = await self.initialize_session(
            types.InitializeParams(
                capabilities=capabilities,
                root_uri=root_uri,
                workspace_folders=[types.WorkspaceFolder(uri=root_uri, name="click")],
                initialization_options={"agentls": {"version": 1, "clientName": "Pytest"}},
            )
        )
        ours = cast(Json, result.capabilities.experimental)["agentls"]
        assert (ours["version"], ours["clientId"]) == (1, "pytest-1")

    async def ask(self, method: str, **params: Any) -> Json:
        """Send `agent/<method>` and return its result."""
        async with asyncio.timeout(WAIT_SECONDS):
            return await self.protocol.send_request_async(f"agent/{method}", params)

    async def refused(self, method: str, **params: Any) -> JsonRpcException:
        """Send `agent/<method>`, which must be refused, and return the error."""
        try:
            result = await self.ask(method, **params)
        except JsonRpcException as error:
            return error
        raise AssertionError(f"agent/{method} was answered with {result}")

    def params_of(self, notification: str) -> list[Json]:
        """Return what came with a notification, such as `session/event`, in order."""
        return [params for name, params in self.told if name == f"agent/{notification}"]

    def events(self, kind: str) -> list[Json]:
        """Return the events of a type, in order."""
        told = (params["event"] for params in self.params_of("session/event"))
        return [event for event in told if event["type"] == kind]

    async def event(self, kind: str, number: int = 1) -> Json:
        """Wait for the `number`-th event of a type."""
        await self.until(lambda: len(self.events(kind)) >= number, f"{kind} {number}")
        return self.events(kind)[number - 1]

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until `holds` does."""
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                while not holds():
                    await asyncio.sleep(0.02)
        except TimeoutError:
            latest = "\n".join(str(one)[:300] for one in self.told[-10:])
            raise AssertionError(f"not seen: {what}; the latest are\n{latest}") from None

    @property
    def server_pid(self) -> int:
        """The server's process."""
        assert self._server is not None
        return self._server.pid

    @property
    def exit_code(self) -> int | None:
        """How the server ended."""
        assert self._server is not None
        return self._server.returncode

    def _record(self, method: str) -> None:
        def keep(client: "RecordingClient", params: Json) -> None:
            self.told.append((method, params))

        self.feature(method)(keep)
