---The pieces a conversation is made of. How they are laid out is block_layout.lua's concern.
---Pure: knows nothing of the editor.
local amounts = require("agentls.amounts")
local content_words = require("agentls.content")
local plain_text = require("agentls.plain_text")

---@class agentls.Block
---@field kind "header"|"user"|"text"|"thinking"|"call"|"note"
---@field index integer Its place in the conversation.
---@field row integer Its first line, once laid out.
---@field lead integer How many blank lines stand before it, once laid out.
---@field height integer How many lines it takes, once laid out.
---@field live boolean It belongs to an answer that is being streamed.
---@field entry_id string|nil The message that begins with it.
---@field part_id string|nil
---@field length integer|nil How many code points of a streamed part are known.
---@field lines string[]|nil
---@field call agentls.ToolCall|nil
---@field title string|nil
---@field group string|nil
---@field fold integer|nil Its first line that is folded, with all after it; from 1.
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
  cut = "the answer broke off on the model's side; what had come is kept, and the turn goes on",
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

---The user's words; what came with them stands on a line of its own.
---@param content agentls.ContentBlock[]
---@param steered boolean They came into a turn that ran already.
---@param entry_id string|nil
---@return agentls.Block
function M.user(content, steered, entry_id)
  local lines = plain_text.lines(content_words.words(content))
  if steered then
    lines[1] = "↳ " .. lines[1]
  end
  local attached = content_words.attached(content)
  if #attached > 0 then
    lines[#lines + 1] = ("[%s]"):format(table.concat(attached, "] ["))
  end
  for index, line in ipairs(lines) do
    lines[index] = line == "" and ">" or "> " .. line
  end
  return block({ kind = "user", lines = lines, group = "AgentlsUser", entry_id = entry_id })
end

---What agentls has told the model, not the user's words: a line, and the rest in a fold.
---@param content agentls.ContentBlock[]
---@param entry_id string|nil
---@return agentls.Block
function M.told(content, entry_id)
  local lines =
    plain_text.lines("· agentls to the model: " .. vim.trim(content_words.text(content)))
  local group = "AgentlsNote"
  return block({ kind = "note", lines = lines, group = group, fold = 1, entry_id = entry_id })
end

---A line of our own between what was said.
---@param text string
---@param group string|nil
---@return agentls.Block
function M.note(text, group)
  local lines = plain_text.lines(text)
  return block({ kind = "note", lines = lines, group = group or "AgentlsWaiting" })
end

---The summary that stands in the place of what came before: a divider, and the text in a fold.
---@param text string
---@param count integer How many messages it stands for.
---@param tokens {before: integer, after: integer}|nil
---@param entry_id string
---@return agentls.Block
function M.summary(text, count, tokens, entry_id)
  local room = ""
  if tokens then
    local before, after = amounts.tokens(tokens.before), amounts.tokens(tokens.after)
    room = (", %s → %s tokens"):format(before, after)
  end
  local divider = ("— Compacted: %s%s —"):format(amounts.counted(count, "message"), room)
  local lines = { divider, "Summary of what came before" }
  vim.list_extend(lines, plain_text.lines(text))
  return block({
    kind = "note",
    lines = lines,
    group = "AgentlsNote",
    fold = 2,
    entry_id = entry_id,
  })
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
  if part.type == "toolCall" then
    local call = { id = part.id, name = part.name or "tool", status = "streaming" }
    return block({ kind = "call", part_id = part.id, live = true, call = call, length = length })
  end
  if part.type == "text" then
    local lines = plain_text.lines(part.text)
    return block({ kind = "text", part_id = part.id, live = true, lines = lines, length = length })
  end
  return block({
    kind = "thinking",
    part_id = part.id,
    live = true,
    lines = part.type == "thinking" and plain_text.lines("· thinking: " .. part.text) or nil,
    length = length,
    group = "AgentlsNote",
  })
end

---Add streamed text to a part.
---@param part agentls.Block
---@param text string
---@return integer keep How many of its lines, as laid out last, stay as they are.
function M.append_text(part, text)
  part.length = part.length + plain_text.code_points(text)
  if not part.lines then
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
---@param answer {id: string, parts: table[], stopReason: string}
---@param streamed table<string, agentls.Block>
---@return agentls.Block[]
function M.of_answer(answer, streamed)
  local made = {}
  for _, part in ipairs(answer.parts) do
    made[#made + 1] = M.of_part(part, streamed[part.id])
  end
  local cut = CUT_SHORT[answer.stopReason]
  if cut then
    made[#made + 1] = M.note("— " .. cut)
  end
  if made[1] then
    made[1].entry_id = answer.id
  end
  return made
end

---@param part table
---@param live agentls.Block|nil The same part as it was streamed.
---@return agentls.Block|nil Nothing, where there is nothing to show.
function M.of_part(part, live)
  if part.type == "text" then
    local lines = plain_text.lines(part.text)
    local is_whole = live and live.lines and vim.deep_equal(live.lines, lines)
    return is_whole and live or block({ kind = "text", part_id = part.id, lines = lines })
  elseif part.type == "toolCall" then
    return M.call({ id = part.id, name = part.name, input = part.input, status = "ready" })
  elseif part.type == "thinking" and vim.trim(part.text) ~= "" then
    local lines = plain_text.lines("· thought: " .. vim.trim(part.text))
    local group = "AgentlsNote"
    return block({ kind = "thinking", part_id = part.id, lines = lines, group = group, fold = 1 })
  end
end

return M
