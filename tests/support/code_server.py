"""The extension in the real VS Code: code-server, driven in a browser as a person would.

All of it is installed by scripts/install_vscode.sh. What is started is ended by its process id.
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "client-vscode"
EDITORS = ROOT / ".editors"
CODE_SERVER = EDITORS / "code-server/bin/code-server"
NODE_FOLDER = EDITORS / "n24"
DRIVER = EDITORS / "vscode-driver"
INSTALLED = CODE_SERVER.exists() and DRIVER.exists()
HOW_TO_INSTALL = "VS Code is not installed here: bash scripts/install_vscode.sh"

BUILD_SECONDS = 300
START_SECONDS = 120
DRIVE_SECONDS = 600


@dataclass(frozen=True)
class Seen:
    """What the driver saw, by step, and the workspace that it left behind."""

    steps: dict[str, Any]
    outside: list[str]
    workspace: Path
    orphans: list[str]


def play(
    driver: Path,
    workspace: Path,
    shots: Path,
    *,
    model: str,
    environment: dict[str, str],
) -> Seen:
    """Drive VS Code in a workspace, and return what was seen once all of it has ended.

    What VS Code keeps goes beside the workspace, whose parent must be nobody else's. The pictures
    in `shots` are made anew. `environment` is for the driver, VS Code and the server below it.
    """
    folder = workspace.parent
    shots.mkdir(parents=True, exist_ok=True)
    for old in shots.glob("*.png"):
        old.unlink()
    whole = _environment(folder) | environment
    _install_extension(folder, whole)
    _write_settings(folder, model)
    report = _drive(driver, workspace, shots, whole)
    assert report["failed"] is None, report["failed"]
    steps = {step["name"]: step["seen"] for step in report["steps"]}
    return Seen(steps, report["outside"], workspace, _processes_in(folder))


def _environment(folder: Path) -> dict[str, str]:
    """Return an environment whose home is `folder`, so that nobody's settings take part."""
    kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
    return kept | {
        "HOME": str(folder / "home"),
        "PATH": f"{NODE_FOLDER}:{os.environ['PATH']}",
        "EXTENSIONS_GALLERY": '{"serviceUrl":""}',  # else it looks up the gallery's host
        "VSCODE_DRIVER": str(DRIVER),
    }


def _install_extension(folder: Path, environment: dict[str, str]) -> None:
    """Package the extension as it would be published, and install the package."""
    (folder / "home").mkdir()
    package = folder / "agentls.vsix"
    if not (EXTENSION / "node_modules").exists():
        _run(["npm", "ci", "--ignore-scripts"], EXTENSION, dict(os.environ))
    vsce = DRIVER / "node_modules/.bin/vsce"
    flags = ["--no-dependencies", "--skip-license", "--allow-missing-repository"]
    _run([vsce, "package", *flags, "--out", package], EXTENSION, environment)
    _run([*_code_server(folder), "--install-extension", package], folder, environment)


def _write_settings(folder: Path, model: str) -> None:
    of_machine = {
        "agentls.command": [str(Path(sys.executable).with_name("agentls"))],
        "agentls.model": model,
    }
    of_user = {
        "security.workspace.trust.enabled": False,
        "telemetry.telemetryLevel": "off",
        "extensions.autoUpdate": False,
        "extensions.autoCheckUpdates": False,
        "workbench.startupEditor": "none",
        "workbench.enableExperiments": False,
        "workbench.secondarySideBar.defaultVisibility": "hidden",
        "chat.disableAIFeatures": True,
        "git.enabled": False,
    }
    for name, settings in {"Machine": of_machine, "User": of_user}.items():
        path = folder / "data" / name / "settings.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings))


def _drive(
    driver: Path, workspace: Path, shots: Path, environment: dict[str, str]
) -> dict[str, Any]:
    """Run a driver against a code-server of its own, and return its report."""
    folder = workspace.parent
    report = folder / "report.json"
    port = _free_port()
    drive = ["node", driver, str(port), workspace, shots, report]
    with _serving(folder, port, environment), _started(drive, folder, environment) as process:
        process.wait(DRIVE_SECONDS)
    assert report.exists(), (folder / f"{driver.name}.log").read_text()
    return json.loads(report.read_text())


def _code_server(folder: Path) -> list[str | Path]:
    return [
        CODE_SERVER,
        "--config",
        folder / "config.yaml",
        "--user-data-dir",
        folder / "data",
        "--extensions-dir",
        folder / "extensions",
    ]


@contextmanager
def _serving(folder: Path, port: int, environment: dict[str, str]) -> Generator[None]:
    flags = [
        "--auth=none",
        "--disable-telemetry",
        "--disable-update-check",
        "--disable-workspace-trust",
        "--disable-getting-started-override",
    ]
    command = [*_code_server(folder), f"--bind-addr=127.0.0.1:{port}", *flags]
    with _started(command, folder, environment) as process:
        deadline = time.monotonic() + START_SECONDS
        while not _answers(f"http://127.0.0.1:{port}/healthz"):
            log = folder / "code-server.log"
            assert process.poll() is None, f"code-server ended: {log.read_text()}"
            assert time.monotonic() < deadline, f"code-server does not answer: {log.read_text()}"
            time.sleep(0.2)
        yield


@contextmanager
def _started(
    command: Sequence[str | Path], folder: Path, environment: dict[str, str]
) -> Generator[subprocess.Popen[bytes]]:
    """Run a program with its output in a file; in the end, end it and all that it started."""
    program = next(Path(word).name for word in command if Path(word).name != "node")
    with (folder / f"{program}.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        try:
            yield process
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(psutil.NoSuchProcess):
        family = [*psutil.Process(process.pid).children(recursive=True)]
        process.terminate()
        _, alive = psutil.wait_procs([*family, psutil.Process(process.pid)], timeout=30)
        for survivor in alive:
            with suppress(psutil.NoSuchProcess):
                survivor.kill()
        psutil.wait_procs(alive, timeout=10)
    process.wait(10)


def _run(command: Sequence[str | Path], folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=BUILD_SECONDS
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except OSError:
        return False


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _processes_in(folder: Path) -> list[str]:
    """Return the programs that still run with something below `folder` in their words."""
    found: list[str] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            words = f"{process.pid} {' '.join(process.cmdline())} in {process.cwd()}"
            if str(folder) in words:
                found.append(words)
    return found
