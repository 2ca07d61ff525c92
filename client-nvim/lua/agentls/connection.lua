---The connection to the server, over Neovim's own LSP client. Where versions of Neovim differ, they
---differ here alone.
local config = require("agentls.config")
local notices = require("agentls.notices")
local null = require("agentls.null")
local protocol = require("agentls.protocol")

---@alias agentls.Callback fun(err: agentls.Error|nil, result: any)

local M = {}

local IS_CURRENT = vim.fn.has("nvim-0.11") == 1

---@class agentls.ConnectionState
---@field phase "off"|"starting"|"ready"
---@field client table|nil Once it is ready.
---@field client_id integer|nil
---@field root string|nil
---@field stopping boolean The user asked for the end.
---@field exit_code integer|nil How the last server ended, where it ended by itself.
---@field waiting fun()[] What to do once it is ready.
---@field pending table<integer, agentls.Callback> Requests that have no answer yet.
local state = {
  phase = "off",
  client = nil,
  client_id = nil,
  root = nil,
  stopping = false,
  exit_code = nil,
  waiting = {},
  pending = {},
}

local next_request = 0
---@type table<string, fun(params: table)>
local listeners = {}
---@type fun()[]
local start_listeners = {}
---@type fun()[]
local end_listeners = {}

---Call `listener` with the params of every notification of a method; nulls are still in them.
---@param method string
---@param listener fun(params: table)
function M.on(method, listener)
  listeners[method] = listener
end

---Call `listener` whenever a server was started.
---@param listener fun()
function M.on_start(listener)
  table.insert(start_listeners, listener)
end

---Call `listener` whenever a server has ended.
---@param listener fun()
function M.on_end(listener)
  table.insert(end_listeners, listener)
end

---@return "off"|"starting"|"ready"
function M.phase()
  return state.phase
end

---Return how the last server ended by itself; nil where it runs, or was stopped.
---@return integer|nil
function M.exit_code()
  return state.exit_code
end

---@return integer|nil id For `vim.lsp`.
function M.client_id()
  return state.client_id
end

---@return string|nil
function M.root()
  return state.root
end

---Send a request, starting the server where none runs. The callback is called once, also where the
---server ends before it answers.
---@param method string
---@param params table
---@param callback agentls.Callback
function M.request(method, params, callback)
  next_request = next_request + 1
  local number = next_request
  state.pending[number] = callback
  local function settle(err, result)
    local waiting = state.pending[number]
    state.pending[number] = nil
    if waiting then
      waiting(err and { code = err.code, message = err.message }, null.strip(result))
    end
  end
  if not M.start() then
    state.pending[number] = nil
    return callback({ code = 0, message = "the server could not be started", told = true })
  end
  M.when_ready(function()
    if state.pending[number] and not M.send(method, params, settle) then
      settle({ code = 0, message = "the server has ended" })
    end
  end)
end

---@private
---@param action fun()
function M.when_ready(action)
  if state.phase == "ready" then
    return action()
  end
  table.insert(state.waiting, action)
end

---@private
---@return boolean sent
function M.send(method, params, settle)
  if next(params) == nil then
    params = vim.empty_dict()
  end
  if IS_CURRENT then
    return (state.client:request(method, params, settle, 0))
  end
  return (state.client.request(method, params, settle, 0))
end

---Start the server where none runs.
---@return boolean running False where it cannot be started; the user has been told why.
function M.start()
  if state.phase ~= "off" then
    return true
  end
  local command = config.get().cmd
  if vim.fn.executable(command[1]) == 0 then
    local text = "%s is not an executable program; name the server in setup{ cmd = … }"
    notices.error(text:format(command[1]))
    return false
  end
  state.phase, state.root, state.exit_code = "starting", config.root_dir(), nil
  local client_id = M.start_client(M.client_config(command, state.root))
  if not client_id then
    state.phase = "off"
    notices.error(("%s could not be started"):format(table.concat(command, " ")))
    return false
  end
  state.client_id = client_id
  for _, listener in ipairs(start_listeners) do
    listener()
  end
  return true
end

---End the server.
function M.stop()
  local client = state.client_id and vim.lsp.get_client_by_id(state.client_id)
  if not client then
    return
  end
  state.stopping = true
  if IS_CURRENT then
    client:stop()
  else
    client.stop()
  end
end

---@private
---@param client_config table
---@return integer|nil
function M.start_client(client_config)
  if IS_CURRENT then
    local alone = {
      attach = false,
      reuse_client = function()
        return false
      end,
    }
    return vim.lsp.start(client_config, alone)
  end
  return vim.lsp.start_client(client_config)
end

---@private
---@param command string[]
---@param root string
---@return table
function M.client_config(command, root)
  return {
    name = "agentls",
    cmd = command,
    cmd_cwd = root,
    root_dir = root,
    init_options = {
      agentls = {
        version = protocol.VERSION,
        clientName = "Neovim",
        events = true,
        deltas = true,
        state = true,
        canApprove = true,
      },
    },
    flags = { exit_timeout = 1000 },
    handlers = M.handlers(),
    on_init = vim.schedule_wrap(M.became_ready),
    on_exit = vim.schedule_wrap(M.ended),
  }
end

---@private
---@return table<string, fun(err: any, params: table)>
function M.handlers()
  local handlers = {}
  for method, listener in pairs(listeners) do
    handlers[method] = function(_, params)
      listener(params)
    end
  end
  return handlers
end

---@private
---@param client table
function M.became_ready(client)
  state.client, state.phase = client, "ready"
  local waiting = state.waiting
  state.waiting = {}
  for _, action in ipairs(waiting) do
    action()
  end
end

---@private
---@param code integer
---@param signal integer
---@param client_id integer
function M.ended(code, signal, client_id)
  if vim.v.exiting ~= vim.NIL or client_id ~= state.client_id then
    return
  end
  local asked, pending = state.stopping, state.pending
  state.phase, state.client, state.client_id = "off", nil, nil
  state.stopping, state.waiting, state.pending = false, {}, {}
  if not asked then
    state.exit_code = code
    notices.error(M.farewell(code, signal))
  end
  for _, listener in ipairs(end_listeners) do
    listener()
  end
  for _, callback in pairs(pending) do
    callback({ code = 0, message = "the server ended before it answered", told = true })
  end
end

---@private
---@param code integer
---@param signal integer
---@return string
function M.farewell(code, signal)
  local how = signal ~= 0 and ("signal %d"):format(signal) or ("exit code %d"):format(code)
  local text = "the server ended (%s). The next use starts it again and loads the session. "
    .. "What it said is in %s"
  return text:format(how, vim.lsp.get_log_path())
end

return M
