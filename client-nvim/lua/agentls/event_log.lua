---Events that interest whoever looks for a cause: they stand in the log of Neovim's LSP client and
---nowhere else, or there in full.
local amounts = require("agentls.amounts")
local retry_text = require("agentls.retry_text")
local sessions = require("agentls.sessions")

local M = {}

local MISSED_BECAUSE = {
  model = "another model answers",
  tools = "the tools have changed",
  system = "the system prompt has changed",
  thinking = "thinking was turned on or off",
  history = "the conversation before has changed",
  expired = "it was kept too long ago",
  unknown = "nothing that is known has changed",
}

---Watch the sessions. Called once.
function M.follow()
  sessions.on_event(function(_, envelope)
    local line = M.line(envelope.event, os.time())
    if line then
      require("vim.lsp.log").warn("agentls: " .. line)
    end
  end)
end

---Return what the log says of an event; nil where it says nothing.
---@param event table
---@param now number Seconds since 1970.
---@return string|nil
function M.line(event, now)
  if event.type == "cacheMissed" then
    return M.missed(event)
  elseif event.type == "retryScheduled" then
    local retry = event.retry
    return ("%s: %s"):format(retry_text.sentence(retry, now), retry.error.message)
  elseif event.type == "compactionFailed" then
    return "the conversation was not compacted: " .. event.error.message
  end
end

---@private
---@param event agentls.CacheMissed
---@return string
function M.missed(event)
  local why = MISSED_BECAUSE[event.cause] or event.cause
  local read, expected = amounts.tokens(event.readTokens), amounts.tokens(event.expectedTokens)
  return ("the prompt cache was missed: %s; %s of %s tokens were in it"):format(why, read, expected)
end

return M
