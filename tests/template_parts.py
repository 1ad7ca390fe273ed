"""The parts of generated Go templates: data, arguments, signatures of functions, fields of requests, and lexemes."""

from typing import Any

DATA: dict[str, Any] = {
    "Empty": "", "Zero": 0, "List": [1, 2, 3], "Strs": ["b", "a", "c"], "EmptyList": [], "EmptyMap": {},
    "Html": '<a href="x">&\'</a>', "Uni": "héllo 日本😀", "Neg": -7, "F": 3.0, "F2": 1e21, "F3": 1e-06, "F4": 2.5,
    "Nested": [[1, 2], [3]], "Mixed": ["a", 1, None, True, 2.5, {"k": "v"}], "T": True, "N": None, "S": "str",
    "M": {"b": 2, "a": 1, "c": {"d": "deep"}}, "Ctl": 'tab\tnl\nq"b\\', "Path": "/a/b/../c.tar.gz", "I": 42,
}  # fmt: skip
"""The data of templates that do not read a request."""

REQUEST: dict[str, Any] = {
    "Key": "/input1/input2/input3",
    "Request": {
        "Method": "GET",
        "Host": "fake.com",
        "URL": "http://fake.com/a/b?x=1&y=two&x=3",
        "RequestURI": "/a/b?x=1&y=two&x=3",
        "RemoteAddr": "10.0.0.1:1234",
        "Header": {"Accept": ["application/json"], "X-Tenant": ["acme", "second"], "User-Agent": ["curl/8"]},
    },
    "Target": {
        "Name": "site",
        "Bucket": {"Name": "bkt", "Prefix": "pre/", "Region": "eu-west-1", "S3ListMaxKeys": 1000},
        "Mount": {"Host": "", "Path": ["/site/", "/s/"]},
    },
}
USERS: list[dict[str, Any] | None] = [
    None,
    {"type": "BASIC", "Username": "fake"},
    {"type": "HEADER", "Username": "h", "Email": "h@x", "Groups": ["a", "b"]},
    {"type": "HEADER", "Username": "", "Email": "h@x"},
    {"type": "OIDC", "Email": "z@q"},
    {"type": "OIDC", "PreferredUsername": "p", "Name": "P Q", "GivenName": "P", "FamilyName": "Q", "Email": "p@q",
     "Groups": ["g"], "EmailVerified": True},
]  # fmt: skip

