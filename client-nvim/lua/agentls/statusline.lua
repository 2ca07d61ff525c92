---A session in a few words, for a status line. Pure: knows nothing of the editor.
local M = {}

---@param phase "off"|"starting"|"ready"
---@param exit_code integer|nil
---@param slices agentls.Slices|nil
---@return string
function M.text(phase, exit_code, slices)
  if phase == "starting" then
    return "agent: starting"
  end
  if phase == "off" then
    return exit_code and ("agent: stopped (exit code %d)"):format(exit_code) or "agent: off"
  end
  if not slices or not slices.activity then
    return "agent: ready"
  end
  local parts = { M.model(slices), M.mode(slices), M.activity(slices) }
  return "agent: " .. table.concat(parts, " · ")
end

---@param slices agentls.Slices
---@return string
function M.model(slices)
  local model = slices.model or {}
  return model.session or model.default or "no model"
end

---@param slices agentls.Slices
---@return string
function M.mode(slices)
  return slices.permissions and slices.permissions.mode or "default"
end

---Say what goes on; approvals that wait come before all else.
---@param slices agentls.Slices
---@return string
function M.activity(slices)
  local waiting = #(slices.approvals or {})
  if waiting > 1 then
    return ("Waiting for %d approvals"):format(waiting)
  end
  if waiting == 1 then
    return "Waiting for approval"
  end
  return (slices.activity.label:gsub("%s+", " "))
end

return M
