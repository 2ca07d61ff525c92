"""A rewind in two real Neovims: what is open there goes back in its buffer, and `u` undoes it."""

from collections.abc import Callable
from functools import cache

import pytest

from tests.editors.test_neovim import run_file
from tests.support.neovim import EDITORS

pytestmark = pytest.mark.editors

CASES = """
local connection = require("agentls.connection")
local harness = require("harness")
local sessions = require("agentls.sessions")
local user = require("agent_user")
local it, equal, wait = harness.it, harness.equal, harness.wait

user.take_over()

local function ask(method, params)
  params.sessionId = sessions.current().id
  local answer
  connection.request("agent/" .. method, params, function(err, result)
    answer = { err = err, result = result }
  end)
  wait("an answer to " .. method, function()
    return answer
  end)
  if answer.err then
    error(answer.err.message)
  end
  return answer.result
end

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\\n")
end

local function changed()
  user.begin()
  vim.cmd("silent! bwipeout! file.txt")
  vim.cmd("edit file.txt")
  user.answers = { user.option("allowOnce") }
  vim.cmd(user.PROMPT)
  user.shows("— done in")
  vim.cmd("buffer file.txt")
  wait("what the agent wrote in the buffer", function()
    return text() == "one B two"
  end)
  equal(vim.bo.modified, false)
  vim.wait(300)  -- longer than Neovim gathers changes before it tells of them
  vim.cmd("let &undolevels = &undolevels")  -- what comes is a step of its own, as after a key
end

local function rewind()
  local first = ask("state/get", {}).snapshot.state.history[1].id
  local files = ask("session/rewind", { messageId = first }).files
  equal(#files, 1)
  equal(files[1].conflict, nil)
  equal(files[1].failed, nil)
  return files[1]
end

it("the buffer shows the text from before, and the file is not written", function()
  changed()
  equal(rewind().inEditor, true)
  equal(text(), "one A two")
  equal(vim.bo.modified, true)
  equal(user.read("file.txt"), "one B two\\n")
end)

it("one undo takes the rewind of the buffer back", function()
  changed()
  rewind()
  vim.cmd("undo")
  equal(text(), "one B two")
end)

it("a redo brings the text back into the buffer", function()
  changed()
  rewind()
  vim.wait(300)
  local files = ask("session/redo", {}).files
  equal(files[1].conflict, nil)
  equal(files[1].failed, nil)
  equal(text(), "one B two")
end)

it("what the user has typed and not written is not overwritten", function()
  changed()
  vim.api.nvim_buf_set_lines(0, 1, 1, false, { "mine" })
  vim.wait(300)
  local first = ask("state/get", {}).snapshot.state.history[1].id
  local files = ask("session/rewind", { messageId = first }).files
  equal(files[1].conflict, "was changed in the editor since")
  equal(text(), "one B two\\nmine")
  vim.cmd("edit!")
end)

it("a file that is not open is changed on disk", function()
  changed()
  vim.cmd("bwipeout! file.txt")
  vim.wait(300)
  equal(rewind().inEditor, false)
  equal(user.read("file.txt"), "one A two\\n")
end)

harness.run()
"""

NAMES = tuple(line.split('"')[1] for line in CASES.splitlines() if line.startswith('it("'))

Run = Callable[[str], dict[str, str]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    @cache
    def run_once(editor: str) -> dict[str, str]:
        folder = tmp_path_factory.mktemp(f"{editor}-rewind")
        path = folder / "rewind_cases.lua"
        path.write_text(CASES)
        return run_file(editor, str(path), folder / "run")

    return run_once


@pytest.mark.parametrize("editor", EDITORS)
@pytest.mark.parametrize("case", NAMES)
def test_rewind_in_neovim(run: Run, editor: str, case: str) -> None:
    assert run(editor)[case] == ""


def test_the_cases_are_all_named() -> None:
    assert len(NAMES) == CASES.count("\nit(") == 5
