---The files that are open here: told to the server with their unsaved text, and read again where a
---tool changed them on disk.
local config = require("agentls.config")
local connection = require("agentls.connection")
local sessions = require("agentls.sessions")

local M = {}

---Follow the server and the editor. Called once.
function M.follow()
  connection.on_start(M.attach_all)
  sessions.on_event(function(_, envelope)
    if #(envelope.event.changes or {}) > 0 then
      M.read_again(envelope.event.changes)
    end
  end)
  local group = vim.api.nvim_create_augroup("agentls_documents", { clear = true })
  vim.api.nvim_create_autocmd({ "BufReadPost", "BufNewFile", "BufFilePost", "FileType" }, {
    group = group,
    callback = function(event)
      M.attach(event.buf)
    end,
  })
end

---@private
function M.attach_all()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    M.attach(buffer)
  end
end

---@private
---@param buffer integer
function M.attach(buffer)
  local client_id = connection.client_id()
  if not client_id or not config.get().sync_documents then
    return
  end
  if not M.belongs(buffer, connection.root()) then
    return
  end
  if not vim.lsp.buf_is_attached(buffer, client_id) then
    vim.lsp.buf_attach_client(buffer, client_id)
  end
end

---Read again what a tool changed. A buffer with unsaved text is left alone; Neovim warns when it is
---written.
---@private
---@param changes agentls.FileChange[]
function M.read_again(changes)
  local changed = {}
  for _, change in ipairs(changes) do
    local is_absolute = vim.startswith(change.path, "/")
    local path = is_absolute and change.path or connection.root() .. "/" .. change.path
    changed[vim.loop.fs_realpath(path) or path] = true
  end
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buffer)
    local is_file = vim.api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].buftype == ""
    if is_file and not vim.bo[buffer].modified and changed[vim.loop.fs_realpath(name) or name] then
      vim.cmd("silent! checktime " .. buffer)
    end
  end
end

---Say whether a buffer is an ordinary file below a folder.
---@private
---@param buffer integer
---@param root string
---@return boolean
function M.belongs(buffer, root)
  if not vim.api.nvim_buf_is_loaded(buffer) or vim.bo[buffer].buftype ~= "" then
    return false
  end
  local name = vim.api.nvim_buf_get_name(buffer)
  if name == "" or name:find("^%a[%w+.-]*://") then
    return false
  end
  local prefix = root:gsub("/*$", "/")
  local path = vim.fn.fnamemodify(name, ":p")
  if path:sub(1, #prefix) == prefix then
    return true
  end
  local real = vim.loop.fs_realpath(path) or path
  local real_prefix = (vim.loop.fs_realpath(root) or root):gsub("/*$", "/")
  return real:sub(1, #real_prefix) == real_prefix
end

return M
