---Asks the user the questions of a call, one after the other. Closed, they keep what was answered
---so far.
local menu = require("agentls.menu")
local question_form = require("agentls.question_form")
local requests = require("agentls.requests")

local M = {}

---@param entry agentls.Waiting
---@param asking agentls.Asking
function M.ask(entry, asking)
  entry.form = entry.form or question_form.new(entry.questions.questions)
  entry.form:reopen()
  M.step(entry, asking)
end

---@private
---@param entry agentls.Waiting
---@param asking agentls.Asking
function M.step(entry, asking)
  local form = entry.form
  if not form:question() then
    return M.answer(entry, form:result(), asking)
  end
  local options = {
    prompt = form:prompt(),
    kind = "agentls.question",
    format_item = function(item)
      return item.label
    end,
  }
  asking.opens(function()
    return menu.select(form:items(), options, function(item)
      M.take(entry, item, asking)
    end, asking.too_late)
  end)
end

---@private
---@param entry agentls.Waiting
---@param item agentls.QuestionItem|nil
---@param asking agentls.Asking
function M.take(entry, item, asking)
  if not item then
    return asking.dismiss()
  elseif item.kind == "decline" then
    return M.answer(entry, nil, asking)
  elseif item.kind == "other" then
    return M.ask_other(entry, asking)
  end
  entry.form:choose(item)
  M.step(entry, asking)
end

---@private
---@param entry agentls.Waiting
---@param asking agentls.Asking
function M.ask_other(entry, asking)
  local prompt = entry.form:question().header .. ": "
  asking.opens(function()
    return menu.input({ prompt = prompt, default = entry.form:other() }, function(text)
      if text then
        entry.form:say(text)
      end
      M.step(entry, asking)
    end, asking.too_late)
  end)
end

---@private
---@param entry agentls.Waiting
---@param answers agentls.QuestionAnswer[]|nil
---@param asking agentls.Asking
function M.answer(entry, answers, asking)
  asking.answer(function(callback)
    requests.answer_questions(entry.session_id, entry.call_id, answers, callback)
  end)
end

return M
