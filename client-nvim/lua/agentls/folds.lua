---The folds of a conversation: what is long and seldom read. They are the windows' own, so that
---`za` and its kin work on them.
local M = {}

local MIN_WIDTH = 20

---@type table<integer, {first: integer, last: integer}[]> By buffer, in lines from 0.
local folds_of = {}

---Take the folds of the lines from `first` on; what was folded there is folded no more.
---@param buffer integer
---@param first integer
---@param added {first: integer, last: integer}[]
function M.add(buffer, first, added)
  local kept = vim.tbl_filter(function(fold)
    return fold.last < first
  end, folds_of[buffer] or {})
  folds_of[buffer] = vim.list_extend(kept, added)
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    vim.api.nvim_win_call(window, function()
      M.make(added)
    end)
  end
end

---Fold anew all there is to fold in the current window.
function M.renew()
  vim.cmd("normal! zE")
  M.make(folds_of[vim.api.nvim_get_current_buf()] or {})
end

---Open or close the fold under the cursor.
function M.toggle()
  if vim.fn.foldlevel(".") > 0 then
    vim.cmd("normal! za")
  end
end

---Return what stands for a closed fold: its first line, and how many more there are.
---@return string
function M.text()
  local first = vim.fn.getline(vim.v.foldstart)
  local more = ("  [+%d: <Tab>]"):format(vim.v.foldend - vim.v.foldstart)
  local limit = math.max(MIN_WIDTH, vim.fn.winwidth(0) - #more)
  if vim.fn.strdisplaywidth(first) > limit then
    first = vim.fn.strcharpart(first, 0, limit - 1) .. "…"
  end
  return first .. more
end

---@private
---@param folds {first: integer, last: integer}[]
function M.make(folds)
  if vim.wo.foldmethod ~= "manual" then
    return
  end
  local view = vim.fn.winsaveview()
  for _, fold in ipairs(folds) do
    vim.cmd(("silent! %d,%dfold"):format(fold.first + 1, fold.last + 1))
  end
  vim.fn.winrestview(view)
end

return M
