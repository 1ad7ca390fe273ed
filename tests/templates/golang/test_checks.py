import pytest

from tornado_proxy.templates.golang.checks import check
from tornado_proxy.templates.golang.parser import parse
from tornado_proxy.templates.golang.template import vocabulary

GROUPS = ["one", "two", "0", "1", "2"]


def _known(text):
    return check(parse(text, vocabulary()), GROUPS)


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
        ('{{. | include "a"}}{{template "nope" .}}{{define "a"}}{{.Groups.x}}{{end}}', []),
        ('{{template "a" . | print}}{{define "a"}}{{.Groups.x}}{{end}}', []),
        ("{{$ := .Key}}{{$.Groups.x}}", []),
        ("{{.Groups}}{{index .Groups .Key}}{{index .Key 1}}", []),
        ('{{index .Request.Header "x"}}{{.Request.Header.Accept.x}}', []),
        ("{{.Request.URL}}{{.Request.URL.Query.Get}}{{.Request.TLS.Version}}{{index .Key 1}}", []),
        ("plain {{range 3}}{{break}}{{end}}", []),
        ('{{define "unused"}}{{.Groups.x}}{{end}}', []),
    ],
)
def test_groups_are_known_where_they_stand_literally(text, names):
    """Wherever dot or `$` is the outermost data; places are those of the names."""
    references = _known(text).group_references
    assert [name for name, _, _ in references] == names
    assert all(text[start:end].strip('"') == name for name, start, end in references)


@pytest.mark.parametrize(
    ("text", "message", "offset", "help"),
    [
        ("{{.Groups.on}}", "the source has no group `on`", 10, "did you mean `one`?"),
        ("é{{ $.Groups.zzz }}", "the source has no group `zzz`", 13, None),
        ('{{index .Groups "9"}}', "the source has no group `9`", 16, None),
        ("{{.Kye}}", "the data of a request has no field `Kye`", 3, "did you mean `Key`?"),
        ("{{.Target.Bucket.Size}}", "`Bucket` has no field `Size`", 17, None),
        ("{{.Request.Body}}", "the member `Body` is refused: a key is rewritten before the body is read", 11, None),
        ("{{.Request.Cookie}}", 'the member `Cookie` is refused: cookies are read by `.Header.Get "Cookie"`', 11, None),
        (
            "{{.Request.URL.Redacted}}",
            "the member `Redacted` is refused: a URL is made by `urlJoin` and read by `urlParse`",
            15,
            None,
        ),
        (
            "{{.Request.Header.Clone}}",
            "the member `Clone` is refused: a template changes nothing of the request",
            18,
            None,
        ),
        (
            '{{.Request.Header.Set "a" "b"}}',
            "the member `Set` is refused: a template changes nothing of the request",
            18,
            None,
        ),
        (
            '{{$.Request.URL.Query.Add "a" "b"}}',
            "the member `Add` is refused: a template changes nothing of the request",
            22,
            None,
        ),
        (
            "{{.Request.URL.User.Password}}",
            "the member `Password` is refused: a password must not be part of a key",
            20,
            None,
        ),
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
        ("{{index .Groups 1}}", "a group is asked for by a text", 16, 'write `"1"`'),
        ("{{with .Key}}{{$.Nope}}{{end}}", "the data of a request has no field `Nope`", 17, None),
    ],
)
def test_what_does_not_exist_is_a_mistake(text, message, offset, help):
    """With what was meant, if that can be guessed."""
    (mistake,) = _known(text).mistakes
    assert (str(mistake), mistake.offset) == (message, offset)
    assert help is None or mistake.help == help


def test_a_field_that_nothing_resembles_is_answered_with_those_that_there_are():
    """The list is short."""
    (mistake,) = _known("{{.Qqqq}}").mistakes
    assert mistake.help == "there are Groups, Key, Request, Target, User"


@pytest.mark.parametrize(
    "text",
    [
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
        '{{template "a" .}}{{define "a"}}{{.User.Username}}{{end}}',
        '{{if .User}}{{template "a" .}}{{end}}{{template "a" .}}{{define "a"}}{{.User.Username}}{{end}}',
        "{{(.User).Username}}",
        "{{range .User.Groups}}{{end}}",
        "{{and .Key .User.Username}}",
    ],
)
def test_a_template_that_may_read_from_an_absent_user_is_known(text):
    """It fails where nobody is signed in."""
    assert _known(text).reads_user


@pytest.mark.parametrize(
    "text",
    [
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
    ],
)
def test_a_template_that_asks_first_reads_from_no_absent_user(text):
    """The question itself reads nothing."""
    assert not _known(text).reads_user
