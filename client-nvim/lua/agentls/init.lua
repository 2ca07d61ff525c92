---agentls in Neovim: what a configuration and the commands call.
local config = require("agentls.config")
local connection = require("agentls.connection")
local notices = require("agentls.notices")
local requests = require("agentls.requests")
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

---Describe model, mode, activity, tasks, the window's use and the cost in a line.
---@return string
function M.statusline()
  local session = sessions.current()
  local slices = session and session.slices
  return statusline.text(connection.phase(), connection.exit_code(), slices, os.time())
end

---Send a prompt and show the conversation; without a text, let one be written. While a turn runs it
---waits for that turn's end, or steers it.
---@param text string|nil
---@param options {steer: boolean|nil}|nil
function M.prompt(text, options)
  if not text or vim.trim(text) == "" then
    return M.ask()
  end
  M.wire()
  local attachments = require("agentls.attachments")
  local taken = attachments.take()
  local steer = options ~= nil and options.steer or false
  local is_running = M.is_running()
  requests.prompt(text, { steer = steer, attachments = taken }, function(err, session, queued)
    if err then
      attachments.put_back(taken)
    end
    if session then
      require("agentls.conversation_view").open(session, false)
    end
    if not notices.failed(err) and queued and not (steer and is_running) then
      notices.info("another turn is running; the prompt waits for it")
    end
  end)
end

---Steer the turn that runs: the agent reads the text before it asks the model next. Where none runs
---it is a prompt like any other.
---@param text string
function M.steer(text)
  M.prompt(text, { steer = true })
end

---Let a prompt be written, and sent.
function M.ask()
  M.wire()
  require("agentls.prompt_window").open()
end

---Stop the turn that runs.
function M.cancel()
  M.wire()
  requests.cancel(function(err, cancelled)
    if not notices.failed(err) and not cancelled then
      notices.info("no turn is running")
    end
  end)
end

---Ask about every approval and every question that waits.
function M.approve()
  M.wire()
  require("agentls.dialogs").ask_again()
end

---Choose the model of the current session; without a name, from a list.
---@param name string|nil
function M.model(name)
  M.wire()
  if name and name ~= "" then
    return requests.set_model(name, notices.failed)
  end
  require("agentls.choices").model()
end

---Choose the permission mode of the current session; without a name, from a list.
---@param mode string|nil
function M.mode(mode)
  M.wire()
  if mode and mode ~= "" then
    return requests.set_mode(mode, notices.failed)
  end
  require("agentls.choices").mode()
end

---Turn fast mode on or off, or to what it is not.
---@param enabled boolean|nil
function M.fast(enabled)
  M.wire()
  require("agentls.room").fast(enabled)
end

---Put a summary in the place of the conversation so far.
---@param instructions string|nil What the summary should heed.
function M.compact(instructions)
  M.wire()
  local words = instructions and vim.trim(instructions) or ""
  require("agentls.room").compact(words ~= "" and words or nil)
end

---Begin the conversation anew in the same session.
function M.clear()
  M.wire()
  require("agentls.room").clear()
end

---Take back the last clear, or the last rewind.
function M.redo()
  M.wire()
  require("agentls.room").redo()
end

---Show the prompts that wait; one can be taken out.
function M.queue()
  M.wire()
  require("agentls.queue_menu").open()
end

---Show the tasks in the background; their output can be read, and they can be stopped.
function M.tasks()
  M.wire()
  require("agentls.task_menu").open()
end

---Let a picture or a PDF go with the next prompt.
---@param path string
function M.attach(path)
  require("agentls.attachments").add(path)
end

---Let no file go with the next prompt.
function M.detach()
  require("agentls.attachments").drop()
end

---Mention the current file, or lines of it, in a prompt, and write on.
---@param first integer|nil From 1.
---@param last integer|nil
function M.mention(first, last)
  M.wire()
  local path = vim.api.nvim_buf_get_name(0)
  if path == "" or vim.bo.buftype ~= "" then
    return notices.error("this window shows no file that could be mentioned")
  end
  local relative = require("agentls.mention_completion").relative(path)
  require("agentls.prompt_window").open(require("agentls.mention").of(relative, first, last) .. " ")
end

---Choose a saved session and open it.
function M.sessions()
  M.wire()
  require("agentls.choices").session(M.load)
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
---@return boolean
function M.is_running()
  local session = sessions.current()
  return session ~= nil and session.conversation.turn_id ~= nil
end

---@private
---@param err agentls.Error|nil
---@param session agentls.Session|nil
function M.show(err, session)
  if not notices.failed(err) then
    require("agentls.conversation_view").open(session, true)
  end
end

---Show what is asked about; what is returned undoes that.
---@private
---@param entry agentls.Waiting
---@return fun(is_settled: boolean)
function M.reveal(entry)
  local approval = entry.approval
  if approval and approval.toolName == require("agentls.tool_line").PLAN_TOOL then
    return require("agentls.plan_view").open(entry)
  end
  return require("agentls.conversation_view").reveal(sessions.get(entry.session_id), entry.call_id)
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
  for _, name in ipairs({
    "app_notices",
    "conversation_view",
    "countdown",
    "documents",
    "event_log",
    "room",
    "task_menu",
    "todos_view",
  }) do
    require("agentls." .. name).follow()
  end
  require("agentls.dialogs").follow(M.reveal)
  sessions.on_change(function(_, what)
    if what == "slices" then
      vim.cmd("redrawstatus!")
    end
  end)
end

return M
