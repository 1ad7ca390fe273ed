" Writes to $SCOPES, for the file that is open, its type, and for each byte of each line the name of its syntax group, `-` for none.
let s:lines = [&filetype]
for s:number in range(1, line('$'))
  let s:groups = map(range(1, strlen(getline(s:number))), {_, column -> synIDattr(synID(s:number, column, 1), 'name') ?? '-'})
  call add(s:lines, join(s:groups, ' '))
endfor
call writefile(s:lines, $SCOPES)
quitall!
