import pytest
from go_programs import GO, HELM, budget, failure, rendered

from gotemplate.template.errors import LimitError, TemplateMistake
from gotemplate.template.program import Program, definitions
from gotemplate.template.values import Map

DATA = {
    "L": [10, 20, 30],
    "E": [],
    "M": {"b": 2, "a": 1},
    "EM": {},
    "N": None,
    "S": "s",
    "W": [[1, 2], [3]],
}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("a{{.S}}b", "asb"),
        ("{{if .S}}y{{end}}{{if .E}}n{{else}}e{{end}}", "ye"),
        ("{{if .E}}1{{else if .S}}2{{else}}3{{end}}", "2"),
        ("{{with .S}}{{.}}{{end}}{{with .E}}x{{else}}{{.S}}{{end}}", "ss"),
        ("{{with .E}}x{{else with .M}}{{.a}}{{end}}", "1"),
        ("{{$x := 1}}{{if true}}{{$x := 2}}{{$x}}{{end}}{{$x}}", "21"),
        ("{{$x := 1}}{{if true}}{{$x = 2}}{{end}}{{$x}}", "2"),
        ("{{with $y := .S}}{{$y}}{{end}}", "s"),
    ],
)
def test_branches_depend_on_truth(text, result):
    """A variable ends with the body that declares it, and `with` sets the dot in its true branch."""
    assert rendered(text, DATA) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{range .L}}{{.}},{{end}}", "10,20,30,"),
        ("{{range $e := .L}}{{$e}}{{.}},{{end}}", "1010,2020,3030,"),
        ("{{range $i, $e := .L}}{{$i}}={{$e}},{{end}}", "0=10,1=20,2=30,"),
        ("{{range $k, $v := .M}}{{$k}}={{$v}},{{end}}", "a=1,b=2,"),
        ("{{$x := 0}}{{range $x = .L}}{{end}}{{$x}}", "30"),
        ("{{$i := 0}}{{$x := 0}}{{range $i, $x = .L}}{{end}}{{$i}}{{$x}}", "230"),
        ("{{range .E}}x{{else}}{{.S}}{{end}}{{range .EM}}{{else}}m{{end}}", "sm"),
        ("{{range .N}}x{{else}}n{{end}}{{range .Missing}}{{else}}m{{end}}", "nm"),
        ("{{range 3}}{{.}}{{end}}{{range $i := 2}}{{$i}}{{end}}", "01201"),
        ("{{range 0}}x{{else}}z{{end}}{{range -1}}x{{else}}n{{end}}", "zn"),
        ('{{range int64 2}}{{printf "%T " .}}{{end}}', "int64 int64 "),
        ("{{range .L}}{{if eq . 20}}{{continue}}{{end}}{{.}},{{end}}", "10,30,"),
        ("{{range .L}}{{if eq . 20}}{{break}}{{end}}{{.}},{{end}}after", "10,after"),
        ("{{range .W}}{{range .}}{{break}}{{end}}{{len .}}{{end}}", "21"),
        ("{{range .W}}[{{range .}}{{if eq . 1}}{{continue}}{{end}}{{.}}{{end}}]{{end}}", "[2][3]"),
        ("{{range .L}}{{$x := .}}{{end}}{{$x := 5}}{{$x}}", "5"),
        ("{{range .L}}{{range $.E}}{{else}}{{break}}{{end}}{{.}}{{end}}", "102030"),
        ("{{range .L}}{{range $.E}}{{else}}{{continue}}{{end}}{{.}}{{end}}", ""),
        ("{{$x := 1}}{{range .L}}{{$x = .}}{{end}}{{$x}}", "30"),
    ],
)
def test_ranges_visit_lists_maps_and_numbers(text, result):
    """Maps are visited by key; in an `else`, `break` ends that range and `continue` continues the outer range."""
    assert rendered(text, DATA) == result


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{range .S}}{{end}}", "a `range` cannot visit `string`"),
        ("{{range 1.5}}{{end}}", "a `range` cannot visit `float64`"),
        ("{{range true}}{{end}}", "a `range` cannot visit `bool`"),
        ("{{range $i, $e := 3}}{{end}}", "a `range` over a number takes one variable"),
        ("{{range $x = .L}}{{end}}", "the variable `$x` is not set yet, in `$x = .L`"),
    ],
)
def test_a_range_over_another_value_fails(text, message):
    """The error names the type of a value that a `range` cannot visit."""
    assert failure(text, DATA) == message


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ('{{define "a"}}[{{.}}]{{end}}{{template "a" .S}}{{template "a"}}', "[s][<no value>]"),
        ('{{define "a"}}{{template "b" .}}{{end}}{{define "b"}}B{{.S}}{{end}}{{template "a" .}}', "Bs"),
        ('{{define "a"}}{{$.S}}{{end}}{{template "a" .}}', "s"),
        ('{{block "a" .S}}<{{.}}>{{end}}{{template "a" 1}}', "<s><1>"),
        ('{{$x := 1}}{{define "a"}}{{$x := 2}}{{$x}}{{end}}{{template "a"}}{{$x}}', "21"),
        ('{{template "a" $x := .S}}{{$x}}{{define "a"}}{{end}}', "s"),
        ('{{range .L}}{{template "a" .}}{{end}}{{define "a"}}{{.}};{{end}}', "10;20;30;"),
    ],
)
def test_templates_are_called_by_name(text, result):
    """The argument of a call is the dot and the `$` of the called template."""
    assert rendered(text, DATA) == result


