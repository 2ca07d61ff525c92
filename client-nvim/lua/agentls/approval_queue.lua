---The approvals that wait, in order. Pure: knows nothing of the editor.
---
---An approval leaves when the server no longer holds it, whoever answered. One that was asked and
---not answered stays, and is not asked again unless the user says so.

---@class agentls.QueuedApproval
---@field key string
---@field session_id string
---@field approval agentls.Approval
---@field asked boolean It was shown; now it waits for the user to come back to it.
---@field answered boolean An answer is on its way.

---@class agentls.ApprovalQueue
---@field private entries agentls.QueuedApproval[]
local Queue = {}
Queue.__index = Queue

local M = {}

---@return agentls.ApprovalQueue
function M.new()
  return setmetatable({ entries = {} }, Queue)
end

---Take what the server holds for a session now.
---@param session_id string
---@param approvals agentls.Approval[]
function Queue:update(session_id, approvals)
  local known, entries = {}, {}
  for _, entry in ipairs(self.entries) do
    known[entry.key] = entry
    if entry.session_id ~= session_id then
      entries[#entries + 1] = entry
    end
  end
  for _, approval in ipairs(approvals) do
    local key = session_id .. "/" .. approval.callId
    local entry = known[key]
      or { key = key, session_id = session_id, asked = false, answered = false }
    entry.approval = approval
    entries[#entries + 1] = entry
  end
  self.entries = entries
end

---Return the next one to ask.
---@return agentls.QueuedApproval|nil
function Queue:next()
  for _, entry in ipairs(self.entries) do
    if not entry.asked and not entry.answered then
      return entry
    end
  end
  return nil
end

---Let all that wait be asked again.
function Queue:ask_again()
  for _, entry in ipairs(self.entries) do
    entry.asked = false
  end
end

---@param entry agentls.QueuedApproval
---@return boolean
function Queue:holds(entry)
  return vim.tbl_contains(self.entries, entry)
end

---@return integer
function Queue:count()
  return #self.entries
end

return M
