" Rule files of tornado-proxy. No word is reserved where a name stands, so each part names what may come next.
if exists('b:current_syntax')
  finish
endif

syntax case match
syntax sync fromstart

" Comments, and what they allow.
syntax match rulesComment '#.*$' contains=rulesAllowance
syntax match rulesAllowance '#\s*allow\%(-file\)\?\s*:[^(]*' contained contains=rulesAllow
syntax match rulesAllow '\<allow\%(-file\)\?\>' contained nextgroup=rulesColon skipwhite
syntax match rulesColon ':' contained nextgroup=rulesCheck skipwhite
syntax match rulesCheck '[a-z][a-z-]*' contained nextgroup=rulesComma skipwhite
syntax match rulesComma ',' contained nextgroup=rulesCheck skipwhite

" target NAME {
syntax match rulesTarget '\%([[:alnum:]_.-]\)\@1<!target\%([[:alnum:]_.-]\)\@!' nextgroup=rulesTargetName skipwhite skipempty
syntax match rulesTargetName '[A-Za-z_]\%([A-Za-z0-9_.]\|->\@!\)*\|"\%(\\.\|[^"\\]\)*"' contained

" rewrite [NAME] SOURCE -> [jinja|go] TEMPLATE; redirect [if missing] [STATUS] … [without query]; gone [NAME] SOURCE
syntax match rulesRewrite '\%([[:alnum:]_.-]\)\@1<!\%(rewrite\|redirect\%(\s\+if\s\+missing\)\?\%(\s\+\d\+\)\?\|gone\)\%([[:alnum:]_.-]\)\@!' nextgroup=rulesRewriteName,rulesSource skipwhite skipempty
syntax region rulesSource matchgroup=rulesString start='`' end='`' contained contains=@rulesExpression nextgroup=rulesArrow skipwhite skipempty
syntax region rulesSource matchgroup=rulesString start='"' skip='\\.' end='"' oneline contained contains=rulesEscape,@rulesExpression nextgroup=rulesArrow skipwhite skipempty
" Behind the sources: of two that fit, the later one counts, and a string before a string is a name.
syntax match rulesRewriteName '[A-Za-z_]\%([A-Za-z0-9_.]\|->\@!\)*\|"\%(\\.\|[^"\\]\)*"\ze\s*["`]' contained nextgroup=rulesSource skipwhite skipempty
syntax match rulesArrow '->' contained nextgroup=rulesJinjaWord,rulesGoWord,rulesPlain skipwhite skipempty
syntax match rulesJinjaWord 'jinja\%([[:alnum:]_.-]\)\@!' contained nextgroup=rulesJinja skipwhite skipempty
syntax match rulesGoWord 'go\%([[:alnum:]_.-]\)\@!' contained nextgroup=rulesGo skipwhite skipempty
syntax region rulesPlain start='`' end='`' contained contains=rulesDollar,rulesReference nextgroup=rulesWords skipwhite skipempty
syntax region rulesPlain start='"' skip='\\.' end='"' oneline contained contains=rulesEscape,rulesDollar,rulesReference nextgroup=rulesWords skipwhite skipempty
syntax region rulesJinja start='`' end='`' contained contains=rulesJinjaAction,rulesJinjaComment nextgroup=rulesWords skipwhite skipempty
syntax region rulesJinja start='"' skip='\\.' end='"' oneline contained contains=rulesEscape,rulesJinjaAction,rulesJinjaComment nextgroup=rulesWords skipwhite skipempty
syntax region rulesGo start='`' end='`' contained contains=rulesGoComment,rulesGoAction nextgroup=rulesWords skipwhite skipempty
syntax region rulesGo start='"' skip='\\.' end='"' oneline contained contains=rulesEscape,rulesGoComment,rulesGoAction nextgroup=rulesWords skipwhite skipempty

" redirects [if missing] [STATUS] FILE [ignoring case] [without query]; rewrites FILE [ignoring case]
syntax match rulesList '\%([[:alnum:]_.-]\)\@1<!\%(redirects\%(\s\+if\s\+missing\)\?\%(\s\+\d\+\)\?\|rewrites\)\%([[:alnum:]_.-]\)\@!' nextgroup=rulesFile skipwhite skipempty
syntax match rulesFile '"\%(\\.\|[^"\\]\)*"\|`[^`]*`' contained nextgroup=rulesWords skipwhite skipempty
syntax match rulesWords '\%(ignoring\s\+case\|without\s\+query\)\%([[:alnum:]_.-]\)\@!' contained nextgroup=rulesWords skipwhite skipempty

