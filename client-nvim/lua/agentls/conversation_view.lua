---Conversations in buffers: `agentls://session/<id>`.
local config = require("agentls.config")
local folds = require("agentls.folds")
local highlights = require("agentls.highlights")
local sessions = require("agentls.sessions")

local M = {}

local PREFIX = "agentls://session/"
---@type table<string, integer>
local buffers = {}
---@type table<string, boolean>
local scheduled = {}

local WINDOW_OPTIONS = {
  "wrap",
  "linebreak",
  "nonumber",
  "norelativenumber",
  "nospell",
  "nolist",
  "foldenable",
  "foldmethod=manual",
  "foldcolumn=0",
  "winhighlight=Folded:AgentlsNote",
  "foldtext=v:lua.require'agentls.folds'.text()",
  "signcolumn=no",
  "statusline=%<%{v:lua.require'agentls'.statusline()}%=\\ %P",
}

---Watch the sessions. Called once.
function M.follow()
  sessions.on_change(function(session, what)
    if what == "slices" then
      return
    end
    if what == "replaced" then
      M.buffer(session)
    end
    M.schedule(session)
  end)
  vim.api.nvim_create_autocmd("BufReadCmd", {
    group = vim.api.nvim_create_augroup("agentls_conversation", { clear = true }),
    pattern = PREFIX .. "*",
    callback = function(event)
      M.read(event.buf, event.match)
    end,
  })
end

---Show a session in a window, which keeps to the end of the conversation.
---@param session agentls.Session
---@param focus boolean Move there.
function M.open(session, focus)
  local buffer = M.buffer(session)
  M.flush(session)
  local before = vim.api.nvim_get_current_win()
  local window = vim.fn.bufwinid(buffer)
  if window == -1 then
    window = M.open_window(buffer)
  end
  M.go_to_end(window)
  vim.api.nvim_set_current_win(focus and window or before)
end

---Put a call at the top of the conversation's window, opened where there is none, and draw it at
---once: a dialog that follows may block all drawing, and cover the lower part of the screen.
---@param session agentls.Session
---@param call_id string
---@return fun() restore Goes back to the end, if the window was there.
function M.reveal(session, call_id)
  local window = M.window(session)
  local buffer = vim.api.nvim_win_get_buf(window)
  local was_at_end = vim.tbl_contains(M.windows_at_end(buffer), window)
  local row = session.conversation:row_of(call_id)
  if row then
    vim.api.nvim_win_set_cursor(window, { row + 1, 0 })
    M.scroll(window, "zt")
  end
  vim.cmd("redraw")
  return function()
    local is_here = vim.api.nvim_win_is_valid(window)
    if was_at_end and is_here and vim.api.nvim_win_get_buf(window) == buffer then
      M.go_to_end(window)
    end
  end
end

---Return a window that shows a session, opened where there is none.
---@param session agentls.Session
---@return integer
function M.window(session)
  local buffer = M.buffer(session)
  M.flush(session)
  if vim.fn.bufwinid(buffer) == -1 then
    M.open(session, false)
  end
  return vim.fn.bufwinid(buffer)
end

---Show a session in a window that has shown something in its place.
---@param session agentls.Session
---@param window integer
function M.put_back(session, window)
  vim.api.nvim_win_set_buf(window, M.buffer(session))
  M.dress(window)
  M.go_to_end(window)
end

---Return the name of a session's buffer.
---@param id string
---@return string
function M.name(id)
  return PREFIX .. id
end

---@private
---@param buffer integer
---@return integer window
function M.open_window(buffer)
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local shown = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(window))
    if vim.startswith(shown, PREFIX) or vim.startswith(shown, "agentls://plan/") then
      vim.api.nvim_win_set_buf(window, buffer)
      M.dress(window)
      return window
    end
  end
  local command = config.get().window
  if type(command) == "function" then
    command()
  else
    vim.cmd(command)
  end
  vim.api.nvim_win_set_buf(0, buffer)
  M.dress(0)
  return vim.api.nvim_get_current_win()
