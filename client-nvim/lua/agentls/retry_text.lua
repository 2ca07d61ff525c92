---A wait before the model is asked again, in words. Pure: knows nothing of the editor.
local amounts = require("agentls.amounts")
local moments = require("agentls.moments")

local M = {}

local HAPPENED = {
  rateLimited = "the model takes no more requests just now",
  overloaded = "the model is overloaded",
  serverFailed = "the model's server failed",
  connectionLost = "the connection to the model broke",
  unreachable = "the model's server cannot be reached",
  streamBroken = "the model's answer broke off",
}

local IN_SHORT = {
  rateLimited = "Rate limit",
  overloaded = "Overloaded",
  serverFailed = "Server failed",
  connectionLost = "Connection lost",
  unreachable = "Not reachable",
  streamBroken = "Answer broke off",
}

---Say it whole, for as long as the wait lasts.
---@param retry agentls.RetryWait
---@param now number Seconds since 1970.
---@return string
function M.sentence(retry, now)
  local why = HAPPENED[retry.cause] or "the model did not answer"
  local at = moments.clock(retry.resumesAt, now)
  if retry.parked then
    return ("%s; the turn is put aside until %s and goes on by itself"):format(why, at)
  end
  return ("%s; again at %s (%d of %d)"):format(why, at, retry.attempt + 1, retry.maxAttempts)
end

---Say it in short, with what is left of the wait.
---@param retry agentls.RetryWait
---@param now number Seconds since 1970.
---@return string
function M.countdown(retry, now)
  local why = IN_SHORT[retry.cause] or "No answer"
  if retry.parked then
    return ("%s: put aside until %s"):format(why, moments.clock(retry.resumesAt, now))
  end
  local left = moments.left(retry.resumesAt, now)
  if left <= 0 then
    return why .. ": trying again"
  end
  return ("%s: again in %s"):format(why, amounts.span(left))
end

return M
