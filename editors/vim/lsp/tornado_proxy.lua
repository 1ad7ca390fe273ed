-- Neovim 0.11 and later: put this directory on the runtime path, and write `vim.lsp.enable("tornado_proxy")`.
return {
  cmd = { "tornado-proxy", "lsp" },
  filetypes = { "tornado_proxy_rules" },
  root_markers = { "tornado-proxy.toml", "pyproject.toml", ".git" },
}
