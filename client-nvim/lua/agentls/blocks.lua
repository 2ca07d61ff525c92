---The pieces a conversation is made of, and how each looks. Pure: knows nothing of the editor.
local plain_text = require("agentls.plain_text")
local tool_line = require("agentls.tool_line")

---@class agentls.Patch
---@field first integer The first line that changes, from 0; all after it are replaced.
---@field lines string[]
---@field marks {row: integer, group: string}[] What to highlight, by line of the buffer.

---@class agentls.Block
---@field kind "header"|"user"|"text"|"thinking"|"call"|"note"
---@field index integer Its place in the conversation.
---@field row integer Its first line, once laid out.
---@field lead integer How many blank lines stand before it, once laid out.
---@field height integer How many lines it takes, once laid out.
---@field live boolean It belongs to an answer that is being streamed.
---@field part_id string|nil
---@field length integer|nil How many code points of a streamed part are known.
---@field lines string[]|nil
---@field call agentls.ToolCall|nil
---@field title string|nil
---@field group string|nil
---@field after string|nil The kind of the last block that shows, up to this one.

local M = {}

local ENDINGS = {
  completed = { "done in %s", "AgentlsNote" },
  cancelled = { "cancelled after %s", "AgentlsWaiting" },
  failed = { "failed after %s", "AgentlsError" },
  maxTurns = { "stopped after %s: the limit of model calls is reached", "AgentlsWaiting" },
  interrupted = { "interrupted: the server ended while this turn ran", "AgentlsWaiting" },
}

---What to say of an answer that did not end as the model meant it to.
local CUT_SHORT = {
  maxTokens = "the answer was cut: it reached the limit of tokens",
  refusal = "the model declined to go on",
  interrupted = "the answer was cut: the server ended",
  contextWindow = "the answer was cut: the conversation fills the model's window",
}

---@param fields table
---@return agentls.Block
local function block(fields)
  fields.index, fields.row, fields.lead, fields.height = 0, 0, 0, 0
  fields.live = fields.live or false
  return fields
end

---@param title string|nil
---@return agentls.Block
function M.header(title)
  return block({ kind = "header", title = title })
end

---@param content {text: string}[]
---@return agentls.Block
function M.user(content)
  local lines = plain_text.lines(M.text_of(content))
  for index, line in ipairs(lines) do
    lines[index] = line == "" and ">" or "> " .. line
  end
  return block({ kind = "user", lines = lines, group = "AgentlsUser" })
end

---A line of our own between what was said.
---@param text string
---@return agentls.Block
function M.note(text)
  return block({ kind = "note", lines = plain_text.lines(text), group = "AgentlsWaiting" })
end

---@param call agentls.ToolCall
---@return agentls.Block
function M.call(call)
  return block({ kind = "call", call = call })
end

---@param result {status: string, durationMs: integer, error: agentls.ErrorInfo|nil}
---@return agentls.Block
function M.turn_end(result)
  local ending = ENDINGS[result.status] or { result.status, "AgentlsNote" }
  local words = ending[1]:gsub("%%s", plain_text.duration(result.durationMs))
  local lines = { "— " .. words }
  if result.error then
    vim.list_extend(lines, plain_text.lines(result.error.message))
  end
  return block({ kind = "note", lines = lines, group = ending[2] })
end

---Begin a part of a streamed answer.
---@param part {type: string, id: string, name: string|nil, text: string}
---@return agentls.Block
function M.live(part)
  local length = plain_text.code_points(part.text)
  if part.type == "text" then
    local lines = plain_text.lines(part.text)
    return block({ kind = "text", part_id = part.id, live = true, lines = lines, length = length })
  end
  if part.type == "toolCall" then
    local call = { id = part.id, name = part.name or "tool", status = "streaming" }
    return block({ kind = "call", part_id = part.id, live = true, call = call, length = length })
  end
  return block({ kind = "thinking", part_id = part.id, live = true, length = length })
end

