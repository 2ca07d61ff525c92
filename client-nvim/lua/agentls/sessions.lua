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
---@type (fun(session: agentls.Session, envelope: agentls.Envelope))[]
local event_listeners = {}
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

---Call `listener` after every event of a session.
---@param listener fun(session: agentls.Session, envelope: agentls.Envelope)
function M.on_event(listener)
  table.insert(event_listeners, listener)
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
  connection.request(
    protocol.SESSION_LOAD,
    { sessionId = id, ifInUse = "follow" },
    function(err, result)
      if err then
        return callback(err)
      end
      callback(nil, M.adopt(id, result.snapshot))
    end
  )
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

---@param callback fun(err: agentls.Error|nil, sessions: agentls.SessionSummary[]|nil)
function M.list(callback)
  connection.request(protocol.SESSION_LIST, {}, function(err, result)
    callback(err, result and result.sessions)
  end)
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
  for _, listener in ipairs(event_listeners) do
    listener(session, envelope)
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
