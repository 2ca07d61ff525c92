"""How a server begins and ends: in order, at a signal, and when the client is gone."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.raw_client import RawClient, RpcError, spawn, wait_gone

SERVER = Path(__file__).parents[1] / "support" / "wire_server.py"


def was_flushed(path: Path) -> bool:
    return path.read_text(encoding="utf-8") == "flushed"


@pytest.fixture
def flushed(tmp_path: Path) -> Path:
    """Return the file that the server writes when it has ended its work."""
    return tmp_path / "flushed"


@pytest.fixture
async def client(flushed: Path) -> AsyncIterator[RawClient]:
    async with spawn([sys.executable, SERVER, flushed]) as client:
        yield client
    assert was_flushed(flushed)


async def test_requests_before_initialize_are_refused(client: RawClient) -> None:
    with pytest.raises(RpcError, match="-32002"):
        await client.request("agent/session/list", {})
    with pytest.raises(RpcError, match="-32002"):
        await client.request("shutdown")
    await client.notify("textDocument/didOpen", {})
    await client.initialize()
    await client.request("agent/session/list", {})
    assert await client.shut_down() == 0


async def test_initialize_with_bad_params_can_be_sent_again(client: RawClient) -> None:
    with pytest.raises(RpcError, match="-32602: Invalid params: capabilities: required"):
        await client.request("initialize", {})
    await client.initialize()
    assert await client.shut_down() == 0


async def test_requests_after_shutdown_are_refused(client: RawClient) -> None:
    await client.initialize()
    open_request = await client.send_request("test/sleep", {"seconds": 60})
    assert await client.request("shutdown") is None
    with pytest.raises(RpcError, match="-32800"):
        await client.result_of(open_request)
    for method in ("agent/session/list", "shutdown", "initialize"):
        with pytest.raises(RpcError, match="-32600"):
            await client.request(method)
    await client.notify("exit")
    assert await client.exit_code() == 0


@pytest.mark.parametrize("params", [{}, None, []], ids=str)
async def test_shutdown_is_taken_with_any_params(client: RawClient, params: object) -> None:
    await client.initialize()
    assert await client.request("shutdown", params) is None
    await client.notify("exit", params)
    assert await client.exit_code() == 0


async def test_exit_without_shutdown_is_a_failure(client: RawClient) -> None:
    await client.initialize()
    await client.notify("exit")
    assert await client.exit_code() == 1


async def test_exit_before_initialize_is_a_failure(client: RawClient) -> None:
    await client.notify("exit")
    assert await client.exit_code() == 1


async def test_the_end_of_input_is_the_end(client: RawClient) -> None:
    await client.initialize()
    pid = await client.request("test/child", {})
    await client.send_request("test/sleep", {"seconds": 60})
    client.close_stdin()
    assert await client.exit_code() == 1
    await wait_gone(pid)


async def test_the_end_of_input_after_shutdown_is_a_good_end(client: RawClient) -> None:
    await client.initialize()
    await client.request("shutdown")
    client.close_stdin()
    assert await client.exit_code() == 0


async def test_what_was_sent_before_the_end_of_input_is_answered(client: RawClient) -> None:
    await client.initialize()
    ids = [await client.send_request("test/order", {}) for _ in range(20)]
    client.close_stdin()
    for id_ in ids:
        assert await client.result_of(id_) == []


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)],
    ids=["SIGTERM", "SIGINT", "SIGHUP"],
)
async def test_a_signal_ends_it_in_order(
    client: RawClient, number: signal.Signals, code: int
) -> None:
    await client.initialize()
    pid = await client.request("test/child", {})
    client.process.send_signal(number)
    assert await client.exit_code() == code
    await wait_gone(pid)


async def test_a_dead_parent_ends_it_while_its_input_stays_open(client: RawClient) -> None:
    parent = await asyncio.create_subprocess_exec("sleep", "600")
    await client.initialize(processId=parent.pid)
    parent.kill()
    await parent.wait()
    assert await client.exit_code() == 1


@pytest.mark.parametrize("process_id", [None, 2**22 + 5, -1, 0], ids=str)
async def test_a_parent_that_cannot_be_seen_does_not_end_it(
    client: RawClient, process_id: int | None
) -> None:
    await client.initialize(processId=process_id)
    await client.request("test/echo", {})
    assert await client.shut_down() == 0


async def test_a_broken_pipe_ends_it_while_its_input_stays_open(flushed: Path) -> None:
    to_server, from_client = os.pipe()
    to_client, from_server = os.pipe()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(SERVER),
        str(flushed),
        stdin=to_server,
        stdout=from_server,
        stderr=asyncio.subprocess.DEVNULL,
    )
    os.close(to_server)
    os.close(from_server)
    os.close(to_client)
    os.write(from_client, b"Content-Length: 2\r\n\r\n{}")
    try:
        async with asyncio.timeout(20):
            assert await process.wait() == 1
    finally:
        os.close(from_client)
    assert was_flushed(flushed)


async def test_a_client_killed_outright_leaves_no_process(tmp_path: Path) -> None:
    """The client is a process of its own; the server and its child go with it."""
    program = tmp_path / "client.py"
    program.write_text(
        f"""
