---What is said about a conversation between what was said in it, and below it. Pure: knows nothing
---of the editor.
local amounts = require("agentls.amounts")
local blocks = require("agentls.blocks")
local moments = require("agentls.moments")
local plain_text = require("agentls.plain_text")
local retry_text = require("agentls.retry_text")
local task_text = require("agentls.task_text")

---@class agentls.Waits What the end of the conversation says is waited for.
---@field retry agentls.RetryWait|nil
---@field stalled_since string|nil
---@field compacting string|nil

local M = {}

local LIMIT = 160

local COMPACTING = {
  automatic = "the model's window is nearly full",
  requested = "as you asked",
  tooLong = "it was too long for the model",
}

---@param entry table A history entry that nobody said.
---@return agentls.Block|nil
function M.of_entry(entry)
  if entry.type == "summary" then
    return blocks.summary(entry.text, entry.messageCount or 0, nil, entry.id)
  elseif entry.type == "gap" then
    return blocks.note("— Messages are missing here: the session was damaged on disk.")
  end
end

---@param access {mode: string, owner: string|nil}
---@return agentls.Block|nil
local function of_access(access)
  if access.mode == "follower" then
    local owner = access.owner or "nobody writes it any more; load it again to go on"
    return blocks.note("— Read-only: " .. owner)
  end
end

---@param trouble {message: string}
---@return agentls.Block
local function of_trouble(trouble)
  return blocks.note("— Not saved: " .. trouble.message)
end

---The events that have a note, and what makes it.
---@type table<string, fun(event: table): agentls.Block|nil>
M.OF_EVENT = {
  storageFailed = function(event)
    return of_trouble(event.trouble)
  end,
  storageRecovered = function()
    return blocks.note("— Saved again.")
  end,
  accessChanged = function(event)
    return of_access(event.access)
  end,
  fastModeChanged = function(event)
    local text = "— Fast mode is off."
    if event.model then
      text = ("— Fast mode: %s answers from now on."):format(event.model)
    end
    return blocks.note(text, "AgentlsNote")
  end,
}

---@param state table A session's state.
---@return agentls.Block|nil
function M.of_snapshot(state)
  return state.access and of_access(state.access) or state.storage and of_trouble(state.storage)
end

---@param event table A `conversationCompacted`.
---@return agentls.Block
function M.compacted(event)
  local tokens = { before = event.tokensBefore or 0, after = event.tokensAfter or 0 }
  return blocks.summary(event.summary, event.messageCount, tokens, event.id)
end

---@param failure agentls.ErrorInfo
---@return agentls.Block
function M.not_compacted(failure)
  return blocks.note("— Not compacted: " .. failure.message)
end

---@param tokens integer|nil About how many it saves.
---@return agentls.Block
function M.cleared(tokens)
  local saved = tokens and (", about %s tokens less"):format(amounts.tokens(tokens)) or ""
  local text = "— Tool output above is sent to the model as placeholders%s —"
  return blocks.note(text:format(saved), "AgentlsNote")
end

---@param task agentls.Task
---@param now number Seconds since 1970.
---@return agentls.Block
function M.task_ended(task, now)
  local what = plain_text.one_line(task.description, LIMIT)
  local text = ("— Task %s, %s: %s"):format(task.id, what, task_text.standing(task, now))
  local is_said = task.status == "completed" or (task.reason or ""):find("stopped")
  if task.reason and not is_said then
    text = ("%s (%s)"):format(text, plain_text.one_line(task.reason, LIMIT))
  end
  return blocks.note(text, task.status == "failed" and "AgentlsWaiting" or "AgentlsNote")
end

---@param state table A session's state.
---@return agentls.Waits
function M.waits(state)
  return {
    retry = state.turn and state.turn.retry,
    stalled_since = state.live and state.live.stalledSince,
    compacting = state.compaction and state.compaction.running,
  }
end

---Say what is waited for at the end of a conversation.
---@param waits agentls.Waits
---@param now number Seconds since 1970.
---@return agentls.Footnote[]
function M.footnotes(waits, now)
  local notes = {}
  local function add(text, group)
    notes[#notes + 1] = { text = text, group = group }
  end
  if waits.compacting then
    local why = COMPACTING[waits.compacting] or waits.compacting
    add(("… compacting the conversation: %s"):format(why), "AgentlsNote")
  end
  if waits.retry then
    add("↻ " .. retry_text.sentence(waits.retry, now), "AgentlsWaiting")
    add("  " .. plain_text.one_line(waits.retry.error.message, LIMIT), "AgentlsNote")
  elseif waits.stalled_since then
    local since = moments.clock(waits.stalled_since, now)
    add(("… the model has said nothing since %s; still waiting"):format(since), "AgentlsNote")
  end
  return notes
end

return M
