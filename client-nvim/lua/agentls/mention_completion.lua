---Completes `@path` in prompts, folder by folder, from the workspace's root; and, by their names,
---the files that are open.
local config = require("agentls.config")
local connection = require("agentls.connection")
local mention = require("agentls.mention")

local M = {}

local MOST = 100
local MOST_SCANNED = 5000

---Complete for 'completefunc'.
---@param find_start 0|1
---@param base string
---@return integer|string[]
function M.complete(find_start, base)
  if find_start == 1 then
    local before = vim.api.nvim_get_current_line():sub(1, vim.fn.col(".") - 1)
    return mention.unfinished(before) or -3
  end
  return M.candidates(base)
end

---Complete a word of a command line.
---@param lead string
---@return string[]
function M.command_line(lead)
  return vim.startswith(lead, "@") and M.candidates(lead) or {}
end

---Return the mentions that go on with one that is being written.
---@param base string With its @.
---@return string[]
function M.candidates(base)
  local _, partial = mention.unfinished(base)
  if not partial then
    return {}
  end
  local folder, begun = partial:match("^(.*/)([^/]*)$")
  folder, begun = folder or "", begun or partial
  local found = mention.continued(M.names(M.absolute(folder)), folder, begun, MOST)
  if folder == "" and begun ~= "" then
    for _, path in ipairs(M.open_files(begun)) do
      local candidate = mention.of(path)
      if not vim.tbl_contains(found, candidate) then
        found[#found + 1] = candidate
      end
    end
  end
  return found
end

---Return a file's path as a mention has it: from the root for one below it, else absolute.
---@param path string Absolute.
---@return string
function M.relative(path)
  local root = M.root():gsub("/*$", "/")
  return path:sub(1, #root) == root and path:sub(#root + 1) or path
end

---@private
---@return string
function M.root()
  return connection.root() or config.root_dir()
end

---@private
---@param folder string As it is written.
---@return string
function M.absolute(folder)
  if folder:sub(1, 1) == "/" then
    return folder
  end
  if folder:sub(1, 2) == "~/" then
    return vim.fn.expand("~") .. folder:sub(2)
  end
  return M.root() .. "/" .. folder
end

---@private
---@param folder string
---@return {name: string, is_folder: boolean}[]
function M.names(folder)
  local names = {}
  local scan = vim.loop.fs_scandir(folder)
  while scan and #names < MOST_SCANNED do
    local name, kind = vim.loop.fs_scandir_next(scan)
    if not name then
      break
    end
    if kind == "link" then
      local target = vim.loop.fs_stat(folder .. "/" .. name)
      kind = target and target.type or kind
    end
    names[#names + 1] = { name = name, is_folder = kind == "directory" }
  end
  return names
end

---@private
---@param begun string
---@return string[] paths
function M.open_files(begun)
  local paths = {}
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    local path = vim.api.nvim_buf_get_name(buffer)
    local is_file = vim.bo[buffer].buflisted and vim.bo[buffer].buftype == "" and path ~= ""
    local name = vim.fn.fnamemodify(path, ":t"):lower()
    if is_file and vim.startswith(name, begun:lower()) and vim.loop.fs_stat(path) then
      paths[#paths + 1] = M.relative(path)
    end
  end
  return paths
end

return M
