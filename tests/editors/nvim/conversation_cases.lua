-- The conversation as lines: events in, lines out. No editor is asked for anything.
local conversation = require("agentls.conversation")
local harness = require("harness")
local it, equal, contains = harness.it, harness.equal, harness.contains

local function snapshot(state)
  local empty = { history = {}, calls = {}, queue = {} }
  return { seq = 0, state = vim.tbl_extend("force", empty, state or {}), slices = {} }
end

-- A buffer as the editor would have it after every patch.
local function screen(of)
  local self = { lines = {}, drawn = 0, groups = {} }
  function self.refresh()
    local patch = of:take_patch()
    if not patch then
      return false
    end
    for row = #self.lines, patch.first + 1, -1 do
      self.lines[row], self.groups[row] = nil, nil
    end
    equal(#self.lines, patch.first, "a patch begins where lines are known")
    vim.list_extend(self.lines, patch.lines)
    for _, mark in ipairs(patch.marks) do
      self.groups[mark.row + 1] = mark.group
    end
    self.drawn = #patch.lines
    return true
  end
  function self.text()
    self.refresh()
    return table.concat(self.lines, "\n")
  end
  return self
end

local function begin(state)
  local talk = conversation.from_snapshot(snapshot(state))
  local seq = 0
  local function kept(event)
    seq = seq + 1
    return talk:apply({ seq = seq, chatId = "main", turnId = "t1", event = event })
  end
  local function passing(event)
    return talk:apply({ seq = seq, chatId = "main", turnId = "t1", event = event })
  end
  return talk, kept, passing
end

local function text_part(id, text)
  return { type = "text", id = id, text = text }
end

local function call_part(id, name, input)
  return { type = "toolCall", id = id, name = name, input = input or {} }
end

local function answer(id, parts)
  return { type = "answerFinished", id = id, parts = parts, stopReason = "endTurn" }
end

local function approval(call_id, fields)
  return vim.tbl_extend("force", {
    callId = call_id,
    toolName = "Edit",
    title = "Edit a.txt",
    detail = "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-A\n+B\n",
    reason = "the mode asks before edits",
    options = {},
  }, fields or {})
end

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

it("streamed text redraws only the line it ends on", function()
  local talk, kept, passing = begin()
  kept({ type = "userMessageReceived", id = "u1", content = { { text = "tell" } } })
  passing({ type = "answerStarted", messageId = "a1", model = "m" })
  passing({ type = "partStarted", messageId = "a1", part = text_part("p1", "") })
  local shown = screen(talk)
  shown.refresh()
  local offset, expected = 0, {}
  for number = 1, 500 do
    local line = "line " .. number .. " ä\n"
    talk:apply_delta({ partId = "p1", offset = offset, text = line })
    offset = offset + #line - 1
    expected[#expected + 1] = line
    shown.refresh()
    equal(shown.drawn <= 3, true, "lines drawn for one delta: " .. shown.drawn)
  end
  contains(shown.text(), table.concat(expected))
end)

it("several deltas between two drawings are all drawn", function()
  local talk, _, passing = begin()
  passing({ type = "answerStarted", messageId = "a1", model = "m" })
  passing({ type = "partStarted", messageId = "a1", part = text_part("p1", "a") })
  local shown = screen(talk)
  shown.refresh()
  talk:apply_delta({ partId = "p1", offset = 1, text = "b\nc" })
  talk:apply_delta({ partId = "p1", offset = 4, text = "d\n" })
  contains(shown.text(), "\nab\ncd\n")
end)

it("the finished answer replaces the streamed text exactly", function()
  local talk, kept, passing = begin()
  passing({ type = "answerStarted", messageId = "a1", model = "m" })
  passing({ type = "partStarted", messageId = "a1", part = text_part("p1", "") })
  talk:apply_delta({ partId = "p1", offset = 0, text = "half of" })
  local shown = screen(talk)
  contains(shown.text(), "half of")
  kept(answer("a1", { text_part("p1", "half of it\nand the rest") }))
  equal(shown.text(), "# New session\n\nhalf of it\nand the rest")
end)

it("an answer that came whole is not drawn again", function()
  local talk, kept, passing = begin()
  passing({ type = "answerStarted", messageId = "a1", model = "m" })
  passing({ type = "partStarted", messageId = "a1", part = text_part("p1", "one\ntwo\nthree") })
  local shown = screen(talk)
  shown.refresh()
  kept(answer("a1", { text_part("p1", "one\ntwo\nthree") }))
  equal(shown.refresh(), false, "something was drawn")
  equal(shown.text(), "# New session\n\none\ntwo\nthree")
end)

it("an answer begun again voids what was streamed", function()
  local talk, _, passing = begin()
  passing({ type = "answerStarted", messageId = "a1", model = "m" })
  passing({ type = "partStarted", messageId = "a1", part = text_part("p1", "lost") })
  local shown = screen(talk)
  shown.refresh()
  passing({ type = "answerStarted", messageId = "a2", model = "m" })
  passing({ type = "partStarted", messageId = "a2", part = text_part("p2", "kept") })
  equal(shown.text(), "# New session\n\nkept")
end)

it("a delta that a snapshot holds already is dropped", function()
  local live = { messageId = "a1", model = "m", parts = { text_part("p1", "naïve ") } }
  local talk = conversation.from_snapshot(snapshot({ live = live }))
  equal(talk:apply_delta({ partId = "p1", offset = 0, text = "naïve " }), true)
  equal(talk:apply_delta({ partId = "p1", offset = 2, text = "ïve text" }), true)
  contains(screen(talk).text(), "\nnaïve text")
end)

it("a delta with a gap before it asks for the whole state", function()
  local live = { messageId = "a1", model = "m", parts = { text_part("p1", "ab") } }
  local talk = conversation.from_snapshot(snapshot({ live = live }))
  equal(talk:apply_delta({ partId = "p1", offset = 5, text = "x" }), false)
end)

it("a missing event asks for the whole state and a repeated one is passed over", function()
  local talk, kept = begin()
  kept({ type = "userMessageReceived", id = "u1", content = { { text = "once" } } })
  local again = { type = "userMessageReceived", id = "u1", content = { { text = "once" } } }
  equal(talk:apply({ seq = 1, chatId = "main", event = again }), true)
  equal(talk:apply({ seq = 3, chatId = "main", event = again }), false)
  local _, count = screen(talk).text():gsub("\n> once", "")
  equal(count, 1)
end)

it("a move to another branch asks for the whole state", function()
  local _, kept = begin()
  equal(kept({ type = "headMoved", head = "u1" }), false)
end)

it("unknown events and other chats are passed over", function()
  local talk, kept = begin()
  equal(kept({ type = "somethingNew" }), true)
  local other = { type = "userMessageReceived", id = "x", content = { { text = "inner" } } }
  equal(talk:apply({ seq = 9, chatId = "sub1", event = other }), true)
  equal(screen(talk).text():find("inner"), nil)
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

it("reasoning is a hint while it comes and gone when the answer stands", function()
  local talk, kept, passing = begin()
  passing({ type = "answerStarted", messageId = "a1", model = "m" })
  passing({
    type = "partStarted",
    messageId = "a1",
    part = { type = "thinking", id = "p0", text = "" },
  })
  talk:apply_delta({ partId = "p0", offset = 0, text = "hm" })
  local shown = screen(talk)
  equal(shown.text(), "# New session\n\n· thinking")
  kept(answer("a1", { { type = "thinking", id = "p0", text = "hm" }, text_part("p1", "Yes.") }))
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
  local talk = conversation.from_snapshot(snapshot({
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

it("patches lead to the same lines as drawing all at once", function()
  math.randomseed(7)
  for _ = 1, 30 do
    local talk, kept, passing = begin()
    local shown = screen(talk)
    for number = 1, 40 do
      local id = tostring(number)
      local choice = math.random(6)
      if choice == 1 then
        kept({ type = "userMessageReceived", id = id, content = { { text = "u\n" .. id } } })
      elseif choice == 2 then
        passing({ type = "answerStarted", messageId = "live", model = "m" })
        passing({ type = "partStarted", messageId = "live", part = text_part("s" .. id, "s\n") })
      elseif choice == 3 then
        kept(answer("a" .. id, { text_part("p" .. id, id), call_part("c" .. id, "Read") }))
      elseif choice == 4 then
        local call_id = "c" .. math.random(number)
        kept({ type = "toolCallStarted", callId = call_id, invocation = "now", decision = {} })
      elseif choice == 5 then
        kept({ type = "promptQueued", itemId = id, content = { { text = id } } })
      else
        kept({ type = "titleChanged", title = id })
      end
      if math.random(3) == 1 then
        shown.refresh()
      end
    end
    local patched = shown.text()
    talk:redraw()
    shown.lines = {}
    equal(patched, shown.text())
  end
end)

harness.run()
