---What a prompt or a result holds, in words. Pure: knows nothing of the editor.
local M = {}

---Return what was written, without what came with it.
---@param content agentls.ContentBlock[]
---@return string
function M.words(content)
  local texts = {}
  for _, block in ipairs(content) do
    if block.text and block.type ~= "file" then
      texts[#texts + 1] = block.text
    end
  end
  return table.concat(texts, "\n")
end

---Return what came with it, each as a person knows it: "image: plan.png", "range: a.txt:1-2".
---@param content agentls.ContentBlock[]
---@return string[]
function M.attached(content)
  local names = {}
  for _, block in ipairs(content) do
    if block.type == "file" then
      names[#names + 1] = ("%s: %s"):format(block.what, M.place(block))
    elseif not block.text then
      names[#names + 1] = ("%s: %s"):format(block.type or "image", block.name or block.mediaType)
    end
  end
  return names
end

---Return all of it, with a mark where something else than words stands.
---@param content agentls.ContentBlock[]
---@return string
function M.text(content)
  local texts = { M.words(content) }
  for _, name in ipairs(M.attached(content)) do
    texts[#texts + 1] = ("[%s]"):format(name)
  end
  return (table.concat(texts, "\n"):gsub("^\n", ""))
end

---Return what names a conversation that begins with it.
---@param content agentls.ContentBlock[]
---@return string
function M.title(content)
  local words = M.words(content)
  return vim.trim(words) ~= "" and words or M.text(content)
end

---Say what waits in the queue.
---@param item agentls.QueuedPrompt
---@return string
function M.queued(item)
  local text = M.text(item.content)
  if item.kind ~= "compact" then
    return text
  end
  return "compact the conversation" .. (text == "" and "" or ": " .. text)
end

---@param block agentls.ContentBlock
---@return string
function M.place(block)
  if block.symbol then
    return ("%s#%s"):format(block.path, block.symbol)
  end
  if block.what == "range" then
    return ("%s:%d-%d"):format(block.path, block.firstLine, block.lastLine)
  end
  return block.path
end

return M
