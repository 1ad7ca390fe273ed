" Rule files of tornado-proxy: what editing them needs.
if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1

setlocal commentstring=#\ %s comments=:# formatoptions-=t formatoptions+=croql
setlocal expandtab shiftwidth=4 softtabstop=4 autoindent
" `:make` lints; every finding is an entry of the quickfix list.
setlocal makeprg=tornado-proxy\ lint\ --format\ concise\ %:p:h:S
setlocal errorformat=%f:%l:%c:\ %t%*[a-z]%m,%-G%.%#

let b:undo_ftplugin = 'setlocal commentstring< comments< formatoptions< expandtab< shiftwidth< softtabstop<'
      \ . ' autoindent< makeprg< errorformat<'
