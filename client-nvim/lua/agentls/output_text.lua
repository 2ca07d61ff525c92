---The output of a command as lines, as they stood in the end: without colours, and with progress
---that overwrote its line. Pure: knows nothing of the editor.

---@class agentls.OutputText
---@field private last string The last line, as it came.
local OutputText = {}
OutputText.__index = OutputText

local M = {}

---@return agentls.OutputText
function M.new()
  return setmetatable({ last = "" }, OutputText)
end

---Take more output.
---@param text string
---@return string[] lines What takes the place of the last line; the first piece begins with none.
function OutputText:take(text)
  local raw = vim.split(self.last .. text, "\n", { plain = true })
  self.last = raw[#raw]
  local lines = {}
  for index, line in ipairs(raw) do
    lines[index] = M.plain(line)
  end
  return lines
end

---@param line string
---@return string
function M.plain(line)
  line = line
    :gsub("\27%[[0-?]*[ -/]*[@-~]", "")
    :gsub("\27%][^\7\27]*\7", "")
    :gsub("\27%][^\7\27]*\27\\", "")
    :gsub("\27[@-Z\\^_]", "")
    :gsub("\r+$", "")
    :gsub("^.*\r", "")
    :gsub("%z", "")
  return line
end

return M
