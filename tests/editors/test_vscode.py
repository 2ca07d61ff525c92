"""The extension in the real VS Code: code-server, a browser, the real server, the offline model."""

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
import pytest

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "client-vscode"
EDITORS = ROOT / ".editors"
CODE_SERVER = EDITORS / "code-server/bin/code-server"
NODE_FOLDER = EDITORS / "n24"
DRIVER = EDITORS / "vscode-driver"
SHOTS = ROOT / "artifacts/vscode"

BUILD_SECONDS = 300
START_SECONDS = 120
DRIVE_SECONDS = 600

NOTES = "apples\nbread\ncheese\n"
PLAN_PROMPT = 'find "pears"; read notes.txt; replace "cheese" with "honey" in notes.txt'

pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(
        not CODE_SERVER.exists() or not DRIVER.exists(),
        reason="VS Code is not installed here: bash scripts/install_vscode.sh",
    ),
]


@dataclass(frozen=True)
class Seen:
    """What the driver saw, by step, and the workspace that it left behind."""

    steps: dict[str, Any]
    outside: list[str]
    workspace: Path
    orphans: list[str]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    folder = tmp_path_factory.mktemp("vscode")
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / "notes.txt").write_text(NOTES)
    SHOTS.mkdir(parents=True, exist_ok=True)
    for old in SHOTS.glob("*.png"):
        old.unlink()
    environment = _environment(folder)
    _install_extension(folder, environment)
    _write_settings(folder)
    report = _drive(folder, workspace, environment)
    assert report["failed"] is None, report["failed"]
    steps = {step["name"]: step["seen"] for step in report["steps"]}
    return Seen(steps, report["outside"], workspace, _processes_in(folder))


def test_status_bar_shows_model_mode_and_activity(seen: Seen) -> None:
    assert seen.steps["status bar"] == "offline · default · Idle"


def test_waiting_approval_asks_in_a_toast_and_warns_in_the_status_bar(seen: Seen) -> None:
    approval = seen.steps["approval"]
    assert "notes.txt" in approval["text"]
    assert "Waiting for approval" in approval["waiting"]
    assert approval["warning"] is True


def test_diff_of_an_edit_can_be_seen_before_it_is_allowed(seen: Seen) -> None:
    assert seen.steps["detail"] is True


def test_allowed_edits_are_on_disk(seen: Seen) -> None:
    assert (seen.workspace / "notes.txt").read_text() == "pears\ncake\nhoney\n"


def test_conversation_shows_prompt_call_and_answer(seen: Seen) -> None:
    conversation = seen.steps["edit"]
    assert 'replace "apples" with "pears" in notes.txt' in conversation
    assert "✓ Edit" in conversation


def test_closed_toast_is_not_an_answer(seen: Seen) -> None:
    assert "Waiting for approval" in seen.steps["closed toast"]


def test_second_answer_changes_nothing_and_says_so(seen: Seen) -> None:
    assert "notes.txt" in seen.steps["second answer"]
    assert "honey" in (seen.workspace / "notes.txt").read_text()


def test_plan_is_a_tree_that_follows_the_work(seen: Seen) -> None:
    plan = seen.steps["plan"]
    assert len(plan["working"]) == len(plan["done"]) >= 3


def test_turn_that_is_stopped_says_so(seen: Seen) -> None:
    stopped = seen.steps["stopped turn"]
    assert "sleep 600" in stopped["running"]
    assert "Stopped." in stopped["text"]


def test_model_mode_and_session_are_chosen_from_lists(seen: Seen) -> None:
    choices = seen.steps["choices"]
    assert any("offline" in row for row in choices["models"])
    assert choices["mode"] == "offline · accept edits · Idle"
    assert "apples" in choices["text"]


def test_status_bar_opens_the_menu(seen: Seen) -> None:
    assert any("Show the conversation" in row for row in seen.steps["menu"])


def test_server_that_was_killed_is_started_again_on_request(seen: Seen) -> None:
    assert seen.steps["crash"]["killed"] == 1
    assert "stopped" in seen.steps["crash"]["stopped"]


def test_window_that_is_loaded_again_continues_its_session(seen: Seen) -> None:
    assert 'replace "bread" with "cake" in notes.txt' in seen.steps["continued"]


def test_browser_asked_for_nothing_outside_this_machine(seen: Seen) -> None:
    assert seen.outside == []


def test_no_process_is_left(seen: Seen) -> None:
    assert seen.orphans == []


def _environment(folder: Path) -> dict[str, str]:
    """Return an environment whose home is `folder`, so that nobody's settings take part."""
    kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
    return kept | {
        "HOME": str(folder / "home"),
        "PATH": f"{NODE_FOLDER}:{os.environ['PATH']}",
        "EXTENSIONS_GALLERY": '{"serviceUrl":""}',  # else it looks up the gallery's host
        "VSCODE_DRIVER": str(DRIVER),
        "PLAN_PROMPT": PLAN_PROMPT,
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


def _write_settings(folder: Path) -> None:
    of_machine = {
        "agentls.command": [str(Path(sys.executable).with_name("agentls"))],
        "agentls.model": "offline",
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


def _drive(folder: Path, workspace: Path, environment: dict[str, str]) -> dict[str, Any]:
    report = folder / "report.json"
    port = _free_port()
    driver = Path(__file__).parent / "vscode/drive.mjs"
    drive = ["node", driver, str(port), workspace, SHOTS, report]
    with _serving(folder, port, environment), _started(drive, folder, environment) as process:
        process.wait(DRIVE_SECONDS)
    assert report.exists(), (folder / "drive.mjs.log").read_text()
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
