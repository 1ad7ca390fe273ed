import pytest

from tornado_proxy.lint.go_insertions import admits_no_slash, insertions, matches_every_slash, matches_no_slash
from tornado_proxy.lint.shapes import EMAIL, GROUPS, HEADER, NAME, QUERY


@pytest.mark.parametrize(
    ("expression", "every"),
    [
        *(("[^a-z]", True), ("[^a-z]+", True), ("([/@])*", True), ("/", True), (r"\W", True), (".", True)),
        *(("[a-z]", False), ("/{2}", False), ("a/", False), ("/a", False), (r"\pL", False), ("(", False), ("", False)),
    ],
)
def test_expressions_that_match_every_slash(expression, every):
    """One character, or a run of any length, with `/` among them, finds each slash of any text."""
    assert matches_every_slash(expression) is every


@pytest.mark.parametrize(
    ("expression", "none"), [("[a-z]+@x", True), (r"(\w)-", True), (".", False), ("a/b", False), ("(", False)]
)
def test_expressions_that_match_no_slash(expression, none):
    """No part of the expression reads a slash."""
    assert matches_no_slash(expression) is none


@pytest.mark.parametrize(
    ("expression", "admits"),
    [("^[a-z]+$", True), (r"\A\w*\z", True), ("[a-z]+", False), ("^a/b$", False), ("(?m)^a$", False), ("(", False)],
)
def test_expressions_that_admit_no_slash(expression, admits):
    """The expression speaks of the whole text, and no part of it reads a slash."""
    assert admits_no_slash(expression) is admits


def _found(template):
    return [(what, template[start:end]) for what, start, end in insertions(template)]


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ('/{{ .Request.Header.Get "X-Team" }}', [(HEADER, ".Request.Header.Get")]),
        ("/{{ .Request.UserAgent }}", [(HEADER, ".Request.UserAgent")]),
        ('/{{ .Request.URL.Query.Get "page" }}', [(QUERY, ".Request.URL.Query.Get")]),
        ("/{{ .User.GetEmail | lower }}", [(EMAIL, ".User.GetEmail")]),
        ("/{{ $.User.GetName }}", [(NAME, "$.User.GetName")]),
        ("/{{ index .User.GetGroups 0 }}", [(GROUPS, ".User.GetGroups")]),
        ("/{{ (lower .User.GetEmail) }}", [(EMAIL, ".User.GetEmail")]),
        ("{{ $mail := .User.GetEmail }}/{{ $mail }}", [(EMAIL, "$mail")]),
        ("{{ with .User }}/{{ .GetEmail }}{{ end }}", [(EMAIL, ".GetEmail")]),
        ("{{ with .User.GetEmail }}/{{ . }}{{ end }}", [(EMAIL, ".")]),
        ("{{ with $mail := .User.GetEmail }}/{{ $mail }}{{ end }}", [(EMAIL, "$mail")]),
        ("{{ range .User.GetGroups }}/{{ . }}{{ end }}", [(GROUPS, ".")]),
        ('{{ define "t" }}/{{ .GetEmail }}{{ end }}{{ template "t" .User }}', [(EMAIL, ".GetEmail")]),
        ("{{ if .User }}/{{ .User.GetEmail }}{{ else }}/guest{{ end }}", [(EMAIL, ".User.GetEmail")]),
        ('/{{ .User.GetEmail | replace "/" "/" }}', [(EMAIL, ".User.GetEmail")]),
        ('/{{ replace "/" .Key .User.GetEmail }}', [(EMAIL, ".User.GetEmail")]),
        ('/{{ .Key | replace "/" "" | printf "%s%s" .User.GetEmail }}', [(EMAIL, ".User.GetEmail")]),
        ("/{{ .User.GetEmail | b64enc }}", [(EMAIL, ".User.GetEmail")]),
        ('/{{ regexReplaceAll "[a-z]" .User.GetEmail "" }}', [(EMAIL, ".User.GetEmail")]),
        ('/{{ regexReplaceAll "[^a-z]" .User.GetEmail "/" }}', [(EMAIL, ".User.GetEmail")]),
        ('/{{ regexReplaceAll "([^a-z])" .User.GetEmail "$1" }}', [(EMAIL, ".User.GetEmail")]),
        ('/{{ regexReplaceAll "a" "b" .User.GetEmail }}', [(EMAIL, ".User.GetEmail")]),
        ('/{{ regexFind "[^@]+" .User.GetEmail }}', [(EMAIL, ".User.GetEmail")]),
        ('/{{ splitList "/" .User.GetEmail | join "/" }}', [(EMAIL, ".User.GetEmail")]),
        ('/{{ splitList "@" .User.GetEmail | first }}', [(EMAIL, ".User.GetEmail")]),
        ('/{{ get (dict "a" .User.GetEmail) "a" }}', [(EMAIL, ".User.GetEmail")]),
        ('{{ if contains "/" .User.GetEmail }}/{{ .User.GetEmail }}{{ end }}', [(EMAIL, ".User.GetEmail")]),
        ('{{ if ne .User.GetEmail "a" }}/{{ .User.GetEmail }}{{ end }}', [(EMAIL, ".User.GetEmail")]),
        ('{{ if regexMatch "[a-z]" .User.GetEmail }}/{{ .User.GetEmail }}{{ end }}', [(EMAIL, ".User.GetEmail")]),
        ('{{ if or .User (eq .User.GetEmail "a") }}/{{ .User.GetEmail }}{{ end }}', [(EMAIL, ".User.GetEmail")]),
        (
            '{{ if eq (.Request.Header.Get "A") "a" }}/{{ .Request.Header.Get "B" }}{{ end }}',
            [(HEADER, ".Request.Header.Get")],
        ),
        ("{{ if .User }}{{ else }}/{{ .Request.Referer }}{{ end }}", [(HEADER, ".Request.Referer")]),
        ("/{{ (index .User.GetGroups 0).X }}", [(GROUPS, ".User.GetGroups")]),
    ],
)
def test_what_becomes_part_of_the_key(template, found):
    """A value that a client chooses is found where it is printed, under whatever name, with its place."""
    assert _found(template) == found


