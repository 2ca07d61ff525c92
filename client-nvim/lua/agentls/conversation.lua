---A conversation as lines: events go in, the lines that changed come out.
---
---Pure: it knows nothing of the editor. What it takes has no JSON nulls left (see null.lua).
---Only the last blocks change while an answer streams: a patch replaces the lines from there on.
local block_layout = require("agentls.block_layout")
local blocks = require("agentls.blocks")
local content_words = require("agentls.content")
local notes = require("agentls.conversation_notes")
local plain_text = require("agentls.plain_text")
local protocol = require("agentls.protocol")
local reducers = require("agentls.conversation_reducers")

---@class agentls.Conversation
---@field seq integer The number of the last event that is in it.
---@field turn_id string|nil The turn that runs.
---@field title string|nil
---@field package blocks agentls.Block[]
---@field package calls table<string, agentls.Block>
---@field package parts table<string, agentls.Block> The parts that are being streamed.
---@field package live_id string|nil The answer that is being streamed.
---@field package queue agentls.QueuedPrompt[]
---@field package tasks table<string, agentls.Task>
---@field package waits agentls.Waits
---@field package prompted_turn string|nil The turn that the user's last words belong to.
---@field package cleared agentls.Block|nil The note above which tool output is cleared.
---@field private clean integer How many blocks are laid out and unchanged since.
---@field private clean_lines integer How many lines of the next block are, too.
---@field private touched boolean

---@type agentls.Conversation
local Conversation = {}
Conversation.__index = Conversation

local M = {}

---Make the conversation that a snapshot holds.
---@param snapshot agentls.Snapshot
---@return agentls.Conversation
function M.from_snapshot(snapshot)
  local state = snapshot.state
  local self = setmetatable({
    seq = snapshot.seq,
    turn_id = state.turn and state.turn.id,
    title = state.title,
    blocks = {},
    calls = {},
    parts = {},
    live_id = nil,
    queue = {},
    tasks = {},
    waits = {},
    prompted_turn = nil,
    cleared = nil,
    clean = 0,
    clean_lines = 0,
    touched = true,
  }, Conversation)
  self:append(blocks.header(state.title))
  for _, entry in ipairs(state.history or {}) do
    self:take_entry(entry)
  end
  for _, call in pairs(state.calls or {}) do
    self:take_call(call)
  end
  for _, item in ipairs(state.queue or {}) do
    self:enqueue(item)
  end
  for _, task in ipairs(state.tasks or {}) do
    self.tasks[task.id] = task
  end
  self:take_live(state.live)
  self.waits = notes.waits(state)
  self:clear_before(state.compaction and state.compaction.clearedBefore, nil)
  if state.lastTurn and not state.turn then
    self:append(blocks.turn_end(state.lastTurn))
  end
  self:append(notes.of_snapshot(state))
  return self
end

---Take an event. Events that are in already are passed over, as are those of other chats.
---@param envelope agentls.Envelope
---@return boolean complete False where events are missing before this one, or it leads to another
---branch: then only a fresh snapshot helps.
function Conversation:apply(envelope)
  if envelope.chatId ~= "main" then
    return true
  end
  local event = envelope.event
  local passing = protocol.PASSING[event.type] or false
  if envelope.seq > self.seq + (passing and 0 or 1) then
    return false
  end
  if not passing then
    if envelope.seq <= self.seq then
      return true
    end
    self.seq = envelope.seq
  end
  local reduce = reducers[event.type]
  return not reduce or reduce(self, event, envelope) ~= false
end

---Take streamed text; what is known of it already is left out.
---@param delta {partId: string, offset: integer, text: string}
---@return boolean complete False where text is missing before this.
function Conversation:apply_delta(delta)
  local block = self.parts[delta.partId]
  if not block then
    return true
  end
  self:wait_for("stalled_since", nil)
  local known = block.length
  if delta.offset > known then
    return false
  end
  local text = plain_text.drop(delta.text, known - delta.offset)
  if text == "" then
    return true
  end
  local keep = blocks.append_text(block, text)
  self:mark(block.index, keep)
  return true
end

