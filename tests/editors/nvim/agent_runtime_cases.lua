-- Long work with a running server, whose model answers as test_neovim_runtime.py has it: in the
-- order of the cases here.
local agentls = require("agentls")
local connection = require("agentls.connection")
local harness = require("harness")
local requests = require("agentls.requests")
local sessions = require("agentls.sessions")
local user = require("agent_user")
local it, equal, contains, wait = harness.it, harness.equal, harness.contains, harness.wait
local begin, option, close, item = user.begin, user.option, user.close, user.item
local buffer_text, shows = user.buffer_text, user.shows
local status_is, was_told = user.status_is, user.was_told

user.take_over()
vim.o.columns = 200

local function ends()
  shows("— done in")
  status_is("Idle")
end

local function is_gone(text)
  wait(text .. " is gone", function()
    return not buffer_text():find(text, 1, true)
  end)
end

---The lines of a buffer that is shown, by the beginning of its name.
local function shown(prefix)
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    local buffer = vim.api.nvim_win_get_buf(window)
    if vim.startswith(vim.api.nvim_buf_get_name(buffer), prefix) then
      return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n"), window
    end
  end
end

---Say whether a line of the conversation is in a closed fold of its window.
local function is_folded(text)
  local _, window = shown("agentls://session/")
  return vim.api.nvim_win_call(window, function()
    local line = vim.fn.search("\\V" .. text, "nw")
    return vim.fn.foldclosed(line) ~= -1
  end)
end

it("a wait for the model is counted down, noted and gone when the model answers", function()
  begin()
  vim.cmd("Agent Are you there?")
  status_is("Overloaded: again in")
  shows("↻ the model is overloaded; again at ")
  contains(buffer_text(), "(2 of ")
  contains(buffer_text(), "The model has no room.")
  shows("I am here.")
  ends()
  equal(buffer_text():find("again at", 1, true), nil)
end)

it("what the model thought is in a fold that opens", function()
  contains(buffer_text(), "· thought: Somebody asks.\nWho is it?\n\nI am here.")
  equal(is_folded("Who is it?"), true)
  local _, window = shown("agentls://session/")
  vim.api.nvim_win_call(window, function()
    vim.fn.search("\\V· thought")
    require("agentls.folds").toggle()
  end)
  equal(is_folded("Who is it?"), false)
end)

it("a question that is closed stays open, and is answered in lists and in own words", function()
  begin()
  user.answers = { close }
  vim.cmd("Agent Which tests?")
  shows("waiting for your answer")
  status_is("Waiting for an answer")
  contains(buffer_text(), "Which database should the tests use?\n- SQLite: Nothing to install")
  was_told("still waiting; :AgentApprove asks again")
  user.reasons = { "locks" }
  user.answers = {
    item("SQLite"),
    item("Reading"),
    item("Other…"),
    function(dialog)
      contains(dialog.options.prompt, "Scope (2 of 2): What is to be tested?")
      item("Done")(dialog)
    end,
  }
  vim.cmd("AgentApprove")
  shows("So SQLite.")
  ends()
  contains(buffer_text(), "- Database: SQLite\n- Scope: Reading, locks")
end)

it("a question that is answered elsewhere is closed here, and a late choice is not sent", function()
  begin()
  vim.cmd("Agent Which tests?")
  local dialog = wait("a dialog", function()
    return user.open_dialogs[1]
  end)
  local session = sessions.current()
  local asked = session.slices.questions[1]
  local answers = { { selected = { "PostgreSQL" } } }
  requests.answer_questions(session.id, asked.callId, answers, function(err)
    assert(not err, err and err.message)
  end)
  was_told("it is settled")
  item("SQLite")(dialog)
  equal(was_told("was settled meanwhile").level, vim.log.levels.WARN)
  shows("Settled elsewhere.")
  ends()
  contains(buffer_text(), "- Database: PostgreSQL")
end)

