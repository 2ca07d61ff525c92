---The pictures and PDFs that go with the next prompt.
local notices = require("agentls.notices")

local M = {}

---@type string[] Absolute paths.
local paths = {}

---Let a file go with the next prompt.
---@param path string
function M.add(path)
  local absolute = vim.fn.fnamemodify(vim.fn.expand(path), ":p")
  local stat = vim.loop.fs_stat(absolute)
  if not stat or stat.type ~= "file" then
    return notices.error(absolute .. " is not a file")
  end
  if not vim.tbl_contains(paths, absolute) then
    paths[#paths + 1] = absolute
  end
  notices.info("with the next prompt: " .. M.names())
end

---Let no file go with it.
function M.drop()
  local names = M.names()
  paths = {}
  notices.info(names == "" and "nothing was attached" or "no longer attached: " .. names)
end

---@return string names Of what is attached; empty where nothing is.
function M.names()
  local names = {}
  for _, path in ipairs(paths) do
    names[#names + 1] = vim.fn.fnamemodify(path, ":t")
  end
  return table.concat(names, ", ")
end

---Take what is attached, to send it.
---@return agentls.Attachment[]
function M.take()
  local taken = {}
  for _, path in ipairs(paths) do
    taken[#taken + 1] = { path = path }
  end
  paths = {}
  return taken
end

---Put back what could not be sent.
---@param taken agentls.Attachment[]
function M.put_back(taken)
  for _, attachment in ipairs(taken) do
    if not vim.tbl_contains(paths, attachment.path) then
      paths[#paths + 1] = attachment.path
    end
  end
end

return M
