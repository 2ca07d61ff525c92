"""What is compared: the floor and agentls, each driven as an editor would drive it."""

import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from driver import Connection, SubjectFailed, is_answer

MODEL = "claude-sonnet-5-5"
FLOOR = Path(__file__).parent / "floor.py"
READABLE_FILES = 20
LINES_PER_FILE = 40


@dataclass(frozen=True)
class Place:
    """Where a subject runs: a workspace of its own, a home that holds nothing, the model's URL."""

    workspace: Path
    home: Path
    model_url: str
    extra_env: Mapping[str, str] = field(default_factory=dict[str, str])

    def env(self) -> dict[str, str]:
        """Return the environment of a subject, free of whatever the caller's would change."""
        unwanted = ("PYTHON", "ANTHROPIC_", "AGENTLS_", "CLAUDE", "XDG_", "HTTP", "ALL_PROXY")
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.upper().startswith(unwanted)
        }
        return {
            **kept,
            "HOME": str(self.home),
            "ANTHROPIC_BASE_URL": self.model_url,
            "ANTHROPIC_API_KEY": "local",
            "FLOOR_MODEL": MODEL,
            **self.extra_env,
        }


@dataclass(frozen=True)
class Turn:
    """One prompt, as its sender saw it. Times are seconds since it was sent."""

    first_delta: float
    end: float
    deltas: int
    """Messages that carried text."""
    characters: int
    """Text that came in them."""
    cpu: float
    """Seconds of the subject's processor time."""


class Subject(Protocol):
    """An agent under a language server."""

    connection: Connection

    def initialize(self) -> float:
        """Shake hands up to the answer; return the seconds since the process was spawned."""
        ...

    def start_session(self) -> None:
        """Begin a conversation with nothing in it, and forget the one before."""
        ...

    def prompt(self, text: str) -> Turn:
        """Send a prompt and wait until its turn is over."""
        ...


class Floor:
    """benchmarks/floor.py."""

    def __init__(self, place: Place, *, sdk: bool = True) -> None:
        command = [sys.executable, str(FLOOR), *([] if sdk else ["--no-sdk"])]
        self.connection = _spawn("the floor", command, place)
        self._place = place

    def initialize(self) -> float:
        self.connection.request("initialize", _initialize_params(self._place.workspace, None))
        return time.perf_counter() - self.connection.spawned_at

    def start_session(self) -> None:
        self.connection.request("floor/new", {})

    def prompt(self, text: str) -> Turn:
        watch = _Watch(self.connection)
        request_id = self.connection.send_request("floor/prompt", {"text": text})
        while True:
            message = self.connection.read()
            if message.get("method") == "floor/delta":
                watch.saw_delta(message["params"]["text"])
            elif is_answer(message, request_id):
                turn = watch.stop()
                self.connection.result(message)
                return turn


class Agentls:
    """`agentls lsp`, with a client that takes events, deltas and state."""

    def __init__(self, place: Place, *, under: Sequence[str] = ()) -> None:
        self.connection = _spawn("agentls", [*under, str(_agentls()), "lsp"], place)
        self._place = place
        self._session_id: str | None = None

    def initialize(self) -> float:
        options = {"agentls": {"version": 1, "clientName": "benchmark"}}
        self.connection.request("initialize", _initialize_params(self._place.workspace, options))
        return time.perf_counter() - self.connection.spawned_at

    def start_session(self) -> None:
        if self._session_id is not None:
            self.connection.request("agent/session/close", {"sessionId": self._session_id})
        made = self.connection.request("agent/session/new", {"model": MODEL})
        self._session_id = made["sessionId"]

    def prompt(self, text: str) -> Turn:
        watch = _Watch(self.connection)
        params = {"sessionId": self._session_id, "text": text}
        request_id = self.connection.send_request("agent/session/prompt", params)
        while True:
            message = self.connection.read()
            method = message.get("method")
            if method == "agent/session/delta":
                watch.saw_delta(message["params"]["text"])
            elif method == "agent/session/event":
                event = message["params"]["event"]
                if event["type"] == "turnFinished":
                    turn = watch.stop()
                    _check_finished(event)
                    return turn
                _check_call(event)
            elif is_answer(message, request_id):
                self.connection.result(message)

    def log_bytes(self) -> int:
        """Return the size of all session logs of the workspace."""
        logs = (self._place.workspace / ".agentls" / "sessions").rglob("*.jsonl")
        return sum(log.stat().st_size for log in logs)


class _Watch:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._deltas = 0
        self._characters = 0
        self._first: float | None = None
        self._cpu = connection.cpu_seconds()
        self._start = time.perf_counter()

    def saw_delta(self, text: str) -> None:
        if self._first is None:
            self._first = time.perf_counter() - self._start
        self._deltas += 1
        self._characters += len(text)

    def stop(self) -> Turn:
        end = time.perf_counter() - self._start
        cpu = self._connection.cpu_seconds() - self._cpu
        first = end if self._first is None else self._first
        return Turn(first, end, self._deltas, self._characters, cpu)


def make_workspace(folder: Path) -> None:
    """Fill an empty folder with the files that the model asks for."""
    notes = folder / "notes"
    notes.mkdir(parents=True)
    for number in range(READABLE_FILES):
        (notes / f"{number}.txt").write_text(note(number))


def note(number: int) -> str:
    """Return the text of one of those files."""
    return "".join(f"Line {line} of note {number}.\n" for line in range(1, LINES_PER_FILE + 1))


def _spawn(name: str, command: list[str], place: Place) -> Connection:
    return Connection(
        name, command, env=place.env(), cwd=place.workspace, stderr=place.home / "stderr.txt"
    )


def _agentls() -> Path:
    beside_python = Path(sys.executable).parent / "agentls"
    found = beside_python if beside_python.exists() else shutil.which("agentls")
    if found is None:
        raise SubjectFailed("no command `agentls` beside this Python; install the project first")
    return Path(found)


def _initialize_params(workspace: Path, options: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "processId": os.getpid(),
        "clientInfo": {"name": "benchmark"},
        "rootUri": workspace.as_uri(),
        "workspaceFolders": [{"uri": workspace.as_uri(), "name": workspace.name}],
        "capabilities": {},
        "initializationOptions": options,
    }


def _check_finished(event: dict[str, Any]) -> None:
    if event["status"] != "completed":
        raise SubjectFailed(f"the turn of agentls ended {event['status']}: {event.get('error')}")


def _check_call(event: dict[str, Any]) -> None:
    if event["type"] == "approvalRequested":
        raise SubjectFailed(f"agentls asks before a call: {event['approval']['title']}")
    if event["type"] == "toolCallFinished" and event["outcome"] != "ok":
        raise SubjectFailed(f"a call of agentls ended {event['outcome']}: {event['summary']}")
