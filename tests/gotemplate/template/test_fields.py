"""Fields that data do not have are found before a template runs."""

import pytest

from gotemplate.sprig import RESULTS
from gotemplate.template.errors import RenderBudget
from gotemplate.template.fields import ENDLESS, FieldCheck
from gotemplate.template.parser import parse
from tornado_proxy.templates.go_data import sample


def _mistakes(text):
    check = FieldCheck(parse(text), sample(["one"], RenderBudget(ENDLESS)), "the data", RESULTS)
    for each in (*check.mistakes, *check.doubts):
        yield str(each), text[each.offset : each.end]


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("{{ .Nope }}", "the data has no field `Nope`", "Nope"),
        ("{{ $.Request.Nope }}", "`Request` has no field `Nope`", "Nope"),
        ("{{ with .Request }}{{ .Nope }}{{ end }}", "`*http.Request` has no field `Nope`", "Nope"),
        ("{{ with .Key }}{{ else }}{{ .Nope }}{{ end }}", "the data has no field `Nope`", "Nope"),
        ("{{ $r := .Request }}{{ if .Key }}{{ $r.Nope }}{{ end }}", "`*http.Request` has no field `Nope`", "Nope"),
        ("{{ range .Target.Mount.Path }}{{ .Nope }}{{ end }}", "`string` has no fields", "Nope"),
        ("{{ range $i, $x := .Target.Mount.Path }}{{ $x.Nope }}{{ end }}", "`string` has no fields", "Nope"),
        ("{{ range .Request.Header }}{{ range . }}{{ .Nope }}{{ end }}{{ end }}", "`string` has no fields", "Nope"),
        ('{{ (index .Request.Header "A").Nope }}', "`[]string` has no fields", "Nope"),
        ("{{ .Request.Header.A.Nope }}", "`A` has no fields", "Nope"),
        ("{{ (first .Target.Mount.Path).Nope }}", "`string` has no fields", "Nope"),
        ("{{ (.Target.Mount.Path | last).Nope }}", "`string` has no fields", "Nope"),
        ('{{ (toDate "2006" "2020").Zone }}', "`time.Time` has no field `Zone`", "Zone"),
        ('{{ ((toDate "2006" "2020").Month).Next }}', "`time.Month` has no field `Next`", "Next"),
        ('{{ (semver "1").IncPatch.Original }}', "`IncPatch` has no field `Original`", "Original"),
        ('{{ (semver "1").Scan 1 }}', "`*semver.Version` has no field `Scan`", "Scan"),
        ("{{ .Request.Header.Get }}", "wrong number of arguments for the method `Get`: 0", "Get"),
        ('{{ .Request.UserAgent "x" }}', "wrong number of arguments for the method `UserAgent`: 1", "UserAgent"),
        ('{{ template "a" .User }}{{ define "a" }}{{ $.Nope }}{{ end }}', "`models.GenericUser` has no field `Nope`", "Nope"),
        ('{{ include "a" .User }}{{ define "a" }}{{ .Nope }}{{ end }}', "`models.GenericUser` has no field `Nope`", "Nope"),
        ('{{ .User | include "a" }}{{ .Nope }}{{ define "a" }}{{ end }}', "the data has no field `Nope`", "Nope"),
        ("{{ print (.Nope) | upper }}", "the data has no field `Nope`", "Nope"),
    ],
)  # fmt: skip
def test_a_missing_field_is_found(text, message, place):
    """The mistake names what lacks the field, and the place of the name."""
    (found,) = _mistakes(text)
    assert found[0].startswith(message)
    assert found[1] == place


