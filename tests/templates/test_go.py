import re

import pytest
from go_programs import HELM, mistake

from gotemplate.regexp.matching import Captures
from gotemplate.sprig import REFUSED, functions
from gotemplate.sprig.lists import FUNCTIONS as LISTS
from gotemplate.template.errors import LimitError, RenderError, TemplateMistake
from gotemplate.template.parser import parse
from tornado_proxy.semantics.request import Request, User
from tornado_proxy.templates.go import (
    BUILT_IN,
    TemplateCheck,
    built_in,
    callable_from,
    calls_helpers,
    compile_page,
    compile_template,
    vocabulary,
)
from tornado_proxy.templates.template import MissingUserError, MissingValueError, TargetKeyRewriteData

# The functions in the table of sprig 3.3.0 (GenericFuncMap).
SPRIG = """
abbrev abbrevboth add add1 add1f addf adler32sum ago all any append atoi b32dec b32enc b64dec b64enc base bcrypt
biggest buildCustomCert camelcase cat ceil chunk clean coalesce compact concat contains date dateInZone dateModify
date_in_zone date_modify decryptAES deepCopy deepEqual default derivePassword dict dig dir div divf duration
durationRound empty encryptAES env expandenv ext fail first float64 floor fromJson genCA genCAWithKey genPrivateKey
genSelfSignedCert genSelfSignedCertWithKey genSignedCert genSignedCertWithKey get getHostByName has hasKey hasPrefix
hasSuffix hello htmlDate htmlDateInZone htpasswd indent initial initials int int64 isAbs join kebabcase keys kindIs
kindOf last list lower max maxf merge mergeOverwrite min minf mod mul mulf mustAppend mustChunk mustCompact
mustDateModify mustDeepCopy mustFirst mustFromJson mustHas mustInitial mustLast mustMerge mustMergeOverwrite
mustPrepend mustPush mustRegexFind mustRegexFindAll mustRegexMatch mustRegexReplaceAll mustRegexReplaceAllLiteral
mustRegexSplit mustRest mustReverse mustSlice mustToDate mustToJson mustToPrettyJson mustToRawJson mustUniq
mustWithout must_date_modify nindent nospace now omit osBase osClean osDir osExt osIsAbs pick pluck plural prepend
push quote randAlpha randAlphaNum randAscii randBytes randInt randNumeric regexFind regexFindAll regexMatch
regexQuoteMeta regexReplaceAll regexReplaceAllLiteral regexSplit repeat replace rest reverse round semver
semverCompare seq set sha1sum sha256sum sha512sum shuffle slice snakecase sortAlpha split splitList splitn squote sub
subf substr swapcase ternary title toDate toDecimal toJson toPrettyJson toRawJson toString toStrings trim trimAll
trimPrefix trimSuffix trimall trunc tuple typeIs typeIsLike typeOf uniq unixEpoch unset until untilStep untitle upper
urlJoin urlParse uuidv4 values without wrap wrapWith
"""


def test_every_function_of_sprig_is_available_or_refused():
    """The functions are exactly those of sprig, and `include` and `tpl` of Helm."""
    assert set(functions()) | set(REFUSED) == {*re.findall(r"\w+", SPRIG), "include", "tpl"}


def test_the_slice_function_is_that_of_sprig():
    """The function `slice` of sprig replaces that of Go, as in Helm."""
    assert HELM.functions["slice"] is LISTS["slice"]


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_refused_function_has_a_reason(name):
    """A function without a repeatable result is a mistake at load."""
    assert str(mistake(f"{{{{ {name} }}}}", vocabulary())) == f"the function `{name}` is refused: {REFUSED[name]}"


def test_no_function_is_both_available_and_refused():
    assert not set(REFUSED) & set(vocabulary().functions)


CAPTURES = Captures(("/home/a.txt", "a.txt"), {"rest": 1})
ANN = TargetKeyRewriteData("/home/a.txt", User("ann"))
ANONYMOUS = TargetKeyRewriteData("/home/a.txt")


