" Writes to $SCOPES the type of the open file, and for each line the syntax group of each byte; `-` stands for no group.
let s:lines = [&filetype]
for s:number in range(1, line('$'))
  let s:groups = map(range(1, strlen(getline(s:number))), {_, column -> synIDattr(synID(s:number, column, 1), 'name') ?? '-'})
  call add(s:lines, join(s:groups, ' '))
endfor
call writefile(s:lines, $SCOPES)
quitall!
