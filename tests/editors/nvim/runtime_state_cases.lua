-- Amounts, moments, waits, mentions, questions, tasks and output: what is apart from the editor.
local amounts = require("agentls.amounts")
local harness = require("harness")
local mention = require("agentls.mention")
local moments = require("agentls.moments")
local output_text = require("agentls.output_text")
local question_form = require("agentls.question_form")
local retry_text = require("agentls.retry_text")
local statusline = require("agentls.statusline")
local task_text = require("agentls.task_text")
local waiting_queue = require("agentls.waiting_queue")
local it, equal = harness.it, harness.equal

local NOON = moments.epoch("2026-11-30T12:00:00.000Z")

it("amounts are put in few letters", function()
  equal(amounts.tokens(940), "940")
  equal(amounts.tokens(8540), "8.5k")
  equal(amounts.tokens(85000), "85k")
  equal(amounts.tokens(999600), "1M")
  equal(amounts.bytes(312), "312 B")
  equal(amounts.bytes(4200), "4.2 KB")
  equal(amounts.bytes(18000000), "18 MB")
  equal(amounts.span(12.4), "12 s")
  equal(amounts.span(200), "3 min 20 s")
  equal(amounts.span(7500), "2 h 5 min")
  equal(amounts.cost({ costNanoUsd = 120000000 }), "$0.12")
  equal(amounts.cost({ costNanoUsd = 10 }), "<$0.01")
  equal(amounts.cost({ costNanoUsd = 2e9, unpricedResponses = 2 }), "$2.00 + 2 unpriced")
  equal(amounts.cost({ costNanoUsd = 0, unpricedResponses = 2 }), nil)
end)

it("a moment is read as it is meant, whatever the clock of this machine", function()
  equal(moments.epoch("1970-01-01T00:00:00Z"), 0)
  equal(moments.epoch("2026-11-30T14:56:35.500Z"), 1796050595.5)
  equal(moments.epoch("2024-02-29T00:00:00Z"), 1709164800)
  equal(moments.epoch("soon"), nil)
  equal(moments.clock("2026-11-30T19:03:20.000Z", NOON), "14:03:20")
  equal(moments.clock("2026-12-01T19:03:20.000Z", NOON), "2026-12-01 14:03:20")
  equal(moments.left("2026-11-30T12:00:08.000Z", NOON), 8)
  equal(moments.left("2026-11-30T11:00:00.000Z", NOON), 0)
end)

local function slices(fields)
  return vim.tbl_extend("force", {
    model = { session = "big", default = "other" },
    permissions = { mode = "default" },
    activity = { status = "idle", label = "Idle" },
  }, fields or {})
end

local function status(fields, now)
  return statusline.text("ready", nil, slices(fields), now or NOON)
end

it("the status line counts down to the next try", function()
  local retry = { cause = "overloaded", resumesAt = "2026-11-30T12:00:08.000Z", parked = false }
  local activity = { status = "running", label = "Waiting: the model is overloaded", retry = retry }
  equal(status({ activity = activity }), "agent: big · default · Overloaded: again in 8 s")
  equal(
    status({ activity = activity }, NOON + 9),
    "agent: big · default · Overloaded: trying again"
  )
  retry.parked = true
  equal(retry_text.countdown(retry, NOON), "Overloaded: put aside until 07:00:08")
end)

it("the status line tells tasks, the window's use, the cost and fast mode", function()
  local text = status({
    model = { session = "big", fast = "small" },
    tasks = { { status = "running" }, { status = "completed" }, { status = "pending" } },
    context = { usedTokens = 21000, window = 50000 },
    usage = { total = { costNanoUsd = 1234567890 } },
  })
  equal(text, "agent: » small · default · Idle · 2 tasks · 42% · $1.23")
  equal(
    status({ context = { window = 50000 }, usage = { total = {} } }),
    "agent: big · default · Idle"
  )
end)

it("a long name of a model loses its middle", function()
  local model = { session = "scripted:/a/long/way/to/the/scenario.json" }
  equal(status({ model = model }), "agent: scripted:/a/…cenario.json · default · Idle")
  equal(status({ model = { session = "claude-sonnet-5-5-2026010" } }):find("…"), nil)
end)

it("the status line says that a question waits", function()
  equal(status({ questions = { {} } }), "agent: big · default · Waiting for an answer")
end)

it("a mention is quoted where its name could be the sentence's own", function()
  equal(mention.of("src/main.py"), "@src/main.py")
  equal(mention.of("src/main.py", 3, 9), "@src/main.py:3-9")
  equal(mention.of("my file.py", 3), '@"my file.py":3-3')
  equal(mention.of("naïve.py"), "@naïve.py")
  equal(mention.of("what?"), '@"what?"')
end)

