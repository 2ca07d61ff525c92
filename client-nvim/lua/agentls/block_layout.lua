---How the pieces of a conversation look, line by line. Pure: knows nothing of the editor.
local content_words = require("agentls.content")
local plain_text = require("agentls.plain_text")
local tool_line = require("agentls.tool_line")

---@class agentls.Patch
---@field first integer The first line that changes, from 0; all after it are replaced.
---@field lines string[]
---@field marks {row: integer, group: string}[] What to highlight, by line of the buffer.
---@field folds {first: integer, last: integer}[] What to fold, by lines of the buffer, from 0.

---@class agentls.Look
---@field lines string[]
---@field group string|nil
---@field marked integer|nil How many lines bear the group; nil: all.
---@field fold integer|nil Its first line that is folded, from 1.

---@class agentls.Footnote
---@field text string
---@field group string

local M = {}

local LIMIT = 160

---Write a block's lines into a patch and note where it stands.
---@param self agentls.Block
---@param before agentls.Block|nil
---@param row integer
---@param skip integer How many of its lines are on the screen already.
---@param patch agentls.Patch
function M.lay_out(self, before, row, skip, patch)
  local look = M.look(self)
  local lines, group = look.lines, look.group
  local lead = M.lead(self, before, #lines)
  local marked = look.marked or #lines
  self.row, self.lead, self.height = row, lead, #lines + lead
  self.after = self.height > 0 and self.kind or (before and before.after)
  for number = skip + 1, self.height do
    local line = number <= lead and "" or lines[number - lead]
    patch.lines[#patch.lines + 1] = line
    if group and number > lead and number - lead <= marked then
      patch.marks[#patch.marks + 1] = { row = row + number - 1, group = group }
    end
  end
  if look.fold and #lines > look.fold then
    local first = row + lead + look.fold - 1
    patch.folds[#patch.folds + 1] = { first = first, last = row + self.height - 1 }
  end
end

---Write what stands under the last block: what is waited for, prompts that wait, or what to do
---first.
---@param footnotes agentls.Footnote[]
---@param queue agentls.QueuedPrompt[]
---@param empty boolean
---@param row integer
---@param patch agentls.Patch
function M.footer(footnotes, queue, empty, row, patch)
  local shown = vim.list_extend({}, footnotes)
  for _, item in ipairs(queue) do
    shown[#shown + 1] = { text = M.queued(item), group = "AgentlsNote" }
  end
  if empty and #shown == 0 then
    shown[1] = { text = "Press <CR> here, or use :Agent, to begin.", group = "AgentlsNote" }
  end
  if #shown == 0 then
    return
  end
  patch.lines[#patch.lines + 1] = ""
  for offset, footnote in ipairs(shown) do
    patch.lines[#patch.lines + 1] = footnote.text
    patch.marks[#patch.marks + 1] = { row = row + offset, group = footnote.group }
  end
end

---@param item agentls.QueuedPrompt
---@return string
function M.queued(item)
  local how = item.delivery == "steer" and "↳ steers the turn: " or "⧗ queued: "
  return how .. plain_text.one_line(content_words.queued(item), LIMIT)
end

---@param self agentls.Block
---@return agentls.Look
function M.look(self)
  if self.kind == "call" then
    return tool_line.render(self.call)
  end
  if self.kind == "header" then
    local title = self.title and plain_text.one_line(self.title, 60)
    return { lines = { "# " .. (title or "New session") } }
  end
  if self.kind == "text" and #self.lines == 1 and self.lines[1] == "" then
    return { lines = {} }
  end
  return { lines = self.lines or { "· thinking" }, group = self.group, fold = self.fold }
end

---Say how many blank lines stand before a block: none between calls, else one.
---@param self agentls.Block
---@param before agentls.Block|nil
---@param height integer
---@return integer
function M.lead(self, before, height)
  if height == 0 or not before then
    return 0
  end
  if self.kind == "call" and before.after == "call" then
    return 0
  end
  return 1
end

return M
