" Other programs call files `.rules` too, udev and snort among them: a file is ours if its first statement is, or if it is
" empty and does not stand where udev's rules do.
function! s:IsOurs() abort
  for line in getline(1, 200)
    if line !~# '^\s*\%(#.*\)\?$'
      return line =~# '^\s*target\>'
    endif
  endfor
  return expand('<afile>:p') !~# '/udev/'
endfunction

autocmd BufNewFile,BufRead *.rules if s:IsOurs() | set filetype=tornado_proxy_rules | endif
