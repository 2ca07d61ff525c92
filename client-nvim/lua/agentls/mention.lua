---The words in a prompt that bring a file along. Pure: knows nothing of the editor.
local M = {}

---Return the mention of a file, or of lines of it; a folder's path ends in a slash.
---@param path string
---@param first integer|nil From 1.
---@param last integer|nil Included.
---@return string
function M.of(path, first, last)
  local name = M.needs_quotes(path) and ('"%s"'):format(path) or path
  if not first then
    return "@" .. name
  end
  return ("@%s:%d-%d"):format(name, first, last or first)
end

---Say whether something in a path could be the sentence's own.
---@param path string
---@return boolean
function M.needs_quotes(path)
  return path:find("[^%w_./~+%%%-\128-\255]") ~= nil or path:sub(-1) == "."
end

---Find the mention that is being written at the end of a text.
---@param before string The line up to the cursor.
---@return integer|nil start Where its @ stands, from 0; nil where none is being written.
---@return string|nil partial The path as far as it is written, without quotes.
function M.unfinished(before)
  local start = before:match('()@"[^"]*$') or before:match("()@[^%s@\"'`<>|,;]*$")
  if not start then
    return nil
  end
  if before:sub(1, start - 1):find("[%w_.+%%/~@\\-]$") then
    return nil
  end
  return start - 1, (before:sub(start + 1):gsub('^"', ""))
end

---Choose, of the names in a folder, those that go on with what is written.
---@param names {name: string, is_folder: boolean}[]
---@param folder string As it is written, with its slash, or empty.
---@param begun string The beginning of the name.
---@param limit integer
---@return string[] mentions Folders first.
function M.continued(names, folder, begun, limit)
  local chosen = {}
  for _, entry in ipairs(names) do
    local is_hidden = entry.name:sub(1, 1) == "." and begun:sub(1, 1) ~= "."
    local goes_on = entry.name:sub(1, #begun):lower() == begun:lower()
    if goes_on and not is_hidden and not entry.name:find('["\n]') then
      chosen[#chosen + 1] = entry
    end
  end
  table.sort(chosen, function(one, other)
    if one.is_folder ~= other.is_folder then
      return one.is_folder
    end
    return one.name < other.name
  end)
  local mentions = {}
  for index = 1, math.min(limit, #chosen) do
    local entry = chosen[index]
    mentions[index] = M.of(folder .. entry.name .. (entry.is_folder and "/" or ""))
  end
  return mentions
end

return M
