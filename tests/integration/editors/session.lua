-- Runs in Neovim with an open rule file: starts the server by the configuration in editors/vim, with the command in
-- $SERVER, and writes findings, a hover, the text after a fix and formatting to $ANSWERS as JSON.
local configuration = dofile(vim.env.CONFIGURATION)
local answers = { filetype = vim.bo.filetype, command = configuration.cmd, filetypes = configuration.filetypes }
local buffer = vim.api.nvim_get_current_buf()
local id = vim.lsp.start_client({
  name = "tornado_proxy",
  cmd = vim.split(vim.env.SERVER, " "),
  root_dir = vim.fn.getcwd(),
})
vim.lsp.buf_attach_client(buffer, id)

local function request(method, parameters)
  local responses = vim.lsp.buf_request_sync(buffer, method, parameters, 20000)
  return responses and responses[id] and responses[id].result or vim.NIL
end

local function findings(count)
  vim.wait(20000, function() return #vim.diagnostic.get(buffer) == count end, 20)
  return vim.tbl_map(function(diagnostic) return { diagnostic.lnum, diagnostic.col, diagnostic.message } end, vim.diagnostic.get(buffer))
end

vim.wait(20000, function() return vim.lsp.buf_is_attached(buffer, id) and vim.lsp.get_client_by_id(id).initialized end, 20)
answers.findings = findings(1)
vim.api.nvim_win_set_cursor(0, { 2, 21 })
local position = vim.lsp.util.make_position_params(0, "utf-16")
answers.hover = request("textDocument/hover", position)
local parameters = vim.lsp.util.make_range_params(0, "utf-16")
parameters.context = { diagnostics = {} }
local fix = vim.tbl_filter(function(action) return action.title:match("^escape the dot") end, request("textDocument/codeAction", parameters))[1]
vim.lsp.util.apply_workspace_edit(fix.edit, "utf-16")
answers.findings_after_fix = findings(0)
local edits = request("textDocument/formatting", vim.lsp.util.make_formatting_params({}))
vim.lsp.util.apply_text_edits(edits, buffer, "utf-16")
answers.text = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
vim.fn.writefile({ vim.fn.json_encode(answers) }, vim.env.ANSWERS)
vim.lsp.stop_client(id)
vim.cmd("quitall!")
