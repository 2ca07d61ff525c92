---The plan that the agent puts before the user, whole, in the place of the conversation until it is
---answered.
local conversation_view = require("agentls.conversation_view")
local plain_text = require("agentls.plain_text")
local sessions = require("agentls.sessions")

local M = {}

local PREFIX = "agentls://plan/"

---@class agentls.ShownPlan
---@field buffer integer
---@field session_id string

---@type table<string, agentls.ShownPlan> By call.
local shown = {}

---Show the plan of an approval.
---@param entry agentls.Waiting
---@return fun(is_settled: boolean) restore Brings the conversation back, if the matter is settled.
function M.open(entry)
  local plan = shown[entry.call_id]
  if not plan or not vim.api.nvim_buf_is_valid(plan.buffer) then
    plan = { buffer = M.buffer(entry), session_id = entry.session_id }
    shown[entry.call_id] = plan
  end
  if vim.fn.bufwinid(plan.buffer) == -1 then
    local window = conversation_view.window(sessions.get(entry.session_id))
    vim.api.nvim_win_set_buf(window, plan.buffer)
    vim.api.nvim_win_call(window, function()
      vim.cmd([[setlocal statusline=agent:\ the\ plan,\ a\ answers,\ q\ closes%<%=%l/%L]])
      vim.cmd("setlocal nofoldenable wrap linebreak")
      vim.cmd("normal! gg")
    end)
  end
  vim.cmd("redraw")
  return function(is_settled)
    if is_settled then
      M.close(entry.call_id)
    end
  end
end

---Bring the conversation back where a plan is shown, and forget the plan.
---@param call_id string
function M.close(call_id)
  local plan = shown[call_id]
  shown[call_id] = nil
  if not plan or not vim.api.nvim_buf_is_valid(plan.buffer) then
    return
  end
  for _, window in ipairs(vim.fn.win_findbuf(plan.buffer)) do
    conversation_view.put_back(sessions.get(plan.session_id), window)
  end
  vim.api.nvim_buf_delete(plan.buffer, { force = true })
end

---@private
---@param entry agentls.Waiting
---@return integer
function M.buffer(entry)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, PREFIX .. entry.call_id)
  local lines = plain_text.lines(vim.trim(entry.approval.detail))
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].bufhidden = "hide"
  vim.bo[buffer].filetype = "markdown"
  local function map(key, action, what)
    local options = { buffer = buffer, nowait = true, silent = true, desc = "agentls: " .. what }
    vim.keymap.set("n", key, action, options)
  end
  map("a", function()
    require("agentls").approve()
  end, "answer")
  map("q", function()
    conversation_view.put_back(sessions.get(entry.session_id), 0)
  end, "back to the conversation")
  return buffer
end

return M
