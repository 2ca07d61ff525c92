"""The protocol by itself, speaking to a list."""

import asyncio
import json
import os
from typing import Any

import pytest
from lsprotocol import types
from pygls.lsp.server import LanguageServer

from agentls.errors import WorkspaceUnusable
from agentls.lsp.framing import Framer
from agentls.lsp.rpc import AgentProtocol, notify, on_request, outbox_of, protocol_of
from agentls.lsp.wire import Writer
from agentls.protocol import methods, requests


class Line:
    """A connection that keeps what was written, and what the protocol told it."""

    def __init__(self) -> None:
        self.read_fd, write_fd = os.pipe()
        self._writer = Writer(write_fd)
        self.told: list[Any] = []

    @property
    def writer(self) -> Writer:
        return self._writer

    def client_exits(self) -> None:
        self.told.append("exit")

    def client_initialized(self, process_id: int | None) -> None:
        self.told.append(("initialized", process_id))

    async def messages(self) -> list[dict[str, Any]]:
        """Return everything that was sent; the line is closed by it."""
        await self._writer.close()
        with open(self.read_fd, "rb") as stream:  # noqa: PTH123, ASYNC230  all of it is there
            return [json.loads(body) for body in Framer().feed(stream.read())]  # type: ignore[arg-type]


def make() -> tuple[LanguageServer, AgentProtocol, Line]:
    server = LanguageServer("test", "1", protocol_cls=AgentProtocol)
    protocol, line = protocol_of(server), Line()
    protocol.connect(line)
    return server, protocol, line


def send(protocol: AgentProtocol, method: str, params: Any = None, **rest: Any) -> None:
    message = {"jsonrpc": "2.0", "method": method, "params": params} | rest
    protocol.receive(json.dumps(message).encode())


def initialize(protocol: AgentProtocol) -> None:
    send(protocol, "initialize", {"processId": 7, "capabilities": {}}, id="init")


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_the_line_is_told_of_the_client_and_of_its_exit() -> None:
    _, protocol, line = make()
    initialize(protocol)
    send(protocol, "exit")
    assert line.told == [("initialized", 7), "exit"]
    await line.messages()


async def test_finished_requests_notifications_and_commands_leave_nothing_behind() -> None:
    server, protocol, line = make()

    @server.feature("test/note")
    async def note(params: Any) -> None:
        await asyncio.sleep(0)

    @server.command("test.command")
    async def command() -> str:
        return "done"

    initialize(protocol)
    for number in range(10):
        send(protocol, "test/note", {})
        send(protocol, "test/note", {}, id=number)
        send(protocol, "workspace/executeCommand", {"command": "test.command"}, id=f"c{number}")
    await settle()
    assert protocol._request_futures == {}
    assert len(await line.messages()) == 21


async def test_an_initialize_that_fails_can_be_sent_again() -> None:
    server, protocol, line = make()
    failures = [WorkspaceUnusable("no such folder")]

    @server.feature("initialize")
    def refuse(params: types.InitializeParams) -> None:
        if failures:
            raise failures.pop()

    initialize(protocol)
    initialize(protocol)
    first, second = await line.messages()
    assert first["error"]["data"] == {"kind": "WorkspaceUnusable"}
    assert "capabilities" in second["result"]
    assert line.told == [("initialized", 7)]


async def test_a_failing_notification_handler_shows_no_popup() -> None:
    server, protocol, line = make()

    @server.feature("test/broken")
    async def broken(params: Any) -> None:
        raise ValueError("a bug")

    @server.feature("test/brokenAtOnce")
    def broken_at_once(params: Any) -> None:
        raise ValueError("a bug")

    initialize(protocol)
    send(protocol, "test/broken", {})
    send(protocol, "test/brokenAtOnce", {})
    await settle()
    assert [message["id"] for message in await line.messages()] == ["init"]


async def test_who_waits_for_the_client_learns_that_it_is_gone() -> None:
    _, protocol, line = make()
    asking = asyncio.create_task(protocol.ask("test/question", {}))
    await settle()
    await protocol.hang_up()
    with pytest.raises(ConnectionError):
        await asking
    with pytest.raises(ConnectionError):
        await protocol.ask("test/question", {})
    await line.messages()


async def test_hanging_up_ends_what_the_client_asked_for() -> None:
    server, protocol, line = make()
    ended: list[str] = []

    @server.feature("test/wait")
    async def wait(params: Any) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            ended.append("ended")

    initialize(protocol)
    send(protocol, "test/wait", {}, id=1)
    await settle()
    await protocol.hang_up()
    assert ended == ["ended"]
    await line.messages()


async def test_a_handler_that_cancels_itself_is_answered() -> None:
    server, protocol, line = make()

    @server.command("test.cancelled")
    async def cancelled() -> None:
        raise asyncio.CancelledError

    initialize(protocol)
    send(protocol, "workspace/executeCommand", {"command": "test.cancelled"}, id=1)
    await settle()
    assert (await line.messages())[-1]["error"]["code"] == -32800


async def test_handlers_are_given_the_model_of_the_registry() -> None:
    server, protocol, line = make()
    seen: list[Any] = []

    async def session_rename(
        params: requests.SessionRenameParams,
    ) -> requests.SessionRenameResult:
        seen.append(params)
        return requests.SessionRenameResult()

    on_request(server, methods.SESSION_RENAME, session_rename)
    initialize(protocol)
    send(protocol, "agent/session/rename", {"sessionId": "s", "title": "t"}, id=1)
    await settle()
    assert seen == [requests.SessionRenameParams(session_id="s", title="t")]
    assert (await line.messages())[-1]["result"] == {}


async def test_an_unwritable_notification_is_left_out_and_the_next_is_sent() -> None:
    _, protocol, line = make()
    protocol.notify("test/unwritable", {"what": object()})
    protocol.notify("test/infinite", {"what": 10**30, "and": float("nan")})
    protocol.notify("test/next", {"integer": 10**30})
    assert [message["method"] for message in await line.messages()] == ["test/next"]


async def test_notifications_of_ours_are_whole() -> None:
    server, _, line = make()
    params = requests.AppDidChangeParams(seq=1, default_model=None)
    notify(server, methods.APP_DID_CHANGE, params)
    assert outbox_of(server) is line.writer
    [message] = await line.messages()
    assert message == {
        "jsonrpc": "2.0",
        "method": "agent/app/didChange",
        "params": {"seq": 1, "defaultModel": None},
    }


def test_a_server_with_another_protocol_is_refused() -> None:
    with pytest.raises(TypeError, match="AgentProtocol"):
        protocol_of(LanguageServer("test", "1"))