@pytest.mark.parametrize(
    "text",
    [
        "{{ .Groups.two.Nope }}{{ .Request.URL.User.Username }}{{ .Request.TLS }}",
        "{{ $x := .Request }}{{ range 2 }}{{ $x.User }}{{ $x = . }}{{ end }}{{ $x.Nope }}",
        "{{ range $x := .Key }}{{ $x.Nope }}{{ end }}{{ (dict).Nope }}{{ (print 1).Nope }}{{ (first).Nope }}",
        '{{ template "a" }}{{ template "b" . }}{{ include .Key . }}{{ define "a" }}{{ .Nope }}{{ end }}',
        '{{ define "unused" }}{{ .Nope }}{{ end }}{{ range 1 }}{{ break }}{{ end }}text',
        '{{ .Request.Header.Get "A" }}{{ "A" | .Request.Header.Get }}{{ (index).Nope }}{{ now }}{{ print now }}{{ nil | print }}',
        '{{ template "a" . }}{{ template "a" . }}{{ define "a" }}{{ .Key }}{{ template "a" . }}{{ end }}',
        "{{ with $x := .Request }}{{ $x.Method }}{{ end }}{{ $x.Nope }}{{ 1 }}{{ .User.GetGroups }}",
    ],
)
def test_what_may_have_a_field_is_accepted(text):
    """Nothing is reported about values whose type the data do not tell."""
    assert list(_mistakes(text)) == []


def test_a_template_is_checked_with_the_data_of_each_call():
    """A template that is called with two kinds of data has the mistakes of both."""
    text = '{{ template "a" .Key }}{{ template "a" .Target }}{{ define "a" }}{{ .Nope }}{{ end }}'
    assert sorted(message for message, _ in _mistakes(text))[1] == "`string` has no fields"


@pytest.mark.parametrize(
    "text",
    [
        "{{ if .Key }}{{ .Nope }}{{ end }}",
        "{{ with .Request }}{{ else }}{{ .Nope }}{{ end }}",
        '{{ if .Key }}{{ template "a" . }}{{ end }}{{ define "a" }}{{ .Nope }}{{ end }}',
        "{{ if .Key }}{{ else if .User }}{{ with .Request }}{{ .Nope }}{{ end }}{{ end }}",
    ],
)
def test_a_missing_field_below_a_condition_is_a_doubt(text):
    """A rendering that does not reach it is right."""
    check = FieldCheck(parse(text), sample([], RenderBudget(ENDLESS)), "the data", RESULTS)
    assert (check.mistakes, len(check.doubts)) == ([], 1)


def test_a_field_that_is_read_in_any_case_is_a_mistake():
    """A template that is called below a condition, and outside of one, always reads what it reads."""
    text = '{{ if .Key }}{{ template "a" . }}{{ end }}{{ template "a" . }}{{ define "a" }}{{ .Nope }}{{ end }}'
    check = FieldCheck(parse(text), sample([], RenderBudget(ENDLESS)), "the data", RESULTS)
    assert (len(check.mistakes), len(check.doubts)) == (1, 1)


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("{{ .User.Username }}", [("User", "Username", False)]),
        ("{{ if .User }}{{ .User.Username }}{{ end }}", [("User", "", True), ("User", "Username", True)]),
        ("{{ if not .User }}{{ else }}{{ $.User }}{{ end }}", [("User", "", True), ("User", "", True)]),
        ("{{ if .User | print }}{{ .User }}{{ end }}", [("User", "", False), ("User", "", False)]),
        ("{{ and .User .User.Email }}", [("User", "", True), ("User", "Email", True)]),
        ('{{ index .Groups "one" }}', [("Groups", "", False), ("Groups", '"one"', True)]),
        ('{{ get .Groups.one "x" }}', [("Groups", "one", False)]),
        ("{{ $data := . }}{{ $data.Key }}", [("Key", "", False)]),
        ("{{ $x := .Key }}{{ $x.Nope }}{{ (.).Key }}", [("Key", "", False), ("Key", "", False)]),
    ],
)
def test_readings_of_the_data_are_found(text, readings):
    """Each has its names with their places, and is safe if the optional field is there or is only tested."""
    check = FieldCheck(parse(text), sample(["one"], RenderBudget(ENDLESS)), "the data", RESULTS, optional="User")
    assert [(each.path[0], text[each.start : each.end], each.is_safe) for each in check.readings] == readings
