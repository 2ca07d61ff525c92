"""One end of a language server's pipes: the same blocking client for every subject.

It waits in one thread, with no event loop of its own, so that what it adds to a reading is the
same few microseconds whoever answers.
"""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import psutil

TIMEOUT = 30.0
"""Seconds of silence after which a subject counts as hung."""


class SubjectFailed(Exception):
    """A subject died, hung or answered with an error, so that there is nothing to compare."""


class Connection:
    """A server process, spoken to over its stdin and stdout."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        stderr: Path,
    ) -> None:
        self.name = name
        self._stderr = stderr
        self._buffer = bytearray()
        self._next_id = 0
        self.spawned_at = time.perf_counter()
        with stderr.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=env,
                cwd=cwd,
                bufsize=0,
                start_new_session=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in = self._process.stdin.fileno()
        self._out = self._process.stdout.fileno()
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)

    def send_request(self, method: str, params: Any) -> int:
        """Send a request and return its id."""
        self._next_id += 1
        self._send({"id": self._next_id, "method": method, "params": params})
        return self._next_id

    def request(self, method: str, params: Any) -> Any:
        """Send a request, pass over everything else until its answer, return the result."""
        return self.wait_for(self.send_request(method, params))

    def wait_for(self, request_id: int) -> Any:
        """Pass over everything until the answer to a request; return the result."""
        while True:
            message = self.read()
            if is_answer(message, request_id):
                return self.result(message)

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def read(self) -> dict[str, Any]:
        """Return the next message. Requests of the server are answered with null on the way."""
        while True:
            message = self._next_message()
            if "method" in message and "id" in message:
                self._send({"id": message["id"], "result": None})
                continue
            return message

    def result(self, answer: dict[str, Any]) -> Any:
        """Return what an answer holds. Raises SubjectFailed where that is an error."""
        if "error" in answer:
            raise SubjectFailed(f"{self.name} answered {answer['error']}{self._last_errors()}")
        return answer["result"]

    def cpu_seconds(self) -> float:
        """Return the processor time of all the process's threads."""
        # The process clock of another process: clock_getcpuclockid(3), which Python lacks.
        return time.clock_gettime((~self._process.pid << 3) | 2)

    def pss_kib(self) -> int:
        """Return the proportional share of memory of the process and its children."""
        process = psutil.Process(self._process.pid)
        return sum(_pss_kib(each.pid) for each in (process, *process.children(recursive=True)))

    def errors(self) -> str:
        """Return what the process wrote to stderr."""
        return self._stderr.read_text(errors="replace")

    def close(self) -> None:
        """End the process as an editor would, and by force where that is not enough."""
        with contextlib.suppress(OSError, SubjectFailed):
            self.request("shutdown", None)
            self.notify("exit", None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        self.kill()

    def kill(self) -> None:
        """End the process at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _send(self, message: dict[str, Any]) -> None:
        body = orjson.dumps({"jsonrpc": "2.0", **message})
        data = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        while data:
            data = data[os.write(self._in, data) :]

    def _next_message(self) -> dict[str, Any]:
        while True:
            header_end = self._buffer.find(b"\r\n\r\n")
            if header_end >= 0:
                start = header_end + 4
                end = start + _content_length(bytes(self._buffer[:header_end]))
                if len(self._buffer) >= end:
                    body = self._buffer[start:end]
                    del self._buffer[:end]
                    return orjson.loads(body)
            self._fill()

    def _fill(self) -> None:
        if not self._poll.poll(TIMEOUT * 1000):
            raise SubjectFailed(f"{self.name} was silent for {TIMEOUT} s{self._last_errors()}")
        data = os.read(self._out, 1 << 18)
        if not data:
            raise SubjectFailed(f"{self.name} closed its stdout{self._last_errors()}")
        self._buffer += data

    def _last_errors(self) -> str:
        lines = self.errors().splitlines()[-20:]
        return "".join(f"\n    {line}" for line in lines)


def is_answer(message: dict[str, Any], request_id: int) -> bool:
    """Say whether a message answers the request of this id."""
    return message.get("id") == request_id and "method" not in message


def _content_length(header: bytes) -> int:
    for line in header.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    raise SubjectFailed(f"a message without Content-Length: {header!r}")


def _pss_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    raise SubjectFailed(f"process {pid} has no PSS")
