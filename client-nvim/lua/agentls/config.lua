---What the user can choose, with defaults.

---@class agentls.Config
---@field cmd string[] The server; a relative path with a slash starts at the current folder.
---@field root_dir string|(fun(): string)|nil The workspace; by default found from the current file.
---@field model string|nil What new sessions start with.
---@field mode string|nil The permission mode new sessions start with.
---@field autostart boolean Start the server at setup, not at first use.
---@field sync_documents boolean Tell the server of open files and their unsaved text.
---@field approval_popup boolean Ask as soon as an approval or a question arrives.
---@field window string|(fun()) The command that opens the conversation's window.
---@field keymaps boolean Map keys in the conversation and where prompts are written.

local M = {}

---@type agentls.Config
local DEFAULTS = {
  cmd = { "agentls", "lsp" },
  root_dir = nil,
  model = nil,
  mode = nil,
  autostart = false,
  sync_documents = true,
  approval_popup = true,
  window = "botright vsplit",
  keymaps = true,
}

local TYPES = {
  cmd = { "table" },
  root_dir = { "string", "function" },
  model = { "string" },
  mode = { "string" },
  autostart = { "boolean" },
  sync_documents = { "boolean" },
  approval_popup = { "boolean" },
  window = { "string", "function" },
  keymaps = { "boolean" },
}

---@type agentls.Config
local current = vim.deepcopy(DEFAULTS)

---Take the user's options over the defaults. Raises, naming the option, where one is not known or
---not of its type.
---@param options table|nil
---@return agentls.Config
function M.set(options)
  options = options or {}
  for name, value in pairs(options) do
    local allowed = TYPES[name]
    if not allowed then
      error(("agentls.setup: no option is called %q; see :help agentls-options"):format(name), 0)
    end
    if not vim.tbl_contains(allowed, type(value)) then
      local expected = table.concat(allowed, " or ")
      local text = "agentls.setup: %s must be a %s, not a %s"
      error(text:format(name, expected, type(value)), 0)
    end
  end
  current = vim.tbl_extend("force", vim.deepcopy(DEFAULTS), options)
  if #current.cmd == 0 then
    error('agentls.setup: cmd must name a program, for example { "agentls", "lsp" }', 0)
  end
  current.cmd = vim.deepcopy(current.cmd)
  current.cmd[1] = M.absolute_program(current.cmd[1])
  return current
end

---@return agentls.Config
function M.get()
  return current
end

---Make a program's path independent of the folder it is started in; a bare name is left to PATH.
---@param program string
---@return string
function M.absolute_program(program)
  if not program:find("/", 1, true) then
    return program
  end
  return vim.fn.fnamemodify(vim.fn.expand(program), ":p")
end

---Find the workspace: the option, else the nearest folder above the current file that holds
---`.agentls` or `.git`, else the current folder.
---@return string
function M.root_dir()
  local chosen = current.root_dir
  if type(chosen) == "function" then
    chosen = chosen()
  end
  if chosen then
    return (vim.fn.fnamemodify(vim.fn.expand(chosen), ":p"):gsub("(.)/$", "%1"))
  end
  local cwd = vim.fn.getcwd()
  local file = vim.bo.buftype == "" and vim.api.nvim_buf_get_name(0) or ""
  local start = file ~= "" and vim.fn.fnamemodify(file, ":p:h") or cwd
  return M.marked_folder(start) or M.marked_folder(cwd) or cwd
end

---@param folder string
---@return string|nil
function M.marked_folder(folder)
  while true do
    for _, marker in ipairs({ ".agentls", ".git" }) do
      if vim.loop.fs_stat(folder .. "/" .. marker) then
        return folder
      end
    end
    local above = vim.fn.fnamemodify(folder, ":h")
    if above == folder then
      return nil
    end
    folder = above
  end
end

return M
