---Keeps status lines right while the model is waited for: each second, what is left of the wait.
local sessions = require("agentls.sessions")

local M = {}

local STEP_MILLISECONDS = 1000

local timer = nil

---Watch the sessions. Called once.
function M.follow()
  sessions.on_change(function(_, what)
    if what == "slices" then
      M.update()
    end
  end)
end

---Tick while the current session waits, and only then.
---@private
function M.update()
  local session = sessions.current()
  local activity = session and session.slices.activity
  local is_waiting = activity ~= nil and activity.retry ~= nil
  if is_waiting and not timer then
    timer = vim.loop.new_timer()
    timer:start(STEP_MILLISECONDS, STEP_MILLISECONDS, vim.schedule_wrap(M.tick))
  elseif not is_waiting and timer then
    timer:stop()
    timer:close()
    timer = nil
  end
end

---@private
function M.tick()
  if timer then
    vim.cmd("redrawstatus!")
  end
end

return M
