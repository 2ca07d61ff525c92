-- What comes piece by piece: deltas, answers begun and ended, gaps, and patches of the lines.
local conversation = require("agentls.conversation")
local events = require("conversation_events")
local harness = require("harness")
local it, equal, contains = harness.it, harness.equal, harness.contains
local begin, screen = events.begin, events.screen
local answer, text_part, call_part = events.answer, events.text_part, events.call_part

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
  local talk = conversation.from_snapshot(events.snapshot({ live = live }))
  equal(talk:apply_delta({ partId = "p1", offset = 0, text = "naïve " }), true)
  equal(talk:apply_delta({ partId = "p1", offset = 2, text = "ïve text" }), true)
  contains(screen(talk).text(), "\nnaïve text")
end)

it("a delta with a gap before it asks for the whole state", function()
  local live = { messageId = "a1", model = "m", parts = { text_part("p1", "ab") } }
  local talk = conversation.from_snapshot(events.snapshot({ live = live }))
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
