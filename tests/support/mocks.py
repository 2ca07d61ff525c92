"""The servers of the Messages API that others wrote, and the project to work on.

All of it is installed by scripts/install_mocks.sh. A server is started on a free port of this
machine and ended by its process id.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[2]
PREFIX = Path(os.environ.get("PREFIX", ROOT / ".editors"))
AIMOCK = PREFIX / "aimock/node_modules/@copilotkit/aimock/dist/cli.js"
LLMOCK = PREFIX / "llmock/bin/llmock"
CLICK = PREFIX / "click/source"
INSTALLED = AIMOCK.exists() and LLMOCK.exists() and CLICK.exists()
HOW_TO_INSTALL = "the mock servers are not installed here: bash scripts/install_mocks.sh"

PLAIN_PROMPT = "How is everything?"
PLAIN_ANSWER = {"text": "All is well, as far as can be seen from here.", "usage": (100, 10)}

START_SECONDS = 60
END_SECONDS = 20

Answer = dict[str, Any]
"""What the model says: `text`, `calls` with `id`, `name` and `input`, `usage` as a pair."""


class MockServer:
    """A running server, and what it tells of itself over HTTP."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request to the server's own interface and return what it answers."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, method=method)
        request.add_header("content-type", "application/json")
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)


class Aimock(MockServer):
    """npm's @copilotkit/aimock: answers by the prompt and by how often the model has spoken."""

    @property
    def base_url(self) -> str:
        return self.url

    def requests(self) -> list[dict[str, Any]]:
        """Return the requests so far, each in the shape in which aimock keeps them.

        That is a chat: `system`, `user`, `assistant` with its `tool_calls`, and a `tool` message
        for each result.
        """
        entries = self.ask("GET", "/__aimock/journal")
        assert [entry["response"]["status"] for entry in entries] == [200] * len(entries)
        return [entry["body"] for entry in entries]

    def forget(self) -> None:
        """Begin the journal anew."""
        self.ask("POST", "/__aimock/reset/journal")


class Llmock(MockServer):
    """PyPI's llmock: plays a queue of answers and faults, and keeps the requests as they came."""

    @property
    def base_url(self) -> str:
        return self.url + "/anthropic"

    def play(self, *behaviours: dict[str, Any]) -> None:
        """Forget what was, and do this with the requests that follow."""
        self.ask("POST", "/_llmock/reset")
        self.ask("POST", "/_llmock/scenario", {"behaviors": behaviours})

    def bodies(self) -> list[dict[str, Any]]:
        """Return the bodies of the requests since `play`, oldest first."""
        return [request["body"] for request in self.ask("GET", "/_llmock/requests")["requests"]]


@contextmanager
def aimock(fixtures: Path, log: Path) -> Generator[Aimock]:
    """Run aimock over a file of fixtures; a request that no fixture expects is refused."""
    port = _free_port()
    command = ["node", str(AIMOCK), "-p", str(port), "-f", str(fixtures), "--strict"]
    command += ["--validate-on-load", "--latency", "4", "--chunk-size", "6"]
    server = Aimock(port)
    with _running(command, server, "/__aimock/health", log):
        yield server


@contextmanager
def llmock(log: Path) -> Generator[Llmock]:
    """Run llmock."""
    port = _free_port()
    server = Llmock(port)
    with _running([str(LLMOCK), "serve", "--port", str(port)], server, "/_llmock/scenario", log):
        yield server


def aimock_fixtures(prompt: str, answers: Sequence[Answer], *, first: int = 0) -> list[Any]:
    """Return `answers` to a prompt as aimock's fixtures; the model spoke `first` times before."""
    return [
        {
            "match": {"userMessage": prompt, "turnIndex": number},
            "response": {
                "blocks": [
                    *({"type": "text", "text": text} for text in [answer.get("text")] if text),
                    *(
                        {
                            "type": "toolCall",
                            "id": call["id"],
                            "name": call["name"],
                            "arguments": call["input"],
                        }
                        for call in answer.get("calls", ())
                    ),
                ],
                "usage": dict(zip(("input_tokens", "output_tokens"), answer["usage"], strict=True)),
            },
        }
        for number, answer in enumerate(answers, first)
    ]


def llmock_reply(answer: Answer) -> dict[str, Any]:
    """Return an answer as a behaviour of llmock, which makes up ids and usage itself."""
    calls = [{"name": c["name"], "arguments": c["input"]} for c in answer.get("calls", ())]
    return {"type": "reply", "text": answer.get("text", ""), "tool_calls": calls}


def copy_click(to: Path) -> Path:
    """Copy the source of click, to be worked on, and return where it is."""
    return Path(shutil.copytree(CLICK, to))


@contextmanager
def _running(command: Sequence[str], server: MockServer, health: str, log: Path) -> Generator[None]:
    environment = os.environ | {"AIMOCK_STRICT_TURN_INDEX": "1", "PYTHONUNBUFFERED": "1"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
        )
    try:
        _wait_until_it_answers(process, server, health, log)
        yield
    finally:
        _end(process)


def _wait_until_it_answers(
    process: subprocess.Popen[bytes], server: MockServer, health: str, log: Path
) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            server.ask("GET", health)
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(f"{process.args!r} does not answer:\n{log.read_text()}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a server and whatever it started, and make sure that nothing of it is left."""
    family = [process.pid]
    if process.poll() is None:
        family += [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
    process.terminate()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pid in family[1:]:
        if psutil.pid_exists(pid):
            os.kill(pid, signal.SIGKILL)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
