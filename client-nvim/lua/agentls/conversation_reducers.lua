---What each event does to a conversation, in the order in which a turn goes. Those that are not
---here show nothing. Pure: knows nothing of the editor.
local blocks = require("agentls.blocks")
local moments = require("agentls.moments")
local notes = require("agentls.conversation_notes")

---@alias agentls.Reduce fun(self: agentls.Conversation, event: table, of: agentls.Envelope): any

---@type table<string, agentls.Reduce> False is returned where only a fresh snapshot helps.
local REDUCERS = {}

for type, note in pairs(notes.OF_EVENT) do
  REDUCERS[type] = function(self, event)
    self:append(note(event))
  end
end

function REDUCERS.headMoved()
  return false
end

function REDUCERS.titleChanged(self, event)
  self.title = event.title
  self.blocks[1].title = event.title
  self:mark(1, 0)
end

function REDUCERS.promptQueued(self, event)
  self:enqueue({
    id = event.itemId,
    content = event.content,
    delivery = event.delivery,
    kind = event.kind,
  })
end

function REDUCERS.promptDequeued(self, event)
  self:dequeue(event.itemId)
end

function REDUCERS.userMessageReceived(self, event, envelope)
  self:replace_live({})
  self:take_message(event, envelope.turnId)
end

function REDUCERS.turnStarted(self, _, envelope)
  self.turn_id = envelope.turnId
end

function REDUCERS.turnFinished(self, event)
  self.turn_id = nil
  self:replace_live({})
  self:wait_for("retry", nil)
  self:wait_for("compacting", nil)
  self:append(blocks.turn_end(event))
end

function REDUCERS.retryScheduled(self, event)
  self:replace_live({})
  self:wait_for("retry", event.retry)
end

function REDUCERS.retryEnded(self)
  self:wait_for("retry", nil)
end

function REDUCERS.answerStarted(self, event)
  self:wait_for("retry", nil)
  if event.messageId ~= self.live_id then
    self:replace_live({})
    self.live_id = event.messageId
  end
end

function REDUCERS.answerStalled(self, event)
  if event.messageId == self.live_id then
    self:wait_for("stalled_since", event.silentSince)
  end
end

function REDUCERS.partStarted(self, event)
  if event.messageId == self.live_id then
    self:wait_for("stalled_since", nil)
    self:start_part(event.part)
  end
end

function REDUCERS.partDelta(self, event)
  return self:apply_delta(event)
end

function REDUCERS.answerFinished(self, event)
  self:wait_for("retry", nil)
  self:replace_live(blocks.of_answer(event, self.parts))
end

function REDUCERS.approvalRequested(self, event)
  local approval = event.approval
  self:update_call(approval.callId, { status = "waiting", approval = approval })
end

function REDUCERS.approvalAnswered(self, event)
  local changes = { status = "ready", decision = event.decision, input = event.editedInput }
  self:update_call(event.callId, changes, "approval")
end

function REDUCERS.questionsAsked(self, event)
  local questions = event.questions
  self:update_call(questions.callId, { status = "waiting", questions = questions })
end

function REDUCERS.questionsAnswered(self, event)
  self:update_call(event.callId, { status = "ready", answers = event.answers })
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

function REDUCERS.toolOutputsCleared(self, event)
  self:clear_before(event.before, event.tokens)
end

function REDUCERS.compactionStarted(self, event)
  self:wait_for("compacting", event.reason)
end

function REDUCERS.conversationCompacted(self, event)
  self:replace_live({})
  self:wait_for("compacting", nil)
  self:clear_before(nil, nil)
  self:append(notes.compacted(event))
end

function REDUCERS.compactionFailed(self, event)
  self:wait_for("compacting", nil)
  self:append(notes.not_compacted(event.error))
end

function REDUCERS.taskAdded(self, event)
  self.tasks[event.task.id] = event.task
end

function REDUCERS.taskStarted(self, event, envelope)
  local task = self.tasks[event.taskId]
  if task then
    task.status, task.startedAt = "running", envelope.at
  end
end

function REDUCERS.taskFinished(self, event, envelope)
  local task = self.tasks[event.taskId]
  if not task then
    return
  end
  task.status, task.exitCode, task.reason = event.status, event.exitCode, event.reason
  task.endedAt = envelope.at
  self:append(notes.task_ended(task, moments.epoch(envelope.at) or 0))
end

function REDUCERS.tasksEvicted(self, event)
  for _, task_id in ipairs(event.taskIds) do
    self.tasks[task_id] = nil
  end
end

return REDUCERS
