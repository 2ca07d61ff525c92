---A session in a few words, for a status line. Pure: knows nothing of the editor.
local amounts = require("agentls.amounts")
local plain_text = require("agentls.plain_text")
local retry_text = require("agentls.retry_text")
local task_text = require("agentls.task_text")

local M = {}

local NAME_LIMIT = 25

---@param phase "off"|"starting"|"ready"
---@param exit_code integer|nil
---@param slices agentls.Slices|nil
---@param now number|nil Seconds since 1970.
---@return string
function M.text(phase, exit_code, slices, now)
  if phase == "starting" then
    return "agent: starting"
  end
  if phase == "off" then
    return exit_code and ("agent: stopped (exit code %d)"):format(exit_code) or "agent: off"
  end
  if not slices or not slices.activity then
    return "agent: ready"
  end
  local parts = { M.model(slices), M.mode(slices), M.activity(slices, now or os.time()) }
  vim.list_extend(parts, { M.tasks(slices) })
  vim.list_extend(parts, { M.context(slices) })
  vim.list_extend(parts, { M.cost(slices) })
  return "agent: " .. table.concat(parts, " · ")
end

---Name the model that answers, with a mark where fast mode chose it.
---@param slices agentls.Slices
---@return string
function M.model(slices)
  local model = slices.model or {}
  if model.fast then
    return "» " .. M.shortened(model.fast)
  end
  return M.shortened(model.session or model.default or "no model")
end

---Leave out the middle of a long name.
---@param name string
---@return string
function M.shortened(name)
  if plain_text.code_points(name) <= NAME_LIMIT then
    return name
  end
  local half = math.floor((NAME_LIMIT - 1) / 2)
  local first = name:sub(1, #name - #plain_text.drop(name, half))
  return first .. "…" .. plain_text.drop(name, plain_text.code_points(name) - half)
end

---@param slices agentls.Slices
---@return string
function M.mode(slices)
  return slices.permissions and slices.permissions.mode or "default"
end

---Say what goes on; what waits for the user comes before all else.
---@param slices agentls.Slices
---@param now number
---@return string
function M.activity(slices, now)
  local waiting = #(slices.approvals or {})
  if waiting > 1 then
    return ("Waiting for %d approvals"):format(waiting)
  end
  if waiting == 1 then
    return "Waiting for approval"
  end
  if #(slices.questions or {}) > 0 then
    return "Waiting for an answer"
  end
  local activity = slices.activity
  if activity.retry then
    return retry_text.countdown(activity.retry, now)
  end
  return (activity.label:gsub("%s+", " "))
end

---@param slices agentls.Slices
---@return string|nil
function M.tasks(slices)
  local open = task_text.count_open(slices.tasks)
  return open > 0 and amounts.counted(open, "task") or nil
end

---Say how full the model's window is.
---@param slices agentls.Slices
---@return string|nil
function M.context(slices)
  local context = slices.context or {}
  if not context.usedTokens or not context.window or context.window <= 0 then
    return nil
  end
  return ("%d%%"):format(math.floor(100 * context.usedTokens / context.window + 0.5))
end

---@param slices agentls.Slices
---@return string|nil
function M.cost(slices)
  return slices.usage and amounts.cost(slices.usage.total) or nil
end

return M
