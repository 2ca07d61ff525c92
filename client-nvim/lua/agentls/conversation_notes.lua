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

---@param event table
---@return agentls.Block|nil
function M.of_event(event)
  if event.type == "storageFailed" then
    return blocks.note("— Not saved: " .. event.trouble.message)
  elseif event.type == "storageRecovered" then
    return blocks.note("— Saved again.")
  elseif event.type == "accessChanged" and event.access.mode == "follower" then
    local owner = event.access.owner or "nobody writes it any more; load it again to go on"
    return blocks.note("— Read-only: " .. owner)
  end
end

return M
