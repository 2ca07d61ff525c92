---A tool call as the conversation shows it: one line, and what there is to see while it waits for
---an answer. Pure: knows nothing of the editor.
local plain_text = require("agentls.plain_text")
local question_text = require("agentls.question_text")

local M = {}

local LIMIT = 160
local DETAIL_LINES = 60

M.PLAN_TOOL = "ExitPlanMode"

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
---@return agentls.Look
function M.render(call)
  local state = M.state(call)
  local lines = { ("%s %s … %s"):format(MARKS[state], M.subject(call), M.outcome(call, state)) }
  local look = { lines = lines, group = GROUPS[state], marked = 1 }
  if state == "waiting" and call.approval then
    vim.list_extend(lines, M.approval(call.approval))
  elseif state == "waiting" and call.questions then
    vim.list_extend(lines, question_text.asked(call.questions))
  elseif state == "ok" and call.questions then
    vim.list_extend(lines, question_text.answered(call.questions, call.answers))
  elseif state == "ok" and call.name == M.PLAN_TOOL and M.plan(call) then
    look.fold = 2
    vim.list_extend(lines, M.plan(call))
  end
  return look
end

---Return the plan that was agreed to, under a line that says so.
---@param call agentls.ToolCall
---@return string[]|nil
function M.plan(call)
  local plan = type(call.input) == "table" and call.input.plan
  if type(plan) ~= "string" then
    return nil
  end
  return vim.list_extend({ "The plan" }, plain_text.lines(vim.trim(plan)))
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
  if not what and call.questions then
    what = question_text.headers(call.questions)
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
    return call.questions and "waiting for your answer" or "waiting for approval"
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
    lines = plain_text.fenced(detail, M.language(approval))
  end
  if hidden > 0 then
    lines[#lines + 1] = ("%d more lines are not shown"):format(hidden)
  end
  lines[#lines + 1] = plain_text.one_line(approval.reason, LIMIT)
  return lines
end

---@param approval agentls.Approval
---@return string
function M.language(approval)
  if approval.toolName == M.PLAN_TOOL then
    return "markdown"
  end
  local detail = approval.detail
  local is_diff = detail:find("^%-%-%- ") or detail:find("\n@@ ") or detail:find("^@@ ")
  return is_diff and "diff" or ""
end

return M
