---What is said about a conversation between what was said in it.

local blocks = require("agentls.blocks")

local M = {}

---The events that have a note.
M.EVENTS = { "storageFailed", "storageRecovered", "accessChanged" }

---@param entry table A history entry that nobody said.
---@return agentls.Block|nil
function M.of_entry(entry)
  if entry.type == "summary" then
    return blocks.note("— Summary of what came before:\n" .. entry.text)
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

---@param event table
---@return agentls.Block|nil
function M.of_event(event)
  if event.type == "storageFailed" then
    return of_trouble(event.trouble)
  elseif event.type == "storageRecovered" then
    return blocks.note("— Saved again.")
  elseif event.type == "accessChanged" then
    return of_access(event.access)
  end
end

---@param state table A session's state.
---@return agentls.Block|nil
function M.of_snapshot(state)
  return state.access and of_access(state.access) or state.storage and of_trouble(state.storage)
end

return M
