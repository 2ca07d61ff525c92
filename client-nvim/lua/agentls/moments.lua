---Moments of the wire, by the clock of this machine. Pure: knows nothing of the editor.
local M = {}

---Return a moment in seconds since 1970; nil for what is no moment.
---@param timestamp string UTC, ISO 8601.
---@return number|nil
function M.epoch(timestamp)
  local year, month, day, hour, minute, second =
    timestamp:match("^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+%.?%d*)")
  if not year then
    return nil
  end
  return M.days(tonumber(year), tonumber(month), tonumber(day)) * 86400
    + hour * 3600
    + minute * 60
    + tonumber(second)
end

---Count the days from 1970-01-01 to a day of the Gregorian calendar.
---@param year integer
---@param month integer
---@param day integer
---@return integer
function M.days(year, month, day)
  if month <= 2 then
    year, month = year - 1, month + 12
  end
  local leap_days = math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400)
  return 365 * year + leap_days + math.floor((153 * (month - 3) + 2) / 5) + day - 719469
end

---Say when something was, to the minute.
---@param timestamp string UTC, ISO 8601.
---@return string
function M.local_time(timestamp)
  local epoch = M.epoch(timestamp)
  return epoch and os.date("%Y-%m-%d %H:%M", math.floor(epoch)) or timestamp
end

---Say when something is, to the second; with its date where that is not today's.
---@param timestamp string UTC, ISO 8601.
---@param now number Seconds since 1970.
---@return string
function M.clock(timestamp, now)
  local epoch = M.epoch(timestamp)
  if not epoch then
    return timestamp
  end
  local today = os.date("%Y-%m-%d", math.floor(now))
  local day = os.date("%Y-%m-%d", math.floor(epoch))
  local clock = os.date("%H:%M:%S", math.floor(epoch))
  return day == today and clock or day .. " " .. clock
end

---Return how many seconds are left until a moment; none where it is past.
---@param timestamp string UTC, ISO 8601.
---@param now number Seconds since 1970.
---@return number
function M.left(timestamp, now)
  return math.max(0, (M.epoch(timestamp) or now) - now)
end

return M
