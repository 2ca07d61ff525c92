-- What a user's init.lua would hold, and nothing else.
vim.opt.runtimepath:prepend(vim.env.AGENTLS_NVIM_CLIENT)
vim.opt.swapfile = false
vim.opt.shadafile = "NONE"
vim.opt.autoread = true
require("agentls").setup({ cmd = vim.split(vim.env.AGENTLS_CMD, "\n") })
