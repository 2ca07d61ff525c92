---A tool call as the conversation shows it: one line, and what there is to see while it waits for
---an approval. Pure: knows nothing of the editor.
local plain_text = require("agentls.plain_text")

local M = {}

local LIMIT = 160
local DETAIL_LINES = 60

local MARKS = {
  streaming = "○",
  ready = "○",
  waiting = "◆",
  running = "◐",
  ok = "●",
  error = "✗",
  denied = "⊘",
  cancelled = "◌",
}

---The outcomes of calls that ran, whose summary says what they did.
local DID_RUN = { ok = true, error = true }

local GROUPS = {
  streaming = "AgentlsPending",
  ready = "AgentlsPending",
  waiting = "AgentlsWaiting",
  running = "AgentlsRunning",
  ok = "AgentlsOk",
  error = "AgentlsError",
  denied = "AgentlsError",
  cancelled = "AgentlsPending",
}

---@param call agentls.ToolCall
---@return string[] lines
---@return string group The highlight of the first line.
function M.render(call)
  local state = M.state(call)
  local lines = { ("%s %s … %s"):format(MARKS[state], M.subject(call), M.outcome(call, state)) }
  if state == "waiting" and call.approval then
    vim.list_extend(lines, M.approval(call.approval))
  end
  return lines, GROUPS[state]
end

---@param call agentls.ToolCall
---@return string state A status, or, of a finished call, its outcome.
function M.state(call)
  if call.status == "finished" then
    return MARKS[call.outcome] and call.outcome or "error"
  end
  return MARKS[call.status] and call.status or "ready"
end

---Say which call it is, with the best words there are so far.
---@param call agentls.ToolCall
---@return string
function M.subject(call)
  local what = DID_RUN[call.outcome] and call.summary or nil
  if not what and call.status == "waiting" and call.approval then
    what = call.approval.title
  end
  if not what and call.invocation ~= call.name then
    what = call.invocation
  end
  what = what or M.argument(call.input)
  if not what or what == "" then
    return call.name
  end
  what = plain_text.one_line(what, LIMIT)
  return vim.startswith(what, call.name) and what or call.name .. " · " .. what
end

---Pick the argument that says most about a call not yet described by the server.
---@param input table|nil
---@return string|nil
function M.argument(input)
  if type(input) ~= "table" then
    return nil
  end
  for _, name in ipairs({ "file_path", "path", "command", "pattern", "url", "query" }) do
    if type(input[name]) == "string" then
      return input[name]
    end
  end
  return nil
end

---@param call agentls.ToolCall
---@param state string
---@return string
function M.outcome(call, state)
  if state == "streaming" then
    return "being written"
  end
  if state == "waiting" then
    return "waiting for approval"
  end
  if state == "running" and call.progress then
    local last = call.progress:gsub("%s+$", ""):match("[^\n]*$")
    return "running: " .. plain_text.one_line(last, LIMIT)
  end
  if state == "denied" and call.decision then
    return "denied: " .. plain_text.one_line(call.decision.reason, LIMIT)
  end
  return state
end

---@param approval agentls.Approval
---@return string[]
function M.approval(approval)
  local detail = plain_text.lines((approval.detail:gsub("\n+$", "")))
  local hidden = #detail - DETAIL_LINES
  while #detail > DETAIL_LINES do
    detail[#detail] = nil
  end
  local lines = {}
  if approval.detail ~= "" then
    lines = plain_text.fenced(detail, M.language(approval.detail))
  end
  if hidden > 0 then
    lines[#lines + 1] = ("%d more lines are not shown"):format(hidden)
  end
  lines[#lines + 1] = plain_text.one_line(approval.reason, LIMIT)
  return lines
end

---@param detail string
---@return string
function M.language(detail)
  local is_diff = detail:find("^%-%-%- ") or detail:find("\n@@ ") or detail:find("^@@ ")
  return is_diff and "diff" or ""
end

return M
