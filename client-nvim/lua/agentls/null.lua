---JSON's null: Neovim reads it as `vim.NIL`, which is true in a condition and cannot be indexed.
local M = {}

---Take the nulls out of a decoded message, in place, so that an absent field and a null read alike.
---Nulls in a list stay, since its places count.
---@generic T
---@param value T
---@return T|nil
function M.strip(value)
  if value == vim.NIL then
    return nil
  end
  if type(value) ~= "table" then
    return value
  end
  local is_list = #value > 0
  for key, item in pairs(value) do
    if type(item) == "table" then
      M.strip(item)
    elseif item == vim.NIL and not is_list then
      value[key] = nil
    end
  end
  return value
end

---Copy what changed over what is known: an absent slice stays, a null one becomes nothing.
---@param known table
---@param changed table As it came, nulls included.
---@return table known
function M.merge(known, changed)
  for name, value in pairs(changed) do
    known[name] = M.strip(value)
  end
  return known
end

return M