it("a mention that is being written is found at the end of a line", function()
  equal({ mention.unfinished("look at @src/ma") }, { 8, "src/ma" })
  equal({ mention.unfinished("@") }, { 0, "" })
  equal({ mention.unfinished('see @"my fi') }, { 4, "my fi" })
  equal({ mention.unfinished("(@a") }, { 1, "a" })
  equal(mention.unfinished("me@example"), nil)
  equal(mention.unfinished("@done and"), nil)
end)

it(
  "names that go on with what is written are offered, folders first, hidden ones when asked",
  function()
    local names = {
      { name = "main.py", is_folder = false },
      { name = "make it", is_folder = true },
      { name = ".mailmap", is_folder = false },
      { name = "other", is_folder = false },
    }
    equal(mention.continued(names, "src/", "Ma", 10), { '@"src/make it/"', "@src/main.py" })
    equal(mention.continued(names, "", ".", 10), { "@.mailmap" })
    equal(#mention.continued(names, "", "", 2), 2)
  end
)

local function kinds(form)
  local found = {}
  for _, item in ipairs(form:items()) do
    found[#found + 1] = item.kind
  end
  return table.concat(found, " ")
end

local function choose(form, label)
  for _, item in ipairs(form:items()) do
    if item.label:find(label, 1, true) then
      return form:choose(item)
    end
  end
  error("nothing is called " .. label)
end

local function form_of()
  local options =
    { { label = "SQLite", description = "small" }, { label = "Big", description = "" } }
  return question_form.new({
    { question = "Which\none?", header = "Database", options = options, multiSelect = false },
    {
      question = "What?",
      header = "Scope",
      options = { { label = "Read" }, { label = "Write" } },
      multiSelect = true,
    },
  })
end

it("questions are answered one after the other, several options by repeated choice", function()
  local form = form_of()
  equal(form:prompt(), "Database (1 of 2): Which one?")
  equal(kinds(form), "option option other decline")
  equal(form:items()[1].label, "SQLite: small")
  choose(form, "SQLite")
  equal(form:prompt(), "Scope (2 of 2): What?")
  equal(kinds(form), "option option other back decline")
  choose(form, "Write")
  choose(form, "Read")
  equal(form:items()[1].label, "[x] Read")
  choose(form, "Write")
  form:say(" locks ")
  equal(kinds(form), "option option other done back decline")
  choose(form, "Done")
  equal(form:question(), nil)
  equal(form:result(), { { selected = { "SQLite" } }, { selected = { "Read" }, other = "locks" } })
end)

it("an answer in the user's own words takes the place of a single choice", function()
  local form = form_of()
  choose(form, "Big")
  choose(form, "Back")
  form:say("Neither")
  equal(form:result()[1], { selected = {}, other = "Neither" })
  choose(form, "Back")
  equal(form:items()[3].label, "Other: Neither")
  form:say("")
  equal(form:prompt(), "Database (1 of 2): Which one?")
  equal(form:result()[1], { selected = {} })
end)

it("approvals and questions wait in one queue, and those settled elsewhere are named", function()
  local queue = waiting_queue.new()
  equal(queue:update("s", { { callId = "a", title = "Edit\nit" } }, { { callId = "q" } }), {})
  equal(queue:count(), 2)
  local first = queue:next()
  equal(waiting_queue.title(first), "Edit it")
  first.asked = true
  local second = queue:next()
  equal(second.questions, { callId = "q" })
  equal(queue:update("s", { { callId = "a", title = "Edit it" } }, {}), { second })
  equal(queue:holds(first), true)
  equal(queue:next(), nil)
end)

it("a task is put in words by what became of it", function()
  local task = { id = "b1", description = "Run\nit", status = "running", outputBytes = 4200 }
  task.startedAt = "2026-11-30T11:59:48.000Z"
  equal(task_text.line(task, NOON), "b1  Run it (running for 12 s, 4.2 KB)")
  task.status, task.endedAt = "failed", "2026-11-30T11:59:50.000Z"
  task.exitCode = 2
  equal(task_text.standing(task, NOON), "exit code 2 after 2 s")
  task.exitCode = -9
  equal(task_text.standing(task, NOON), "signal 9 after 2 s")
  task.status = "killed"
  equal(task_text.standing(task, NOON), "stopped after 2 s")
  equal(task_text.standing({ status = "pending" }, NOON), "about to begin")
end)

it("output loses its colours, and what was overwritten, across pieces too", function()
  local text = output_text.new()
  equal(text:take("\27[31mred\27[0m\n10%\r2"), { "red", "2" })
  equal(text:take("0%\r\nend"), { "20%", "end" })
  equal(text:take("\27]0;title\7!"), { "end!" })
  equal(text:take(""), { "end!" })
end)

harness.run()
