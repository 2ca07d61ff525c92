---What is chosen for a session from a list: its model, its mode, and the session itself.
local amounts = require("agentls.amounts")
local menu = require("agentls.menu")
local moments = require("agentls.moments")
local notices = require("agentls.notices")
local protocol = require("agentls.protocol")
local requests = require("agentls.requests")
local sessions = require("agentls.sessions")

local M = {}

---Let the user choose the model of the current session.
function M.model()
  requests.list_models(function(err, models)
    if notices.failed(err) then
      return
    end
    menu.select(models, { prompt = "Model", format_item = M.describe_model }, function(model)
      if model then
        requests.set_model(model.id, notices.failed)
      end
    end)
  end)
end

---Let the user choose the permission mode of the current session.
function M.mode()
  menu.select(protocol.MODES, { prompt = "Permission mode" }, function(mode)
    if mode then
      requests.set_mode(mode, notices.failed)
    end
  end)
end

---Let the user choose a saved session.
---@param open fun(id: string)
function M.session(open)
  sessions.list(function(err, saved)
    if notices.failed(err) then
      return
    end
    if #saved == 0 then
      return notices.info("no session is saved here")
    end
    menu.select(saved, { prompt = "Session", format_item = M.describe_session }, function(session)
      if session then
        open(session.id)
      end
    end)
  end)
end

---@private
---@param session agentls.SessionSummary
---@return string
function M.describe_session(session)
  local title = session.title or session.lastPrompt or "no prompt yet"
  local when = moments.local_time(session.updatedAt)
  local count = amounts.counted(session.messageCount, "message")
  return ("%s  %s  (%s)"):format(when, (title:gsub("%s+", " ")), count)
end

---@private
---@param model {id: string, displayName: string, available: boolean}
---@return string
function M.describe_model(model)
  local text = ("%s (%s)"):format(model.displayName, model.id)
  return model.available and text or text .. ", needs a key"
end

return M
