---What a user does about a conversation that has grown long.
local amounts = require("agentls.amounts")
local menu = require("agentls.menu")
local notices = require("agentls.notices")
local requests = require("agentls.requests")
local sessions = require("agentls.sessions")

local M = {}

---So many compactions failed in a row, and the server begins none by itself any more.
local MOST_FAILURES = 3

---@type table<string, integer> By session.
local failures_of = {}

---Watch the sessions. Called once.
function M.follow()
  sessions.on_change(function(session, what)
    if what == "slices" then
      M.warn_of_failures(session)
    end
  end)
end

---@param instructions string|nil
function M.compact(instructions)
  requests.compact(instructions, function(err, result)
    if not notices.failed(err) and result.queued then
      notices.info("another turn is running; the compaction waits for it")
    end
  end)
end

---Begin the conversation anew; what was said is asked about first.
function M.clear()
  local session = sessions.current()
  if not session or session.conversation:is_empty() then
    return M.do_clear()
  end
  local options = {
    prompt = "Begin the conversation anew? Files are not touched, and :AgentRedo brings it back.",
    kind = "agentls.clear",
  }
  menu.select({ "Clear the conversation", "Keep it" }, options, function(choice)
    if choice == "Clear the conversation" then
      M.do_clear()
    end
  end)
end

---Take back the last clear, or the last rewind.
function M.redo()
  requests.redo(function(err, result)
    if not notices.failed(err) then
      notices.info(("%s back"):format(amounts.counted(result.messages, "message")))
    end
  end)
end

---Turn fast mode on or off; without a word, to what it is not.
---@param enabled boolean|nil
function M.fast(enabled)
  local session = sessions.current()
  local model = session and session.slices.model or {}
  if enabled == nil then
    enabled = model.fast == nil
  end
  requests.set_fast_mode(enabled, function(err, result)
    if not notices.failed(err) then
      local fast = result.model.fast
      local text = fast and ("fast mode: %s answers from now on"):format(fast) or "fast mode is off"
      notices.info(text)
    end
  end)
end

---@private
function M.do_clear()
  requests.clear(function(err, result)
    if not notices.failed(err) and result.messages > 0 then
      local left = amounts.counted(result.messages, "message")
      notices.info(left .. " left behind; :AgentRedo brings the conversation back")
    end
  end)
end

---@private
---@param session agentls.Session
function M.warn_of_failures(session)
  local context = session.slices.context
  local failures = context and context.compactionFailures or 0
  local before = failures_of[session.id] or 0
  failures_of[session.id] = failures
  if failures >= MOST_FAILURES and before < MOST_FAILURES then
    local text = "the conversation could not be compacted, %d times in a row; it is not tried by "
      .. "itself any more. :AgentClear begins it anew, :AgentNew begins another session"
    notices.warn(text:format(failures))
  end
end

return M
