"""A bare LSP client over a process's pipes: it sends what it is told and keeps what comes.

It frames by itself, so that it does not share a mistake with the server. Every wait is bounded.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

WAIT_SECONDS = 20.0

Message = dict[str, Any]
Answerer = Callable[[Any], Any]


class RpcError(Exception):
    """The server answered with an error."""

    def __init__(self, error: Message) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class RawClient:
    """Speaks to one server process. Made by `spawn`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.messages: list[Message] = []
        """Everything that came, in order."""
        self.answers: dict[str, Answerer] = {}
        """What the server's requests are answered with, by method; others get an error."""
        self.stderr = ""
        self._next_id = 0
        self._answered: dict[Any, asyncio.Future[Message]] = {}
        self._changed = asyncio.Event()
        self._reading = asyncio.Event()
        self._reading.set()
        self._tasks = [
            asyncio.create_task(self._read_messages()),
            asyncio.create_task(self._read_stderr()),
        ]

    @property
    def pid(self) -> int:
        return self.process.pid

    def notifications(self, method: str) -> list[Any]:
        """Return the params of the notifications of `method` that came so far."""
        return [
            message.get("params")
            for message in self.messages
            if message.get("method") == method and "id" not in message
        ]

    def errors_without_id(self) -> list[Message]:
        """Return the errors that could not be told which request they answer."""
        return [m["error"] for m in self.messages if "error" in m and m["id"] is None]

    async def initialize(self, **params: Any) -> Any:
        """Do LSP's handshake and return the server's answer."""
        params = {"processId": os.getpid(), "rootUri": None, "capabilities": {}} | params
        result = await self.request("initialize", params)
        await self.notify("initialized", {})
        return result

    async def request(self, method: str, params: Any = None, **rest: Any) -> Any:
        """Send a request and return its result. Raises RpcError."""
        return await self.result_of(await self.send_request(method, params, **rest))

    async def send_request(self, method: str, params: Any = None, **rest: Any) -> Any:
        """Send a request, not waiting for the answer, and return its id."""
        self._next_id += 1
        message = {"jsonrpc": "2.0", "id": self._next_id, "method": method}
        message |= {} if params is None else {"params": params}
        await self.send(message | rest)
        return (message | rest)["id"]

    async def result_of(self, id_: Any, seconds: float = WAIT_SECONDS) -> Any:
        """Wait for the answer to a request sent before. Raises RpcError."""
        answered = self._answered.setdefault(id_, asyncio.get_running_loop().create_future())
        try:
            async with asyncio.timeout(seconds):
                message = await asyncio.shield(answered)
        except TimeoutError:
            raise AssertionError(self._account(f"no answer to request {id_!r}")) from None
        if "error" in message:
            raise RpcError(message["error"])
        return message["result"]

    async def notify(self, method: str, params: Any = None) -> None:
        """Send a notification."""
        message = {"jsonrpc": "2.0", "method": method}
        await self.send(message | ({} if params is None else {"params": params}))

    async def send(self, message: Any) -> None:
        """Send any JSON in a frame."""
        await self.send_body(json.dumps(message).encode())

    async def send_body(self, body: bytes) -> None:
        """Send any bytes in a frame."""
        await self.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def send_bytes(self, data: bytes) -> None:
        """Send any bytes."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        await self.process.stdin.drain()

    async def wait_until(
        self, predicate: Callable[[], Any], what: str, seconds: float = WAIT_SECONDS
    ) -> Any:
        """Wait until `predicate` holds, looking again after each message; return what it gave."""
        try:
            async with asyncio.timeout(seconds):
                while not (found := predicate()):
                    self._changed.clear()
                    await self._changed.wait()
                return found
        except TimeoutError:
            raise AssertionError(self._account(f"not seen: {what}")) from None

    async def wait_for_notification(
        self,
        method: str,
        matches: Callable[[Any], bool] = lambda params: True,
        seconds: float = WAIT_SECONDS,
    ) -> Any:
        """Wait for a notification, past ones included, and return its params."""

        def find() -> list[Any]:
            return [params for params in self.notifications(method) if matches(params)]

        return (await self.wait_until(find, method, seconds))[0]

    def stop_reading(self) -> None:
        """Leave what the server writes in the pipe."""
        self._reading.clear()

    def go_on_reading(self) -> None:
        """Take what the server writes again."""
        self._reading.set()

    def close_stdin(self) -> None:
        """Close the server's input, as an editor that ends does."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    async def exit_code(self, seconds: float = WAIT_SECONDS) -> int:
        """Wait until the server has ended, and everything it wrote has been read."""
        try:
            async with asyncio.timeout(seconds):
                code = await self.process.wait()
                await asyncio.wait(self._tasks)
                return code
        except TimeoutError:
            raise AssertionError(self._account("the server does not end")) from None

    async def shut_down(self) -> int:
        """End as LSP says, and return the exit code."""
        await self.request("shutdown")
        await self.notify("exit")
        return await self.exit_code()

    async def close(self) -> None:
        """End the process, however it is, and everything that belongs to it here."""
        self.go_on_reading()
        self.close_stdin()
        try:
            async with asyncio.timeout(5):
                await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        # asyncio has no public way to let go of a pipe that something else still holds open.
        self.process._transport.close()  # type: ignore[attr-defined]

    async def _read_messages(self) -> None:
        while (body := await self._read_body()) is not None:
            message = json.loads(body)
            self.messages.append(message)
            await self._take(message)
            self._changed.set()

    async def _read_body(self) -> bytes | None:
        assert self.process.stdout is not None
        length: int | None = None
        while True:
            await self._reading.wait()
            line = await self.process.stdout.readline()
            if not line:
                return None
            if line == b"\r\n":
                break
            name, _, value = line.partition(b":")
            assert name == b"Content-Length", f"not a header: {line!r}"
            length = int(value)
        assert length is not None
        return await self.process.stdout.readexactly(length)

    async def _take(self, message: Message) -> None:
        if "method" not in message:
            waiting = self._answered.setdefault(
                message["id"], asyncio.get_running_loop().create_future()
            )
            if not waiting.done():
                waiting.set_result(message)
        elif "id" in message:
            await self._answer(message)

    async def _answer(self, message: Message) -> None:
        answer: Message = {"jsonrpc": "2.0", "id": message["id"]}
        if (answerer := self.answers.get(message["method"])) is None:
            error = {"code": -32601, "message": f"no {message['method']} here"}
            await self.send(answer | {"error": error})
        elif (result := answerer(message.get("params"))) is not SILENCE:
            await self.send(answer | {"result": result})

    async def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(1 << 16):
            self.stderr += data.decode("utf-8", "replace")
            self._changed.set()

    def _account(self, what: str) -> str:
        """Say what is missing, and what there is instead."""
        latest = "\n".join(str(message)[:300] for message in self.messages[-10:])
        return (
            f"{what}\nexit code: {self.process.returncode}\n"
            f"latest of {len(self.messages)} messages:\n{latest}\n"
            f"stderr:\n{self.stderr[-3000:]}"
        )


SILENCE = object()
"""What an answerer returns to leave a request of the server unanswered."""


@asynccontextmanager
async def spawn(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[RawClient]:
    """Start a server and yield a client for it; afterwards the process is gone.

    `env` is added to this process's own.
    """
    process = await asyncio.create_subprocess_exec(
        *map(str, command),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | dict(env or {}),
        limit=1 << 16,
    )
    client = RawClient(process)
    try:
        yield client
    finally:
        await client.close()


def is_running(pid: int) -> bool:
    """Whether a process is there and has not ended; one that waits to be reaped has."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in ("Z", "X")


async def wait_gone(pid: int, seconds: float = WAIT_SECONDS) -> None:
    """Wait until a process is gone; kill it and fail where it stays."""
    try:
        async with asyncio.timeout(seconds):
            while True:
                if not is_running(pid):
                    return
                await asyncio.sleep(0.02)
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        raise AssertionError(f"process {pid} is still there") from None