---Take the lines that changed since the last time; nil where none did.
---@return agentls.Patch|nil
function Conversation:take_patch()
  if not self.touched then
    return nil
  end
  self.touched = false
  local before = self.blocks[self.clean]
  local row = before and before.row + before.height or 0
  local patch = { first = row + self.clean_lines, lines = {}, marks = {}, folds = {} }
  local skip = self.clean_lines
  for index = self.clean + 1, #self.blocks do
    local block = self.blocks[index]
    block_layout.lay_out(block, self.blocks[index - 1], row, skip, patch)
    row = row + block.height
    skip = 0
  end
  self.clean, self.clean_lines = #self.blocks, 0
  local footnotes = notes.footnotes(self.waits, os.time())
  block_layout.footer(footnotes, self.queue, #self.blocks == 1, row, patch)
  return patch
end

---Let the next patch hold everything.
function Conversation:redraw()
  self.clean, self.clean_lines, self.touched = 0, 0, true
end

---Return the line of a call, from 0, as drawn last.
---@param call_id string
---@return integer|nil
function Conversation:row_of(call_id)
  local block = self.calls[call_id]
  if not block or block.index > self.clean then
    return nil
  end
  return block.row + block.lead
end

---Say whether nothing was said yet.
---@return boolean
function Conversation:is_empty()
  return #self.blocks == 1
end

---@package
---@param block agentls.Block|nil Nothing, where there is nothing to show.
function Conversation:append(block)
  if not block then
    return
  end
  block.index = #self.blocks + 1
  self.blocks[block.index] = block
  if block.call then
    self.calls[block.call.id] = block
  end
  self:mark(block.index, 0)
end

---Note that a block changed, but for its first `keep` lines.
---@package
---@param index integer
---@param keep integer
function Conversation:mark(index, keep)
  self.touched = true
  if index <= self.clean then
    self.clean, self.clean_lines = index - 1, keep
  elseif index == self.clean + 1 then
    self.clean_lines = math.min(self.clean_lines, keep)
  end
end

---@private
---@param entry table A history entry of a snapshot.
function Conversation:take_entry(entry)
  if entry.type == "user" then
    self:take_message(entry, entry.turnId)
  elseif entry.type == "answer" then
    self:replace_live(blocks.of_answer(entry, self.parts))
  elseif entry.type == "callResult" then
    self:take_call(entry.call)
  else
    self:append(notes.of_entry(entry))
  end
end

---Show the user's words, or those of agentls to the model; the user's first ones name a session
---that has no title.
---@package
---@param message {id: string, content: agentls.ContentBlock[], author: string|nil}
---@param turn_id string|nil
function Conversation:take_message(message, turn_id)
  if message.author == "agentls" then
    return self:append(blocks.told(message.content, message.id))
  end
  if self:is_empty() and not self.title then
    self.blocks[1].title = content_words.title(message.content)
    self:mark(1, 0)
  end
  local is_steered = turn_id ~= nil and self.prompted_turn == turn_id
  self.prompted_turn = turn_id
  self:append(blocks.user(message.content, is_steered, message.id))
end

---Say from where on tool output is sent in full.
---@package
---@param entry_id string|nil
---@param tokens integer|nil About how many that saves.
function Conversation:clear_before(entry_id, tokens)
  if self.cleared then
    self:remove(self.cleared)
    self.cleared = nil
  end
  for index, block in ipairs(self.blocks) do
    if entry_id and block.entry_id == entry_id then
      self.cleared = notes.cleared(tokens)
      return self:insert(index, self.cleared)
    end
  end
end

---@private
---@param index integer
---@param block agentls.Block
function Conversation:insert(index, block)
  table.insert(self.blocks, index, block)
  self:renumber(index)
end

---@private
---@param block agentls.Block
function Conversation:remove(block)
  table.remove(self.blocks, block.index)
  self:renumber(block.index)
end

---@private
---@param first integer
function Conversation:renumber(first)
  self:mark(first, 0)
  for index = first, #self.blocks do
    self.blocks[index].index = index
  end
end

---Say that something is waited for, or no more.
---@package
---@param what "retry"|"stalled_since"|"compacting"
---@param value any
function Conversation:wait_for(what, value)
  if self.waits[what] ~= value then
    self.waits[what] = value
    self.touched = true
  end
end

---@private
---Take a call's state whole; a call that no answer here wrote is shown where it comes.
---@private
---@param call agentls.ToolCall
function Conversation:take_call(call)
  local block = self.calls[call.id]
  if not block then
    return self:append(blocks.call(call))
  end
  block.call = call
  self:mark(block.index, 0)
end

---@private
---@param live {messageId: string, parts: table[]}|nil
function Conversation:take_live(live)
  if not live then
    return
  end
  self.live_id = live.messageId
  for _, part in ipairs(live.parts) do
    self:start_part(part)
  end
end

---@package
---@param part {type: string, id: string, name: string|nil, text: string}
function Conversation:start_part(part)
  if self.parts[part.id] then
    return
  end
  local block = blocks.live(part)
  self.parts[part.id] = block
  self:append(block)
end

---Put blocks where the streamed ones are, or at the end where none are. Those that show the same
---stay as they are on the screen.
---@package
---@param finished agentls.Block[]
function Conversation:replace_live(finished)
  local place, kept = #self.blocks + 1, {}
  for index, block in ipairs(self.blocks) do
    if block.live then
      place = math.min(place, index)
    elseif index >= place then
      kept[#kept + 1] = block
    end
  end
  self.parts, self.live_id = {}, nil
  self:wait_for("stalled_since", nil)
  local index = place
  for _, block in ipairs(vim.list_extend(finished, kept)) do
    local same = self.blocks[index] == block
    self.blocks[index] = block
    block.live, block.index = false, index
    if block.call then
      self.calls[block.call.id] = block
    end
    if not same or block.call then
      self:mark(index, 0)
    end
    index = index + 1
  end
  if self.blocks[index] then
    self:mark(index, 0)
  end
  for gone = #self.blocks, index, -1 do
    self.blocks[gone] = nil
  end
end

---@package
---@param call_id string
---@param changes table Fields to set.
---@param gone string|nil A field to unset.
function Conversation:update_call(call_id, changes, gone)
  local block = self.calls[call_id]
  if not block then
    return
  end
  for name, value in pairs(changes) do
    block.call[name] = value
  end
  if gone then
    block.call[gone] = nil
  end
  self:mark(block.index, 0)
end

---@package
---@param item agentls.QueuedPrompt
function Conversation:enqueue(item)
  table.insert(self.queue, item)
  self.touched = true
end

---@package
---@param item_id string
function Conversation:dequeue(item_id)
  for index, item in ipairs(self.queue) do
    if item.id == item_id then
      table.remove(self.queue, index)
      break
    end
  end
  self.touched = true
end

return M