def _compiled(text):
    return compile_template(text, {"rest": 1}, 1)


def _mistake(text):
    with pytest.raises(TemplateMistake) as caught:
        _compiled(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ("{{ .Key", "an action is not closed", 0),
        ("{{ .Kay }}", "the data of a request has no field `Kay`", 4),
        ("{{ .Groups.x }}", "the source has no group `x`", 11),
        ('{{ index .Groups "2" }}', "the source has no group `2`", 17),
        ("{{ if false }}{{ mod 1 }}{{ end }}", "wrong number of arguments for `mod`: 1", 17),
        ("{{ upper 1 }}", "expected `string`, found a number", 9),
        ('{{ template "a" }}', "unknown template `a`", 3),
        ("{{ now }}", "the function `now` is refused: its result depends on the clock", 3),
        ('{{ tpl "x" . }}', "the function `tpl` is refused: it would compile a template each time", 3),
        ("{{ uper .Key }}", "unknown function `uper`", 3),
    ],
)
def test_mistakes_are_found_at_load(text, message, offset):
    """A mistake is found at load, even if Go would find it at the first request."""
    mistake = _mistake(text)
    assert (str(mistake), mistake.offset) == (message, offset)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("{{ .User.Username }}", MissingUserError, "the template reads from the user, but nobody is signed in"),
        ('{{ fail "no" }}', RenderError, 'no, in `fail "no"`'),
        ("{{ index .Key 99 }}", RenderError, "the index 99 is out of range, in `index .Key 99`"),
        ("{{ range 1000000 }}{{ end }}", LimitError, "the template takes more than 20000 steps"),
        ('{{ trunc 1 "é" }}', RenderError, "the template cuts a character in two, so its result is not text"),
    ],
)
def test_a_failed_request_has_a_reason(text, error, message):
    """The type of the error decides about the answer of the request."""
    with pytest.raises(error) as caught:
        _compiled(text).render(CAPTURES, ANONYMOUS)
    assert str(caught.value) == message


def test_a_call_of_fail_is_no_mistake():
    """A call of `fail` is accepted at load, because a condition may prevent it."""
    assert _compiled('{{ if not .User }}{{ fail "no" }}{{ end }}/a').render(CAPTURES, ANN) == "/a"


def test_an_expensive_constant_call_is_no_mistake():
    """A constant call above a limit fails for a request, not at load."""
    with pytest.raises(LimitError):
        _compiled('{{ if .Key }}{{ repeat 100000 "a" }}{{ end }}').render(CAPTURES, ANN)


def test_helpers_can_be_called():
    assert _compiled('/{{ template "main.userIdentifier" . }}').render(CAPTURES, ANN) == "/ann"
    assert _compiled('/x{{ include "main.userIdentifier" . }}').render(CAPTURES, ANONYMOUS) == "/x"
    helpers = ('{{ define "home" }}homes/{{ .User.GetUsername }}{{ end }}',)
    template = compile_template('{{ template "home" . }}/{{ .Groups.rest }}', {"rest": 1}, 1, helpers)
    assert template.render(CAPTURES, ANN) == "homes/ann/a.txt"
    assert (template.helpers, template.reads_user) == (helpers, True)
    redefined = ('{{ define "main.userIdentifier" }}me{{ end }}',)
    assert compile_template('{{ template "main.userIdentifier" . }}', {}, 0, redefined).render(CAPTURES, ANN) == "me"


def test_places_do_not_count_helpers():
    """The places of groups and mistakes count from the start of the rule's own text."""
    text = '{{ template "main.userIdentifier" . }}{{ .Groups.rest }}'
    assert [(name, text[start:end]) for name, start, end in _compiled(text).group_references] == [("rest", "rest")]
    mistake = _mistake('{{ template "main.userIdentifier" . }}{{ .Groups.other }}')
    assert mistake.offset > 30
    assert "other" in str(mistake)
    unknown = _mistake('{{ template "nobody" . }}')
    assert str(unknown) == "unknown template `nobody`"
    assert unknown.offset < 20


