"""A small real server over agentls.lsp, run as a process by the wire tests.

Methods under `test/` make the server do what a test wants to see survived.
"""

import asyncio
import logging
import os
import sys
import time
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from agentls import errors
from agentls.lsp.connection import serve_stdio
from agentls.lsp.rpc import AgentProtocol, ask, notify, on_request, outbox_of
from agentls.lsp.wire import Pipes, take_over_stdio
from agentls.protocol import methods, requests
from agentls.protocol.content import Todo, Usage
from agentls.protocol.session_state import Permissions
from agentls.protocol.wire_model import Params


class LoopWatch:
    """Counts how often the event loop came round, and how long it stayed away."""

    def __init__(self) -> None:
        self.ticks = 0
        self.worst_gap = 0.0

    async def run(self) -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.01)
            now = time.monotonic()
            self.worst_gap = max(self.worst_gap, now - last)
            self.ticks += 1
            last = now


class EchoParams(Params):
    text: str


ECHO: methods.Request[EchoParams, EchoParams] = methods.Request(
    "agent/test/echo", EchoParams, EchoParams
)


class Unwritable:
    pass


def make_server(watch: LoopWatch) -> LanguageServer:
    server = LanguageServer("wire-test", "1", protocol_cls=AgentProtocol)
    protocol = server.protocol
    feature = server.feature
    order: list[Any] = []

    async def session_list(
        params: requests.SessionListParams,
    ) -> requests.SessionListResult:
        summary = requests.SessionSummary(
            id="s1",
            title=None,
            last_prompt=None,
            created_at="2026-11-30T14:56:35.123Z",
            updated_at="2026-11-30T14:56:35.123Z",
            message_count=params.limit,
            model=None,
            git_branch=None,
            tag=None,
            usage=Usage(),
            forked_from=None,
            open=False,
        )
        return requests.SessionListResult(sessions=(summary,), next_cursor=None)

    async def session_load(params: requests.SessionLoadParams) -> requests.SessionLoadResult:
        kind = getattr(errors, params.session_id, None)
        if kind is None:
            raise LookupError(f"no such error: {params.session_id}")
        raise kind(f"{params.session_id} it is")

    on_request(server, methods.SESSION_LIST, session_list)
    on_request(server, methods.SESSION_LOAD, session_load)

    @feature("test/echo")
    async def echo(params: Any) -> Any:
        return params

    @feature("test/length")
    def length(params: Any) -> int:
        return len(params["text"])

    @feature("test/text")
    async def text(params: Any) -> Any:
        return {"text": "x" * params["size"]}

    @feature("test/sleep")
    async def sleep(params: Any) -> str:
        protocol.notify("test/sleeping", {})
        try:
            await asyncio.sleep(params["seconds"])
        except asyncio.CancelledError:
            protocol.notify("test/cancelled", {})
            raise
        return "slept"

    @feature("test/stubborn")
    async def stubborn(params: Any) -> str:
        protocol.notify("test/sleeping", {})
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "finished anyway"
        return "slept"

    @feature("test/print")
    async def printing(params: Any) -> str:
        print("a stray line on stdout")  # noqa: T201  it is what must do no harm
        os.write(1, b"raw bytes on 1\n")
        child = await asyncio.create_subprocess_exec("sh", "-c", "echo from a child; cat")
        await child.wait()
        return "printed"

    @feature("test/unwritable")
    async def unwritable(params: Any) -> Any:
        return {"deep": [Unwritable()]}

    @feature("test/surrogate")
    async def surrogate(params: Any) -> Any:
        return {
            "name": "caf\udce9",
            "plan": Todo(content="\udce9", active_form="", status="pending"),
        }

    @feature("test/async")
    async def put_async(params: Any) -> None:
        order.append(params["n"])

    @feature("test/sync")
    def put_sync(params: Any) -> None:
        order.append(params["n"])

    @feature("test/order")
    def get_order(params: Any) -> list[Any]:
        return order

    @feature("test/flood")
    async def flood(params: Any) -> Any:
        for number in range(params["count"]):
            protocol.notify("test/flooded", {"n": number, "text": "x" * params["size"]})
        return {"backlog": outbox_of(server).backlog}

    @feature("test/loop")
    async def loop(params: Any) -> Any:
        return {"ticks": watch.ticks, "worstGap": watch.worst_gap}

    @feature("test/state")
    async def state(params: Any) -> None:
        notify(
            server,
            methods.STATE_DID_CHANGE,
            requests.StateDidChangeParams(
                session_id="s1", seq=7, title=None, permissions=Permissions()
            ),
        )

    @feature("test/ask")
    async def asking(params: Any) -> Any:
        within = params.get("within")
        try:
            if params.get("lsp"):
                action = types.MessageActionItem("Yes")
                answer = await server.window_show_message_request_async(
                    types.ShowMessageRequestParams(types.MessageType.Info, "Sure?", [action])
                )
                return answer.title if answer else None
            return await ask(server, ECHO, EchoParams(text="there?"), within=within)
        except TimeoutError:
            return "timed out"

    @feature("test/child")
    async def child(params: Any) -> int:
        process = await asyncio.create_subprocess_exec("sleep", "600")
        server.children.append(process)  # type: ignore[attr-defined]
        return process.pid

    @server.command("test.sleep")
    async def command_sleep() -> str:
        return await sleep({"seconds": 60})

    @feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover:
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, params.text_document.uri))

    return server


async def main(pipes: Pipes) -> int:
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    logging.getLogger("pygls").setLevel(logging.WARNING)
    watch = LoopWatch()
    children: list[asyncio.subprocess.Process] = []

    def make() -> LanguageServer:
        server = make_server(watch)
        server.children = children  # type: ignore[attr-defined]
        return server

    async def on_end() -> None:
        for child in children:
            child.kill()
            await child.wait()
        if len(sys.argv) > 1:
            await asyncio.to_thread(Path(sys.argv[1]).write_text, "flushed")

    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(watch.run())
        code = await serve_stdio(make, on_end=on_end, pipes=pipes)
        watching.cancel()
    return code


if __name__ == "__main__":
    sys.exit(asyncio.run(main(take_over_stdio())))
