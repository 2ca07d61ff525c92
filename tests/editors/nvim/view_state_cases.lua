-- Slices, status line, plan, queue of approvals and nulls: all that is apart from the editor.
local waiting_queue = require("agentls.waiting_queue")
local harness = require("harness")
local moments = require("agentls.moments")
local null = require("agentls.null")
local plain_text = require("agentls.plain_text")
local statusline = require("agentls.statusline")
local todos = require("agentls.todos")
local it, equal = harness.it, harness.equal

local function slices(fields)
  return vim.tbl_extend("force", {
    model = { session = "offline", default = "other" },
    permissions = { mode = "plan", rules = {} },
    activity = { status = "idle", label = "Idle" },
    approvals = {},
  }, fields or {})
end

it("a slice that is absent stays and a null one becomes nothing", function()
  local known = { title = "old", todos = { 1 }, model = { session = "a" } }
  null.merge(known, { title = vim.NIL, model = { session = vim.NIL, default = "b" } })
  equal(known, { todos = { 1 }, model = { default = "b" } })
end)

it("nulls leave nested values and stay in lists, whose places count", function()
  local message = vim.json.decode('{"a":null,"b":{"c":null,"d":[1,null,3]},"e":[{"f":null}]}')
  equal(null.strip(message), { b = { d = { 1, vim.NIL, 3 } }, e = { {} } })
  equal(null.strip(vim.NIL), nil)
end)

it("the status line names model, mode and activity", function()
  equal(statusline.text("ready", nil, slices()), "agent: offline · plan · Idle")
  local running = slices({ activity = { status = "running", label = "Running pytest -q" } })
  equal(statusline.text("ready", nil, running), "agent: offline · plan · Running pytest -q")
  local other = slices({ model = { default = "other" } })
  equal(statusline.text("ready", nil, other), "agent: other · plan · Idle")
  equal(statusline.text("ready", nil, slices({ model = {} })), "agent: no model · plan · Idle")
end)

it("the status line says that approvals wait", function()
  local waiting = slices({ approvals = { {}, {} } })
  local expected = "agent: offline · plan · Waiting for 2 approvals"
  equal(statusline.text("ready", nil, waiting), expected)
end)

it("the status line says whether there is a server", function()
  equal(statusline.text("off", nil, nil), "agent: off")
  equal(statusline.text("off", 3, slices()), "agent: stopped (exit code 3)")
  equal(statusline.text("starting", nil, nil), "agent: starting")
  equal(statusline.text("ready", nil, {}), "agent: ready")
end)

it("the plan bears a mark for each state", function()
  local lines = todos.render({
    { content = "Find it", activeForm = "Finding it", status = "completed" },
    { content = "Change it", activeForm = "Changing it", status = "inProgress" },
    { content = "Test it", activeForm = "Testing it", status = "pending" },
  })
  equal(lines, { "[x] Find it", "[~] Changing it", "[ ] Test it" })
  equal((todos.render(nil)), { "No plan yet." })
end)

local function keys_of(queue)
  local keys = {}
  while true do
    local entry = queue:next()
    if not entry then
      return keys
    end
    keys[#keys + 1] = entry.key
    entry.asked = true
  end
end

it("approvals are asked in order, once, and again when the user says so", function()
  local queue = waiting_queue.new()
  queue:update("s", { { callId = "a" }, { callId = "b" } }, {})
  equal(keys_of(queue), { "s/a", "s/b" })
  queue:update("s", { { callId = "a" }, { callId = "b" } }, {})
  equal(keys_of(queue), {})
  queue:ask_again()
  equal(keys_of(queue), { "s/a", "s/b" })
end)

it("an approval the server no longer holds is not asked", function()
  local queue = waiting_queue.new()
  queue:update("s", { { callId = "a" }, { callId = "b" } }, {})
  queue:update("other", { { callId = "a" } }, {})
  local first = queue:next()
  queue:update("s", { { callId = "b" } }, {})
  equal(queue:holds(first), false)
  equal(queue:count(), 2)
  equal(keys_of(queue), { "other/a", "s/b" })
end)

it("an approval whose answer is on its way is not asked again", function()
  local queue = waiting_queue.new()
  queue:update("s", { { callId = "a" } }, {})
  queue:next().answered = true
  queue:ask_again()
  equal(queue:next(), nil)
end)

it("code points are what offsets count", function()
  equal(plain_text.code_points("aä€😀"), 4)
  equal(plain_text.drop("aä€😀b", 3), "😀b")
  equal(plain_text.drop("ab", 5), "")
  equal(plain_text.drop("ab", 0), "ab")
  equal(plain_text.one_line(" a\n  b\t", 10), "a b")
  equal(plain_text.one_line("ääääää", 4), "äää…")
end)

it("a moment is told by the clock of this machine", function()
  equal(moments.local_time("2026-11-30T14:56:35.123Z"), "2026-11-30 09:56")
  equal(moments.local_time("2026-07-01T00:30:00.000Z"), "2026-06-30 20:30")
  equal(moments.local_time("soon"), "soon")
end)

it("no module makes a global", function()
  local before = vim.tbl_keys(_G)
  local folder = vim.env.AGENTLS_NVIM_CLIENT .. "/lua/agentls/"
  local paths = vim.fn.glob(folder .. "*.lua", true, true)
  equal(#paths > 15, true)
  for _, path in ipairs(paths) do
    require("agentls." .. path:match("([%w_]+)%.lua$"))
  end
  equal(#vim.tbl_keys(_G), #before)
end)

it("a reset takes the place of all that was told before", function()
  local sessions = require("agentls.sessions")
  local function snapshot(seq, title)
    return { seq = seq, state = { history = {}, calls = {} }, slices = slices({ title = title }) }
  end
  sessions.adopt("reset", snapshot(1, "before"))
  local told = {}
  sessions.on_change(function(session, what)
    table.insert(told, session.id .. " " .. what)
  end)
  sessions.take_reset({ sessionId = "reset", snapshot = snapshot(9, "after") })
  equal(sessions.get("reset").slices.title, "after")
  equal(told, { "reset replaced", "reset slices" })
  sessions.take_reset({ sessionId = "of another editor", snapshot = snapshot(2, "?") })
  equal(sessions.get("of another editor"), nil)
end)

harness.run()
