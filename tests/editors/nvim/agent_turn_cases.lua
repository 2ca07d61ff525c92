-- A turn against a running server: what is asked, drawn, approved, denied and cancelled.
local agentls = require("agentls")
local connection = require("agentls.connection")
local harness = require("harness")
local requests = require("agentls.requests")
local sessions = require("agentls.sessions")
local user = require("agent_user")
local it, equal, contains, wait = harness.it, harness.equal, harness.contains, harness.wait
local begin, option, close = user.begin, user.option, user.close
local buffer_text, shows = user.buffer_text, user.shows
local status_is, was_told = user.status_is, user.was_told
local read, PROMPT = user.read, user.PROMPT

user.take_over()

it("nothing is started before the first use", function()
  equal(connection.phase(), "off")
  equal(agentls.statusline(), "agent: off")
end)

it("a prompt is answered, its edit approved and the file changed", function()
  begin()
  user.answers = { option("allowOnce"), option("allowOnce"), option("allowOnce") }
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
  user.answers = { option("allowOnce"), option("allowOnce"), option("allowOnce") }
  vim.cmd(PROMPT)
  shows("— done in")
  local last = vim.api.nvim_buf_line_count(vim.api.nvim_win_get_buf(window))
  equal(vim.api.nvim_win_get_cursor(window)[1], last)
  vim.api.nvim_win_set_cursor(window, { 1, 0 })
  user.told = {}
  requests.prompt("read file.txt", {}, function() end)
  wait("a second turn", function()
    return select(2, buffer_text():gsub("— done in", "")) == 2
  end)
  equal(vim.api.nvim_win_get_cursor(window)[1], 1)
end)

it("a closed dialog is no answer: the approval waits, is said to, and is asked again", function()
  begin()
  user.answers = { close }
  vim.cmd(PROMPT)
  shows("waiting for approval")
  status_is("Waiting for approval")
  was_told("still waiting; :AgentApprove asks again")
  contains(buffer_text(), "```diff")
  vim.wait(100)
  equal(#user.open_dialogs, 0, "it does not pop up again by itself")
  equal(read("file.txt"), "one A two\n")
  user.answers = { option("allowOnce") }
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
    user.answers = {
      function(dialog)
        local buffer = vim.fn.bufnr("agentls://session/" .. sessions.current().id)
        seen = { text = buffer_text(), window = vim.fn.bufwinid(buffer) }
        option("allowOnce")(dialog)
      end,
    }
    requests.prompt([[replace "A" with "B" in file.txt]], {}, function() end)
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
  user.answers = { option("allowOnce") }
  vim.cmd(PROMPT)
  shows("— done in")
  wait("the new text in the buffer", function()
    local buffer = vim.fn.bufnr("file.txt")
    return vim.api.nvim_buf_get_lines(buffer, 0, 1, false)[1] == "one B two"
  end)
end)

it("a no with a reason reaches the agent and changes nothing", function()
  begin()
  user.answers = { option("deny") }
  user.reasons = { "wrong file" }
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
    return user.open_dialogs[1]
  end)
  local session = sessions.current()
  local approval = session.slices.approvals[1]
  requests.answer(session.id, approval.callId, "allow", nil, function(err)
    assert(not err, err and err.message)
  end)
  shows("— done in")
  user.told = {}
  option("deny")(dialog)
  equal(
    wait("a notice", function()
      return user.told[1]
    end).level,
    vim.log.levels.WARN
  )
  equal(read("file.txt"), "one B two\n")
end)

it("no dialog opens while the user is typing", function()
  begin()
  local dialogs = require("agentls.dialogs")
  local get_mode = vim.api.nvim_get_mode
  vim.api.nvim_get_mode = function()
    return { mode = "i", blocking = false }
  end
  vim.cmd(PROMPT)
  shows("waiting for approval")
  vim.wait(100)
  vim.api.nvim_get_mode = get_mode
  equal(#user.open_dialogs, 0)
  dialogs.pop_up()
  option("allowOnce")(wait("a dialog", function()
    return user.open_dialogs[1]
  end))
  shows("— done in")
end)

it("a turn that waits can be cancelled, and its approval with it", function()
  begin()
  user.answers = { close }
  vim.cmd(PROMPT)
  shows("waiting for approval")
  vim.cmd("AgentCancel")
  shows("— cancelled after")
  status_is("Idle")
  user.told = {}
  vim.cmd("AgentApprove")
  was_told("no approval is waiting")
  vim.cmd("AgentCancel")
  was_told("no turn is running")
end)

harness.run()
