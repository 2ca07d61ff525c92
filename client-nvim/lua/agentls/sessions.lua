---The sessions this editor knows, kept as the server tells of them. Knows no windows.
local config = require("agentls.config")
local connection = require("agentls.connection")
local conversation = require("agentls.conversation")
local notices = require("agentls.notices")
local null = require("agentls.null")
local protocol = require("agentls.protocol")

---@class agentls.Session
---@field id string
---@field conversation agentls.Conversation
---@field slices agentls.Slices
---@field stale boolean The server has ended since; it must be loaded before its next use.
---@field reloading boolean

---@alias agentls.SessionCallback fun(err: agentls.Error|nil, session: agentls.Session|nil)

local M = {}

---@type table<string, agentls.Session>
local known = {}
---@type agentls.Session|nil
local current = nil
---@type (fun(session: agentls.Session, what: "conversation"|"slices"|"replaced"))[]
local listeners = {}
---@type (fun(changes: agentls.FileChange[]))[]
local file_listeners = {}
---@type agentls.SessionCallback[]
local waiting = {}

---Listen to the server. Called once.
function M.follow()
  connection.on(protocol.SESSION_EVENT, M.take_event)
  connection.on(protocol.SESSION_DELTA, M.take_delta)
  connection.on(protocol.SESSION_DID_RESET, M.take_reset)
  connection.on(protocol.STATE_DID_CHANGE, M.take_slices)
  connection.on_end(function()
    for _, session in pairs(known) do
      session.stale, session.reloading = true, false
      session.slices = {}
      M.announce(session, "slices")
    end
  end)
end

---Call `listener` after every change of a session.
---@param listener fun(session: agentls.Session, what: "conversation"|"slices"|"replaced")
function M.on_change(listener)
  table.insert(listeners, listener)
end

---Call `listener` after every tool call that changed files.
---@param listener fun(changes: agentls.FileChange[])
function M.on_files(listener)
  table.insert(file_listeners, listener)
end

---@return agentls.Session|nil
function M.current()
  return current
end

---@param id string
---@return agentls.Session|nil
function M.get(id)
  return known[id]
end

---Begin a session and make it the current one.
---@param callback agentls.SessionCallback
function M.new(callback)
  local params = { model = config.get().model, mode = config.get().mode }
  connection.request(protocol.SESSION_NEW, params, function(err, result)
    if err then
      return callback(err)
    end
    callback(nil, M.adopt(result.sessionId, result.snapshot))
  end)
end

---Open a saved session and make it the current one; read-only where another process writes it.
---@param id string
---@param callback agentls.SessionCallback
function M.load(id, callback)
  connection.request(protocol.SESSION_LOAD, { sessionId = id, ifInUse = "follow" }, function(err, result)
    if err then
      return callback(err)
    end
    callback(nil, M.adopt(id, result.snapshot))
  end)
end

---Return the current session, loaded again where the server has ended since, begun where none is.
---Asked several times meanwhile, it is begun once.
---@param callback agentls.SessionCallback
function M.ensure(callback)
  if current and not current.stale then
    return callback(nil, current)
  end
  table.insert(waiting, callback)
  if #waiting > 1 then
    return
  end
  local function settle(err, session)
    if err and not err.told then
      current = nil
    end
    local callbacks = waiting
    waiting = {}
    for _, waiter in ipairs(callbacks) do
      waiter(err, session)
    end
  end
  if current and not current.conversation:is_empty() then
    return M.load(current.id, settle)
  end
  M.new(settle)
end

---Send a prompt to the current session.
---@param text string
---@param callback fun(err: agentls.Error|nil, session: agentls.Session|nil, queued: boolean|nil)
function M.prompt(text, callback)
  M.ensure(function(err, session)
    if err then
      return callback(err)
    end
    local params = { sessionId = session.id, text = text }
    connection.request(protocol.SESSION_PROMPT, params, function(refused, result)
      callback(refused, session, result and result.queued)
    end)
  end)
