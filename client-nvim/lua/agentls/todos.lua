---The agent's plan as lines. Pure: knows nothing of the editor.
local M = {}

local MARKS = { pending = "[ ]", inProgress = "[~]", completed = "[x]" }
local GROUPS =
  { pending = "AgentlsPending", inProgress = "AgentlsRunning", completed = "AgentlsOk" }

---@param todos agentls.Todo[]|nil
---@return string[] lines
---@return string[] groups One for each line.
function M.render(todos)
  if not todos or #todos == 0 then
    return { "No plan yet." }, { "AgentlsNote" }
  end
  local lines, groups = {}, {}
  for _, todo in ipairs(todos) do
    local words = todo.status == "inProgress" and todo.activeForm or todo.content
    lines[#lines + 1] = ("%s %s"):format(MARKS[todo.status] or "[?]", (words:gsub("%s+", " ")))
    groups[#groups + 1] = GROUPS[todo.status] or "AgentlsNote"
  end
  return lines, groups
end

return M
