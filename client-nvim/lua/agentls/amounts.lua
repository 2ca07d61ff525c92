---Numbers as a person reads them. Pure: knows nothing of the editor.
local M = {}

local NANO = 1e9

---@param amount number
---@return string
local function rounded(amount)
  if amount < 9.95 then
    return (("%.1f"):format(amount):gsub("%.0$", ""))
  end
  return ("%.0f"):format(amount)
end

---Put a number of tokens in a few letters: 940, 8.5k, 85k, 1.2M.
---@param count integer
---@return string
function M.tokens(count)
  if count < 1000 then
    return ("%d"):format(count)
  end
  if count < 999500 then
    return rounded(count / 1000) .. "k"
  end
  return rounded(count / 1e6) .. "M"
end

---@param count integer
---@return string
function M.bytes(count)
  local size, unit = count, "B"
  for _, larger in ipairs({ "KB", "MB", "GB" }) do
    if size < 999.5 then
      break
    end
    size, unit = size / 1000, larger
  end
  return (unit == "B" and ("%d"):format(size) or rounded(size)) .. " " .. unit
end

---Say what was paid, and how many responses have no known price; nil where nothing was paid.
---@param usage agentls.Usage
---@return string|nil
function M.cost(usage)
  local nano = usage.costNanoUsd or 0
  if nano == 0 then
    return nil
  end
  local dollars = nano / NANO
  local text = dollars < 0.005 and "<$0.01" or ("$%.2f"):format(dollars)
  local unpriced = usage.unpricedResponses or 0
  return unpriced == 0 and text or ("%s + %d unpriced"):format(text, unpriced)
end

---Put a span of time in its two largest units: 12 s, 3 min 20 s, 2 h 5 min.
---@param seconds number
---@return string
function M.span(seconds)
  local whole = math.max(0, math.floor(seconds + 0.5))
  if whole < 60 then
    return ("%d s"):format(whole)
  end
  local minutes = math.floor(whole / 60)
  if minutes < 60 then
    return M.joined(("%d min"):format(minutes), whole % 60, "s")
  end
  return M.joined(("%d h"):format(math.floor(minutes / 60)), minutes % 60, "min")
end

---@param whole string
---@param rest integer
---@param unit string
---@return string
function M.joined(whole, rest, unit)
  return rest == 0 and whole or ("%s %d %s"):format(whole, rest, unit)
end

---Put a number before what it counts: 1 message, 2 messages.
---@param count integer
---@param what string
---@return string
function M.counted(count, what)
  return ("%d %s%s"):format(count, what, count == 1 and "" or "s")
end

return M