it("a user who would not answer says so", function()
  begin()
  user.answers = { item("Do not answer") }
  vim.cmd("Agent Which tests?")
  shows("I choose myself.")
  ends()
  contains(buffer_text(), "The user would not answer")
end)

it(
  "a plan is read whole in the conversation's place, sent back with a reason, and agreed to",
  function()
    begin()
    local seen
    user.reasons = { "Smaller steps" }
    user.answers = {
      function(dialog)
        seen = { plan = shown("agentls://plan/"), prompt = dialog.options.prompt }
        item("Keep planning")(dialog)
      end,
      close,
    }
    vim.cmd("Agent Plan it")
    shows("Smaller steps, then.")
    equal(seen.plan, "# Plan\n\n1. Read `notes.txt`\n2. Sort it")
    contains(seen.prompt, "Leave plan mode and carry out the plan")
    was_told("still waiting; :AgentApprove asks again")
    contains(shown("agentls://plan/"), "3. Look at it")
    status_is("· plan ·")
    user.answers = { item("Accept edits") }
    vim.cmd("AgentApprove")
    shows("Carried out.")
    ends()
    status_is("· acceptEdits ·")
    equal(shown("agentls://plan/"), nil)
    contains(shown("agentls://session/"), "Carried out.")
    equal(is_folded("3. Look at it"), true)
  end
)

it("prompts wait, are removed or edited, and steer the turn", function()
  begin()
  user.answers = { option("allowOnce") }
  vim.cmd("Agent Work for a while")
  shows("◐ Bash")
  vim.cmd("Agent And then the docs")
  was_told("the prompt waits")
  vim.cmd("Agent Never mind")
  vim.cmd("Agent Change me")
  vim.cmd("Agent! Use tabs")
  shows("↳ steers the turn: Use tabs")
  user.answers = { item("Never mind"), item("Remove it") }
  vim.cmd("AgentQueue")
  is_gone("Never mind")
  user.answers = { item("Change me"), item("Take it out and edit it") }
  vim.cmd("AgentQueue")
  is_gone("Change me")
  wait("the text in the prompt's window", function()
    return shown("agentls://prompt") == "Change me"
  end)
  vim.cmd("stopinsert")
  vim.api.nvim_buf_set_lines(0, 0, -1, false, {})
  require("agentls.prompt_window").close()
  user.write("go", "")
  shows("The docs are done.")
  status_is("Idle")
  local text = buffer_text()
  contains(text, "> ↳ Use tabs\n\nWith tabs.")
  contains(text, "\n> And then the docs\n\nThe docs are done.")
  equal(text:find("Never mind", 1, true), nil)
  user.told = {}
  vim.cmd("AgentQueue")
  was_told("no prompt is waiting")
end)

it("a task's output is followed while it runs, and the task can be stopped", function()
  begin()
  user.answers = { option("allowOnce") }
  vim.cmd("Agent Start the server")
  shows("It runs.")
  status_is("1 task")
  user.answers = { item("Run the server"), item("Show its output") }
  vim.cmd("AgentTasks")
  wait("a line that was not there at first", function()
    local text = shown("agentls://task/")
    return text and text:find("line 12\n", 1, true)
  end)
  local text, window = shown("agentls://task/")
  contains(text, "line 1\nline 2\n")
  local count = vim.api.nvim_buf_line_count(vim.api.nvim_win_get_buf(window))
  equal(vim.api.nvim_win_get_cursor(window)[1], count, "it follows the end")
  user.answers = { item("Run the server"), item("Stop it") }
  vim.cmd("AgentTasks")
  was_told("Run the server: stopped after")
  shows("Run the server: stopped after")
  vim.api.nvim_win_close(window, true)
  equal(agentls.statusline():find("task", 1, true), nil)
end)

