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

" Vim takes the file for one of snort's first, and the mappings and the mark of that plug-in are not undone by Vim.
function! s:Take() abort
  silent! nunmap <buffer> ]]
  silent! nunmap <buffer> [[
  unlet! b:did_ftplugin b:match_words b:match_skip
  set filetype=tornado_proxy_rules
endfunction

autocmd BufNewFile,BufRead *.rules if s:IsOurs() | call s:Take() | endif
