---The prompts that wait, in a list: one can be taken out, to be thrown away or to be written anew.
local block_layout = require("agentls.block_layout")
local content = require("agentls.content")
local menu = require("agentls.menu")
local notices = require("agentls.notices")
local requests = require("agentls.requests")
local sessions = require("agentls.sessions")

local M = {}

local EDIT, REMOVE, KEEP = "Take it out and edit it", "Remove it", "Leave it"

---Let the user choose a prompt, and what becomes of it.
function M.open()
  local session = sessions.current()
  local queue = session and session.slices.queue or {}
  if #queue == 0 then
    return notices.info("no prompt is waiting")
  end
  local options = { prompt = "Queue", kind = "agentls.queue", format_item = block_layout.queued }
  menu.select(queue, options, function(item)
    if item then
      M.ask(session, item)
    end
  end)
end

---@private
---@param session agentls.Session
---@param item agentls.QueuedPrompt
function M.ask(session, item)
  local actions = item.kind == "compact" and { REMOVE, KEEP } or { EDIT, REMOVE, KEEP }
  menu.select(actions, { prompt = block_layout.queued(item) }, function(action)
    if action == nil or action == KEEP then
      return
    end
    requests.remove_queued(session.id, item.id, function(err)
      if not notices.failed(err) and action == EDIT then
        require("agentls.prompt_window").open(content.words(item.content))
      end
    end)
  end)
end

return M