---Add streamed text to a part.
---@param part agentls.Block
---@param text string
---@return integer keep How many of its lines, as laid out last, stay as they are.
function M.append_text(part, text)
  part.length = part.length + plain_text.code_points(text)
  if part.kind ~= "text" then
    return part.height
  end
  local added = plain_text.lines(text)
  local lines = part.lines
  lines[#lines] = lines[#lines] .. added[1]
  for index = 2, #added do
    lines[#lines + 1] = added[index]
  end
  return math.max(part.height - 1, 0)
end

---Make the blocks of a finished answer; a streamed text that came whole is kept as it is.
---@param answer {parts: table[], stopReason: string}
---@param streamed table<string, agentls.Block>
---@return agentls.Block[]
function M.of_answer(answer, streamed)
  local made = {}
  for _, part in ipairs(answer.parts) do
    if part.type == "text" then
      local live = streamed[part.id]
      local lines = plain_text.lines(part.text)
      local whole = live and live.lines and vim.deep_equal(live.lines, lines)
      made[#made + 1] = whole and live or block({ kind = "text", part_id = part.id, lines = lines })
    elseif part.type == "toolCall" then
      made[#made + 1] =
        M.call({ id = part.id, name = part.name, input = part.input, status = "ready" })
    end
  end
  local cut = CUT_SHORT[answer.stopReason]
  if cut then
    made[#made + 1] = block({ kind = "note", lines = { "— " .. cut }, group = "AgentlsWaiting" })
  end
  return made
end

---@param content {text: string}[]
---@return string
function M.text_of(content)
  local texts = {}
  for _, part in ipairs(content) do
    texts[#texts + 1] = part.text or ("[image: %s]"):format(part.name or part.mediaType)
  end
  return table.concat(texts, "\n")
end

---Write a block's lines into a patch and note where it stands.
---@param self agentls.Block
---@param before agentls.Block|nil
---@param row integer
---@param skip integer How many of its lines are on the screen already.
---@param patch agentls.Patch
function M.lay_out(self, before, row, skip, patch)
  local lines, group, marked = M.render(self)
  local lead = M.lead(self, before, #lines)
  self.row, self.lead, self.height = row, lead, #lines + lead
  self.after = self.height > 0 and self.kind or (before and before.after)
  for number = skip + 1, self.height do
    local line = number <= lead and "" or lines[number - lead]
    patch.lines[#patch.lines + 1] = line
    if group and number > lead and number - lead <= marked then
      patch.marks[#patch.marks + 1] = { row = row + number - 1, group = group }
    end
  end
end

---Say what stands under the last block: prompts that wait, or what to do first.
---@param queue {id: string, text: string}[]
---@param empty boolean
---@param row integer
---@param patch agentls.Patch
function M.footer(queue, empty, row, patch)
  local lines = {}
  for _, item in ipairs(queue) do
    lines[#lines + 1] = "⧗ queued: " .. plain_text.one_line(item.text, 160)
  end
  if empty and #queue == 0 then
    lines[1] = "Press <CR> here, or use :Agent, to begin."
  end
  if #lines == 0 then
    return
  end
  patch.lines[#patch.lines + 1] = ""
  for offset, line in ipairs(lines) do
    patch.lines[#patch.lines + 1] = line
    patch.marks[#patch.marks + 1] = { row = row + offset, group = "AgentlsNote" }
  end
end

---@param self agentls.Block
---@return string[] lines
---@return string|nil group
---@return integer marked How many lines bear the group.
function M.render(self)
  if self.kind == "call" then
    local lines, group = tool_line.render(self.call)
    return lines, group, 1
  end
  if self.kind == "header" then
    local title = self.title and plain_text.one_line(self.title, 60)
    return { "# " .. (title or "New session") }, nil, 0
  end
  if self.kind == "thinking" then
    return { "· thinking" }, "AgentlsNote", 1
  end
  if self.kind == "text" and #self.lines == 1 and self.lines[1] == "" then
    return {}, nil, 0
  end
  return self.lines, self.group, #self.lines
end

---Say how many blank lines stand before a block: none between calls, else one.
---@param self agentls.Block
---@param before agentls.Block|nil
---@param height integer
---@return integer
function M.lead(self, before, height)
  if height == 0 or not before then
    return 0
  end
  if self.kind == "call" and before.after == "call" then
    return 0
  end
  return 1
end

return M
