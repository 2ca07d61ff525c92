-- What stands in a conversation: turns, calls, approvals, ends of turns, the queue.
local conversation = require("agentls.conversation")
local events = require("conversation_events")
local harness = require("harness")
local it, equal, contains = harness.it, harness.equal, harness.contains
local begin, screen = events.begin, events.screen
local answer, approval = events.answer, events.approval
local text_part, call_part = events.text_part, events.call_part

it("an empty conversation says what to do first", function()
  local talk = begin()
  local text = screen(talk).text()
  contains(text, "# New session")
  contains(text, ":Agent")
end)

it("a whole turn is shown in the order in which it happened", function()
  local talk, kept, passing = begin()
  kept({ type = "userMessageReceived", id = "u1", content = { { text = "change it\nplease" } } })
  kept({ type = "turnStarted", parent = "u1", model = "m" })
  passing({ type = "answerStarted", messageId = "a1", model = "m" })
  passing({ type = "partStarted", messageId = "a1", part = text_part("p1", "") })
  talk:apply_delta({ partId = "p1", offset = 0, text = "I will." })
  kept(
    answer("a1", { text_part("p1", "I will."), call_part("c1", "Edit", { file_path = "a.txt" }) })
  )
  kept({ type = "toolCallStarted", callId = "c1", invocation = "Editing a.txt", decision = {} })
  kept({
    type = "toolCallFinished",
    callId = "c1",
    outcome = "ok",
    summary = "Edited a.txt",
    content = {},
    changes = { { path = "a.txt", kind = "modified", addedLines = 2, removedLines = 1 } },
  })
  kept(answer("a2", { text_part("p2", "Done.") }))
  kept({ type = "turnFinished", status = "completed", durationMs = 1234 })
  equal(
    screen(talk).text(),
    table.concat({
      "# change it please",
      "",
      "> change it",
      "> please",
      "",
      "I will.",
      "",
      "● Edited a.txt … ok",
      "",
      "Done.",
      "",
      "— done in 1.2 s",
    }, "\n")
  )
end)

it("an approval shows what it is about until it is answered", function()
  local talk, kept = begin()
  kept(answer("a1", { call_part("c1", "Edit", { file_path = "a.txt" }) }))
  local shown = screen(talk)
  contains(shown.text(), "○ Edit · a.txt … ready")
  kept({ type = "approvalRequested", parent = "a1", approval = approval("c1") })
  contains(shown.text(), "◆ Edit a.txt … waiting for approval\n```diff\n--- a.txt")
  contains(shown.text(), "+B\n```\nthe mode asks before edits")
  kept({
    type = "approvalAnswered",
    callId = "c1",
    optionId = "no",
    decision = { behaviour = "deny", decidedBy = "user", reason = "not now" },
  })
  kept({
    type = "toolCallFinished",
    callId = "c1",
    outcome = "denied",
    summary = "Edit was denied",
    decision = { behaviour = "deny", decidedBy = "user", reason = "not now" },
  })
  equal(shown.text(), "# New session\n\n⊘ Edit · a.txt … denied: not now")
end)

it("a call knows the line it was drawn on", function()
  local talk, kept = begin()
  kept(
    answer("a1", { text_part("p1", "one\ntwo"), call_part("c1", "Read"), call_part("c2", "Edit") })
  )
  equal(talk:row_of("c1"), nil, "not drawn yet")
  local shown = screen(talk)
  shown.refresh()
  contains(shown.lines[talk:row_of("c1") + 1], "Read")
  contains(shown.lines[talk:row_of("c2") + 1], "Edit")
  equal(talk:row_of("other"), nil)
end)

it("what is asked about cannot close its own code fence", function()
  local talk, kept = begin()
  kept(answer("a1", { call_part("c1", "Write") }))
  local tricky = approval("c1", { detail = "```\nlooks like the end\n````" })
  kept({ type = "approvalRequested", parent = "a1", approval = tricky })
  contains(screen(talk).text(), "\n`````\n```\nlooks like the end\n````\n`````\n")
end)

it("a long detail is cut and says so", function()
  local talk, kept = begin()
  kept(answer("a1", { call_part("c1", "Write") }))
  local long = approval("c1", { detail = ("x\n"):rep(100) })
  kept({ type = "approvalRequested", parent = "a1", approval = long })
  contains(screen(talk).text(), "40 more lines are not shown")
end)

it("neighbouring calls stand without a blank line between them", function()
  local talk, kept, passing = begin()
  kept(answer("a1", { call_part("c1", "Read"), call_part("c2", "Grep") }))
  local shown = screen(talk)
  shown.refresh()
  kept({ type = "toolCallStarted", callId = "c1", invocation = "Reading a", decision = {} })
  passing({ type = "toolCallProgressed", callId = "c1", text = "10%\n20%\n" })
  equal(shown.text(), "# New session\n\n◐ Reading a … running: 20%\n○ Grep … ready")
end)

