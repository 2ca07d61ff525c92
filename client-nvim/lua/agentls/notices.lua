---What the user is told in passing.
local M = {}

---@param text string
function M.info(text)
  vim.notify("agentls: " .. text, vim.log.levels.INFO, { title = "agentls" })
end

---@param text string
function M.warn(text)
  vim.notify("agentls: " .. text, vim.log.levels.WARN, { title = "agentls" })
end

---@param text string
function M.error(text)
  vim.notify("agentls: " .. text, vim.log.levels.ERROR, { title = "agentls" })
end

---Tell the user of a failure they have not seen.
---@param err agentls.Error|nil
---@return boolean failed
function M.failed(err)
  if err and not err.told then
    M.error(err.message)
  end
  return err ~= nil
end

---Show a notice of the server's, at its level.
---@param level "info"|"warning"|"error"
---@param text string
function M.show(level, text)
  if level == "error" then
    return M.error(text)
  end
  if level == "warning" then
    return M.warn(text)
  end
  M.info(text)
end

return M
