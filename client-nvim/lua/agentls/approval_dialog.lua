---Asks the user about approvals, one at a time, by `vim.ui.select`. A dialog that is closed is not
---an answer.
local approval_queue = require("agentls.approval_queue")
local config = require("agentls.config")
local notices = require("agentls.notices")
local sessions = require("agentls.sessions")

local M = {}

local queue = approval_queue.new()
---@type agentls.QueuedApproval|nil
local asking = nil

---@alias agentls.Reveal fun(session_id: string, call_id: string): fun()

---@type agentls.Reveal
local reveal
---@type fun()
local restore

---Watch the sessions. Called once.
---@param reveal_call agentls.Reveal Shows the user what is asked about; what it returns undoes that.
function M.follow(reveal_call)
  reveal = reveal_call
  sessions.on_change(function(session, what)
    if what == "slices" then
      queue:update(session.id, session.slices.approvals or {})
      M.pop_up()
    end
  end)
  vim.api.nvim_create_autocmd("ModeChanged", {
    group = vim.api.nvim_create_augroup("agentls_approvals", { clear = true }),
    pattern = "*:n",
    callback = function()
      M.pop_up()
    end,
  })
end

---Ask about everything that waits, also what was asked before.
function M.ask_again()
  if queue:count() == 0 then
    return notices.info("no approval is waiting")
  end
  if asking then
    M.release(asking)
  end
  queue:ask_again()
  M.ask_next()
end

---Ask soon, unless the user is typing, so that no key meant for something else answers.
---@private
M.pop_up = vim.schedule_wrap(function()
  if config.get().approval_popup and M.is_free() then
    M.ask_next()
  end
end)

---@private
---@return boolean
function M.is_free()
  local mode = vim.api.nvim_get_mode()
  return mode.mode == "n" and not mode.blocking and vim.fn.getcmdwintype() == ""
end

---@private
function M.ask_next()
  local entry = queue:next()
  if asking or not entry then
    return
  end
  asking, entry.asked = entry, true
  local approval = entry.approval
  restore = reveal(entry.session_id, approval.callId)
  local options = {
    prompt = ("%s (%s)"):format(approval.title, approval.reason):gsub("%s+", " "),
    kind = "agentls.approval",
    format_item = function(option)
      return option.label
    end,
  }
  local shown, problem = pcall(vim.ui.select, approval.options, options, function(option)
    M.take(entry, option)
  end)
  if not shown then
    M.release(entry)
    notices.error("the approval could not be shown: " .. tostring(problem))
  end
end

---@private
---@param entry agentls.QueuedApproval
---@param option agentls.ApprovalOption|nil
function M.take(entry, option)
  if not option then
    M.release(entry)
    if queue:holds(entry) then
      notices.info(entry.approval.title .. " is still waiting; :AgentApprove asks again")
    end
    return M.ask_next()
  end
  if option.kind ~= "deny" then
    return M.answer(entry, option, nil)
  end
  vim.ui.input({ prompt = "Why not? (optional, for the agent): " }, function(reason)
    M.answer(entry, option, reason ~= "" and reason or nil)
  end)
end

---@private
---@param entry agentls.QueuedApproval
---@param option agentls.ApprovalOption
---@param reason string|nil
function M.answer(entry, option, reason)
  M.release(entry)
  entry.answered = true
  local call_id = entry.approval.callId
  sessions.answer(entry.session_id, call_id, option.id, reason, function(err)
    if err then
      entry.answered = false
      if not err.told then
        notices.warn(err.message)
      end
    end
  end)
  M.ask_next()
end

---@private
---@param entry agentls.QueuedApproval
function M.release(entry)
  if asking ~= entry then
    return
  end
  asking = nil
  restore()
end

return M
