-- A user of the client: what is seen and told, and how dialogs are answered.
local agentls = require("agentls")
local harness = require("harness")
local sessions = require("agentls.sessions")

local M = {}

M.PROMPT = [[Agent replace "A" with "B" in file.txt]]

---@type { text: string, level: integer }[] The notices since the case began.
M.told = {}
---@type fun(dialog: table)[] How the next dialogs are answered; those nobody answers stay open.
M.answers = {}
---@type table[] The dialogs that nobody answered.
M.open_dialogs = {}
---@type string[] What is typed when a reason is asked for.
M.reasons = {}

---Put the user in the place of notices and dialogs, and point the client to its server.
function M.take_over()
  vim.notify = function(text, level)
    M.told[#M.told + 1] = { text = text, level = level }
  end
  vim.ui.select = function(items, options, choose)
    local dialog = { items = items, options = options, choose = choose }
    local answer = table.remove(M.answers, 1)
    if answer then
      return answer(dialog)
    end
    M.open_dialogs[#M.open_dialogs + 1] = dialog
  end
  vim.ui.input = function(_, take)
    take(table.remove(M.reasons, 1))
  end
  harness.context = M.view
  agentls.setup({ cmd = vim.split(vim.env.AGENTLS_CMD, "\n") })
end

---Begin a session, with nothing told and nothing answered yet and the file as it was.
function M.begin()
  M.told, M.answers, M.open_dialogs, M.reasons = {}, {}, {}, {}
  M.write("file.txt", "one A two\n")
  vim.cmd("AgentNew")
  local before = sessions.current()
  local begun, problem = pcall(harness.wait, "a new session", function()
    return sessions.current() and sessions.current() ~= before
  end)
  if not begun then
    harness.give_up(problem)
  end
  M.status_is("Idle")
end

---@param kind string The kind of the option to choose.
function M.option(kind)
  return function(dialog)
    for index, item in ipairs(dialog.items) do
      if item.kind == kind then
        return dialog.choose(item, index)
      end
    end
    error("no option is of kind " .. kind)
  end
end

---@param label string A part of what the item to choose is called.
function M.item(label)
  return function(dialog)
    local format = dialog.options.format_item or tostring
    for index, item in ipairs(dialog.items) do
      if format(item):find(label, 1, true) then
        return dialog.choose(item, index)
      end
    end
    error("nothing is called " .. label)
  end
end

function M.close(dialog)
  dialog.choose(nil, nil)
end

function M.shows(text)
  harness.wait("the conversation shows " .. text, function()
    return M.buffer_text():find(text, 1, true)
  end)
end

function M.status_is(text)
  harness.wait("the status line says " .. text, function()
    return agentls.statusline():find(text, 1, true)
  end)
end

---@return { text: string, level: integer } notice
function M.was_told(text)
  return harness.wait("a notice says " .. text, function()
    for _, notice in ipairs(M.told) do
      if notice.text:find(text, 1, true) then
        return notice
      end
    end
  end)
end

---@return string text All that is in front of the user, for a failure.
function M.view()
  local status = "status line: " .. agentls.statusline()
  local lines = { status, "conversation:", M.buffer_text(), "told:" }
  for _, notice in ipairs(M.told) do
    lines[#lines + 1] = notice.text
  end
  return table.concat(lines, "\n")
end

---@return string text The conversation of the current session; empty where there is none.
function M.buffer_text()
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

function M.write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

function M.read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

return M
