---The colours, linked to those every colour scheme has; a user's own `:highlight` wins.
local M = {}

M.NAMESPACE = vim.api.nvim_create_namespace("agentls")

local LINKS = {
  AgentlsUser = "Title",
  AgentlsPending = "Comment",
  AgentlsWaiting = "WarningMsg",
  AgentlsRunning = "Special",
  AgentlsOk = "String",
  AgentlsError = "ErrorMsg",
  AgentlsNote = "Comment",
}

function M.define()
  for name, target in pairs(LINKS) do
    vim.api.nvim_set_hl(0, name, { link = target, default = true })
  end
end

---Colour a whole line.
---@param buffer integer
---@param row integer From 0.
---@param group string
function M.line(buffer, row, group)
  local text = vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1] or ""
  vim.api.nvim_buf_set_extmark(buffer, M.NAMESPACE, row, 0, {
    end_row = row,
    end_col = #text,
    hl_group = group,
    priority = 200,
  })
end

return M
