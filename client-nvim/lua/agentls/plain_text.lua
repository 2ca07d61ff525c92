---Text as lines of a buffer. Pure: knows nothing of the editor.
local M = {}

---Count Unicode code points, the unit of the wire's offsets.
---@param text string UTF-8
---@return integer
function M.code_points(text)
  local _, count = text:gsub("[^\128-\191]", "")
  return count
end

---Drop the first code points of a text.
---@param text string UTF-8
---@param count integer
---@return string
function M.drop(text, count)
  local position = 1
  for _ = 1, count do
    position = (text:find("[^\128-\191]", position + 1)) or #text + 1
  end
  return text:sub(position)
end

---@param text string
---@return string[] lines At least one, none with a line feed in it.
function M.lines(text)
  local lines = {}
  local position = 1
  while true do
    local feed = text:find("\n", position, true)
    if not feed then
      lines[#lines + 1] = text:sub(position)
      return lines
    end
    lines[#lines + 1] = text:sub(position, feed - 1)
    position = feed + 1
  end
end

---Put a text on one line, cut at a number of code points.
---@param text string
---@param limit integer
---@return string
function M.one_line(text, limit)
  local line = text:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")
  if M.code_points(line) <= limit then
    return line
  end
  local rest = M.drop(line, limit - 1)
  return line:sub(1, #line - #rest) .. "…"
end

---@param milliseconds number
---@return string
function M.duration(milliseconds)
  local seconds = milliseconds / 1000
  if seconds < 60 then
    return ("%.1f s"):format(seconds)
  end
  return ("%d min %02d s"):format(math.floor(seconds / 60), math.floor(seconds % 60))
end

---Put a text between code fences that it cannot close.
---@param lines string[]
---@param language string
---@return string[]
function M.fenced(lines, language)
  local longest = 2
  for _, line in ipairs(lines) do
    for run in line:gmatch("`+") do
      longest = math.max(longest, #run)
    end
  end
  local fence = ("`"):rep(longest + 1)
  local fenced = { fence .. language }
  for _, line in ipairs(lines) do
    fenced[#fenced + 1] = line
  end
  fenced[#fenced + 1] = fence
  return fenced
end

return M
