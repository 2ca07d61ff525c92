---The agent's plan in a window of its own.
local highlights = require("agentls.highlights")
local sessions = require("agentls.sessions")
local todos = require("agentls.todos")

local M = {}

local NAME = "agentls://todos"
local MAX_HEIGHT = 12
---@type integer|nil
local buffer = nil

---Watch the sessions. Called once.
function M.follow()
  sessions.on_change(function(session, what)
    if what == "slices" and session == sessions.current() then
      M.draw()
    end
  end)
end

---Show the plan, or hide it.
function M.toggle()
  local window = M.window()
  if window then
    return vim.api.nvim_win_close(window, false)
  end
  local before = vim.api.nvim_get_current_win()
  vim.cmd("botright split")
  vim.api.nvim_win_set_buf(0, M.buffer())
  for _, option in ipairs({ "nonumber", "norelativenumber", "winfixheight", "signcolumn=no" }) do
    vim.cmd("setlocal " .. option)
  end
  vim.cmd([[setlocal statusline=agent:\ plan]])
  vim.api.nvim_set_current_win(before)
  M.draw()
end

---@private
---@return integer|nil
function M.window()
  local window = buffer and vim.fn.bufwinid(buffer) or -1
  return window ~= -1 and window or nil
end

---@private
---@return integer
function M.buffer()
  if buffer and vim.api.nvim_buf_is_loaded(buffer) then
    return buffer
  end
  buffer = vim.fn.bufadd(NAME)
  vim.bo[buffer].buftype = "nofile"
  vim.bo[buffer].swapfile = false
  vim.fn.bufload(buffer)
  vim.bo[buffer].buftype = "nofile"
  vim.bo[buffer].bufhidden = "hide"
  vim.bo[buffer].modifiable = false
  return buffer
end

---@private
function M.draw()
  local window = M.window()
  if not window then
    return
  end
  local session = sessions.current()
  local lines, groups = todos.render(session and session.slices.todos)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  vim.api.nvim_buf_clear_namespace(buffer, highlights.NAMESPACE, 0, -1)
  for index, group in ipairs(groups) do
    highlights.line(buffer, index - 1, group)
  end
  vim.api.nvim_win_set_height(window, math.min(#lines, MAX_HEIGHT))
end

return M
