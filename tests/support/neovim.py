"""A real Neovim: where it is, the environment it runs in, and a terminal it is seen in."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "client-nvim"
CASES = ROOT / "tests" / "editors" / "nvim"
EDITORS = {
    "oldest": Path("/usr/bin/nvim"),
    "current": Path(os.environ.get("PREFIX", ROOT / ".editors")) / "nvim/bin/nvim",
}
AGENTLS = str(ROOT / ".venv/bin/agentls")
SCREEN_SECONDS = 60

T = TypeVar("T")


def installed(editor: str) -> str:
    nvim = EDITORS[editor]
    if not nvim.exists():
        pytest.skip(f"{nvim} is not installed here: bash scripts/install_neovim.sh")
    return str(nvim)


def needs_tmux() -> None:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed here: bash scripts/install_neovim.sh")


def make_workspace(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for name in (".git", "home"):
        (folder / name).mkdir(exist_ok=True)
    return folder


def environment(workspace: Path, *server: str) -> dict[str, str]:
    """Return an environment in which the client starts `agentls lsp` with the words `server`."""
    home = workspace / "home"
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("XDG_", "NVIM", "VIM", "ANTHROPIC_", "TMUX"))
    }
    return {
        **inherited,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TZ": "America/New_York",
        "TERM": "xterm-256color",
        "AGENTLS_NVIM_TESTS": str(CASES),
        "AGENTLS_NVIM_CLIENT": str(CLIENT),
        "AGENTLS_CMD": "\n".join((AGENTLS, "lsp", *server)),
    }


class Screen:
    """A terminal of 100 columns and 30 lines, in a tmux of its own."""

    def __init__(self, socket: Path, folder: Path, environment: dict[str, str]) -> None:
        self._tmux = ("tmux", "-S", str(socket), "-f", "/dev/null")
        self._folder = folder
        self._environment = environment

    def start(self, nvim: str, file: str) -> None:
        init = str(CASES / "screen_init.lua")
        size = ("-x", "100", "-y", "30")
        self._do("new-session", "-d", *size, "-c", str(self._folder), nvim, "-u", init, file)

    def type(self, text: str, *keys: str) -> None:
        self._do("send-keys", "-l", text)
        self._do("send-keys", *keys)

    def show(self) -> str:
        return self._do("capture-pane", "-p")

    def wait_for(self, text: str) -> str:
        return wait(f"{text!r} on the screen", lambda: self._showing(text), self.show)

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False)

    def _showing(self, text: str) -> str | None:
        shown = self.show()
        return shown if text in shown else None

    def _do(self, *command: str) -> str:
        done = subprocess.run(
            [*self._tmux, *command],
            env=self._environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout


def keep(path: Path, *screens: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(("\n" + "=" * 100 + "\n").join(screens))


def wait(what: str, probe: Callable[[], T | None], context: Callable[[], str] = str) -> T:
    deadline = time.monotonic() + SCREEN_SECONDS
    while time.monotonic() < deadline:
        if value := probe():
            return value
        time.sleep(0.1)
    raise AssertionError(f"this did not come: {what}\n{context()}")
