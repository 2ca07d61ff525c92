-- A configuration with nothing in it but the client and the harness.
local here = vim.env.AGENTLS_NVIM_TESTS
vim.opt.runtimepath:prepend(vim.env.AGENTLS_NVIM_CLIENT)
package.path = here .. "/?.lua;" .. package.path
vim.opt.swapfile = false
vim.opt.shadafile = "NONE"
