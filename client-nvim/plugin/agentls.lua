-- The commands. Nothing else is loaded before one of them is used.
if vim.g.loaded_agentls then
  return
end
vim.g.loaded_agentls = true

if vim.fn.has("nvim-0.7") == 0 then
  vim.notify("agentls needs Neovim 0.7 or newer", vim.log.levels.ERROR)
  return
end

---@param lead string
---@return string[]
local function complete_mode(lead)
  return vim.tbl_filter(function(mode)
    return vim.startswith(mode, lead)
  end, require("agentls.protocol").MODES)
end

local function command(name, description, action, options)
  options = vim.tbl_extend("force", { desc = description }, options or {})
  vim.api.nvim_create_user_command(name, function(arguments)
    action(require("agentls"), arguments.args)
  end, options)
end

command("Agent", "Send a prompt to the agent", function(agentls, text)
  agentls.prompt(text)
end, { nargs = "*" })
command("AgentOpen", "Show the conversation", function(agentls)
  agentls.open()
end)
command("AgentNew", "Begin a new session", function(agentls)
  agentls.new()
end)
command("AgentSessions", "Choose a saved session", function(agentls)
  agentls.sessions()
end)
command("AgentCancel", "Stop the turn that runs", function(agentls)
  agentls.cancel()
end)
command("AgentApprove", "Answer the approvals that wait", function(agentls)
  agentls.approve()
end)
command("AgentModel", "Choose the model", function(agentls, name)
  agentls.model(name)
end, { nargs = "?" })
command("AgentMode", "Choose the permission mode", function(agentls, mode)
  agentls.mode(mode)
end, { nargs = "?", complete = complete_mode })
command("AgentTodos", "Show or hide the agent's plan", function(agentls)
  agentls.toggle_todos()
end)
command("AgentStop", "End the server", function(agentls)
  agentls.stop()
end)
