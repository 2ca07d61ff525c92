"""The Neovim client in two real Neovims: its pure modules, a running agent, and the screen.

The cases are written in Lua, in the files beside; each of them is a test here. A file runs once for
each editor.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.neovim import (
    CASES,
    EDITORS,
    ROOT,
    Screen,
    environment,
    installed,
    keep,
    make_workspace,
    needs_tmux,
    wait,
)

PURE_FILES = (
    "conversation_text_cases.lua",
    "conversation_stream_cases.lua",
    "conversation_runtime_cases.lua",
    "runtime_state_cases.lua",
    "view_state_cases.lua",
)
AGENT_FILES = ("agent_turn_cases.lua", "agent_session_cases.lua")
OFFLINE = ("--model", "offline")
SCREENS = {
    "oldest": ROOT / "artifacts/nvim-screen-oldest.txt",
    "current": ROOT / "artifacts/nvim-screen.txt",
}

RUN_SECONDS = 240

pytestmark = pytest.mark.editors

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
    needs_tmux()
    workspace = make_workspace(tmp_path)
    (workspace / "notes.txt").write_text("apples\nbread\ncheese\n")
    screen = Screen(tmp_path / "tmux.sock", workspace, environment(workspace, *OFFLINE))
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


def turn_on_screen(screen: Screen, nvim: str) -> tuple[str, str]:
    """Let a user go through a turn; return the screen when it asks and at the end."""
    screen.start(nvim, "notes.txt")
    screen.wait_for("apples")
    screen.type(":AgentTodos", "Enter")
    screen.type(PROMPT_ON_SCREEN, "Enter")
    asked = screen.wait_for("Type number and <Enter>")
    screen.type("1", "Enter")
    screen.wait_for("— done in")
    return asked, screen.wait_for("Idle")


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


def run_file(
    editor: str, file: str, folder: Path, server: tuple[str, ...] = OFFLINE
) -> dict[str, str]:
    """Run a file of cases in a workspace; return, by case, nothing or what went wrong.

    `server` are words for `agentls lsp`.
    """
    nvim = installed(editor)
    workspace = make_workspace(folder)
    path = CASES / file
    script = f"lua require('harness').file('{path}')"
    done = subprocess.run(
        [nvim, "--headless", "-u", str(CASES / "init.lua"), "-c", script],
        cwd=workspace,
        env=environment(workspace, *server),
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


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
