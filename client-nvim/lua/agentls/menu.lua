---A list to choose from and a line to fill in, by `vim.ui`, which other plugins may draw. Such a
---dialog can be closed from here, as far as it is made of windows.
local notices = require("agentls.notices")

---@class agentls.Menu
---@field private windows integer[] Those that it has opened.
---@field private is_over boolean It was answered, or closed.
local Menu = {}
Menu.__index = Menu

local M = {}

---Let the user choose; nil is chosen where they close the list.
---@param items any[]
---@param options table As `vim.ui.select` takes them.
---@param on_choice fun(item: any)
---@param on_late (fun(item: any))|nil Called in its place once the list was closed from here.
---@return agentls.Menu
function M.select(items, options, on_choice, on_late)
  return M.show("select", on_choice, on_late, function(take)
    vim.ui.select(items, options, take)
  end)
end

---Let the user write a line; nil is written where they close it.
---@param options table As `vim.ui.input` takes them.
---@param on_text fun(text: string|nil)
---@param on_late (fun(text: string|nil))|nil
---@return agentls.Menu
function M.input(options, on_text, on_late)
  return M.show("input", on_text, on_late, function(take)
    vim.ui.input(options, take)
  end)
end

---Say whether it waits for the user.
---@return boolean
function Menu:is_open()
  return not self.is_over
end

---Close it without an answer.
function Menu:close()
  if self.is_over then
    return
  end
  self.is_over = true
  for _, window in ipairs(self.windows) do
    if vim.api.nvim_win_is_valid(window) then
      pcall(vim.api.nvim_win_close, window, true)
    end
  end
end

---@private
---@param what string
---@param on_answer fun(answer: any)
---@param on_late (fun(answer: any))|nil
---@param show fun(take: fun(answer: any))
---@return agentls.Menu
function M.show(what, on_answer, on_late, show)
  local menu = setmetatable({ windows = {}, is_over = false }, Menu)
  vim.cmd("redraw") -- a list that was a message would stay above this one
  local before = vim.api.nvim_list_wins()
  local shown, problem = pcall(show, function(answer)
    if not menu.is_over then
      menu.is_over = true
      on_answer(answer)
    elseif on_late then
      on_late(answer)
    end
  end)
  if not shown then
    notices.error(("vim.ui.%s failed: %s"):format(what, tostring(problem)))
    if not menu.is_over then
      menu.is_over = true
      on_answer(nil)
    end
  end
  menu.windows = vim.tbl_filter(function(window)
    return not vim.tbl_contains(before, window) and not menu.is_over
  end, vim.api.nvim_list_wins())
  return menu
end

return M