end

---@private
---@param window integer
function M.dress(window)
  vim.api.nvim_win_call(window, function()
    for _, option in ipairs(WINDOW_OPTIONS) do
      vim.cmd("setlocal " .. option)
    end
    local characters = vim.o.fillchars == "" and "fold: " or vim.o.fillchars .. ",fold: "
    vim.cmd("setlocal fillchars=" .. vim.fn.escape(characters, " \\|"))
    folds.renew()
  end)
end

---Return the session's buffer, made where there is none.
---@private
---@param session agentls.Session
---@return integer
function M.buffer(session)
  local buffer = buffers[session.id]
  if buffer and vim.api.nvim_buf_is_loaded(buffer) then
    return buffer
  end
  buffer = vim.fn.bufadd(M.name(session.id))
  buffers[session.id] = buffer
  vim.bo[buffer].buftype = "nofile"
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].bufhidden = "hide"
  vim.fn.bufload(buffer)
  M.set_up(buffer)
  session.conversation:redraw()
  return buffer
end

---@private
---@param buffer integer
function M.set_up(buffer)
  vim.bo[buffer].buftype = "nofile"
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].bufhidden = "hide"
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].undolevels = -1
  vim.bo[buffer].filetype = "markdown"
  if config.get().keymaps then
    require("agentls.keymaps").map(buffer)
  end
end

---Fill a buffer that was opened by its name, as `:edit agentls://session/<id>` does.
---@private
---@param buffer integer
---@param name string
function M.read(buffer, name)
  local id = name:sub(#PREFIX + 1)
  local session = sessions.get(id)
  if session and buffers[id] == buffer then
    M.set_up(buffer)
    session.conversation:redraw()
    return M.schedule(session)
  end
  buffers[id] = buffer
  M.set_up(buffer)
  M.dress(0)
  require("agentls").load(id)
end

---Draw soon; what comes meanwhile is drawn at once with it.
---@private
---@param session agentls.Session
function M.schedule(session)
  if scheduled[session.id] then
    return
  end
  scheduled[session.id] = true
  vim.schedule(function()
    scheduled[session.id] = nil
    M.flush(session)
  end)
end

---Draw what changed. Windows whose cursor is at the end stay there.
---@private
---@param session agentls.Session
function M.flush(session)
  local buffer = buffers[session.id]
  if not buffer or not vim.api.nvim_buf_is_loaded(buffer) then
    return
  end
  local patch = session.conversation:take_patch()
  if not patch then
    return
  end
  local followers = M.windows_at_end(buffer)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, patch.first, -1, false, patch.lines)
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].modified = false
  vim.api.nvim_buf_clear_namespace(buffer, highlights.NAMESPACE, patch.first, -1)
  for _, mark in ipairs(patch.marks) do
    highlights.line(buffer, mark.row, mark.group)
  end
  folds.add(buffer, patch.first, patch.folds)
  for _, window in ipairs(followers) do
    M.go_to_end(window)
  end
end

---@private
---@param window integer
function M.go_to_end(window)
  local last = vim.api.nvim_buf_line_count(vim.api.nvim_win_get_buf(window))
  vim.api.nvim_win_set_cursor(window, { last, 0 })
  M.scroll(window, "zb")
end

---@private
---@param window integer
---@param keys "zt"|"zb"
function M.scroll(window, keys)
  vim.api.nvim_win_call(window, function()
    vim.cmd("normal! " .. keys)
  end)
end

---@private
---@param buffer integer
---@return integer[]
function M.windows_at_end(buffer)
  local last = vim.api.nvim_buf_line_count(buffer)
  return vim.tbl_filter(function(window)
    return vim.api.nvim_win_get_cursor(window)[1] >= last
  end, vim.fn.win_findbuf(buffer))
end

return M
