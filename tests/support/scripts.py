"""`agentls` as a real process, in a workspace of its own, as a script would start it.

Every wait is bounded, and no process outlives its test.
"""

import json
import os
import queue
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import pytest
from jsonschema import Draft202012Validator

from tests.support.scenarios import write_scenario

ROOT = Path(__file__).parents[2]
AGENTLS = ROOT / ".venv" / "bin" / "agentls"
SCHEMA = ROOT / "protocol-docs" / "schema.json"
SECONDS = 30
IMPATIENT = {"rateLimitSeconds": 0, "overloadSeconds": 0, "networkSeconds": 0}
"""The setting `retry` of a user who would rather be told than wait."""
PLAIN_USER = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
"""A prefix that runs a command as somebody whom permissions bind; tests may run as root."""
as_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None,
    reason="only root, with setpriv, can run something as somebody else",
)

Line = dict[str, Any]


@dataclass(frozen=True)
class Finished:
    """A process that has ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def told(self) -> str:
        """What stderr says in its one line; more than one line is a failure."""
        lines = self.stderr.splitlines()
        assert len(lines) == 1, self.stderr
        assert lines[0].startswith("agentls: "), self.stderr
        return lines[0]

    @property
    def lines(self) -> list[Line]:
        """The lines of stream-json: each sound, `system/init` first, a result last."""
        lines = [checked(json.loads(line)) for line in self.stdout.splitlines()]
        assert [kind(line) for line in lines].count("system/init") == 1, self.stdout
        assert kind(lines[0]) == "system/init"
        assert kind(lines[-1]) == "result"
        return lines

    @property
    def result(self) -> Line:
        """The one result of a run of stream-json or json."""
        results = [line for line in map(json.loads, self.stdout.splitlines()) if is_result(line)]
        assert len(results) == 1, self.stdout
        _validator("ResultLine").validate(results[0])
        return results[0]


class Script:
    """A workspace, and the command line in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "work"
        self.config = folder / "config"
        self.data = folder / "data"
        self._outside = folder
        for made in (self.folder, self.config, self.data):
            made.mkdir()

    @property
    def logs(self) -> list[Path]:
        """The logs of the workspace's sessions, oldest first."""
        found = (self.folder / ".agentls" / "sessions").glob("*.jsonl")
        return sorted(found, key=lambda log: log.stat().st_mtime_ns)

    def plays(self, *answers: Line) -> str:
        """Return a model that plays these answers."""
        return f"scripted:{write_scenario(self._outside / 'scenario.json', *answers)}"

    def settings(self, **settings: Any) -> None:
        """Set what the user's settings say."""
        (self.config / "settings.json").write_text(json.dumps(settings))

    def environment(self, **changes: str | None) -> dict[str, str]:
        """Return the environment of a process; None takes a variable away."""
        known = {key: value for key, value in os.environ.items() if "ANTHROPIC" not in key}
        private = {
            "AGENTLS_CONFIG_DIR": str(self.config),
            "AGENTLS_DATA_DIR": str(self.data),
            "PYTHONDONTWRITEBYTECODE": "",
        }
        all_of_it: dict[str, str | None] = {**known, **private, **changes}
        return {key: value for key, value in all_of_it.items() if value is not None}

    def run(self, *arguments: str, **options: Any) -> Finished:
        """Run `agentls run` in the workspace to its end."""
        return self.command("run", "--cwd", str(self.folder), *arguments, **options)

    def command(
        self,
        *arguments: str,
        stdin: bytes | int = b"",
        prefix: Sequence[str] = (),
        env: dict[str, str | None] | None = None,
        cwd: Path | None = None,
    ) -> Finished:
        """Run a command of agentls to its end."""
        given: dict[str, Any] = {"stdin": stdin} if isinstance(stdin, int) else {"input": stdin}
        done = subprocess.run(
            [*prefix, AGENTLS, *arguments],
            capture_output=True,
            timeout=SECONDS,
            env=self.environment(**(env or {})),
            cwd=cwd or self._outside,
            check=False,
            **given,
        )
        return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())

    @contextmanager
    def started(
        self, *arguments: str, env: dict[str, str | None] | None = None, **options: Any
    ) -> Iterator["Running"]:
        """Start `agentls run`; afterwards it is gone. With `-p` there is nothing on stdin."""
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        if "-p" in arguments:
            pipes["stdin"] = subprocess.DEVNULL
        process = subprocess.Popen(
            [AGENTLS, "run", "--cwd", self.folder, *arguments],
            env=self.environment(**(env or {})),
            cwd=self._outside,
            **{**pipes, **options},
        )
        try:
            yield Running(process)
        finally:
            process.kill()
            process.wait(SECONDS)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