STRINGS = [
    *('""', '"a"', '"abc"', '"Hello World"', '"a,b,c"', '"/a/b//c.txt"', '"héllo"', '"日本"', '"  x y  "', '"1.2.3"'),
    *('"fooBar_baz-Qux9"', '"HTTPServer2xx"', '"v1.4.0-rc.1+b5"', '"10"', '"-3.7"', '"0x1F"', '"1e3"', '"a\\nb\\nc"'),
    *('"{\\"a\\":[1,2.5,\\"x\\"],\\"b\\":{\\"c\\":null}}"', '"aGVsbG8="', '"NBSWY3DP"', '"$1x${1}y"', '"(a)(b)?"'),
    *('"[a-z]+"', '"x*"', ".S", ".Uni", ".Html", ".Ctl", ".Path", ".Empty", '"\\xff\\xfe"', '"é\\xffz"', '"ǅ ß İ ŉ"'),
    *('"the quick brown fox jumps"', '"%d %s"', '"true"', '"<&>"', '"__a--B c"', "`raw\\n`", '"A"', '"aaa"', '"."'),
    *('".."', '"//"', '"x.y.z"', '"_"', '"-"', '"0"', '"007"', '"1_000"', '"+5"', '"a+b=c&d"'),
]
INTEGERS = [
    *("0", "1", "2", "3", "5", "10", "-1", "-5", "7", "42", ".I", ".Zero", ".Neg", "100", "1000", "0x10", "'a'", "1e2"),
    *("3.0", "(len .Strs)"),
]
SMALL = ["0", "1", "2", "3", "7", "10", "-1", "-5", "100", "1000", "0x10", "'a'", "1e2", "3.0", '"x"', "nil", "1.5"]
FLOATS = [
    "0.5", "1.5", "2.5", "-0.5", "3.14159", "1e10", "1e21", "1e-7", ".F", ".F2", ".F3", ".F4", "-2.5", "0.1", "1e308",
    "-0.0", "123456.789", "9223372036854775807", "-9223372036854775808",
]  # fmt: skip
LISTS = [".List", ".Strs", ".EmptyList", ".Nested", ".Mixed"]
MAPS = [".M", ".EmptyMap"]
OTHERS = ["nil", ".N", ".T", "false", "true", ".Missing", ".M.c.d", ".M.nope", "(index .List 0)", "1i", "1+2i"]
SPRIG_FLOATS = ["(int64 5)", '(float64 "2.25")', "(div 7 2)"]
SPRIG_LISTS = [
    *("(list)", "(list 1 2 3)", '(list "a" "b" "a")', '(list "x" 1 nil true 2.5)', '(splitList "," "a,b,c")'),
    *("(until 3)", '(list (list 1) (dict "a" 1))', "(tuple 3 1 2)", '(list "" 0 false nil)', "(chunk 2 (list 1 2 3))"),
    *('(list 1.5 2 "3")', '(regexFindAll "[a-z]" "abc" -1)', '(list (list) (dict) "" 0)', '(splitList "" "héy")'),
]
SPRIG_MAPS = [
    *("(dict)", '(dict "a" 1 "b" 2)', '(dict "a" (dict "b" (dict "c" 1)))', '(dict "x" "y" "l" (list 1 2))'),
    *('(dict 1 2 "z")', '(fromJson "{\\"a\\":{\\"b\\":1},\\"l\\":[1]}")', '(split "," "a,b")'),
    *('(set (dict "a" 1) "q" "r")', '(urlParse "http://u@h/p?q")', '(dict "a" nil "b" "" "c" 0)'),
    '(dict "scheme" "https" "host" "h:80" "path" "/a b")',
]
SPRIG_OTHERS = ['(semver "1.2.3")', '(toDate "2006-01-02" "2020-02-29")', "(list)"]
VERSIONS = [
    *('"1.2.3"', '"1.2"', '"v2"', '"1.2.3-beta.2"', '"1.2.3+meta"', '"0.0.1"', '"2.0.0-rc.1"', '"x"', '"1.02.3"'),
    *('"1.2.3-01"', '"0.3.0"', '"10.20.30"', '"1.2.3-alpha.10"', '"1.2.3-alpha.9"', '""', '"99999999999999999999.1"'),
]
CONSTRAINTS = [
    *('"^1.2.0"', '">=1.0, <2.0"', '"~1.2"', '"1.x"', '"*"', '"!=1.2.3"', '">1.2 || <0.5"', '"1.0 - 2.0"', '"^0.2.3"'),
    *('"^0.0.3"', '"~>1.2.3"', '">=1.2.3-beta"', '"<=1.2"', '">1"', '"!=1.x"', '"bad"', '""', '"^0"', '"~0"', '"v1.2"'),
    *('"1.2.3 2.0.0"', '"=<1.3"', '"=>1.3"', '"^1.2.3-alpha"', '"!=*"', '"<1.X"', '"1.2.x || 2.*"'),
]
EXPRESSIONS = [
    '"a"', '"[a-z]+"', '"(a)(b)?"', '"x*"', '""', '"^a"', '"c$"', '"\\\\d+"', '"(?P<n>l+)"', '"("', '"(?=a)"', '"a|b"',
    '"."', '"\\\\s"', '"(?i)H"', '"/"', '","', '"[^,]*"', '"\\\\b"', '"é"', '"(.)(.)"', '"a*?"', '"(a|ab)(c|bcd)"',
    '"\\\\w+?"', '"$"', '"^"', '"(?s).*"', '"l{2}"', '"[[:upper:]]"', '"\\\\pL+"',
]  # fmt: skip
REPLACEMENTS = [
    '"x"', '"$1"', '"${1}x"', '"$n"', '"$$"', '"<$0>"', '""', '"$1$2"', '"$x"', '"${n}-"', '"\\\\1"', '"$"', '"${"',
    '"$1x"',
]  # fmt: skip
SEPARATORS = ['","', '""', '"/"', '" "', '"-"', '"a"', '"\\n"', '"é"', '"ab"', '"."']
LAYOUTS = [
    '"2006-01-02"', '"02 Jan 2006 15:04:05"', '"Monday January _2 3:04PM"', '"2006-01-02T15:04:05Z07:00"', '"06/1/2"',
    '"15:04:05.000"', '"Jan 2, 2006 at 3:04pm (MST)"', '"2006-01-02 15:04:05.999999999 -0700 MST"', '"002 __2 2006"',
    '"x2006y"', '"Mon, 02 Jan 2006 15:04:05 -0700"', '"05.00,999"', '"_2006"', '"Z0700 -07 Z070000"', '"20060102"',
    '""',
]  # fmt: skip
TIMES = [
    '"2020-02-29"', '"29 Feb 2020 13:14:15"', '"Saturday February 29 1:02PM"', '"2020-02-29T13:14:15+02:00"', '"bad"',
    '"20/2/29"', '"13:14:15.123"', '"Feb 29, 2020 at 1:02pm (PST)"', '"2020-02-29 13:14:15.5 -0700 MST"', '""',
    '"060 060 2020"', '"x2020y"', '"Sat, 29 Feb 2020 13:14:15 -0700"', '"2021-02-29"', '"2020-13-01"', '"_2020"',
]  # fmt: skip
DURATIONS = [
    '"1h"', '"1h30m"', '"-5s"', '"1.5s"', '"100ms"', '"2us"', '"0"', '"bad"', '""', '"1d"', '"1h1h"', '".5m"',
    '"1e3s"', '"9999999h"', '"300ns"', '"+1m"', '"1.h"', '"3µs"', '"730h5m"',
]  # fmt: skip
MOMENTS = ["0", "1", "1600000000", "-1", "(int64 1582977600)", "253402300799", '(toDate "2006-01-02" "2020-02-29")']
TIME_VALUES = [
    *('(toDate "2006-01-02" "2020-02-29")', '(toDate "x" "y")'),
    '(mustToDate "2006-01-02 15:04:05.000 -0700" "1999-12-31 23:59:59.250 -0800")',
]
URLS = [
    '"http://u:p@h.com:80/p%20q?x=1#f"', '"/a/b?c=d"', '"mailto:x@y"', '"//h/p"', '"http://[::1]:80/x"', '"a:b"',
    '"a/b:c"', '":x"', '"http://h/%zz"', '"http://h?"', '"http://h#a%20b"', '"*"', '""', '"http://a b/"', '"?q"',
    '"#f"', '"http://h:port/"', '"/%2F%41/é"', '"http://é.com/é?é#é"', '"http://h/a?b?c#d#e"', '"///x"', '"http:///p"',
    '"http:p"',
]  # fmt: skip

