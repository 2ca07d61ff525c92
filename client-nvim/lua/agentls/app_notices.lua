---What the server as a whole has to tell, shown once each.
local connection = require("agentls.connection")
local notices = require("agentls.notices")
local null = require("agentls.null")
local protocol = require("agentls.protocol")

local M = {}

---@type table<string, boolean>
local seen = {}

---Listen to the server. Called once.
function M.follow()
  connection.on(protocol.APP_DID_CHANGE, function(params)
    local changed = null.strip(params)
    for _, notice in ipairs(changed.notices or {}) do
      if not seen[notice.id] then
        seen[notice.id] = true
        notices.show(notice.level, notice.message)
      end
    end
  end)
end

return M
