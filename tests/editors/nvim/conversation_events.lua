-- A conversation fed with events and drawn as an editor would. No editor is asked for anything.
local conversation = require("agentls.conversation")
local harness = require("harness")

local M = {}

---@param state table|nil Fields beside or in place of those of an empty session.
function M.snapshot(state)
  local empty = { history = {}, calls = {}, queue = {} }
  return { seq = 0, state = vim.tbl_extend("force", empty, state or {}), slices = {} }
end

---A buffer as the editor would have it after every patch.
function M.screen(of)
  local self = { lines = {}, drawn = 0, groups = {}, folds = {} }
  function self.refresh()
    local patch = of:take_patch()
    if not patch then
      return false
    end
    for row = #self.lines, patch.first + 1, -1 do
      self.lines[row], self.groups[row] = nil, nil
    end
    harness.equal(#self.lines, patch.first, "a patch begins where lines are known")
    vim.list_extend(self.lines, patch.lines)
    for _, mark in ipairs(patch.marks) do
      self.groups[mark.row + 1] = mark.group
    end
    self.folds = vim.tbl_filter(function(fold)
      return fold.last < patch.first
    end, self.folds)
    vim.list_extend(self.folds, patch.folds)
    self.drawn = #patch.lines
    return true
  end
  function self.text()
    self.refresh()
    return table.concat(self.lines, "\n")
  end
  return self
end

---@param state table|nil
---@return table talk
---@return fun(event: table): boolean kept Applies an event that is kept, with the next number.
---@return fun(event: table): boolean passing Applies an event that is not kept.
function M.begin(state)
  local talk = conversation.from_snapshot(M.snapshot(state))
  local seq = 0
  local function kept(event)
    seq = seq + 1
    return talk:apply(M.envelope(seq, event))
  end
  local function passing(event)
    return talk:apply(M.envelope(seq, event))
  end
  return talk, kept, passing
end

---An event of the turn t1, at noon.
function M.envelope(seq, event)
  local at = "2026-11-30T12:00:00.000Z"
  return { seq = seq, chatId = "main", turnId = "t1", at = at, event = event }
end

function M.text_part(id, text)
  return { type = "text", id = id, text = text }
end

function M.call_part(id, name, input)
  return { type = "toolCall", id = id, name = name, input = input or {} }
end

function M.answer(id, parts)
  return { type = "answerFinished", id = id, parts = parts, stopReason = "endTurn" }
end

function M.approval(call_id, fields)
  return vim.tbl_extend("force", {
    callId = call_id,
    toolName = "Edit",
    title = "Edit a.txt",
    detail = "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-A\n+B\n",
    reason = "the mode asks before edits",
    options = {},
  }, fields or {})
end

return M
