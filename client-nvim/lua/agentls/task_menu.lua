---The tasks in the background, in a list: their output can be read, and they can be ended.
local menu = require("agentls.menu")
local notices = require("agentls.notices")
local requests = require("agentls.requests")
local sessions = require("agentls.sessions")
local task_text = require("agentls.task_text")

local M = {}

local SHOW, STOP = "Show its output", "Stop it"

---@type table<string, boolean> By id, the tasks that were seen open.
local open_tasks = {}

---Watch the sessions, to tell of tasks that end. Called once.
function M.follow()
  sessions.on_change(function(session, what)
    if what == "slices" then
      M.tell_of_ends(session)
    end
  end)
end

---Let the user choose a task, and what to do about it.
function M.open()
  local session = sessions.current()
  local tasks = session and session.slices.tasks or {}
  if #tasks == 0 then
    return notices.info("no task is in the background")
  end
  local options = {
    prompt = "Tasks",
    kind = "agentls.task",
    format_item = function(task)
      return task_text.line(task, os.time())
    end,
  }
  menu.select(tasks, options, function(task)
    if task then
      M.ask(session, task)
    end
  end)
end

---End a task, and say how it stands then.
---@param session_id string
---@param task_id string
function M.stop(session_id, task_id)
  requests.stop_task(session_id, task_id, function(err, result)
    if not notices.failed(err) then
      local standing = task_text.standing(result.task, os.time())
      notices.info(("task %s: %s"):format(task_id, standing))
    end
  end)
end

---@private
---@param session agentls.Session
---@param task agentls.Task
function M.ask(session, task)
  if not task_text.is_open(task) then
    return require("agentls.task_output").open(session.id, task)
  end
  local options = { prompt = task_text.line(task, os.time()) }
  menu.select({ SHOW, STOP }, options, function(action)
    if action == SHOW then
      require("agentls.task_output").open(session.id, task)
    elseif action == STOP then
      M.stop(session.id, task.id)
    end
  end)
end

---@private
---@param session agentls.Session
function M.tell_of_ends(session)
  for _, task in ipairs(session.slices.tasks or {}) do
    local key = session.id .. "/" .. task.id
    if task_text.is_open(task) then
      open_tasks[key] = true
    elseif open_tasks[key] then
      open_tasks[key] = nil
      local show = task.status == "failed" and notices.warn or notices.info
      show(
        ("task %s, %s: %s"):format(task.id, task.description, task_text.standing(task, os.time()))
      )
    end
  end
end

return M