# Functions with the kinds of their arguments; a star marks a kind that may repeat or be left out. J is a literal, mostly
# a small integer, because Go counts up to it, and because Go's own `slice` does not accept an index in an interface, as
# all data is. `keys` and `values` are left out, because their order is random in Go.
STANDARD = """
len A;index A I;index M S;index A I I;index M S S;index S I;index L I;html A*;js A*;urlquery A*;print A*;println A*;eq A A;ne A A;lt A A;le A A;gt A A;ge A A;not A
and A A;or A A;eq F F;lt F F;eq S S;lt S S;eq A A A;slice S J;slice L J J;slice A J;call A;printf S A*
"""
SPRIG = """
abbrev I S;abbrevboth I I S;add A*;add1 A;add1f F;addf F*;adler32sum S;all A*;any A*;append L A;atoi S;b32dec S
b32enc S;b64dec S;b64enc S;base O;biggest F F*;camelcase Q;cat A*;ceil F;chunk I L;clean O;coalesce A*;compact L
concat L L*;contains E S;date Y U;dateInZone Y U Z;dateModify D W;date_in_zone Y U Z;date_modify D W;deepCopy A
deepEqual A A;default A A;dict S A S A;dig S A M;dig S S A M;dir O;div F F;divf F F*;duration D;duration A
durationRound D;durationRound A;empty A;ext O;fail S;first L;float64 A;floor F;fromJson N;get M S;has A L;hasKey M S
hasPrefix E S;hasSuffix E S;hello;htmlDate U;htmlDateInZone U Z;indent J S;initial L;initials Q;int A;int64 A;isAbs O
join E A;kebabcase Q;kindIs S A;kindOf A;last L;list A*;lower Q;max F F*;maxf F F*;merge M M;mergeOverwrite M M
min F F*;minf F F*;mod F F;mul F F*;mulf F F*;mustAppend L A;mustChunk I L;mustCompact L;mustDateModify D W
mustDeepCopy A;mustFirst L;mustFromJson N;mustHas A L;mustInitial L;mustLast L;mustMerge M M;mustMergeOverwrite M M
mustPrepend L A;mustPush L A;mustRegexFind R S;mustRegexFindAll R S I;mustRegexMatch R S;mustRegexReplaceAll R S P
mustRegexReplaceAllLiteral R S P;mustRegexSplit R S I;mustRest L;mustReverse L;mustSlice L I I;mustToDate Y X
mustToJson A;mustToPrettyJson A;mustToRawJson A;mustUniq L;mustWithout L A;must_date_modify D W;nindent J S;nospace Q
omit M S;osBase O;osClean O;osDir O;osExt O;osIsAbs O;pick M S S;pluck S M M;plural S S I;prepend L A;push L A;quote A*
regexFind R S;regexFindAll R S I;regexMatch R S;regexQuoteMeta S;regexReplaceAll R S P;regexReplaceAllLiteral R S P
regexSplit R S I;repeat J S;replace E P S;rest L;reverse L;round F I;round F I F;semver V;semverCompare C V;seq J*
set M S A;sha1sum S;sha256sum S;sha512sum S;slice L I;slice L I I;snakecase Q;sortAlpha A;split E S;splitList E S
splitn E I S;squote A*;sub F F;subf F F*;substr I I S;swapcase Q;ternary A A B;title Q;toDate Y X;toDecimal A;toJson A
toPrettyJson A;toRawJson A;toString A;toStrings A;trim S;trimAll E S;trimPrefix E S;trimSuffix E S;trimall E S;trunc I Q
tuple A*;typeIs S A;typeIsLike S A;typeOf A;uniq L;unixEpoch W;unset M S;until J;untilStep J J J;untitle Q;upper Q
urlJoin M;urlParse H;without L A;wrap I Q;wrapWith I S Q
"""
ODD_VERBS = "!é Hjkry;,An$@"
"""Characters that are not verbs."""
OF_ANYTHING = [
    "toJson", "toPrettyJson", "toRawJson", "toString", "quote", "squote", "kindOf", "typeOf", "empty", "len", "first",
    "last", "rest", "initial", "uniq", "compact", "reverse", "sortAlpha", "toStrings", "int", "int64", "float64",
    'join ","', "default 1", "coalesce", "cat", "deepCopy", "keys | sortAlpha", "upper", "trim", "has nil", "floor",
    "ceil", "add 1", "toDecimal", "atoi",
]  # fmt: skip
"""Functions that accept any value."""
VERBS = "vvvssddxXqteEfFgGboOcUTpwzl%"
REQUEST_VALUES = [
    ".User", ".Key", ".Target.Name", ".Target.Bucket.Name", ".Target.Bucket.S3ListMaxKeys",
    ".Target.Bucket.DisableSSL", ".Target.Mount.Path", ".Target.Mount.Host", ".Request.Method", ".Request.Host",
    ".Request.URL", ".Request.URL.Path", ".Request.URL.RawQuery", ".Request.URL.Query", ".Request.URL.Host",
    ".Request.URL.Scheme", ".Request.URL.Port", ".Request.URL.Hostname", ".Request.URL.EscapedPath",
    ".Request.URL.RequestURI", ".Request.URL.IsAbs", ".Request.URL.User", ".Request.URL.String", ".Request.Header",
    ".Request.Header.Accept", ".Request.Header.Nope", '(index .Request.Header "X-Tenant")',
    '(.Request.Header.Get "x-tenant")', '(.Request.Header.Values "X-TENANT")', '(.Request.URL.Query.Get "x")',
    '(.Request.URL.Query.Has "x")', ".Request.URL.Query.x", ".Request.URL.Query.Encode", ".Request.UserAgent",
    ".Request.Referer", '(.Request.FormValue "y")', ".Request.RequestURI", ".Request.RemoteAddr", ".Request.Proto",
    ".Request.ProtoMajor", "(.Request.ProtoAtLeast 1 1)", ".Request.TLS", ".User.Username", ".User.Email",
    ".User.Groups", ".User.GetUsername", ".User.GetIdentifier", ".User.GetEmail", ".User.GetName", ".User.GetGroups",
    ".User.GetGivenName", ".User.GetFamilyName", ".User.IsEmailVerified", ".User.GetType", ".User.PreferredUsername",
    ".User.GivenName", ".User.EmailVerified", ".User.Nope", ".Key.x", ".Nope", ".Target.Nope", "(.Request.Header.Get)",
    "(.Request.Header.Get 1)", "(.User.GetEmail 1)", ".Target.Bucket", ".Target.Mount",
]  # fmt: skip
AROUND_ONE = [
    *("{{ %s }}", "{{ if %s }}y{{ else }}n{{ end }}", "{{ with %s }}{{ . }}{{ else }}none{{ end }}", "{{ %s | len }}"),
    *("{{ range %s }}[{{ . }}]{{ else }}e{{ end }}", '{{ printf "%%v %%T" %s 1 }}', "{{ print %s 1 }}", "{{ (%s) }}"),
    *("{{ $x := %s }}{{ $x }}", "{{ html %s }}", "{{ eq %s nil }}", "{{ not %s }}", "{{ urlquery %s }}"),
    *("{{ index %s 0 }}", '{{ printf "%%+v" %s }}', '{{ template "t" %s }}{{ define "t" }}{{ . }}{{ end }}'),
]
AROUND_ONE_SPRIG = [
    "{{ toStrings %s | toJson }}", "{{ concat %s | toJson }}", "{{ range %s }}{{ . }},{{ else }}none{{ end }}",
    "{{ %s | quote }}", "{{ toJson %s }}", '{{ default "d" %s }}', "{{ empty %s }}", "{{ first %s }}",
    "{{ kindOf %s }}", '{{ join "," %s }}', "{{ %s | upper }}", '{{ has "a" %s }}', '{{ coalesce %s "z" }}',
    "{{ cat %s }}", "{{ toString %s }}", "{{ ternary 1 2 (empty %s) }}",
    '{{ include "t" %s }}{{ define "t" }}<{{ . }}>{{ end }}', '{{ regexMatch "a" %s }}',
]  # fmt: skip
AROUND_TWO = ["and %s %s", "or %s %s", "eq %s %s", "ne %s %s", 'printf "%%s-%%s" %s %s', "print %s %s", "lt %s %s"]
TIME_DURATIONS = [
    *("0", "1", "-5", "1000000000", "3600000000000", "90061000000001", "-7199999999999", "1.0", "1e9", "1.5", '"1h"'),
    "(int64 5)",
]
TIME_METHODS = """Add D;AddDate I I I;After T;Before T;Compare T;Day;Equal T;Format Y;Hour;IsDST;IsZero;Local;Minute;Month
Nanosecond;Round D;Second;String;Sub T;Truncate D;UTC;Unix;UnixMicro;UnixMilli;UnixNano;Weekday;Year;YearDay;Nope;Month.String
Weekday.String;Month.Nope;UTC.Unix"""
DURATION_METHODS = (
    "Abs;Hours;Microseconds;Milliseconds;Minutes;Nanoseconds;Round D;Seconds;String;Truncate D;Nope;Abs.Hours"
)
VERSION_METHODS = """Compare V;Equal V;GreaterThan V;GreaterThanEqual V;IncMajor;IncMinor;IncPatch;LessThan V;LessThanEqual V;Major
Metadata;Minor;Original;Patch;Prerelease;SetMetadata N;SetPrerelease N;String;IncPatch.IncMajor;IncMinor.Original;Nope"""
AROUND_METHOD = [
    "{{ %s }}", "{{ %s | toJson }}", '{{ printf "%%T" (%s) }}', '{{ printf "%%v|%%d" (%s) 1 }}', "{{ kindOf (%s) }}",
    "{{ quote (%s) }}", "{{ empty (%s) }}", "{{ $x := %s }}{{ eq $x $x }}", "{{ default 1 (%s) }}",
    "{{ toString (%s) }}",
]  # fmt: skip
AROUND_TWO_SPRIG = [
    *('merge (dict "q" %s) (dict "q" %s)', 'mergeOverwrite (dict "q" %s) (dict "q" %s)', "deepEqual %s %s"),
    *("list %s %s", "coalesce %s %s", "dict %s %s", "append %s %s", "default %s %s", "contains %s %s"),
]
PIECES = [
    "{{", "}}", "{{-", "-}}", " ", "  ", "\n", "if", "else", "end", "range", "with", "define", "template", "block",
    "break", "continue", "nil", "true", ".", "..", ".a", ".S", ".M", "$", "$x", "$x := ", " = ", ":=", ",", "|", "(",
    ")", '"s"', "`r`", "'c'", "''", "'ab'", "1", "-1", "1.5", "0x1p4", "1i", "print", "len", "printf", "html", "/*",
    "*/", "{{/* c */}}", "+", "-", "=", "!", "@", "#", "\\", "%", "&", "é", '"', "`", "'", "if true", "end}}",
    "{{end}}", "{{if .S}}", "{{range .List}}", "{{else}}", "{{with .M}}", '{{define "z"}}', '{{template "z" .}}',
    "text", "x", "1_0", "0b2", "5.", "$x.y", ".M.a", ").a", "(.M).a",
]  # fmt: skip
