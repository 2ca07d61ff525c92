---What a user asks of a session. Knows no windows.
local connection = require("agentls.connection")
local protocol = require("agentls.protocol")
local sessions = require("agentls.sessions")

local M = {}

---@class agentls.PromptOptions
---@field steer boolean|nil Into the turn that runs, not behind it.
---@field attachments agentls.Attachment[]|nil

---Send a prompt to the current session.
---@param text string
---@param options agentls.PromptOptions
---@param callback fun(err: agentls.Error|nil, session: agentls.Session|nil, queued: boolean|nil)
function M.prompt(text, options, callback)
  sessions.ensure(function(err, session)
    if err then
      return callback(err)
    end
    local params = {
      sessionId = session.id,
      text = text,
      delivery = options.steer and "steer" or "queue",
      attachments = options.attachments or {},
    }
    connection.request(protocol.SESSION_PROMPT, params, function(refused, result)
      callback(refused, session, result and result.queued)
    end)
  end)
end

---Stop the turn that runs in the current session.
---@param callback fun(err: agentls.Error|nil, cancelled: boolean)
function M.cancel(callback)
  local session = sessions.current()
  local activity = session and session.slices.activity
  local turn_id = activity and activity.turnId or (session and session.conversation.turn_id)
  if not turn_id or session.stale then
    return callback(nil, false)
  end
  local params = { sessionId = session.id, turnId = turn_id }
  connection.request(protocol.TURN_CANCEL, params, function(err, result)
    callback(err, result ~= nil and result.cancelled)
  end)
end

---Put a summary in the place of the conversation so far.
---@param instructions string|nil What the summary should heed.
---@param callback fun(err: agentls.Error|nil, result: {queued: boolean}|nil)
function M.compact(instructions, callback)
  M.of_session(protocol.SESSION_COMPACT, { instructions = instructions }, callback)
end

---Begin the conversation anew in the same session.
---@param callback fun(err: agentls.Error|nil, result: {messages: integer}|nil)
function M.clear(callback)
  M.of_session(protocol.SESSION_CLEAR, {}, callback)
end

---Take back the last clear, or the last rewind.
---@param callback fun(err: agentls.Error|nil, result: {messages: integer, files: table[]}|nil)
function M.redo(callback)
  M.of_session(protocol.SESSION_REDO, {}, callback)
end

---Have a lighter model answer, or the chosen one again.
---@param enabled boolean
---@param callback fun(err: agentls.Error|nil, result: {model: agentls.ModelChoice}|nil)
function M.set_fast_mode(enabled, callback)
  M.of_session(protocol.FAST_MODE_SET, { enabled = enabled }, callback)
end

---@param callback fun(err: agentls.Error|nil, models: table[]|nil)
function M.list_models(callback)
  connection.request(protocol.MODEL_LIST, {}, function(err, result)
    callback(err, result and result.models)
  end)
end

---@param model string
---@param callback agentls.Callback
function M.set_model(model, callback)
  M.of_session(protocol.MODEL_SET, { model = model }, callback)
end

---@param mode string
---@param callback agentls.Callback
function M.set_mode(mode, callback)
  M.of_session(protocol.MODE_SET, { mode = mode }, callback)
end

---Answer an approval; the first answer of any editor wins.
---@param session_id string
---@param call_id string
---@param option_id string
---@param reason string|nil
---@param callback agentls.Callback
function M.answer(session_id, call_id, option_id, reason, callback)
  local params = { sessionId = session_id, callId = call_id, optionId = option_id, reason = reason }
  connection.request(protocol.APPROVAL_ANSWER, params, callback)
end

---Answer the questions of a call, all of them; the first answer of any editor wins.
---@param session_id string
---@param call_id string
---@param answers agentls.QuestionAnswer[]|nil Nil: the user would not answer.
---@param callback agentls.Callback
function M.answer_questions(session_id, call_id, answers, callback)
  local params = { sessionId = session_id, callId = call_id, answers = answers or vim.NIL }
  connection.request(protocol.QUESTION_ANSWER, params, callback)
end

---Take a prompt out of the queue.
---@param session_id string
---@param item_id string
---@param callback agentls.Callback
function M.remove_queued(session_id, item_id, callback)
  connection.request(protocol.QUEUE_REMOVE, { sessionId = session_id, itemId = item_id }, callback)
end

---Read a piece of a task's output.
---@param session_id string
---@param task_id string
---@param offset integer In bytes.
---@param limit integer
---@param callback fun(err: agentls.Error|nil, piece: agentls.TaskOutput|nil)
function M.read_task(session_id, task_id, offset, limit, callback)
  local params = { sessionId = session_id, taskId = task_id, offset = offset, limit = limit }
  connection.request(protocol.TASK_OUTPUT, params, callback)
end

---End a task.
---@param session_id string
---@param task_id string
---@param callback fun(err: agentls.Error|nil, result: {task: agentls.Task}|nil)
function M.stop_task(session_id, task_id, callback)
  connection.request(protocol.TASK_STOP, { sessionId = session_id, taskId = task_id }, callback)
end

---Send a request about the current session, begun where none is.
---@private
---@param method string
---@param params table
---@param callback agentls.Callback
function M.of_session(method, params, callback)
  sessions.ensure(function(err, session)
    if err then
      return callback(err)
    end
    params.sessionId = session.id
    connection.request(method, params, callback)
  end)
end

return M
