---The keys of a conversation. Its text cannot be edited, so keys that edit are free.
local M = {}

---@type {key: string, action: string, what: string}[]
local KEYS = {
  { key = "<CR>", action = "ask", what = "write a prompt" },
  { key = "i", action = "ask", what = "write a prompt" },
  { key = "a", action = "approve", what = "answer approvals" },
  { key = "<C-c>", action = "cancel", what = "stop the turn" },
  { key = "t", action = "toggle_todos", what = "show or hide the plan" },
  { key = "T", action = "tasks", what = "tasks in the background" },
  { key = "q", action = "close", what = "close this window" },
}

---@param buffer integer
function M.map(buffer)
  for _, entry in ipairs(KEYS) do
    vim.keymap.set("n", entry.key, function()
      require("agentls")[entry.action]()
    end, { buffer = buffer, nowait = true, silent = true, desc = "agentls: " .. entry.what })
  end
  vim.keymap.set("n", "<Tab>", function()
    require("agentls.folds").toggle()
  end, { buffer = buffer, silent = true, desc = "agentls: open or close a fold" })
end

return M