def test_a_mistake_in_a_helper_is_reported():
    with pytest.raises(TemplateMistake, match="a helper template that it calls has a mistake: ") as caught:
        compile_template('{{ template "bad" . }}', {}, 0, ('{{ define "bad" }}{{ .Request.Nothing }}{{ end }}',))
    assert caught.value.offset == 0


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (
            "/{{ nofunc .Kye | upper 1 2 | lowr $x }}",
            [
                "unknown function `nofunc`",
                "the data of a request has no field `Kye`",
                "wrong number of arguments for `upper`: 3",
                "unknown function `lowr`",
                "unknown variable `$x`",
            ],
        ),
        (
            "{{ nofunc (upper 1) .Groups.none }}",
            ["unknown function `nofunc`", "expected `string`, found a number", "the source has no group `none`"],
        ),
        ("{{ $x.Name.First }}", ["unknown variable `$x`"]),
        ("{{ .User.Nmae.First }}{{ .Groups.none.First }}", ["`User` has no field `Nmae`", "the source has no group `none`"]),
    ],
)  # fmt: skip
def test_all_mistakes_of_an_action_are_reported(text, messages):
    with pytest.raises(TemplateMistake) as caught:
        compile_template(text, {}, 0)
    assert [str(mistake) for mistake in (caught.value, *caught.value.others)] == messages


GROUPS = ["one", "two", "0", "1", "2"]


def _check(text):
    return TemplateCheck(parse(text), GROUPS)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{{.Groups.one}}", ["one"]),
        ("{{$.Groups.two}}{{.Groups.one}}", ["two", "one"]),
        ('{{index .Groups "1"}}{{index $.Groups "two"}}{{get .Groups "one"}}', ["1", "two", "one"]),
        ("{{if .Groups.one}}{{range $i, $x := .Groups.two}}{{end}}{{end}}", ["one", "two"]),
        ("{{range .Target.Mount.Path}}{{$.Groups.one}}{{.Groups.x}}{{else}}{{.Groups.two}}{{end}}", ["one", "two"]),
        ("{{with .Key}}{{$.Groups.one}}{{else}}{{.Groups.two}}{{end}}", ["one", "two"]),
        ('{{print (printf "%s" .Groups.one)}}{{(.Groups.two | upper).x}}', ["one", "two"]),
        ('{{template "a" .}}{{define "a"}}{{.Groups.one}}{{$.Groups.two}}{{end}}', ["one", "two"]),
        ('{{template "a" $}}{{template "a" .}}{{define "a"}}{{.Groups.one}}{{end}}', ["one"]),
        ('{{template "a" .Key}}{{template "a"}}{{define "a"}}{{.Groups.x}}{{end}}', []),
        ('{{include "a" . | upper}}{{define "a"}}{{.Groups.one}}{{end}}', ["one"]),
        ('{{include .Key .}}{{define "a"}}{{.Groups.x}}{{end}}', []),
        ('{{. | include "a"}}{{template "nope" .}}{{define "a"}}{{.Groups.x}}{{end}}', []),
        ('{{template "a" . | print}}{{define "a"}}{{.Groups.x}}{{end}}', []),
        ("{{$ := .Key}}{{$.Groups.x}}", []),
        ("{{$data := .}}{{$data.Groups.one}}{{with $}}{{index .Groups.two 1}}{{end}}", ["one", "two"]),
        ("{{.Groups}}{{index .Groups .Key}}{{index .Key 1}}", []),
        ('{{index .Request.Header "x"}}{{.Request.Header.Accept.x}}', []),
        ("{{.Request.URL}}{{.Request.URL.Query.Get}}{{.Request.FormValue.x}}{{index .Key 1}}", []),
        ("plain {{range 3}}{{break}}{{end}}", []),
        ('{{define "unused"}}{{.Groups.x}}{{end}}', []),
    ],
)
def test_literal_references_to_groups_are_found(text, names):
    """A reference is found where the dot or `$` is the outermost data, with the place of its name."""
    references = _check(text).group_references
    assert [name for name, _, _ in references] == names
    assert all(text[start:end].strip('"') == name for name, start, end in references)


