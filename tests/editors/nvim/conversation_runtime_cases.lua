-- What long work adds to a conversation: waits, steered prompts, notices, questions, tasks, room.
local conversation = require("agentls.conversation")
local event_log = require("agentls.event_log")
local events = require("conversation_events")
local harness = require("harness")
local it, equal, contains = harness.it, harness.equal, harness.contains
local begin, screen = events.begin, events.screen
local answer, text_part, call_part = events.answer, events.text_part, events.call_part

local function said(id, text, fields)
  local message = { type = "userMessageReceived", id = id, content = { { text = text } } }
  return vim.tbl_extend("force", message, fields or {})
end

local function retry(fields)
  return vim.tbl_extend("force", {
    cause = "overloaded",
    error = { kind = "Overloaded", message = "No room." },
    attempt = 1,
    maxAttempts = 3,
    delayMs = 4000,
    resumesAt = os.date("!%Y-%m-%dT19:03:20.500Z"),
    parked = false,
  }, fields or {})
end

local function lacks(text, part)
  equal(text:find(part, 1, true), nil, text)
end

it("a wait says why, until when and which try it is, and goes away", function()
  local talk, kept, passing = begin()
  kept(said("u1", "go"))
  passing({ type = "answerStarted", messageId = "a1", model = "m" })
  passing({ type = "partStarted", messageId = "a1", part = text_part("p1", "half") })
  local shown = screen(talk)
  contains(shown.text(), "half")
  kept({ type = "retryScheduled", parent = "u1", retry = retry() })
  local text = shown.text()
  equal(
    text:match("↻ the model is overloaded; again at [%d-]* ?%d%d:03:20 %(2 of 3%)") ~= nil,
    true,
    text
  )
  contains(text, "\n  No room.")
  lacks(text, "half")
  kept({ type = "retryEnded", parent = "u1" })
  equal(shown.text(), "# go\n\n> go")
end)

it("a turn put aside says until when, with the day where it is not today", function()
  local talk, kept = begin()
  local parked = retry({ parked = true, resumesAt = "2031-02-03T12:00:00.000Z" })
  kept({ type = "retryScheduled", parent = "u1", retry = parked })
  contains(
    screen(talk).text(),
    "the turn is put aside until 2031-02-03 07:00:00 and goes on by itself"
  )
end)

it("a model that has gone silent is said to be waited for until it speaks", function()
  local talk, _, passing = begin()
  passing({ type = "answerStarted", messageId = "a1", model = "m" })
  passing({ type = "partStarted", messageId = "a1", part = text_part("p1", "so") })
  local since = "2026-11-30T12:00:00.000Z"
  passing({ type = "answerStalled", messageId = "a1", silentSince = since })
  local shown = screen(talk)
  contains(shown.text(), "so\n\n… the model has said nothing since ")
  talk:apply_delta({ partId = "p1", offset = 2, text = " on" })
  equal(shown.text(), "# New session\n\nso on")
end)

it("an answer that broke off says that the turn goes on", function()
  local talk, kept = begin()
  local cut = answer("a1", { text_part("p1", "so far") })
  cut.stopReason = "cut"
  kept(cut)
  contains(screen(talk).text(), "so far\n\n— the answer broke off on the model's side")
end)

it("words that came into a running turn bear a mark, those of another turn do not", function()
  local talk, kept = begin()
  kept(said("u1", "go"))
  kept({ type = "promptQueued", itemId = "q1", content = { { text = "tabs" } }, delivery = "steer" })
  local shown = screen(talk)
  contains(shown.text(), "↳ steers the turn: tabs")
  kept({ type = "promptDequeued", itemId = "q1", reason = "steered" })
  kept(said("u2", "tabs"))
  equal(shown.text(), "# go\n\n> go\n\n> ↳ tabs")
  local other = events.envelope(5, said("u3", "more"))
  other.turnId = "t2"
  talk:apply(other)
  contains(shown.text(), "\n\n> more")
end)

