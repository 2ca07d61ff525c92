---The output of a task in a buffer, `agentls://task/<id>`, which follows it while the task runs and
---somebody looks. It is read piece by piece, at most once a second.
local amounts = require("agentls.amounts")
local highlights = require("agentls.highlights")
local notices = require("agentls.notices")
local output_text = require("agentls.output_text")
local requests = require("agentls.requests")
local sessions = require("agentls.sessions")
local task_text = require("agentls.task_text")

local M = {}

local PREFIX = "agentls://task/"
local STEP_MILLISECONDS = 1000
local PIECE_BYTES = 64 * 1024
---Of an output that is longer than that, the end alone is read.
local MOST_BYTES = 512 * 1024
local MOST_LINES = 20000

---@class agentls.FollowedTask
---@field session_id string
---@field task agentls.Task As it was known last.
---@field buffer integer
---@field offset integer|nil Where the next piece begins; nil: nothing was read yet.
---@field text agentls.OutputText
---@field is_reading boolean
---@field is_over boolean It has ended, and all of its output was read.

---@type table<string, agentls.FollowedTask> By the task's id.
local followed = {}

---Show a task's output, from now on as it comes.
---@param session_id string
---@param task agentls.Task
function M.open(session_id, task)
  local known = followed[task.id]
  if not known or not vim.api.nvim_buf_is_loaded(known.buffer) then
    known = M.begin(session_id, task)
    followed[task.id] = known
  end
  local window = vim.fn.bufwinid(known.buffer)
  if window ~= -1 then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd("botright split")
    vim.api.nvim_win_set_buf(0, known.buffer)
    M.dress(task)
  end
  vim.cmd("normal! G")
  M.read(known)
end

---@private
---@param session_id string
---@param task agentls.Task
---@return agentls.FollowedTask
function M.begin(session_id, task)
  local buffer = vim.fn.bufadd(PREFIX .. task.id)
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].buftype = "nofile"
  vim.fn.bufload(buffer)
  vim.bo[buffer].buftype = "nofile"
  vim.bo[buffer].bufhidden = "hide"
  vim.bo[buffer].undolevels = -1
  vim.bo[buffer].modifiable = false
  local function map(key, what, action)
    local options = { buffer = buffer, nowait = true, silent = true, desc = "agentls: " .. what }
    vim.keymap.set("n", key, action, options)
  end
  map("q", "close this window", function()
    require("agentls").close()
  end)
  map("<C-c>", "stop the task", function()
    require("agentls.task_menu").stop(session_id, task.id)
  end)
  return {
    session_id = session_id,
    task = task,
    buffer = buffer,
    offset = nil,
    text = output_text.new(),
    is_reading = false,
    is_over = false,
  }
end

---@private
---@param task agentls.Task
function M.dress(task)
  vim.cmd("setlocal nonumber norelativenumber signcolumn=no nospell nolist")
  local name = ("task %s: %s · <C-c> stops it, q closes"):format(task.id, task.description)
  vim.wo.statusline = name:gsub("%s+", " "):gsub("%%", "%%%%") .. "%<%=%l/%L"
end

---Read what has come, and again in a second.
---@private
---@param self agentls.FollowedTask
function M.read(self)
  if self.is_reading or self.is_over then
    return
  end
  self.is_reading = true
  if self.offset then
    return M.read_piece(self, MOST_BYTES)
  end
  requests.read_task(self.session_id, self.task.id, 0, 1, function(err, first)
    if M.refused(self, err) then
      return
    end
    self.offset = math.max(0, first.size - MOST_BYTES)
    if self.offset > 0 then
      local text = "… %s above this are left out."
      M.write(self, text:format(amounts.bytes(self.offset)) .. "\n")
    end
    M.read_piece(self, MOST_BYTES)
  end)
end

---@private
---@param self agentls.FollowedTask
---@param left integer How many bytes may be read at once.
function M.read_piece(self, left)
  local from = self.offset
  requests.read_task(self.session_id, self.task.id, from, PIECE_BYTES, function(err, piece)
    if M.refused(self, err) then
      return
    end
    self.offset = piece.nextOffset
    if piece.text ~= "" then
      M.write(self, piece.text)
    end
    local is_all = piece.nextOffset >= piece.size
    if not is_all and piece.nextOffset > from and left > PIECE_BYTES then
      return M.read_piece(self, left - PIECE_BYTES)
    end
    self.is_reading = false
    self.is_over = is_all and piece.finished
    M.describe(self)
    M.read_later(self)
  end)
end

---@private
---@param self agentls.FollowedTask
---@param err agentls.Error|nil
---@return boolean
function M.refused(self, err)
  if not vim.api.nvim_buf_is_loaded(self.buffer) then
    followed[self.task.id] = nil
    return true
  end
  if notices.failed(err) then
    self.is_reading = false
    return true
  end
  return false
end

---@private
---@param self agentls.FollowedTask
function M.read_later(self)
  if self.is_over then
    return
  end
  vim.defer_fn(function()
    if vim.fn.bufwinid(self.buffer) ~= -1 then
      M.read(self)
    end
  end, STEP_MILLISECONDS)
end

---@private
---@param self agentls.FollowedTask
---@param text string
function M.write(self, text)
  local buffer = self.buffer
  local followers = vim.tbl_filter(function(window)
    return vim.api.nvim_win_get_cursor(window)[1] >= vim.api.nvim_buf_line_count(buffer)
  end, vim.fn.win_findbuf(buffer))
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, -2, -1, false, self.text:take(text))
  local surplus = vim.api.nvim_buf_line_count(buffer) - MOST_LINES
  if surplus > 0 then
    vim.api.nvim_buf_set_lines(buffer, 0, surplus, false, {})
  end
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].modified = false
  local last = vim.api.nvim_buf_line_count(buffer)
  for _, window in ipairs(followers) do
    vim.api.nvim_win_set_cursor(window, { last, 0 })
  end
end

---Say below the output how the task stands.
---@private
---@param self agentls.FollowedTask
function M.describe(self)
  local session = sessions.get(self.session_id)
  for _, task in ipairs(session and session.slices.tasks or {}) do
    self.task = task.id == self.task.id and task or self.task
  end
  local standing = task_text.standing(self.task, os.time())
  if self.is_over and task_text.is_open(self.task) then
    standing = "ended"
  end
  local last = vim.api.nvim_buf_line_count(self.buffer) - 1
  vim.api.nvim_buf_clear_namespace(self.buffer, highlights.NAMESPACE, 0, -1)
  vim.api.nvim_buf_set_extmark(self.buffer, highlights.NAMESPACE, last, 0, {
    virt_lines = { { { "— " .. standing, "AgentlsNote" } } },
  })
end

return M