class Running:
    """A run that goes on while the test looks at it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._lines: queue.Queue[bytes | None] | None = None
        self._read: list[bytes] = []

    def line(self, wanted: str) -> Line:
        """Wait for the next line of a kind, such as `assistant` or `system/init`."""
        while True:
            raw = self._next()
            assert raw is not None, f"no {wanted} before the end of stdout: {self._read}"
            line = checked(json.loads(raw))
            if kind(line) == wanted:
                return line

    def send(self, *lines: Line | str) -> None:
        """Write lines to stdin."""
        pipe = self.process.stdin
        assert pipe is not None
        for line in lines:
            pipe.write((line if isinstance(line, str) else json.dumps(line)).encode() + b"\n")
        pipe.flush()

    def close_stdin(self) -> None:
        """Say that no more comes."""
        if self.process.stdin is not None:
            self.process.stdin.close()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process, and to nothing that it started."""
        self.process.send_signal(number)

    def finish(self) -> Finished:
        """Wait for the end, and then return all there was."""
        self.process.wait(SECONDS)
        return self.finish_reading()

    def finish_reading(self) -> Finished:
        """Return all there is, and wait for the end."""
        while self.process.stdout is not None and self._next() is not None:
            pass
        self.process.wait(SECONDS)
        stderr = self.process.stderr.read() if self.process.stderr else b""
        stdout = b"".join(self._read)
        return Finished(self.process.returncode, stdout.decode(), stderr.decode())

    def _next(self) -> bytes | None:
        if self._lines is None:
            self._lines = queue.Queue()
            threading.Thread(target=self._read_lines, args=(self._lines,), daemon=True).start()
        raw = self._lines.get(timeout=SECONDS)
        if raw is None:
            self._lines.put(None)
        else:
            self._read.append(raw)
        return raw

    def _read_lines(self, lines: "queue.Queue[bytes | None]") -> None:
        assert self.process.stdout is not None
        for raw in self.process.stdout:
            lines.put(raw)
        lines.put(None)


def user(text: str) -> Line:
    """Return a line of stream-json that is a prompt."""
    return {"type": "user", "message": {"role": "user", "content": text}}


def interrupt(request_id: str = "r1") -> Line:
    """Return a line of stream-json that stops the prompt being worked on."""
    return {
        "type": "control_request",
        "request_id": request_id,
        "request": {"subtype": "interrupt"},
    }


def as_input(*lines: Line | str) -> bytes:
    """Return lines as they are written to stdin."""
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    return "".join(f"{text}\n" for text in texts).encode()


def kind(line: Line) -> str:
    """Return what a line is: `system/init`, `assistant`, `result`."""
    return f"{line['type']}/{line['subtype']}" if line["type"] == "system" else line["type"]


def is_result(line: Line) -> bool:
    """Whether a line ends a prompt."""
    return line["type"] == "result"


def checked(line: Line) -> Line:
    """Return a line of stream-json that the published schema allows."""
    _validator("StreamJsonLine").validate(line)
    return line


def tool_results(lines: Sequence[Line]) -> list[str]:
    """Return what the model was told of its calls."""
    return [
        "\n".join(part["text"] for part in block["content"])
        for line in lines
        if line["type"] == "user"
        for block in line["message"]["content"]
    ]


def written_pid(path: Path) -> int:
    """Wait for a process to write its id to a file."""
    eventually(lambda: path.exists() and path.read_text().endswith("\n"))
    return int(path.read_text())


def is_gone(pid: int) -> bool:
    """Whether no such process runs."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def eventually(condition: Any) -> None:
    """Wait until `condition` holds; fail where it does not in time."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.02)


def open_to_all(script: Script) -> None:
    """Let everybody into the folders above, and into the data and configuration folders."""
    for place in script.folder.parents:
        if place.stat().st_mode & 0o055 != 0o055:
            place.chmod(place.stat().st_mode | 0o055)
    for folder in (script.data, script.config):
        folder.chmod(0o777)


@cache
def _validator(name: str) -> Draft202012Validator:
    """Return a validator of one type; a plain `validate` would check the whole schema each time."""
    schema = json.loads(SCHEMA.read_text())
    return Draft202012Validator({**schema, "$ref": f"#/$defs/{name}"})