def test_a_program_runs_several_times():
    """A run does not see the variables of an earlier run."""
    program = Program("{{$x := .a}}{{$x}}", GO)
    assert [program.execute(Map({b"a": number}), budget()) for number in (1, 2)] == [b"1", b"2"]


def test_nil_data_have_no_value():
    """Nil data are written like a missing value."""
    assert rendered("{{.}}{{.x}}", None) == "<no value><no value>"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ('{{include "a" . | upper}}{{define "a"}}<{{.x}}>{{end}}', "<V>"),
        ('{{include "a" nil}}{{define "a"}}{{.}}{{end}}', "<no value>"),
        ('{{define "a"}}{{template "b" .}}{{end}}{{define "b"}}b{{.x}}{{end}}{{include "a" .}}', "bv"),
        ('{{tpl "{{.x | quote}}" .}}', '"v"'),
        ('{{tpl "{{include \\"a\\" .}}" .}}{{define "a"}}[{{template "b"}}]{{end}}{{define "b"}}b{{end}}', "[b]"),
        ("{{tpl .t .}}", "v"),
    ],
)
def test_the_output_of_a_template_may_be_a_value(text, result):
    """The functions `include` and `tpl` return the output of a defined template and of a text."""
    assert rendered(text, {"x": "v", "t": "{{.x}}"}) == result


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{{include "nope" .}}', 'unknown template `nope`, in `include "nope" .`'),
        ('{{tpl "{{template \\"a\\" .}}" .}}{{define "a"}}{{end}}', 'unknown template `a`, in `template "a" .`'),
        ('{{tpl "{{" .}}', 'an action is not closed, in `tpl "{{" .`'),
    ],
)
def test_a_missing_template_fails(text, message):
    """A text in `tpl` reaches the templates of the program with `include` only."""
    assert failure(text) == message


@pytest.mark.parametrize(
    "body",
    [
        "{{if .}}" * 95 + '{{template "a" .}}' + "{{end}}" * 95,
        "{{range 1}}" * 95 + '{{template "a" 1}}' + "{{end}}" * 95,
        "{{with 1}}" * 95 + '{{template "a" ' + "(" * 90 + "." + ")" * 90 + "}}" + "{{end}}" * 95,
        "{{" + "(print " * 95 + '(include "a" .)' + ")" * 95 + "}}",
        "{{" + "(or false " * 45 + '(include "a" .)' + ").d" * 45 + "}}",
        '{{template "a" .}}',
    ],
)
def test_a_template_that_calls_itself_ends(body):
    """A recursive template reaches the limit of nesting, whatever encloses the call."""
    text = '{{define "a"}}' + body + '{{end}}{{template "a" 1}}'
    with pytest.raises(LimitError, match="nests too deep"):
        Program(text, HELM).execute(None, budget(steps=10**9, depth=10**6))


def test_helpers_are_compiled_once():
    """Templates with the same helpers share the compiled ones, unless they define some themselves."""
    helpers = ('{{ define "one" }}1{{ template "two" }}{{ end }}{{ define "two" }}{{ end }}',)
    texts = ('{{ template "one" }}', 'a{{ template "one" }}', '{{ template "one" }}{{ define "two" }}2{{ end }}')
    first, second, other = (Program(text, HELM, definitions(helpers, HELM)) for text in texts)
    assert first.templates[b"one"] is second.templates[b"one"] is not other.templates[b"one"]
    written = [program.execute(None, budget()).strip() for program in (first, second, other)]
    assert written == [b"1", b"a1", b"12"]


def test_a_template_may_complete_its_helpers():
    """Helpers and template are one text, as in s3-proxy: what one opens the other may close."""
    before = definitions(("{{ if true }}a",), HELM)
    assert Program("b{{ end }}", HELM, before).execute(None, budget()) == b"a\nb"
    with pytest.raises(TemplateMistake, match="is not closed"):
        Program("b", HELM, before)


def test_a_mistake_of_helpers_is_one_of_each_template():
    """Each template with the helpers has their mistakes and certain failures."""
    before = definitions(('{{ define "a" }}{{ nope }}{{ upper }}{{ end }}',), HELM)
    for program in (Program("x", HELM, before), Program("y", HELM, before)):
        assert [str(each) for each in program.mistakes] == ["unknown function `nope`"]
        assert len(program.certain_failures) == 1
