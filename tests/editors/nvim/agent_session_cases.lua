-- Around the turns of a running server: plan, mode, model, saved sessions, and its end.
local agentls = require("agentls")
local connection = require("agentls.connection")
local harness = require("harness")
local sessions = require("agentls.sessions")
local user = require("agent_user")
local it, equal, contains, wait = harness.it, harness.equal, harness.contains, harness.wait
local begin, option, close = user.begin, user.option, user.close
local buffer_text, shows = user.buffer_text, user.shows
local status_is, was_told = user.status_is, user.was_told
local read, write, PROMPT = user.read, user.write, user.PROMPT

user.take_over()

it("the plan is in a window of its own, with a mark for each state", function()
  begin()
  user.answers = { option("allowOnce"), option("allowOnce"), option("allowOnce") }
  vim.cmd("AgentTodos")
  local window = vim.fn.bufwinid("agentls://todos")
  equal(window ~= -1, true, "the plan is shown")
  local function plan()
    local lines = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
    return table.concat(lines, "\n")
  end
  equal(plan(), "No plan yet.")
  vim.cmd([[Agent plan; read file.txt; replace "A" with "B" in file.txt]])
  wait("the plan is done", function()
    return plan():find("^%[x%]") and not plan():find("%[[ ~]%]")
  end)
  shows("— done in")
  vim.cmd("AgentTodos")
  equal(vim.fn.bufwinid("agentls://todos"), -1)
end)

it("mode and model are chosen by name and from a list, and a wrong one is told", function()
  begin()
  vim.cmd("AgentMode plan")
  status_is("· plan ·")
  user.answers = {
    function(dialog)
      dialog.choose("default", 1)
    end,
  }
  vim.cmd("AgentMode")
  status_is("· default ·")
  user.answers = {
    function(dialog)
      for index, model in ipairs(dialog.items) do
        if model.id == "offline" then
          return dialog.choose(model, index)
        end
      end
      error("the offline model is not offered")
    end,
  }
  vim.cmd("AgentModel")
  vim.cmd("AgentModel no-such-model")
  was_told("no-such-model")
  status_is("agent: offline ·")
end)

it("a saved session is chosen from the list and shown whole", function()
  begin()
  user.answers = { option("allowOnce") }
  vim.cmd(PROMPT)
  shows("— done in")
  local first = sessions.current().id
  local drawn = buffer_text()
  begin()
  user.answers = {
    function(dialog)
      for index, session in ipairs(dialog.items) do
        if session.id == first then
          contains(dialog.options.format_item(session), "replace")
          return dialog.choose(session, index)
        end
      end
      error("the session is not in the list")
    end,
  }
  vim.cmd("AgentSessions")
  wait("the session is current", function()
    return sessions.current().id == first
  end)
  shows("— done in")
  equal(buffer_text(), drawn)
end)

it("a conversation can be opened by its name, also after its buffer is gone", function()
  begin()
  user.answers = { option("allowOnce") }
  vim.cmd(PROMPT)
  shows("— done in")
  local name = "agentls://session/" .. sessions.current().id
  local drawn = buffer_text()
  vim.cmd("bwipeout " .. vim.fn.bufnr(name))
  vim.cmd("edit " .. name)
  wait("the conversation as it was", function()
    return buffer_text() == drawn
  end)
  equal(vim.bo.modifiable, false)
  vim.cmd("edit agentls://session/no-such-session")
  was_told("no-such-session")
end)

it("what the server as a whole has to tell is told once", function()
  begin()
  local take = connection.handlers()["agent/app/didChange"]
  local notice = { id = "n1", level = "warning", message = "the disk is full", at = "now" }
  take(nil, { seq = 1, notices = { notice }, defaultModel = vim.NIL })
  take(nil, { seq = 2, notices = { notice } })
  local warned = vim.tbl_filter(function(said)
    return said.text:find("the disk is full") and said.level == vim.log.levels.WARN
  end, user.told)
  equal(#warned, 1)
end)

it("files of the workspace are told to the server, with their unsaved text", function()
  vim.cmd("edit file.txt")
  local buffer = vim.api.nvim_get_current_buf()
  equal(vim.lsp.buf_is_attached(buffer, connection.client_id()), true)
  vim.cmd("enew")
  local scratch = vim.api.nvim_get_current_buf()
  equal(vim.lsp.buf_is_attached(scratch, connection.client_id()), false)
  vim.cmd("edit " .. vim.fn.tempname())
  local outside = vim.api.nvim_get_current_buf()
  equal(vim.lsp.buf_is_attached(outside, connection.client_id()), false)
end)

it("a server that dies is told of, and the next prompt starts it and loads the session", function()
  begin()
  user.answers = { option("allowOnce") }
  vim.cmd(PROMPT)
  shows("— done in")
  local session_id, client_id = sessions.current().id, connection.client_id()
  local children = vim.api.nvim_get_proc_children(vim.fn.getpid())
  equal(#children, 1, "the server is the only child")
  vim.loop.kill(children[1], "sigkill")
  equal(was_told("the server ended (signal 9)").level, vim.log.levels.ERROR)
  status_is("agent: stopped")
  user.answers = { option("allowOnce") }
  write("file.txt", "one A two\n")
  vim.cmd(PROMPT)
  wait("a second turn in the same conversation", function()
    return select(2, buffer_text():gsub("\n> replace", "")) == 2 and read("file.txt"):find("B")
  end)
  equal(sessions.current().id, session_id)
  equal(connection.client_id() ~= client_id, true)
end)

it("an approval that waited when the server died is asked again when it is back", function()
  begin()
  user.answers = { close }
  vim.cmd(PROMPT)
  shows("waiting for approval")
  local log = ".agentls/sessions/" .. sessions.current().id .. ".jsonl"
  wait("the approval in the log", function()
    return read(log):find("approvalRequested", 1, true)
  end)
  local children = vim.api.nvim_get_proc_children(vim.fn.getpid())
  vim.loop.kill(children[1], "sigkill")
  was_told("the server ended (signal 9)")
  user.answers = { option("allowOnce") }
  vim.cmd("AgentOpen")
  shows("— done in")
  equal(read("file.txt"), "one B two\n")
end)

it("a server that cannot be started is told of, with its name", function()
  vim.cmd("AgentStop")
  wait("the server has ended", function()
    return connection.phase() == "off"
  end)
  equal(agentls.statusline(), "agent: off")
  user.told = {}
  agentls.setup({ cmd = { "/nowhere/agentls", "lsp" } })
  vim.cmd(PROMPT)
  was_told("/nowhere/agentls is not an executable program")
  agentls.setup({ cmd = { "sh", "-c", "exit 3" } })
  vim.cmd(PROMPT)
  was_told("the server ended (exit code 3)")
  status_is("agent: stopped (exit code 3)")
end)

it("an option that is not known is refused by name", function()
  local passed, problem = pcall(agentls.setup, { comand = {} })
  equal(passed, false)
  contains(problem, '"comand"')
  passed, problem = pcall(agentls.setup, { cmd = "agentls" })
  equal(passed, false)
  contains(problem, "cmd must be a table")
end)

harness.run()
