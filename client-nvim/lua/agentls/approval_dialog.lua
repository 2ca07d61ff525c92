---Asks the user about an approval.
local menu = require("agentls.menu")
local requests = require("agentls.requests")
local tool_line = require("agentls.tool_line")

local M = {}

---@class agentls.Asking What a dialog does with what the user says.
---@field opens fun(open: fun(): agentls.Menu) Opens a list or a line, unless the matter is settled.
---@field dismiss fun() The user closed it.
---@field answer fun(send: agentls.Answer)
---@field too_late fun(choice: any) The user chose after the matter was settled.

---@param entry agentls.Waiting
---@param asking agentls.Asking
function M.ask(entry, asking)
  local approval = entry.approval
  local options = {
    prompt = ("%s (%s)"):format(approval.title, approval.reason):gsub("%s+", " "),
    kind = "agentls.approval",
    format_item = function(option)
      return option.label
    end,
  }
  asking.opens(function()
    return menu.select(approval.options, options, function(option)
      M.take(entry, option, asking)
    end, asking.too_late)
  end)
end

---@private
---@param entry agentls.Waiting
---@param option agentls.ApprovalOption|nil
---@param asking agentls.Asking
function M.take(entry, option, asking)
  if not option then
    return asking.dismiss()
  end
  if option.kind ~= "deny" then
    return M.answer(entry, option, nil, asking)
  end
  asking.opens(function()
    return menu.input({ prompt = M.why(entry.approval) }, function(reason)
      M.answer(entry, option, reason ~= "" and reason or nil, asking)
    end, asking.too_late)
  end)
end

---@private
---@param approval agentls.Approval
---@return string
function M.why(approval)
  if approval.toolName == tool_line.PLAN_TOOL then
    return "What should be changed? (optional, for the agent): "
  end
  return "Why not? (optional, for the agent): "
end

---@private
---@param entry agentls.Waiting
---@param option agentls.ApprovalOption
---@param reason string|nil
---@param asking agentls.Asking
function M.answer(entry, option, reason, asking)
  asking.answer(function(callback)
    requests.answer(entry.session_id, entry.call_id, option.id, reason, callback)
  end)
end

return M