it("text that would break a line is put on one", function()
  local talk, kept = begin()
  kept(answer("a1", { call_part("c1", "Bash", { command = "echo a\necho b" }) }))
  kept({ type = "titleChanged", title = "two\nlines" })
  equal(screen(talk).text(), "# two lines\n\n○ Bash · echo a echo b … ready")
end)

it("reasoning is dimmed while it comes and in a fold when the answer stands", function()
  local talk, kept, passing = begin()
  passing({ type = "answerStarted", messageId = "a1", model = "m" })
  passing({
    type = "partStarted",
    messageId = "a1",
    part = { type = "thinking", id = "p0", text = "" },
  })
  talk:apply_delta({ partId = "p0", offset = 0, text = "hm" })
  local shown = screen(talk)
  equal(shown.text(), "# New session\n\n· thinking: hm")
  equal(shown.groups[3], "AgentlsNote")
  talk:apply_delta({ partId = "p0", offset = 2, text = "\nwell" })
  equal(shown.text(), "# New session\n\n· thinking: hm\nwell")
  equal(shown.folds, {})
  local thought = { type = "thinking", id = "p0", text = "hm\nwell" }
  kept(answer("a1", { thought, text_part("p1", "Yes.") }))
  equal(shown.text(), "# New session\n\n· thought: hm\nwell\n\nYes.")
  equal(shown.folds, { { first = 2, last = 3 } })
end)

it("reasoning that nobody may read is no more than a hint", function()
  local talk, kept, passing = begin()
  passing({ type = "answerStarted", messageId = "a1", model = "m" })
  local part = { type = "redactedThinking", id = "p0", text = "" }
  passing({ type = "partStarted", messageId = "a1", part = part })
  local shown = screen(talk)
  equal(shown.text(), "# New session\n\n· thinking")
  local kept_part = { type = "redactedThinking", id = "p0", data = "x" }
  kept(answer("a1", { kept_part, text_part("p1", "Yes.") }))
  equal(shown.text(), "# New session\n\nYes.")
end)

it("a failed turn says why", function()
  local talk, kept = begin()
  kept({
    type = "turnFinished",
    status = "failed",
    durationMs = 65000,
    error = { kind = "NoCredentials", message = "No key is known.\nSet one." },
  })
  local shown = screen(talk)
  contains(shown.text(), "— failed after 1 min 05 s\nNo key is known.\nSet one.")
  equal(shown.groups[3], "AgentlsError")
end)

it("an answer cut short says why", function()
  local talk, kept = begin()
  local cut = answer("a1", { text_part("p1", "so far") })
  cut.stopReason = "maxTokens"
  kept(cut)
  contains(screen(talk).text(), "so far\n\n— the answer was cut")
end)

it("queued prompts stand at the end and leave when their turn comes", function()
  local talk, kept = begin()
  kept({ type = "promptQueued", itemId = "q1", content = { { text = "and then this" } } })
  local shown = screen(talk)
  contains(shown.text(), "⧗ queued: and then this")
  kept({ type = "promptDequeued", itemId = "q1", reason = "started" })
  kept({ type = "userMessageReceived", id = "u1", content = { { text = "and then this" } } })
  equal(shown.text(), "# and then this\n\n> and then this")
end)

it("a snapshot is shown whole: history, calls that wait, what streams, the queue", function()
  local waiting = {
    id = "c2",
    name = "Edit",
    invocation = "Edit",
    status = "waiting",
    approval = approval("c2", { title = "Edit b.txt", detail = "" }),
  }
  local finished = {
    id = "c1",
    name = "Read",
    status = "finished",
    outcome = "error",
    summary = "b.txt is not there",
  }
  local talk = conversation.from_snapshot(events.snapshot({
    title = "Work",
    history = {
      { type = "user", id = "u1", content = { { text = "go" } } },
      {
        type = "answer",
        id = "a1",
        stopReason = "toolUse",
        parts = { text_part("p1", "Look:"), call_part("c1", "Read"), call_part("c2", "Edit") },
      },
      { type = "callResult", call = finished },
    },
    calls = { c1 = finished, c2 = waiting },
    turn = { id = "t7" },
    queue = { { id = "q1", content = { { text = "next" } } } },
  }))
  equal(talk.turn_id, "t7")
  equal(
    screen(talk).text(),
    table.concat({
      "# Work",
      "",
      "> go",
      "",
      "Look:",
      "",
      "✗ Read · b.txt is not there … error",
      "◆ Edit b.txt … waiting for approval",
      "the mode asks before edits",
      "",
      "⧗ queued: next",
    }, "\n")
  )
end)

harness.run()
