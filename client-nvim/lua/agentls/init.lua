---agentls in Neovim: what a configuration and the commands call.
local config = require("agentls.config")
local connection = require("agentls.connection")
local notices = require("agentls.notices")
local plain_text = require("agentls.plain_text")
local protocol = require("agentls.protocol")
local sessions = require("agentls.sessions")
local statusline = require("agentls.statusline")

local M = {}

local wired = false

---Set options; see |agentls-options|. Calling it is optional.
---@param options table|nil
function M.setup(options)
  local chosen = config.set(options)
  M.wire()
  if chosen.autostart then
    connection.start()
  end
end

---Describe model, mode and activity in a line.
---@return string
function M.statusline()
  local session = sessions.current()
  return statusline.text(connection.phase(), connection.exit_code(), session and session.slices)
end

---Send a prompt and show the conversation; without a text, ask for one.
---@param text string|nil
function M.prompt(text)
  if not text or vim.trim(text) == "" then
    return M.ask()
  end
  M.wire()
  sessions.prompt(text, function(err, session, queued)
    if session then
      require("agentls.conversation_view").open(session, false)
    end
    if not M.failed(err) and queued then
      notices.info("another turn is running; the prompt waits for it")
    end
  end)
end

---Ask for a prompt, and send it.
function M.ask()
  vim.ui.input({ prompt = "Agent: " }, function(text)
    if text and vim.trim(text) ~= "" then
      M.prompt(text)
    end
  end)
end

---Stop the turn that runs.
function M.cancel()
  M.wire()
  sessions.cancel(function(err, cancelled)
    if not M.failed(err) and not cancelled then
      notices.info("no turn is running")
    end
  end)
end

---Ask about every approval that waits.
function M.approve()
  M.wire()
  require("agentls.approval_dialog").ask_again()
end

---Choose the model of the current session; without a name, from a list.
---@param name string|nil
function M.model(name)
  M.wire()
  if name and name ~= "" then
    return sessions.set_model(name, M.failed)
  end
  sessions.list_models(function(err, models)
    if M.failed(err) then
      return
    end
    local options = { prompt = "Model", format_item = M.describe_model }
    vim.ui.select(models, options, function(model)
      if model then
        sessions.set_model(model.id, M.failed)
      end
    end)
  end)
end

---Choose the permission mode of the current session; without a name, from a list.
---@param mode string|nil
function M.mode(mode)
  M.wire()
  if mode and mode ~= "" then
    return sessions.set_mode(mode, M.failed)
  end
  vim.ui.select(protocol.MODES, { prompt = "Permission mode" }, function(chosen)
    if chosen then
      sessions.set_mode(chosen, M.failed)
    end
  end)
end

---Choose a saved session and open it.
function M.sessions()
  M.wire()
  sessions.list(function(err, saved)
    if M.failed(err) then
      return
    end
    if #saved == 0 then
      return notices.info("no session is saved here")
    end
    local options = { prompt = "Session", format_item = M.describe_session }
    vim.ui.select(saved, options, function(session)
      if session then
        M.load(session.id)
      end
    end)
  end)
end

---Open a saved session.
---@param id string
function M.load(id)
  M.wire()
  sessions.load(id, M.show)
end

---Begin a new session.
function M.new()
  M.wire()
  sessions.new(M.show)
end

---Show the current session, begun where there is none.
function M.open()
  M.wire()
  sessions.ensure(M.show)
end

---Show or hide the agent's plan.
function M.toggle_todos()
  M.wire()
  require("agentls.todos_view").toggle()
end

---Close the current window, unless it is the last.
function M.close()
  if #vim.api.nvim_tabpage_list_wins(0) > 1 then
    vim.api.nvim_win_close(0, false)
  end
end

---End the server; the next use starts it again.
function M.stop()
  connection.stop()
end

---@private
---@param session agentls.SessionSummary
---@return string
function M.describe_session(session)
  local title = session.title or session.lastPrompt or "no prompt yet"
  local when = plain_text.local_time(session.updatedAt)
  local count = session.messageCount
  local text = "%s  %s  (%d message%s)"
  return text:format(when, (title:gsub("%s+", " ")), count, count == 1 and "" or "s")
end

---@private
---@param model {id: string, displayName: string, available: boolean}
---@return string
function M.describe_model(model)
  local text = ("%s (%s)"):format(model.displayName, model.id)
  return model.available and text or text .. ", needs a key"
end

---@private
---@param err agentls.Error|nil
---@param session agentls.Session|nil
function M.show(err, session)
  if not M.failed(err) then
    require("agentls.conversation_view").open(session, true)
  end
end

---Tell the user of a failure they have not seen.
---@private
---@param err agentls.Error|nil
---@return boolean
function M.failed(err)
  if err and not err.told then
    notices.error(err.message)
  end
  return err ~= nil
end

---Connect the views to what they show. Does so once.
---@private
function M.wire()
  if wired then
    return
  end
  wired = true
  require("agentls.highlights").define()
  sessions.follow()
  require("agentls.app_notices").follow()
  require("agentls.conversation_view").follow()
  require("agentls.todos_view").follow()
  require("agentls.approval_dialog").follow(function(session_id, call_id)
    return require("agentls.conversation_view").reveal(sessions.get(session_id), call_id)
  end)
  require("agentls.documents").follow()
  sessions.on_change(function(_, what)
    if what == "slices" then
      vim.cmd("redrawstatus!")
    end
  end)
end

return M
