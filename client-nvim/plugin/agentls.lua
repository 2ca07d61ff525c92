-- The commands. Nothing else is loaded before one of them is used.
if vim.g.loaded_agentls then
  return
end
vim.g.loaded_agentls = true

if vim.fn.has("nvim-0.7") == 0 then
  vim.notify("agentls needs Neovim 0.7 or newer", vim.log.levels.ERROR)
  return
end

---@param words fun(): string[]
---@return fun(lead: string): string[]
local function complete(words)
  return function(lead)
    return vim.tbl_filter(function(word)
      return vim.startswith(word, lead)
    end, words())
  end
end

local complete_mode = complete(function()
  return require("agentls.protocol").MODES
end)

local complete_switch = complete(function()
  return { "off", "on" }
end)

---@param lead string
---@return string[]
local function complete_mention(lead)
  return require("agentls.mention_completion").command_line(lead)
end

local function command(name, description, action, options)
  options = vim.tbl_extend("force", { desc = description }, options or {})
  vim.api.nvim_create_user_command(name, function(arguments)
    action(require("agentls"), arguments.args, arguments)
  end, options)
end

command(
  "Agent",
  "Send a prompt to the agent; with !, steer the turn",
  function(agentls, text, given)
    agentls.prompt(text, { steer = given.bang })
  end,
  { nargs = "*", bang = true, complete = complete_mention }
)
command("AgentSteer", "Steer the turn that runs", function(agentls, text)
  agentls.steer(text)
end, { nargs = "+", complete = complete_mention })
command("AgentMention", "Mention the file, or lines of it, in a prompt", function(agentls, _, given)
  local has_range = given.range > 0
  agentls.mention(has_range and given.line1 or nil, has_range and given.line2 or nil)
end, { range = true })
command(
  "AgentAttach",
  "Attach a file to the next prompt; with !, none",
  function(agentls, path, given)
    if given.bang then
      agentls.detach()
    end
    if path ~= "" then
      agentls.attach(path)
    end
  end,
  { nargs = "?", bang = true, complete = "file" }
)
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
command("AgentApprove", "Answer the approvals and questions that wait", function(agentls)
  agentls.approve()
end)
command("AgentQueue", "List the prompts that wait, and remove them", function(agentls)
  agentls.queue()
end)
command("AgentTasks", "List the tasks in the background", function(agentls)
  agentls.tasks()
end)
command("AgentCompact", "Put a summary in the conversation's place", function(agentls, instructions)
  agentls.compact(instructions)
end, { nargs = "*" })
command("AgentClear", "Begin the conversation anew", function(agentls)
  agentls.clear()
end)
command("AgentRedo", "Take back the last clear or rewind", function(agentls)
  agentls.redo()
end)
command("AgentFast", "Turn fast mode on or off", function(agentls, switch)
  local enabled = nil
  if switch ~= "" then
    enabled = switch == "on"
  end
  agentls.fast(enabled)
end, { nargs = "?", complete = complete_switch })
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
