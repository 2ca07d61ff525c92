---The names of the messages this client sends and takes, and the shapes of what they carry.
---
---The whole protocol is in protocol-docs/reference.md; here stands what this client reads.

---@class agentls.Envelope
---@field seq integer Counts what is kept; a passing event bears the number of the last kept one.
---@field sessionId string
---@field chatId string
---@field turnId string|nil
---@field at string
---@field event agentls.Event

---@class agentls.Event
---@field type string
---@field [string] any

---@class agentls.Delta
---@field sessionId string
---@field chatId string
---@field partId string
---@field offset integer In Unicode code points.
---@field text string

---@class agentls.ApprovalOption
---@field id string
---@field kind "allowOnce"|"allowSession"|"deny"
---@field label string
---@field mode string|nil The mode that holds after this answer, where it changes it.

---@class agentls.Approval
---@field callId string
---@field toolName string
---@field title string
---@field detail string
---@field reason string
---@field options agentls.ApprovalOption[]

---@class agentls.QuestionOption
---@field label string
---@field description string

---@class agentls.Question
---@field question string
---@field header string
---@field options agentls.QuestionOption[]
---@field multiSelect boolean

---@class agentls.Questions
---@field callId string
---@field questions agentls.Question[]

---@class agentls.QuestionAnswer
---@field selected string[]
---@field other string|nil

---@class agentls.Decision
---@field behaviour "allow"|"deny"
---@field decidedBy "user"|"rule"|"mode"|"host"
---@field reason string

---@class agentls.FileChange
---@field path string
---@field kind "created"|"modified"|"deleted"
---@field addedLines integer
---@field removedLines integer

---@class agentls.ToolCall
---@field id string
---@field name string
---@field invocation string|nil
---@field input table|nil
---@field status "streaming"|"ready"|"waiting"|"running"|"finished"
---@field approval agentls.Approval|nil
---@field decision agentls.Decision|nil
---@field questions agentls.Questions|nil
---@field answers agentls.QuestionAnswer[]|nil
---@field progress string|nil
---@field outcome "ok"|"error"|"denied"|"cancelled"|nil
---@field summary string|nil
---@field changes agentls.FileChange[]|nil

---@class agentls.Todo
---@field content string
---@field activeForm string
---@field status "pending"|"inProgress"|"completed"

---@class agentls.ErrorInfo
---@field kind string
---@field message string

---@class agentls.ContentBlock A text, a picture, a document or a file, by its `type`.
---@field type string
---@field [string] any

---@class agentls.QueuedPrompt
---@field id string
---@field content agentls.ContentBlock[]
---@field delivery "queue"|"steer"
---@field kind "prompt"|"compact"

---@class agentls.RetryWait
---@field cause string
---@field error agentls.ErrorInfo
---@field attempt integer How many tries have failed.
---@field maxAttempts integer
---@field resumesAt string
---@field parked boolean

---@class agentls.Usage
---@field costNanoUsd integer
---@field unpricedResponses integer

---@class agentls.UsageTotals
---@field total agentls.Usage

---@class agentls.ContextUse
---@field usedTokens integer|nil
---@field window integer|nil
---@field compacting string|nil Why a summary is being written.
---@field compactionFailures integer

---@class agentls.Gates
---@field fastModel string|nil

---@class agentls.ModelChoice
---@field session string|nil
---@field default string|nil
---@field fast string|nil Answers in place of both while fast mode is on.

---@class agentls.Task
---@field id string
---@field kind string
---@field description string
---@field command string|nil
---@field status "pending"|"running"|"completed"|"failed"|"killed"
---@field startedAt string|nil
---@field endedAt string|nil
---@field exitCode integer|nil
---@field reason string|nil
---@field outputPath string|nil
---@field outputBytes integer

---@class agentls.TaskOutput
---@field text string
---@field nextOffset integer
---@field size integer
---@field finished boolean

---@class agentls.Attachment
---@field path string

---@class agentls.CacheMissed
---@field cause string
---@field expectedTokens integer
---@field readTokens integer

---@class agentls.Activity
---@field status "idle"|"running"|"waiting"|"error"
---@field label string
---@field turnId string|nil
---@field error agentls.ErrorInfo|nil
---@field retry agentls.RetryWait|nil

---@class agentls.Slices The parts of a session that a view shows.
---@field model agentls.ModelChoice|nil
---@field permissions {mode: string}|nil
---@field todos agentls.Todo[]|nil
---@field activity agentls.Activity|nil
---@field approvals agentls.Approval[]|nil
---@field questions agentls.Questions[]|nil
---@field queue agentls.QueuedPrompt[]|nil
---@field tasks agentls.Task[]|nil
---@field usage agentls.UsageTotals|nil
---@field context agentls.ContextUse|nil
---@field gates agentls.Gates|nil
---@field title string|nil

---@class agentls.Snapshot
---@field seq integer
---@field state table
---@field slices agentls.Slices

---@class agentls.Notice
---@field id string
---@field level "info"|"warning"|"error"
---@field message string

---@class agentls.SessionSummary
---@field id string
---@field title string|nil
---@field lastPrompt string|nil
---@field updatedAt string
---@field messageCount integer

---@class agentls.Error What a request was refused with.
---@field code integer
---@field message string
---@field told boolean|nil The user has seen it already.

local M = {}

M.VERSION = 1

M.SESSION_NEW = "agent/session/new"
M.SESSION_LOAD = "agent/session/load"
M.SESSION_LIST = "agent/session/list"
M.SESSION_PROMPT = "agent/session/prompt"
M.SESSION_COMPACT = "agent/session/compact"
M.SESSION_CLEAR = "agent/session/clear"
M.SESSION_REDO = "agent/session/redo"
M.TURN_CANCEL = "agent/turn/cancel"
M.APPROVAL_ANSWER = "agent/approval/answer"
M.QUESTION_ANSWER = "agent/question/answer"
M.QUEUE_REMOVE = "agent/queue/remove"
M.TASK_OUTPUT = "agent/task/output"
M.TASK_STOP = "agent/task/stop"
M.MODEL_LIST = "agent/model/list"
M.MODEL_SET = "agent/model/set"
M.FAST_MODE_SET = "agent/fastMode/set"
M.MODE_SET = "agent/mode/set"
M.STATE_GET = "agent/state/get"

M.SESSION_EVENT = "agent/session/event"
M.SESSION_DELTA = "agent/session/delta"
M.SESSION_DID_RESET = "agent/session/didReset"
M.STATE_DID_CHANGE = "agent/state/didChange"
M.APP_DID_CHANGE = "agent/app/didChange"

---The events that are never kept.
M.PASSING = {
  answerStarted = true,
  partStarted = true,
  partDelta = true,
  toolCallProgressed = true,
  answerStalled = true,
  taskProgressed = true,
  gatesChanged = true,
  storageFailed = true,
  storageRecovered = true,
  accessChanged = true,
}

M.MODES = { "default", "acceptEdits", "plan", "dontAsk", "bypassPermissions" }

return M