@pytest.mark.parametrize(
    ("text", "message", "offset", "help"),
    [
        ("{{.Groups.on}}", "the source has no group `on`", 10, "did you mean `one`?"),
        ("é{{ $.Groups.zzz }}", "the source has no group `zzz`", 13, "there are `0`, `1`, `2`, `one`, `two`"),
        ('{{index .Groups "9"}}', "the source has no group `9`", 16, None),
        ("{{.Kye}}", "the data of a request has no field `Kye`", 3, "did you mean `Key`?"),
        ("{{.Target.Bucket.Size}}", "`Bucket` has no field `Size`", 17, None),
        ("{{.Request.Body}}", "`Request` has no field `Body`", 11, None),
        ("{{.Request.TLS.Version}}", "`TLS` has no fields", 15, None),
        ("{{.Request.URL.Pth}}", "`URL` has no field `Pth`", 15, "did you mean `Path`?"),
        ("{{.User.Nmae}}", "`User` has no field `Nmae`", 8, "did you mean `Name`?"),
        ("{{.Key.foo}}", "`Key` has no fields", 7, None),
        ("{{$.Request.Method.Foo.Bar}}", "`Method` has no fields", 19, None),
        ("{{.Request.URL.Path.Foo}}", "`Path` has no fields", 20, None),
        ("{{.Request.URL.User.Foo}}", "`User` has no field `Foo`", 20, None),
        ("{{.Request.UserAgent.Foo}}", "`UserAgent` has no fields", 21, None),
        ("{{.Target.Bucket.Name.x}}", "`Name` has no fields", 22, None),
        ("{{.User.GetUsername.x}}", "`GetUsername` has no fields", 20, None),
        ("{{.Groups.one.x}}", "`one` has no fields", 14, None),
        ("{{index .Groups 1}}", "a group is named by a string", 16, 'write `"1"`'),
        ("{{with .Key}}{{$.Nope}}{{end}}", "the data of a request has no field `Nope`", 17, None),
    ],
)
def test_a_missing_field_or_group_is_a_mistake(text, message, offset, help):
    (mistake,) = _check(text).mistakes
    assert (str(mistake), mistake.offset) == (message, offset)
    assert help is None or mistake.help == help


def test_the_help_for_an_unknown_field_lists_the_fields():
    (mistake,) = _check("{{.Qqqq}}").mistakes
    assert mistake.help == "there are Groups, Key, Request, Target, User"


READ_USER = [
    "{{.User.Username}}",
    "{{.User}}",
    "{{print .User}}",
    "{{$u := .User}}",
    "{{if $u := .User}}{{end}}",
    "{{.User | print}}",
    "{{if .User.Email}}{{end}}",
    "{{if .User}}{{else}}{{.User.Username}}{{end}}",
    "{{if not .User}}{{.User.Username}}{{end}}",
    "{{if or .User .Key}}{{.User.Username}}{{end}}",
    "{{if .User | not}}{{else}}{{.User.Username}}{{end}}",
    "{{with .Key}}{{$.User.Username}}{{end}}",
    "{{$data := .}}{{$data.User.Username}}",
    "{{with $}}{{.User.Username}}{{end}}",
    '{{template "a" .}}{{define "a"}}{{.User.Username}}{{end}}',
    '{{if .User}}{{template "a" .}}{{end}}{{template "a" .}}{{define "a"}}{{.User.Username}}{{end}}',
    "{{(.User).Username}}",
    "{{range .User.Groups}}{{end}}",
    "{{and .Key .User.Username}}",
]
TEST_FOR_USER = [
    "{{.Key}}",
    "{{if .User}}{{.User.Username}}{{.User}}{{end}}",
    "{{with .User}}{{.Username}}{{$.User.Username}}{{end}}",
    "{{if not .User}}x{{else}}{{.User.Username}}{{end}}",
    "{{if and .User .Key}}{{.User.Username}}{{end}}",
    "{{and .User .User.Username}}",
    '{{if and .User (eq .User.GetType "OIDC")}}{{.User.Email}}{{end}}',
    '{{default "x" .User}}{{.User | default "x"}}{{empty .User}}{{ternary 1 2 (empty .User)}}',
    "{{if (.User)}}{{end}}",
    '{{if .User}}{{template "a" .}}{{end}}{{define "a"}}{{.User.Username}}{{end}}',
    '{{template "a" .Key}}{{define "a"}}{{.User.Username}}{{end}}',
]