import asyncio, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.support.raw_client import spawn

async def main():
    async with spawn([sys.executable, {str(SERVER)!r}]) as client:
        await client.initialize()
        child = await client.request("test/child", {{}})
        print(client.pid, child, flush=True)
        await client.request("test/flood", {{"count": 20000, "size": 1000}})
        await asyncio.sleep(600)

asyncio.run(main())
""",
        encoding="utf-8",
    )
    client = await asyncio.create_subprocess_exec(
        sys.executable, str(program), stdout=asyncio.subprocess.PIPE
    )
    assert client.stdout is not None
    try:
        async with asyncio.timeout(30):
            server, child = map(int, (await client.stdout.readline()).split())
    finally:
        client.kill()
        await client.wait()
    await wait_gone(server, 25)
    await wait_gone(child)


async def test_closed_standard_error_does_no_harm(flushed: Path) -> None:
    command = f"exec {sys.executable} {SERVER} {flushed} 2>&-"
    async with spawn(["sh", "-c", command]) as client:
        await client.initialize()
        assert await client.request("test/print", {}) == "printed"
        assert await client.shut_down() == 0
    assert was_flushed(flushed)


@pytest.mark.parametrize("closed", [">&-", "<&-"])
async def test_closed_standard_streams_are_told_in_words(closed: str) -> None:
    process = await asyncio.create_subprocess_shell(
        f"exec {sys.executable} {SERVER} {closed}",
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, told = await process.communicate()
    assert process.returncode != 0
    assert b"one of them is closed" in told


HANGING = """
import asyncio, sys, threading, time
from agentls.lsp import connection, rpc
from agentls.lsp.wire import take_over_stdio
from pygls.lsp.server import LanguageServer

pipes = take_over_stdio()
connection._LAST_SECONDS = 1.0
connection.END_SECONDS = 0.2

def make():
    server = LanguageServer("hanging", "1", protocol_cls=rpc.AgentProtocol)
    server.feature("test/blockLoop")(lambda params: time.sleep(600))

    @server.feature("test/blockThread")
    async def block(params):
        asyncio.get_running_loop().run_in_executor(None, time.sleep, 600)

    return server

async def on_end():
    if "hook" in sys.argv:
        await asyncio.sleep(600)

sys.exit(asyncio.run(connection.serve_stdio(make, on_end=on_end, pipes=pipes)))
"""


@pytest.mark.parametrize("what", ["test/blockLoop", "test/blockThread"])
async def test_a_server_in_which_something_hangs_is_gone_all_the_same(what: str) -> None:
    async with spawn([sys.executable, "-c", HANGING]) as client:
        await client.initialize()
        await client.notify(what, {})
        client.close_stdin()
        assert await client.exit_code() == 1
        assert "something hangs" in client.stderr


async def test_an_end_that_takes_too_long_is_cut_short() -> None:
    async with spawn([sys.executable, "-c", HANGING, "hook"]) as client:
        await client.initialize()
        assert await client.shut_down() == 0
        assert "was cut short" in client.stderr