@pytest.mark.parametrize(
    "template",
    [
        "/{{ .User.GetUsername }}/{{ .Groups.rest }}{{ .Key }}/{{ .Request.Host }}",
        "/{{ if .User.GetEmail }}a{{ end }}",
        '/{{ if eq (.Request.Header.Get "T") "blue" }}blue{{ end }}',
        "/{{ len .User.GetGroups }}",
        '/{{ .Request.Header.Get "X-Team" | replace "/" "" }}',
        "/{{ .User.GetEmail | sha256sum }}",
        "{{ $mail := .User.GetEmail }}/x",
        '{{ $x := .User.GetEmail }}{{ $x = "a" }}/{{ $x }}',
        '{{ if eq .User.GetEmail "a" }}/{{ .User.GetEmail }}{{ end }}',
        '{{ if has (.User.GetEmail) (list "a" "b") }}/{{ .User.GetEmail }}{{ end }}',
        '{{ template "t" }}{{ define "t" }}/{{ . }}{{ end }}',
        '{{ define "a" }}{{ template "b" . }}{{ end }}{{ define "b" }}{{ template "a" . }}{{ end }}{{ template "a" . }}',
        '{{ with (printf "a") }}/{{ . }}{{ end }}{{ with printf "a" | lower }}{{ . }}{{ end }}',
        '{{ range list "a" }}{{ continue }}{{ break }}{{ else }}b{{ end }}',
        "/{{ .User.GetEmail | b32enc }}",
        '/{{ regexReplaceAll "[^a-z]" .User.GetEmail "" }}/{{ regexReplaceAllLiteral "/+" .User.GetEmail "-" }}',
        '/{{ regexFind "[a-z]+" .User.GetEmail }}',
        '/{{ splitList "/" .User.GetEmail | first }}/{{ index (splitList "/" .User.GetEmail) 0 }}',
        '/{{ (split "/" .User.GetEmail)._0 }}/{{ last (.User.GetEmail | splitList "/") }}',
        '/{{ get (dict "a" "b") .User.GetEmail }}{{ index (dict "a" "b") .User.GetEmail }}',
        '{{ if contains "/" .User.GetEmail }}/x{{ else }}/{{ .User.GetEmail }}{{ end }}',
        '{{ if not (contains "/" .User.GetEmail) }}/{{ .User.GetEmail }}{{ end }}',
        '{{ if .User.GetEmail | contains "/" }}{{ else }}/{{ .User.GetEmail }}{{ end }}',
        '{{ if and .User (eq .User.GetEmail "a") }}/{{ .User.GetEmail }}{{ end }}',
        '{{ if ne .User.GetEmail "a" }}{{ else }}/{{ .User.GetEmail }}{{ end }}',
        '{{ if regexMatch "^[a-z]+$" .User.GetEmail }}/{{ .User.GetEmail }}{{ end }}',
        '{{ if eq (.Request.Header.Get "A") "a" }}/{{ .Request.Header.Get "A" }}{{ end }}',
        "/plain",
    ],
)
def test_what_is_only_asked_about_or_harmless(template):
    """What spans one segment, is compared with what is allowed, or loses its slashes is not an insertion."""
    assert _found(template) == []
