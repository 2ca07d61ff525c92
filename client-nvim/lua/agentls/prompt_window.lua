---The window in which a prompt is written: of several lines, with files completed behind an @. What
---is not sent stays there.
local attachments = require("agentls.attachments")
local config = require("agentls.config")

local M = {}

local NAME = "agentls://prompt"
local HEIGHT = 5
---@type integer|nil
local buffer = nil

---Open it, and write there; a text is put behind what is there already.
---@param text string|nil
function M.open(text)
  local window = M.window() or M.open_window()
  vim.api.nvim_set_current_win(window)
  if text and text ~= "" then
    M.append(text)
  end
  M.go_to_end()
  vim.cmd("startinsert!")
end

---Say what its status line says.
---@return string
function M.statusline()
  local names = attachments.names()
  local attached = names == "" and "" or (" · attached: " .. names)
  return ("prompt%s · <CR> sends, g<CR> steers, <Tab> completes @"):format(attached)
end

---Send what is written.
---@param steer boolean
function M.send(steer)
  local text = table.concat(vim.api.nvim_buf_get_lines(M.buffer(), 0, -1, false), "\n")
  if vim.trim(text) == "" then
    return
  end
  vim.cmd("stopinsert")
  M.close()
  vim.api.nvim_buf_set_lines(M.buffer(), 0, -1, false, {})
  require("agentls").prompt(vim.trim(text), { steer = steer })
end

---Close it; what is written stays.
function M.close()
  local window = M.window()
  if window and #vim.api.nvim_tabpage_list_wins(0) > 1 then
    vim.api.nvim_win_close(window, false)
  end
end

---@private
---@return integer|nil
function M.window()
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if buffer and vim.api.nvim_win_get_buf(window) == buffer then
      return window
    end
  end
end

---Open it under the conversation, where that is shown, else at the bottom.
---@private
---@return integer
function M.open_window()
  local session = require("agentls.sessions").current()
  local view = require("agentls.conversation_view")
  local shown = session and vim.fn.bufwinid(view.name(session.id)) or -1
  if shown ~= -1 then
    vim.api.nvim_set_current_win(shown)
    vim.cmd("belowright " .. HEIGHT .. "split")
  else
    vim.cmd("botright " .. HEIGHT .. "split")
  end
  vim.api.nvim_win_set_buf(0, M.buffer())
  vim.cmd("setlocal nonumber norelativenumber winfixheight wrap linebreak")
  vim.cmd("setlocal foldmethod=manual signcolumn=no")
  vim.cmd("setlocal statusline=%{v:lua.require'agentls.prompt_window'.statusline()}%<")
  return vim.api.nvim_get_current_win()
end

---@private
---@return integer
function M.buffer()
  if buffer and vim.api.nvim_buf_is_valid(buffer) then
    return buffer
  end
  buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, NAME)
  vim.bo[buffer].bufhidden = "hide"
  vim.bo[buffer].filetype = "markdown"
  vim.bo[buffer].completefunc = "v:lua.require'agentls.mention_completion'.complete"
  if config.get().keymaps then
    M.map(buffer)
  end
  return buffer
end

---@private
---@param of integer
function M.map(of)
  local function map(mode, key, what, action, options)
    options = vim.tbl_extend("force", options or {}, {
      buffer = of,
      silent = true,
      desc = "agentls: " .. what,
    })
    vim.keymap.set(mode, key, action, options)
  end
  map("n", "<CR>", "send the prompt", function()
    M.send(false)
  end)
  map({ "n", "i" }, "<C-s>", "send the prompt", function()
    M.send(false)
  end)
  map("n", "g<CR>", "steer the turn that runs", function()
    M.send(true)
  end)
  map("n", "q", "close the window", M.close, { nowait = true })
  map("i", "<Tab>", "complete a mention", M.tab, { expr = true })
end

---Return the keys that `<Tab>` stands for here.
---@private
---@return string
function M.tab()
  local function keys(text)
    return vim.api.nvim_replace_termcodes(text, true, true, true)
  end
  if vim.fn.pumvisible() == 1 then
    return keys("<C-n>")
  end
  local before = vim.api.nvim_get_current_line():sub(1, vim.fn.col(".") - 1)
  return require("agentls.mention").unfinished(before) and keys("<C-x><C-u>") or keys("<Tab>")
end

---@private
---@param text string
function M.append(text)
  local of = M.buffer()
  local lines = vim.api.nvim_buf_get_lines(of, 0, -1, false)
  local last = lines[#lines] or ""
  local gap = (last == "" or last:find("%s$")) and "" or " "
  local added = vim.split(last .. gap .. text, "\n", { plain = true })
  vim.api.nvim_buf_set_lines(of, #lines - 1, -1, false, added)
end

---@private
function M.go_to_end()
  local count = vim.api.nvim_buf_line_count(0)
  local last = vim.api.nvim_buf_get_lines(0, count - 1, count, false)[1] or ""
  vim.api.nvim_win_set_cursor(0, { count, #last })
end

return M
