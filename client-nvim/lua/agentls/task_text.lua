---A task in the background, in words. Pure: knows nothing of the editor.
local amounts = require("agentls.amounts")
local moments = require("agentls.moments")
local plain_text = require("agentls.plain_text")

local M = {}

local LIMIT = 80

---Say whether a task may still go on.
---@param task agentls.Task
---@return boolean
function M.is_open(task)
  return task.status == "pending" or task.status == "running"
end

---Count the tasks that run or are about to.
---@param tasks agentls.Task[]|nil
---@return integer
function M.count_open(tasks)
  local count = 0
  for _, task in ipairs(tasks or {}) do
    count = count + (M.is_open(task) and 1 or 0)
  end
  return count
end

---Say how a task stands: "12 s", "exit code 1 after 3 min", "stopped after 12 s".
---@param task agentls.Task
---@param now number Seconds since 1970.
---@return string
function M.standing(task, now)
  local span = M.span(task, now)
  if task.status == "pending" then
    return "about to begin"
  end
  if task.status == "running" then
    return "running" .. (span and " for " .. span or "")
  end
  local words = { completed = "done", failed = M.failure(task), killed = "stopped" }
  return (words[task.status] or task.status) .. (span and " after " .. span or "")
end

---Put a task on a line of a list.
---@param task agentls.Task
---@param now number Seconds since 1970.
---@return string
function M.line(task, now)
  local what = plain_text.one_line(task.description, LIMIT)
  return ("%s  %s (%s, %s)"):format(
    task.id,
    what,
    M.standing(task, now),
    amounts.bytes(task.outputBytes or 0)
  )
end

---@param task agentls.Task
---@param now number
---@return string|nil
function M.span(task, now)
  local start = task.startedAt and moments.epoch(task.startedAt)
  if not start then
    return nil
  end
  local finish = task.endedAt and moments.epoch(task.endedAt) or now
  return amounts.span(finish - start)
end

---@param task agentls.Task
---@return string
function M.failure(task)
  if not task.exitCode then
    return "failed"
  end
  if task.exitCode < 0 then
    return ("signal %d"):format(-task.exitCode)
  end
  return ("exit code %d"):format(task.exitCode)
end

return M
