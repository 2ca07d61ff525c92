"""The Neovim client in two real Neovims: its pure modules, a running agent, and the screen.

The cases are written in Lua, in the files beside; each of them is a test here. A file runs once for
each editor.
"""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "client-nvim"
CASES = Path(__file__).parent / "nvim"
EDITORS = {
    "oldest": Path("/usr/bin/nvim"),
    "current": Path(os.environ.get("PREFIX", ROOT / ".editors")) / "nvim/bin/nvim",
}
PURE_FILES = (
    "conversation_text_cases.lua",
    "conversation_stream_cases.lua",
    "view_state_cases.lua",
)
AGENT_FILES = ("agent_turn_cases.lua", "agent_session_cases.lua")
SERVER = (str(ROOT / ".venv/bin/agentls"), "lsp", "--model", "offline")
SCREENS = {
    "oldest": ROOT / "artifacts/nvim-screen-oldest.txt",
    "current": ROOT / "artifacts/nvim-screen.txt",
}

RUN_SECONDS = 240
SCREEN_SECONDS = 60

pytestmark = pytest.mark.editors

T = TypeVar("T")
Run = Callable[[str, str], dict[str, str]]
"""Runs a file in an editor; returns, by case, nothing or what went wrong."""


def cases_in(file: str) -> list[str]:
    return re.findall(r'^it\(\s*"(.*)",\s*function', (CASES / file).read_text(), re.MULTILINE)


def cases_of(*files: str) -> list[tuple[str, str]]:
    return [(file, case) for file in files for case in cases_in(file)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    @cache
    def run_once(editor: str, file: str) -> dict[str, str]:
        return run_file(editor, file, tmp_path_factory.mktemp(f"{editor}-{Path(file).stem}"))

    return run_once


@pytest.mark.parametrize("editor", EDITORS)
@pytest.mark.parametrize(("file", "case"), cases_of(*PURE_FILES))
def test_what_is_apart_from_the_editor(run: Run, editor: str, file: str, case: str) -> None:
    assert run(editor, file)[case] == ""


@pytest.mark.parametrize("editor", EDITORS)
@pytest.mark.parametrize(("file", "case"), cases_of(*AGENT_FILES))
def test_agent_in_neovim(run: Run, editor: str, file: str, case: str) -> None:
    assert run(editor, file)[case] == ""


@pytest.mark.parametrize("editor", EDITORS)
def test_no_server_outlives_its_neovim(editor: str, tmp_path: Path) -> None:
    path = tmp_path / "left_cases.lua"
    path.write_text(LEAVING)
    report = run_file(editor, str(path), tmp_path / "run")
    assert report["a session is begun"] == ""
    pid = int((tmp_path / "run" / "alive").read_text())
    wait("the server's end", lambda: not alive(pid))


@pytest.mark.parametrize("editor", EDITORS)
def test_a_turn_looks_right_on_a_real_screen(editor: str, tmp_path: Path) -> None:
    nvim = installed(editor)
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed here: bash scripts/install_neovim.sh")
    workspace = make_workspace(tmp_path)
    (workspace / "notes.txt").write_text("apples\nbread\ncheese\n")
    screen = Screen(tmp_path / "tmux.sock", workspace, environment(workspace))
    try:
        asked, ended = turn_on_screen(screen, nvim)
    finally:
        screen.close()
    keep(SCREENS[editor], asked, ended)
    assert re.search(r"◆ Edit.* notes\.txt … waiting for", asked)
    assert "│+honey" in asked
    assert "3: Deny" in asked
    assert (workspace / "notes.txt").read_text() == "apples\nbread\nhoney\n"
    assert "\nhoney " in ended, "the open file is read again"
    assert re.search(r"● Edit.* notes\.txt.* … ok", ended)
    assert "— done in" in ended
    assert "agent: offline · default · Idle" in ended
    assert re.search(r'^\[x\] Replace "cheese"', ended, re.MULTILINE)


def turn_on_screen(screen: "Screen", nvim: str) -> tuple[str, str]:
    """Let a user go through a turn; return the screen when it asks and at the end."""
    screen.start(nvim, "notes.txt")
    screen.wait_for("apples")
    screen.type(":AgentTodos", "Enter")
    screen.type(PROMPT_ON_SCREEN, "Enter")
    asked = screen.wait_for("Type number and <Enter>")
    screen.type("1", "Enter")
    screen.wait_for("— done in")
    return asked, screen.wait_for("Idle")


def keep(path: Path, *screens: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(("\n" + "=" * 100 + "\n").join(screens))


PROMPT_ON_SCREEN = (
    ':Agent plan; find "cheese"; read notes.txt; replace "cheese" with "honey" in notes.txt'
)

LEAVING = """
local harness = require("harness")
local agentls = require("agentls")
harness.it("a session is begun", function()
  agentls.setup({ cmd = vim.split(vim.env.AGENTLS_CMD, "\\n") })
  agentls.new()
  harness.wait("a session", function()
    return require("agentls.sessions").current()
  end)
  local children = vim.api.nvim_get_proc_children(vim.fn.getpid())
  harness.equal(#children, 1)
  vim.fn.writefile({ tostring(children[1]) }, "alive")
end)
harness.run()
"""


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


def run_file(editor: str, file: str, folder: Path) -> dict[str, str]:
    """Run a file of cases in a workspace; return, by case, nothing or what went wrong."""
    nvim = installed(editor)
    workspace = make_workspace(folder)
    path = CASES / file
    script = f"lua require('harness').file('{path}')"
    done = subprocess.run(
        [nvim, "--headless", "-u", str(CASES / "init.lua"), "-c", script],
        cwd=workspace,
        env=environment(workspace),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    report = dict(read_report(done.stdout))
    if not re.search(r"^ran \d+ cases", done.stdout, re.MULTILINE):
        pytest.fail(f"{path.name} did not run to its end in {nvim}:\n{done.stdout}")
    return report


def read_report(output: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^(?=ok - |not ok - |ran \d+ cases)", output, flags=re.MULTILINE):
        if match := re.match(r"(ok|not ok) - (.*)\n?", part):
            yield match[2], "" if match[1] == "ok" else part[match.end() :]


def installed(editor: str) -> str:
    nvim = EDITORS[editor]
    if not nvim.exists():
        pytest.skip(f"{nvim} is not installed here: bash scripts/install_neovim.sh")
    return str(nvim)


def make_workspace(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for name in (".git", "home"):
        (folder / name).mkdir()
    return folder


def environment(workspace: Path) -> dict[str, str]:
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
        "AGENTLS_CMD": "\n".join(SERVER),
    }


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait(what: str, probe: Callable[[], T | None], context: Callable[[], str] = str) -> T:
    deadline = time.monotonic() + SCREEN_SECONDS
    while time.monotonic() < deadline:
        if value := probe():
            return value
        time.sleep(0.1)
    raise AssertionError(f"this did not come: {what}\n{context()}")