@pytest.mark.parametrize(
    ("text", "reads_user"), [*((text, True) for text in READ_USER), *((text, False) for text in TEST_FOR_USER)]
)
def test_a_template_that_may_read_an_absent_user_is_recognised(text, reads_user):
    """A template that may read a user without testing for one needs a user; a test is not a read, and allows reads below it."""
    assert _check(text).reads_user is reads_user


def test_groups_in_helpers_are_no_references_of_a_template():
    helper, text = '{{define "h"}}{{.Groups.one}}{{end}}', '{{template "h" .}}{{.Groups.two}}'
    template = compile_template(text, {"one": 1, "two": 2}, 2, (helper,))
    assert template.group_references == (("two", text.index("two"), len(text) - 2),)


JSON = Request(headers=(("Accept", "application/json"),))


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("main.userIdentifier", {"User": User("ann")}, "ann"),
        ("main.userIdentifier", {"User": None}, ""),
        ("main.headers.contentType", {"Request": Request()}, "text/html; charset=utf-8"),
        ("main.headers.contentType", {"Request": JSON}, "application/json; charset=utf-8"),
        ("main.body.errorJsonBody", {"Error": ValueError('no "x"')}, '{"error": "no \\"x\\""}'),
    ],
)
def test_built_in_helpers_have_the_output_of_their_names(name, data, text):
    """The built-in helpers write a user, a content type and an error in JSON."""
    assert compile_page(f'{{{{ template "{name}" . }}}}', [built_in([])]).render(data).strip() == text


def test_a_definition_replaces_a_built_in_helper():
    """A built-in helper is left out if a text has a definition of its name, because Go refuses a second one."""
    own = '{{- define "main.userIdentifier" -}}me{{ end }}'
    assert "userIdentifier" not in built_in([own])
    assert all(name in built_in([]) for name in BUILT_IN)
    assert callable_from('{{ template "own" }}', [own])[1:] == (own,)
    assert "contentType" not in callable_from("{{ block `main.headers.contentType` . }}x{{ end }}", [])[0]


def test_calls_of_helpers_are_recognised():
    assert not calls_helpers("/template/{{ .Key }}")
    assert calls_helpers('{{- template "a" . -}}')
    assert calls_helpers('{{ include "a" . | upper }}')


@pytest.mark.parametrize("text", ['{{ index .Request.Header "X-Team" 0 }}', '{{ index .Request.URL.Query "page" 0 }}'])
def test_a_value_that_the_client_did_not_send_is_told_from_other_errors(text):
    """Go has an empty list for a name without values, and reading its first element fails."""
    with pytest.raises(MissingValueError, match="missing `"):
        _compiled(text).render(CAPTURES, ANONYMOUS)


def test_a_value_that_is_there_may_be_read_wrongly():
    sent = TargetKeyRewriteData("/", None, Request(headers=(("X-Team", "blue"),)))
    with pytest.raises(RenderError) as caught:
        _compiled('{{ index .Request.Header "X-Team" 1 }}').render(CAPTURES, sent)
    assert not isinstance(caught.value, MissingValueError)
