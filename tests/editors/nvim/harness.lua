-- Runs the cases of a file inside a headless Neovim, prints a line for each and ends the process.
local M = {}

local cases = {}
---@type string|nil
local given_up = nil

---@param name string A sentence.
---@param body fun()
function M.it(name, body)
  table.insert(cases, { name = name, body = body })
end

---@param actual any
---@param expected any
---@param what string|nil
function M.equal(actual, expected, what)
  if not vim.deep_equal(actual, expected) then
    local text = "%s\nexpected: %s\nactual:   %s"
    error(text:format(what or "not equal", vim.inspect(expected), vim.inspect(actual)), 2)
  end
end

---@param haystack string
---@param needle string
function M.contains(haystack, needle)
  if not haystack:find(needle, 1, true) then
    error(("%q is not in:\n%s"):format(needle, haystack), 2)
  end
end

---Wait until something is so; what it is stands in the failure.
---@param what string
---@param predicate fun(): any
---@return any value What the predicate returned.
function M.wait(what, predicate)
  local value
  local came = vim.wait(20000, function()
    value = predicate()
    return value
  end, 10)
  if not came then
    error("this did not come: " .. what .. (M.context and "\n" .. M.context() or ""), 2)
  end
  return value
end

---Run a file of cases. On an error in it the process ends; Neovim by itself would stay open.
---@param path string
function M.file(path)
  local passed, problem = xpcall(dofile, debug.traceback, path)
  if not passed then
    io.stdout:write(tostring(problem) .. "\n")
    vim.cmd("cquit 1")
  end
end

---Fail this case and all after it at once: without what is missing each would wait in vain.
---@param problem string
function M.give_up(problem)
  given_up = "not run: " .. vim.split(problem, "\n")[1]
  error(problem, 2)
end

function M.run()
  local failed = 0
  for _, case in ipairs(cases) do
    local passed, problem = false, given_up
    if not given_up then
      passed, problem = xpcall(case.body, debug.traceback)
    end
    if passed then
      io.stdout:write("\nok - " .. case.name .. "\n")
    else
      failed = failed + 1
      io.stdout:write("\nnot ok - " .. case.name .. "\n" .. tostring(problem) .. "\n")
    end
  end
  io.stdout:write(("\nran %d cases, %d failed\n"):format(#cases, failed))
  vim.cmd(failed == 0 and "qall!" or "cquit 1")
end

return M
