---The questions of one call while a person answers them, step by step. Pure: knows nothing of the
---editor.
local question_text = require("agentls.question_text")

---@class agentls.QuestionItem Something to choose.
---@field kind "option"|"other"|"done"|"back"|"decline"
---@field label string As the list shows it.
---@field option agentls.QuestionOption|nil

---@class agentls.QuestionForm
---@field private questions agentls.Question[]
---@field private answers agentls.QuestionAnswer[] One for each question.
---@field private step integer Which question is asked, from 1.
local Form = {}
Form.__index = Form

local M = {}

---@param questions agentls.Question[]
---@return agentls.QuestionForm
function M.new(questions)
  local answers = {}
  for index in ipairs(questions) do
    answers[index] = { selected = {} }
  end
  return setmetatable({ questions = questions, answers = answers, step = 1 }, Form)
end

---Return the question that is to be answered now; nil where none is left.
---@return agentls.Question|nil
function Form:question()
  return self.questions[self.step]
end

---@return string
function Form:prompt()
  local question = self:question()
  local text = question.question:gsub("%s+", " ")
  if #self.questions == 1 then
    return ("%s: %s"):format(question.header, text)
  end
  return ("%s (%d of %d): %s"):format(question.header, self.step, #self.questions, text)
end

---Return what can be chosen now.
---@return agentls.QuestionItem[]
function Form:items()
  local question, answer = self:question(), self.answers[self.step]
  local items = {}
  local function add(kind, label, option)
    items[#items + 1] = { kind = kind, label = (label:gsub("%s+", " ")), option = option }
  end
  for _, option in ipairs(question.options) do
    local is_chosen = vim.tbl_contains(answer.selected, option.label)
    local box = question.multiSelect and (is_chosen and "[x] " or "[ ] ") or ""
    add("option", box .. question_text.option(option), option)
  end
  local box = question.multiSelect and (answer.other and "[x] " or "[ ] ") or ""
  add("other", box .. (answer.other and "Other: " .. answer.other or "Other…"))
  if question.multiSelect and (#answer.selected > 0 or answer.other) then
    add("done", "Done")
  end
  if self.step > 1 then
    add("back", "Back to the question before")
  end
  add("decline", "Do not answer")
  return items
end

---Take a choice that needs no more words: of several options each is put in or taken out.
---@param item agentls.QuestionItem
function Form:choose(item)
  local answer = self.answers[self.step]
  if item.kind == "back" then
    self.step = self.step - 1
  elseif item.kind == "done" then
    self.step = self.step + 1
  elseif not self:question().multiSelect then
    self.answers[self.step] = { selected = { item.option.label } }
    self.step = self.step + 1
  else
    answer.selected = self:toggled(answer.selected, item.option.label)
  end
end

---Take an answer in the user's own words; an empty one takes it back.
---@param text string
function Form:say(text)
  local words = vim.trim(text)
  local answer = self.answers[self.step]
  answer.other = words ~= "" and words or nil
  if answer.other and not self:question().multiSelect then
    answer.selected = {}
    self.step = self.step + 1
  end
end

---Return what was said in the user's own words to the question of now.
---@return string|nil
function Form:other()
  return self.answers[self.step].other
end

---@return agentls.QuestionAnswer[]
function Form:result()
  return self.answers
end

---Ask the last question again: what was answered could not be sent.
function Form:reopen()
  self.step = math.min(self.step, #self.questions)
end

---@private
---@param selected string[]
---@param label string
---@return string[] In the order in which they are offered.
function Form:toggled(selected, label)
  local labels = {}
  for _, option in ipairs(self:question().options) do
    local was_chosen = vim.tbl_contains(selected, option.label)
    if was_chosen ~= (option.label == label) then
      labels[#labels + 1] = option.label
    end
  end
  return labels
end

return M