it("selected lines and a picture go with a prompt that is written in a window", function()
  begin()
  vim.cmd("AgentAttach no-such.png")
  was_told("no-such.png is not a file")
  vim.cmd("edit notes.txt")
  vim.cmd("1,2AgentMention")
  equal(shown("agentls://prompt"), "@notes.txt:1-2 ")
  vim.cmd("AgentAttach red.png")
  contains(require("agentls.prompt_window").statusline(), "attached: red.png")
  vim.cmd("stopinsert")
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { "@notes.txt:1-2 What", "is this?" })
  require("agentls.prompt_window").send(false)
  equal(shown("agentls://prompt"), nil)
  shows("A red square.")
  ends()
  contains(buffer_text(), "> @notes.txt:1-2 What\n> is this?\n> [image: red.png]")
  contains(buffer_text(), "[range: notes.txt:1-2]")
  equal(require("agentls.attachments").names(), "")
end)

it("files are completed behind an @, folder by folder, also in the command line", function()
  local completion = require("agentls.mention_completion")
  equal(vim.fn.getcompletion("Agent look at @no", "cmdline"), { "@notes.txt" })
  equal(completion.candidates("@a"), { '@"a folder/"' })
  equal(completion.candidates('@"a folder/'), { '@"a folder/deep.txt"' })
  require("agentls.prompt_window").open("see @re")
  vim.cmd("stopinsert")
  equal(vim.bo.completefunc ~= "", true)
  vim.api.nvim_win_set_cursor(0, { 1, 6 })
  vim.api.nvim_feedkeys(
    vim.api.nvim_replace_termcodes("A<C-x><C-u><C-e>", true, true, true),
    "xt",
    false
  )
  equal(completion.candidates("@re"), { "@red.png" })
  require("agentls.prompt_window").close()
end)

it("a compaction is asked for, and its summary stands in a fold", function()
  vim.cmd("AgentCompact Keep the file names")
  shows("— Compacted: ")
  status_is("Idle")
  contains(buffer_text(), " tokens —\nSummary of what came before\n")
  equal(is_folded("Everything was tried."), true)
  contains(buffer_text(), "A red square.", "what was said before stays in sight")
  equal(agentls.statusline():match(" · %d+%% · <?%$%d") ~= nil, true, agentls.statusline())
end)

it("a conversation is cleared when the user says so, and a redo brings it back", function()
  user.answers = { item("Keep it") }
  vim.cmd("AgentClear")
  contains(buffer_text(), "A red square.")
  user.answers = {
    function(dialog)
      contains(dialog.options.prompt, ":AgentRedo brings it back")
      item("Clear the conversation")(dialog)
    end,
  }
  vim.cmd("AgentClear")
  was_told(":AgentRedo brings the conversation back")
  is_gone("Summary of what came before")
  vim.cmd("AgentRedo")
  shows("Everything was tried.")
  was_told("back")
end)

it("an empty conversation is cleared without a question", function()
  begin()
  vim.cmd("AgentClear")
  vim.wait(100)
  equal(#user.open_dialogs, 0)
end)

it("fast mode is turned on and off", function()
  begin()
  vim.cmd("AgentFast")
  was_told("fast mode: offline answers from now on")
  status_is("agent: » offline")
  shows("— Fast mode: offline answers from now on.")
  vim.cmd("AgentFast off")
  was_told("fast mode is off")
  status_is("agent: scripted:")
end)

it("a missed cache is in the log alone", function()
  local session = sessions.current()
  local seq = session.conversation.seq + 1
  local missed = { type = "cacheMissed", cause = "tools", expectedTokens = 9000, readTokens = 0 }
  local envelope = { seq = seq, sessionId = session.id, chatId = "main", at = "", event = missed }
  connection.handlers()["agent/session/event"](nil, envelope)
  local log = vim.lsp.get_log_path()
  wait("the line in the log", function()
    return user.read(log):find("the prompt cache was missed: the tools have changed", 1, true)
  end)
  equal(buffer_text():find("cache", 1, true), nil)
end)

harness.run()
