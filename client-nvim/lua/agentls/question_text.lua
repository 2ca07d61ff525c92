---Questions of the model and their answers as the conversation shows them. Pure: knows nothing of
---the editor.
local plain_text = require("agentls.plain_text")

local M = {}

local LIMIT = 160

---Say what the questions are about.
---@param questions agentls.Questions
---@return string
function M.headers(questions)
  local headers = {}
  for _, question in ipairs(questions.questions) do
    headers[#headers + 1] = question.header
  end
  return table.concat(headers, ", ")
end

---@param questions agentls.Questions
---@return string[] lines
function M.asked(questions)
  local lines = {}
  for _, question in ipairs(questions.questions) do
    lines[#lines + 1] = plain_text.one_line(question.question, LIMIT)
    for _, option in ipairs(question.options) do
      lines[#lines + 1] = "- " .. plain_text.one_line(M.option(option), LIMIT)
    end
  end
  return lines
end

---@param questions agentls.Questions
---@param answers agentls.QuestionAnswer[]|nil Nil: the user would not answer.
---@return string[] lines
function M.answered(questions, answers)
  local lines = {}
  for index, answer in ipairs(answers or {}) do
    local question = questions.questions[index]
    local header = question and question.header or tostring(index)
    lines[#lines + 1] = ("- %s: %s"):format(header, plain_text.one_line(M.answer(answer), LIMIT))
  end
  return lines
end

---@param option agentls.QuestionOption
---@return string
function M.option(option)
  if not option.description or option.description == "" then
    return option.label
  end
  return ("%s: %s"):format(option.label, option.description)
end

---@param answer agentls.QuestionAnswer
---@return string
function M.answer(answer)
  local said = vim.list_extend({}, answer.selected or {})
  if answer.other then
    said[#said + 1] = answer.other
  end
  return #said == 0 and "no answer" or table.concat(said, ", ")
end

return M
