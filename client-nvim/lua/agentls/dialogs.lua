---Asks the user what waits for them, one at a time. A dialog that is closed is not an answer; one
---whose matter was settled elsewhere is closed.
local config = require("agentls.config")
local notices = require("agentls.notices")
local sessions = require("agentls.sessions")
local waiting_queue = require("agentls.waiting_queue")

local M = {}

---@class agentls.Dialog What is asked now.
---@field entry agentls.Waiting
---@field restore fun(is_settled: boolean) Undoes what was shown for it.
---@field menu agentls.Menu|nil

---@alias agentls.Answer fun(callback: agentls.Callback) Sends an answer.

local queue = waiting_queue.new()
---@type agentls.Dialog|nil
local current = nil

---@alias agentls.Reveal fun(entry: agentls.Waiting): fun(is_settled: boolean)

---@type agentls.Reveal
local reveal

---Watch the sessions. Called once.
---@param reveal_entry agentls.Reveal Shows what is asked about; what it returns undoes that.
function M.follow(reveal_entry)
  reveal = reveal_entry
  sessions.on_change(function(session, what)
    if what == "slices" then
      M.update(session)
    end
  end)
  vim.api.nvim_create_autocmd("ModeChanged", {
    group = vim.api.nvim_create_augroup("agentls_dialogs", { clear = true }),
    pattern = "*:n",
    callback = function()
      M.pop_up()
    end,
  })
end

---Ask about everything that waits, also what was asked before.
function M.ask_again()
  if queue:count() == 0 then
    return notices.info("no approval is waiting, and no question")
  end
  if current then
    M.end_current(false)
  end
  queue:ask_again()
  M.ask_next()
end

---@private
---@param session agentls.Session
function M.update(session)
  local slices = session.slices
  local gone = queue:update(session.id, slices.approvals or {}, slices.questions or {})
  for _, entry in ipairs(gone) do
    if current and current.entry == entry then
      M.end_current(true)
      if not session.stale then
        notices.info(waiting_queue.title(entry) .. ": it is settled, here it is not asked any more")
      end
    end
    require("agentls.plan_view").close(entry.call_id)
  end
  M.pop_up()
end

---Ask soon, unless the user is typing, so that no key meant for something else answers.
---@private
M.pop_up = vim.schedule_wrap(function()
  if config.get().approval_popup and M.is_free() then
    M.ask_next()
  end
end)

---@private
---@return boolean
function M.is_free()
  local mode = vim.api.nvim_get_mode()
  return mode.mode == "n" and not mode.blocking and vim.fn.getcmdwintype() == ""
end

---@private
function M.ask_next()
  local entry = queue:next()
  if current or not entry then
    return
  end
  entry.asked = true
  local dialog = { entry = entry, restore = reveal(entry), menu = nil }
  current = dialog
  local name = entry.approval and "agentls.approval_dialog" or "agentls.question_dialog"
  require(name).ask(entry, {
    opens = function(open)
      local menu = current == dialog and open()
      if menu and menu:is_open() then
        dialog.menu = menu
      end
    end,
    dismiss = function()
      M.dismiss(dialog)
    end,
    answer = function(send)
      M.answer(dialog, send)
    end,
    too_late = function(choice)
      if choice ~= nil then
        notices.warn(waiting_queue.title(entry) .. " was settled meanwhile; this is not sent")
      end
    end,
  })
end

---@private
---@param dialog agentls.Dialog
function M.dismiss(dialog)
  if current == dialog then
    M.end_current(false)
  end
  if queue:holds(dialog.entry) then
    local title = waiting_queue.title(dialog.entry)
    notices.info(title .. " is still waiting; :AgentApprove asks again")
  end
  M.ask_next()
end

---@private
---@param dialog agentls.Dialog
---@param send agentls.Answer
function M.answer(dialog, send)
  if current == dialog then
    M.end_current(true)
  end
  local entry = dialog.entry
  entry.answered = true
  send(function(err)
    if err then
      entry.answered = false
      if not err.told then
        notices.warn(err.message)
      end
    end
  end)
  M.ask_next()
end

---@private
---@param is_settled boolean
function M.end_current(is_settled)
  local dialog = current
  current = nil
  if dialog.menu then
    dialog.menu:close()
  end
  dialog.restore(is_settled)
end

return M