it("a notice of agentls is dimmed, folded and no title", function()
  local talk, kept = begin()
  kept(said("u1", "A task ended.\nIts output is long.", { author = "agentls" }))
  kept(said("u2", "mine"))
  local shown = screen(talk)
  equal(
    shown.text(),
    "# New session\n\n· agentls to the model: A task ended.\nIts output is long.\n\n> mine"
  )
  equal(shown.groups[3], "AgentlsNote")
  equal(shown.folds, { { first = 2, last = 3 } })
end)

it("what came with a prompt stands on a line of its own", function()
  local talk, kept = begin()
  local file =
    { type = "file", what = "range", path = "a.txt", text = "x", firstLine = 1, lastLine = 2 }
  local content = { { type = "text", text = "look" }, file }
  content[3] = { type = "image", mediaType = "image/png", name = "red.png" }
  kept({ type = "userMessageReceived", id = "u1", content = content })
  contains(screen(talk).text(), "\n> look\n> [range: a.txt:1-2] [image: red.png]")
end)

local QUESTIONS = {
  callId = "c1",
  questions = {
    {
      question = "Which database?",
      header = "Database",
      multiSelect = false,
      options = {
        { label = "SQLite", description = "small" },
        { label = "Other one", description = "" },
      },
    },
    { question = "What?", header = "Scope", multiSelect = true, options = { { label = "All" } } },
  },
}

it("questions stand in the conversation until they are answered, and then the answers", function()
  local talk, kept = begin()
  kept(answer("a1", { call_part("c1", "AskUserQuestion") }))
  kept({ type = "questionsAsked", parent = "a1", questions = QUESTIONS })
  local shown = screen(talk)
  contains(
    shown.text(),
    "◆ AskUserQuestion · Database, Scope … waiting for your answer\n"
      .. "Which database?\n- SQLite: small\n- Other one\nWhat?\n- All"
  )
  local answers = { { selected = { "SQLite" } }, { selected = {}, other = "locks" } }
  kept({ type = "questionsAnswered", parent = "a1", callId = "c1", answers = answers })
  kept({ type = "toolCallFinished", callId = "c1", outcome = "ok", summary = "Answered: SQLite" })
  contains(
    shown.text(),
    "● AskUserQuestion · Answered: SQLite … ok\n- Database: SQLite\n- Scope: locks"
  )
end)

it("a plan that was agreed to stays in a fold", function()
  local talk, kept = begin()
  kept(answer("a1", { call_part("c1", "ExitPlanMode", { plan = "# Plan\n1. sort" }) }))
  local approval = events.approval("c1", { toolName = "ExitPlanMode", detail = "# Plan\n1. sort" })
  kept({ type = "approvalRequested", parent = "a1", approval = approval })
  local shown = screen(talk)
  contains(shown.text(), "\n```markdown\n# Plan")
  kept({ type = "toolCallFinished", callId = "c1", outcome = "ok", summary = "Plan approved" })
  contains(shown.text(), "● ExitPlanMode · Plan approved … ok\nThe plan\n# Plan\n1. sort")
  equal(shown.folds, { { first = 3, last = 5 } })
end)

it("a compaction is a divider with the summary in a fold, and what was said stays", function()
  local talk, kept = begin()
  kept(said("u1", "go"))
  kept({ type = "compactionStarted", reason = "automatic" })
  local shown = screen(talk)
  contains(shown.text(), "… compacting the conversation: the model's window is nearly full")
  local complete = kept({
    type = "conversationCompacted",
    id = "s1",
    summary = "All\nwas well.",
    messageCount = 42,
    tokensBefore = 85000,
    tokensAfter = 8540,
  })
  equal(complete, true)
  equal(
    shown.text(),
    "# go\n\n> go\n\n— Compacted: 42 messages, 85k → 8.5k tokens —\n"
      .. "Summary of what came before\nAll\nwas well."
  )
  equal(shown.folds, { { first = 5, last = 7 } })
end)