end

---Stop the turn that runs in the current session.
---@param callback fun(err: agentls.Error|nil, cancelled: boolean)
function M.cancel(callback)
  local activity = current and current.slices.activity
  local turn_id = activity and activity.turnId or (current and current.conversation.turn_id)
  if not turn_id or current.stale then
    return callback(nil, false)
  end
  local params = { sessionId = current.id, turnId = turn_id }
  connection.request(protocol.TURN_CANCEL, params, function(err, result)
    callback(err, result ~= nil and result.cancelled)
  end)
end

---@param callback fun(err: agentls.Error|nil, sessions: agentls.SessionSummary[]|nil)
function M.list(callback)
  connection.request(protocol.SESSION_LIST, {}, function(err, result)
    callback(err, result and result.sessions)
  end)
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
  M.ensure(function(err, session)
    if err then
      return callback(err)
    end
    connection.request(protocol.MODEL_SET, { sessionId = session.id, model = model }, callback)
  end)
end

---@param mode string
---@param callback agentls.Callback
function M.set_mode(mode, callback)
  M.ensure(function(err, session)
    if err then
      return callback(err)
    end
    connection.request(protocol.MODE_SET, { sessionId = session.id, mode = mode }, callback)
  end)
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

---@private
---@param id string
---@param snapshot agentls.Snapshot Without nulls.
---@return agentls.Session
function M.adopt(id, snapshot)
  current = M.replace(id, snapshot)
  M.announce(current, "replaced")
  M.announce(current, "slices")
  return current
end

---@private
---@param id string
---@param snapshot agentls.Snapshot
---@return agentls.Session
function M.replace(id, snapshot)
  local session = known[id] or { id = id }
  known[id] = session
  session.conversation = conversation.from_snapshot(snapshot)
  session.slices = snapshot.slices
  session.stale, session.reloading = false, false
  return session
end

---@private
---@param params table
function M.take_event(params)
  local envelope = null.strip(params)
  local session = known[envelope.sessionId]
  if not session or session.stale then
    return
  end
  if not session.conversation:apply(envelope) then
    return M.reload(session)
  end
  M.announce(session, "conversation")
  if envelope.event.changes and #envelope.event.changes > 0 then
    for _, listener in ipairs(file_listeners) do
      listener(envelope.event.changes)
    end
  end
end

---@private
---@param params table
function M.take_delta(params)
  local delta = null.strip(params)
  local session = known[delta.sessionId]
  if not session or session.stale or delta.chatId ~= "main" then
    return
  end
  if not session.conversation:apply_delta(delta) then
    return M.reload(session)
  end
  M.announce(session, "conversation")
end

---Begin again from a snapshot: this editor did not read fast enough for single events.
---@private
---@param params table
function M.take_reset(params)
  local reset = null.strip(params)
  local session = known[reset.sessionId]
  if not session or session.stale then
    return
  end
  M.replace(session.id, reset.snapshot)
  M.announce(session, "replaced")
  M.announce(session, "slices")
end

---@private
---@param params table
function M.take_slices(params)
  local session = known[params.sessionId]
  if not session or session.stale then
    return
  end
  params.sessionId, params.seq = nil, nil
  null.merge(session.slices, params)
  M.announce(session, "slices")
end

---Take the whole state again, where the events told of do not lead to it.
---@private
---@param session agentls.Session
function M.reload(session)
  if session.reloading then
    return
  end
  session.reloading = true
  connection.request(protocol.STATE_GET, { sessionId = session.id }, function(err, result)
    session.reloading = false
    if err then
      return notices.error("the session cannot be read again: " .. err.message)
    end
    M.replace(session.id, result.snapshot)
    M.announce(session, "replaced")
    M.announce(session, "slices")
  end)
end

---@private
---@param session agentls.Session
---@param what "conversation"|"slices"|"replaced"
function M.announce(session, what)
  for _, listener in ipairs(listeners) do
    listener(session, what)
  end
end

return M
