---The approvals and questions that wait for the user, in order. Pure: knows nothing of the editor.
---
---One leaves when the server no longer holds it, whoever answered. One that was asked and not
---answered stays, and is not asked again unless the user says so.

---@class agentls.Waiting
---@field key string
---@field session_id string
---@field call_id string
---@field approval agentls.Approval|nil This,
---@field questions agentls.Questions|nil or this.
---@field form agentls.QuestionForm|nil How far the questions are answered.
---@field asked boolean It was shown; now it waits for the user to come back to it.
---@field answered boolean An answer is on its way.

---@class agentls.WaitingQueue
---@field private entries agentls.Waiting[]
local Queue = {}
Queue.__index = Queue

local M = {}

---@return agentls.WaitingQueue
function M.new()
  return setmetatable({ entries = {} }, Queue)
end

---Take what the server holds for a session now.
---@param session_id string
---@param approvals agentls.Approval[]
---@param questions agentls.Questions[]
---@return agentls.Waiting[] gone Those that it holds no longer.
function Queue:update(session_id, approvals, questions)
  local known, entries = {}, {}
  for _, entry in ipairs(self.entries) do
    if entry.session_id ~= session_id then
      entries[#entries + 1] = entry
    else
      known[entry.key] = entry
    end
  end
  local function take(call_id, field, value)
    local key = session_id .. "/" .. call_id
    local entry = known[key]
      or { key = key, session_id = session_id, call_id = call_id, asked = false, answered = false }
    known[key] = nil
    entry[field] = value
    entries[#entries + 1] = entry
  end
  for _, approval in ipairs(approvals) do
    take(approval.callId, "approval", approval)
  end
  for _, asked in ipairs(questions) do
    take(asked.callId, "questions", asked)
  end
  self.entries = entries
  return vim.tbl_values(known)
end

---Return the next one to ask.
---@return agentls.Waiting|nil
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

---@param entry agentls.Waiting
---@return boolean
function Queue:holds(entry)
  return vim.tbl_contains(self.entries, entry)
end

---@return integer
function Queue:count()
  return #self.entries
end

---Name what waits, for a person.
---@param entry agentls.Waiting
---@return string
function M.title(entry)
  if entry.approval then
    return (entry.approval.title:gsub("%s+", " "))
  end
  local first = entry.questions.questions[1]
  return first and (first.question:gsub("%s+", " ")) or "a question"
end

return M