" test KEY [clauses] -> KEY, unchanged, error, gone or redirect [STATUS] LOCATION
syntax match rulesTest '\%([[:alnum:]_.-]\)\@1<!test\%([[:alnum:]_.-]\)\@!' nextgroup=rulesKey skipwhite skipempty
syntax region rulesKey start='`' end='`' contained nextgroup=rulesClause,rulesTestArrow skipwhite skipempty
syntax region rulesKey start='"' skip='\\.' end='"' oneline contained contains=rulesEscape nextgroup=rulesClause,rulesTestArrow skipwhite skipempty
syntax match rulesClause '\%(as\|method\|host\|header\|user-groups\|email\)\%([[:alnum:]_.-]\)\@!' contained nextgroup=rulesValue skipwhite skipempty
syntax match rulesValue '[A-Za-z_]\%([A-Za-z0-9_.]\|->\@!\)*\|"\%(\\.\|[^"\\]\)*"\|`[^`]*`' contained nextgroup=rulesClause,rulesTestArrow,rulesValueOfHeader skipwhite skipempty
syntax match rulesValueOfHeader '["`]\@=\%("\%(\\.\|[^"\\]\)*"\|`[^`]*`\)' contained nextgroup=rulesClause,rulesTestArrow skipwhite skipempty
syntax match rulesTestArrow '->' contained nextgroup=rulesExpected,rulesVerdict skipwhite skipempty
syntax match rulesVerdict '\%(unchanged\|error\|gone\|redirect\%(\s\+\d\+\)\?\)\%([[:alnum:]_.-]\)\@!' contained nextgroup=rulesExpected skipwhite skipempty
syntax region rulesExpected start='`' end='`' contained
syntax region rulesExpected start='"' skip='\\.' end='"' oneline contained contains=rulesEscape

" Within strings.
syntax match rulesEscape '\\\%([\\"nt]\|u\x\{4}\)' contained
syntax cluster rulesExpression contains=rulesAnchor,rulesGroup,rulesGroupName,rulesQuantifier,rulesClass,rulesSet,rulesPatternEscape
syntax match rulesAnchor '[$^]\|\\[AzbB]' contained
syntax match rulesGroup '(\%(?[imsU-]*[:)]\)\?\|)\||' contained
syntax match rulesGroupName '(?P\?<\w\+>' contained
syntax match rulesQuantifier '[*+?]?\?\|{\d\+\%(,\d*\)\?}?\?' contained
syntax match rulesSet '\[\^\?\]\?\%(\[:\^\?\a\+:\]\|\\.\|[^]\\`"]\)*\]' contained
syntax match rulesPatternEscape '\\\%(x{\x\+}\|x\x\{2}\|.\)' contained
syntax match rulesClass '\.\|\\[dDsSwW]\|\\[pP]\%({\^\?\w\+}\|\w\)' contained
syntax match rulesDollar '\$\$' contained
syntax match rulesReference '\$\%({\w\+}\|\w\+\)' contained
syntax region rulesJinjaComment start='{#' end='#}' contained
syntax region rulesJinjaAction matchgroup=rulesDelimiter start='{{-\?\|{%[-+]\?' end='[-+]\?\%(}}\|%}\)' contained contains=rulesJinjaKeyword,rulesVariable,rulesFilter
syntax keyword rulesJinjaKeyword if elif else endif for endfor in set endset with endwith filter endfilter macro endmacro is not and or contained
syntax match rulesVariable '\<\%(user\|request\|target\|key\|groups\)\>\%(\.\w\+\)*' contained
syntax match rulesFilter '|\s*\w\+' contained
syntax region rulesGoComment start='{{-\?\s*/\*' end='\*/\s*-\?}}' contained
syntax region rulesGoAction matchgroup=rulesDelimiter start='{{-\?' end='-\?}}' contained contains=rulesGoKeyword,rulesGoVariable,rulesFilter
syntax keyword rulesGoKeyword if else end range with define template block break continue nil true false contained
syntax match rulesGoVariable '\$\?\%(\.\w\+\)\+\|\$\w*' contained

highlight default link rulesComment Comment
highlight default link rulesAllowance Comment
highlight default link rulesAllow PreProc
highlight default link rulesCheck Identifier
highlight default link rulesTarget Structure
highlight default link rulesRewrite Keyword
highlight default link rulesList Keyword
highlight default link rulesWords Keyword
highlight default link rulesFile String
highlight default link rulesTest Keyword
highlight default link rulesTargetName Type
highlight default link rulesRewriteName Function
highlight default link rulesArrow Operator
highlight default link rulesTestArrow Operator
highlight default link rulesJinjaWord StorageClass
highlight default link rulesGoWord StorageClass
highlight default link rulesClause Label
highlight default link rulesVerdict Boolean
highlight default link rulesString String
highlight default link rulesSource String
highlight default link rulesPlain String
highlight default link rulesJinja String
highlight default link rulesGo String
highlight default link rulesKey String
highlight default link rulesExpected String
highlight default link rulesValue String
highlight default link rulesValueOfHeader String
highlight default link rulesEscape SpecialChar
highlight default link rulesAnchor Special
highlight default link rulesGroup Special
highlight default link rulesGroupName Identifier
highlight default link rulesQuantifier Operator
highlight default link rulesSet Character
highlight default link rulesClass Character
highlight default link rulesPatternEscape SpecialChar
highlight default link rulesDollar SpecialChar
highlight default link rulesReference Identifier
highlight default link rulesJinjaComment Comment
highlight default link rulesGoComment Comment
highlight default link rulesDelimiter Delimiter
highlight default link rulesJinjaKeyword Conditional
highlight default link rulesGoKeyword Conditional
highlight default link rulesVariable Identifier
highlight default link rulesGoVariable Identifier
highlight default link rulesFilter Function

let b:current_syntax = 'tornado_proxy_rules'