it("a compaction that failed says why", function()
  local talk, kept = begin()
  kept({ type = "compactionStarted", reason = "requested" })
  kept({ type = "compactionFailed", error = { kind = "X", message = "It did not shrink." } })
  equal(screen(talk).text(), "# New session\n\n— Not compacted: It did not shrink.")
end)

it("cleared tool output is said where it ends, once", function()
  local talk, kept = begin()
  kept(said("u1", "go"))
  kept(answer("a1", { text_part("p1", "One.") }))
  kept(answer("a2", { text_part("p2", "Two.") }))
  local shown = screen(talk)
  shown.refresh()
  kept({ type = "toolOutputsCleared", parent = "a2", before = "a1", tokens = 1200 })
  local note =
    "— Tool output above is sent to the model as placeholders, about 1.2k tokens less —"
  equal(shown.text(), ("# go\n\n> go\n\n%s\n\nOne.\n\nTwo."):format(note))
  kept({ type = "toolOutputsCleared", parent = "a2", before = "a2", tokens = 1200 })
  equal(shown.text(), ("# go\n\n> go\n\nOne.\n\n%s\n\nTwo."):format(note))
end)

it("a task that ended is noted with what became of it", function()
  local talk, kept = begin()
  local task = { id = "b12345678", description = "Run the server", status = "pending" }
  kept({ type = "taskAdded", task = task })
  kept({ type = "taskStarted", taskId = "b12345678" })
  kept({
    type = "taskFinished",
    taskId = "b12345678",
    status = "failed",
    exitCode = 3,
    reason = "it said so",
  })
  contains(
    screen(talk).text(),
    "— Task b12345678, Run the server: exit code 3 after 0 s (it said so)"
  )
end)

it("fast mode is noted when it begins and when it ends", function()
  local talk, kept = begin()
  kept({ type = "fastModeChanged", model = "small" })
  kept({ type = "fastModeChanged" })
  equal(
    screen(talk).text(),
    "# New session\n\n— Fast mode: small answers from now on.\n\n— Fast mode is off."
  )
end)

it("a snapshot shows what is waited for, and what was compacted and cleared", function()
  local talk = conversation.from_snapshot(events.snapshot({
    history = {
      { type = "summary", id = "s1", text = "Before.", messageCount = 1, putBack = "" },
      { type = "user", id = "u1", turnId = "t1", content = { { text = "go" } } },
      { type = "answer", id = "a1", stopReason = "endTurn", parts = { text_part("p1", "One.") } },
      { type = "user", id = "u2", turnId = "t1", content = { { text = "tabs" } } },
    },
    turn = { id = "t1", retry = retry({ cause = "rateLimited" }) },
    compaction = { clearedBefore = "a1", running = "tooLong", failures = 0 },
    queue = { { id = "q1", content = {}, kind = "compact", delivery = "queue" } },
  }))
  local text = screen(talk).text()
  contains(
    text,
    "— Compacted: 1 message —\nSummary of what came before\nBefore.\n\n> go\n\n— Tool output"
  )
  contains(
    text,
    "placeholders —\n\nOne.\n\n> ↳ tabs\n\n… compacting the conversation: it was too"
  )
  contains(text, "↻ the model takes no more requests just now; again at ")
  contains(text, "⧗ queued: compact the conversation")
end)

it("a snapshot shows since when the model is silent", function()
  local live = { messageId = "a1", model = "m", parts = {}, stalledSince = "2026-11-30T12:00:00Z" }
  local talk = conversation.from_snapshot(events.snapshot({ live = live }))
  contains(screen(talk).text(), "the model has said nothing since")
end)

it("a missed cache is a line of the log and nothing in the conversation", function()
  local talk, kept = begin()
  local missed = { type = "cacheMissed", cause = "tools", expectedTokens = 9000, readTokens = 0 }
  kept(missed)
  contains(screen(talk).text(), "Press <CR> here")
  equal(
    event_log.line(missed, 0),
    "the prompt cache was missed: the tools have changed; 0 of 9k tokens were in it"
  )
  equal(event_log.line(said("u1", "go"), 0), nil)
end)

harness.run()
