---A conversation as lines: events go in, the lines that changed come out.
---
---Pure: it knows nothing of the editor. What it takes has no JSON nulls left (see null.lua).
---Only the last blocks change while an answer streams: a patch replaces the lines from there on.
local blocks = require("agentls.blocks")
local notes = require("agentls.conversation_notes")
local plain_text = require("agentls.plain_text")
local protocol = require("agentls.protocol")

---@class agentls.Conversation
---@field seq integer The number of the last event that is in it.
---@field turn_id string|nil The turn that runs.
---@field title string|nil
---@field private blocks agentls.Block[]
---@field private calls table<string, agentls.Block>
---@field private parts table<string, agentls.Block> The parts that are being streamed.
---@field private live_id string|nil The answer that is being streamed.
---@field private queue {id: string, text: string}[]
---@field private clean integer How many blocks are laid out and unchanged since.
---@field private clean_lines integer How many lines of the next block are, too.
---@field private touched boolean
local Conversation = {}
Conversation.__index = Conversation

local M = {}

---@alias agentls.Reduce fun(self: agentls.Conversation, event: table, envelope: agentls.Envelope): any

---What each event does; filled below, in the order in which a turn goes.
---@type table<string, agentls.Reduce>
local REDUCERS = {}

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
    self:enqueue(item.id, item.content)
  end
  self:take_live(state.live)
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
  local reduce = REDUCERS[event.type]
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
  local patch = { first = row + self.clean_lines, lines = {}, marks = {} }
  local skip = self.clean_lines
  for index = self.clean + 1, #self.blocks do
    local block = self.blocks[index]
    blocks.lay_out(block, self.blocks[index - 1], row, skip, patch)
    row = row + block.height
    skip = 0
  end
  self.clean, self.clean_lines = #self.blocks, 0
  blocks.footer(self.queue, #self.blocks == 1, row, patch)
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

---@private
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
---@private
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
    self:take_prompt(entry.content)
  elseif entry.type == "answer" then
    self:replace_live(blocks.of_answer(entry, self.parts))
  elseif entry.type == "callResult" then
    self:take_call(entry.call)
  else
    self:append(notes.of_entry(entry))
  end
end

---Show the user's words; the first ones name a session that has no title.
---@private
---@param content {text: string}[]
function Conversation:take_prompt(content)
  if self:is_empty() and not self.title then
    self.blocks[1].title = blocks.text_of(content)
    self:mark(1, 0)
  end
  self:append(blocks.user(content))
end

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

---@private
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
---@private
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

---@private
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

---@private
---@param id string
---@param content {text: string}[]
function Conversation:enqueue(id, content)
  table.insert(self.queue, { id = id, text = blocks.text_of(content) })
  self.touched = true
end

function REDUCERS.headMoved()
  return false
end
REDUCERS.conversationCompacted = REDUCERS.headMoved

for _, type in ipairs(notes.EVENTS) do
  REDUCERS[type] = function(self, event)
    self:append(notes.of_event(event))
  end
end

function REDUCERS.titleChanged(self, event)
  self.title = event.title
  self.blocks[1].title = event.title
  self:mark(1, 0)
end

function REDUCERS.promptQueued(self, event)
  self:enqueue(event.itemId, event.content)
end

function REDUCERS.promptDequeued(self, event)
  for index, item in ipairs(self.queue) do
    if item.id == event.itemId then
      table.remove(self.queue, index)
      break
    end
  end
  self.touched = true
end

function REDUCERS.userMessageReceived(self, event)
  self:replace_live({})
  self:take_prompt(event.content)
end

function REDUCERS.turnStarted(self, _, envelope)
  self.turn_id = envelope.turnId
end

function REDUCERS.turnFinished(self, event)
  self.turn_id = nil
  self:replace_live({})
  self:append(blocks.turn_end(event))
end

function REDUCERS.answerStarted(self, event)
  if event.messageId ~= self.live_id then
    self:replace_live({})
    self.live_id = event.messageId
  end
end

function REDUCERS.partStarted(self, event)
  if event.messageId == self.live_id then
    self:start_part(event.part)
  end
end

function REDUCERS.partDelta(self, event)
  return self:apply_delta(event)
end

function REDUCERS.answerFinished(self, event)
  self:replace_live(blocks.of_answer(event, self.parts))
end

function REDUCERS.approvalRequested(self, event)
  local approval = event.approval
  self:update_call(approval.callId, { status = "waiting", approval = approval })
end

function REDUCERS.approvalAnswered(self, event)
  self:update_call(event.callId, { status = "ready", decision = event.decision }, "approval")
end

function REDUCERS.toolCallStarted(self, event)
  local changes = { status = "running", invocation = event.invocation, decision = event.decision }
  self:update_call(event.callId, changes, "approval")
end

function REDUCERS.toolCallProgressed(self, event)
  self:update_call(event.callId, { progress = event.text })
end

function REDUCERS.toolCallFinished(self, event)
  self:update_call(event.callId, {
    status = "finished",
    outcome = event.outcome,
    summary = event.summary,
    changes = event.changes,
    decision = event.decision,
  }, "approval")
end

return M
