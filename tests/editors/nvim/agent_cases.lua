-- The client against a running server, in a workspace of its own: what a user does, with the
-- dialogs answered by the case.
local connection = require("agentls.connection")
local harness = require("harness")
local sessions = require("agentls.sessions")
local it, equal, contains, wait = harness.it, harness.equal, harness.contains, harness.wait

local agentls = require("agentls")
local told = {}
vim.notify = function(text, level)
  told[#told + 1] = { text = text, level = level }
end

-- Dialogs: each case says how the next ones are answered; those nobody answers stay open.
local open_dialogs = {}
local answers = {}
vim.ui.select = function(items, options, choose)
  local dialog = { items = items, options = options, choose = choose }
  local answer = table.remove(answers, 1)
  if answer then
    return answer(dialog)
  end
  open_dialogs[#open_dialogs + 1] = dialog
end
local reasons = {}
vim.ui.input = function(_, take)
  take(table.remove(reasons, 1))
end

local function option(kind)
  return function(dialog)
    for index, item in ipairs(dialog.items) do
      if item.kind == kind then
        return dialog.choose(item, index)
      end
    end
    error("no option is of kind " .. kind)
  end
end

local function close(dialog)
  dialog.choose(nil, nil)
end

local function buffer_text()
  local session = sessions.current()
  if not session then
    return ""
  end
  local name = "agentls://session/" .. session.id
  local buffer = vim.fn.bufnr(vim.fn.escape(name, "[]*?{},"))
  if buffer == -1 then
    return ""
  end
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
end

harness.context = function()
  local lines = { "status line: " .. agentls.statusline(), "conversation:", buffer_text(), "told:" }
  for _, notice in ipairs(told) do
    lines[#lines + 1] = notice.text
  end
  return table.concat(lines, "\n")
end

local function write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

local function shows(text)
  wait("the conversation shows " .. text, function()
    return buffer_text():find(text, 1, true)
  end)
end

local function status_is(text)
  wait("the status line says " .. text, function()
    return agentls.statusline():find(text, 1, true)
  end)
end

local function was_told(text)
  return wait("a notice says " .. text, function()
    for _, notice in ipairs(told) do
      if notice.text:find(text, 1, true) then
        return notice
      end
    end
  end)
end

local function begin()
  told, answers, open_dialogs, reasons = {}, {}, {}, {}
  write("file.txt", "one A two\n")
  vim.cmd("AgentNew")
  local before = sessions.current()
  local begun, problem = pcall(wait, "a new session", function()
    return sessions.current() and sessions.current() ~= before
  end)
  if not begun then
    harness.give_up(problem)
  end
  status_is("Idle")
end

local PROMPT = [[Agent replace "A" with "B" in file.txt]]

agentls.setup({ cmd = vim.split(vim.env.AGENTLS_CMD, "\n") })

it("nothing is started before the first use", function()
  equal(connection.phase(), "off")
  equal(agentls.statusline(), "agent: off")
end)

it("a prompt is answered, its edit approved and the file changed", function()
  begin()
  answers = { option("allowOnce"), option("allowOnce"), option("allowOnce") }
  vim.cmd(PROMPT)
  shows("— done in")
  equal(read("file.txt"), "one B two\n")
  contains(buffer_text(), '\n> replace "A" with "B" in file.txt\n')
  equal(buffer_text():match("\n● Edit[^\n]*file.txt[^\n]* … ok\n") ~= nil, true, buffer_text())
  status_is("agent: offline · default · Idle")
end)

it("the answer is on the screen word for word as the server keeps it", function()
  local session = sessions.current()
  local drawn = buffer_text()
  local loaded
  sessions.load(session.id, function(err, again)
    assert(not err, err and err.message)
    loaded = again
  end)
  wait("the session is loaded", function()
    return loaded
  end)
  vim.wait(50)
  equal(buffer_text(), drawn)
end)

it("the conversation cannot be edited by hand and is Markdown", function()
  local window = vim.fn.bufwinid("agentls://session/" .. sessions.current().id)
  equal(window ~= -1, true, "the conversation is in a window")
  local buffer = vim.api.nvim_win_get_buf(window)
  equal(vim.bo[buffer].modifiable, false)
  equal(vim.bo[buffer].filetype, "markdown")
  equal(vim.bo[buffer].buftype, "nofile")
end)

it("a window whose cursor is at the end follows, another stays where it is", function()
  begin()
  local window = vim.fn.bufwinid("agentls://session/" .. sessions.current().id)
  answers = { option("allowOnce"), option("allowOnce"), option("allowOnce") }
  vim.cmd(PROMPT)
  shows("— done in")
  local last = vim.api.nvim_buf_line_count(vim.api.nvim_win_get_buf(window))
  equal(vim.api.nvim_win_get_cursor(window)[1], last)
  vim.api.nvim_win_set_cursor(window, { 1, 0 })
  told = {}
  sessions.prompt("read file.txt", function() end)
  wait("a second turn", function()
    return select(2, buffer_text():gsub("— done in", "")) == 2
  end)
  equal(vim.api.nvim_win_get_cursor(window)[1], 1)
end)

it("a closed dialog is no answer: the approval waits, is said to, and is asked again", function()
  begin()
  answers = { close }
  vim.cmd(PROMPT)
  shows("waiting for approval")
  status_is("Waiting for approval")
  was_told("still waiting; :AgentApprove asks again")
  contains(buffer_text(), "```diff")
  vim.wait(100)
  equal(#open_dialogs, 0, "it does not pop up again by itself")
  equal(read("file.txt"), "one A two\n")
  answers = { option("allowOnce") }
  vim.cmd("AgentApprove")
  shows("— done in")
  equal(read("file.txt"), "one B two\n")
  status_is("Idle")
end)

it(
  "what is asked about is on the screen before the dialog opens, in a closed window too",
  function()
    begin()
    vim.cmd("only")
    vim.cmd("edit file.txt")
    local seen
    answers = {
      function(dialog)
        local buffer = vim.fn.bufnr("agentls://session/" .. sessions.current().id)
        seen = { text = buffer_text(), window = vim.fn.bufwinid(buffer) }
        option("allowOnce")(dialog)
      end,
    }
    sessions.prompt([[replace "A" with "B" in file.txt]], function() end)
    shows("— done in")
    contains(seen.text, "```diff")
    equal(seen.window ~= -1, true, "the conversation is in a window")
    equal(vim.api.nvim_buf_get_name(0):match("[^/]*$"), "file.txt", "the cursor stays where it was")
  end
)

it("a file that is open is read again after the agent changed it", function()
  begin()
  vim.cmd("edit! file.txt")
  equal(vim.fn.getline(1), "one A two")
  answers = { option("allowOnce") }
  vim.cmd(PROMPT)
  shows("— done in")
  wait("the new text in the buffer", function()
    local buffer = vim.fn.bufnr("file.txt")
    return vim.api.nvim_buf_get_lines(buffer, 0, 1, false)[1] == "one B two"
  end)
end)

it("a no with a reason reaches the agent and changes nothing", function()
  begin()
  answers = { option("deny") }
  reasons = { "wrong file" }
  vim.cmd(PROMPT)
  shows("denied: ")
  shows("wrong file")
  shows("— done in")
  equal(read("file.txt"), "one A two\n")
end)

it("an answer that comes after another is told so, and harms nothing", function()
  begin()
  vim.cmd(PROMPT)
  local dialog = wait("a dialog", function()
    return open_dialogs[1]
  end)
  local session = sessions.current()
  local approval = session.slices.approvals[1]
  sessions.answer(session.id, approval.callId, "allow", nil, function(err)
    assert(not err, err and err.message)
  end)
  shows("— done in")
  told = {}
  option("deny")(dialog)
  equal(
    wait("a notice", function()
      return told[1]
    end).level,
    vim.log.levels.WARN
  )
  equal(read("file.txt"), "one B two\n")
end)

it("no dialog opens while the user is typing", function()
  begin()
  local approval_dialog = require("agentls.approval_dialog")
  local get_mode = vim.api.nvim_get_mode
  vim.api.nvim_get_mode = function()
    return { mode = "i", blocking = false }
  end
  vim.cmd(PROMPT)
  shows("waiting for approval")
  vim.wait(100)
  vim.api.nvim_get_mode = get_mode
  equal(#open_dialogs, 0)
  approval_dialog.pop_up()
  option("allowOnce")(wait("a dialog", function()
    return open_dialogs[1]
  end))
  shows("— done in")
end)

it("a turn that waits can be cancelled, and its approval with it", function()
  begin()
  answers = { close }
  vim.cmd(PROMPT)
  shows("waiting for approval")
  vim.cmd("AgentCancel")
  shows("— cancelled after")
  status_is("Idle")
  told = {}
  vim.cmd("AgentApprove")
  was_told("no approval is waiting")
  vim.cmd("AgentCancel")
  was_told("no turn is running")
end)

it("the plan is in a window of its own, with a mark for each state", function()
  begin()
  answers = { option("allowOnce"), option("allowOnce"), option("allowOnce") }
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
  answers = {
    function(dialog)
      dialog.choose("default", 1)
    end,
  }
  vim.cmd("AgentMode")
  status_is("· default ·")
  answers = {
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
  answers = { option("allowOnce") }
  vim.cmd(PROMPT)
  shows("— done in")
  local first = sessions.current().id
  local drawn = buffer_text()
  begin()
  answers = {
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
  answers = { option("allowOnce") }
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
  end, told)
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
  answers = { option("allowOnce") }
  vim.cmd(PROMPT)
  shows("— done in")
  local session_id, client_id = sessions.current().id, connection.client_id()
  local children = vim.api.nvim_get_proc_children(vim.fn.getpid())
  equal(#children, 1, "the server is the only child")
  vim.loop.kill(children[1], "sigkill")
  equal(was_told("the server ended (signal 9)").level, vim.log.levels.ERROR)
  status_is("agent: stopped")
  answers = { option("allowOnce") }
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
  answers = { close }
  vim.cmd(PROMPT)
  shows("waiting for approval")
  local log = ".agentls/sessions/" .. sessions.current().id .. ".jsonl"
  wait("the approval in the log", function()
    return read(log):find("approvalRequested", 1, true)
  end)
  local children = vim.api.nvim_get_proc_children(vim.fn.getpid())
  vim.loop.kill(children[1], "sigkill")
  was_told("the server ended (signal 9)")
  answers = { option("allowOnce") }
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
  told = {}
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
