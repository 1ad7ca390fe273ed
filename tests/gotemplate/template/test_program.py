import pytest
from go_programs import GO, HELM, budget, failure

from gotemplate.template.errors import LimitError, TemplateMistake
from gotemplate.template.program import Program, definitions
from gotemplate.template.values import ExecutionError, Map

DATA = {"L": [10, 20, 30], "E": [], "M": {"b": 2, "a": 1}, "EM": {}, "N": None, "S": "s", "W": [[1, 2], [3]]}


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
    assert failure(text, DATA) == message


def test_a_program_runs_several_times():
    """A run does not see the variables of an earlier run."""
    program = Program("{{$x := .a}}{{$x}}", GO)
    assert [program.execute(Map({b"a": number}), budget()) for number in (1, 2)] == [b"1", b"2"]


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


def test_python_data_are_rendered():
    """Numbers, texts, lists and mappings of Python become values of Go; another object is refused."""
    program = Program('{{ .n }} {{ .f }} {{ .t }} {{ index .l 1 }} {{ .b }} {{ printf "%T" .m }}', GO)
    data = {"n": 1, "f": 0.5, "t": "é", "l": (None, [True]), "b": b"x", "m": {1: None}}
    assert program.render(data) == "1 0.5 é [true] x map[string]interface {}"
    with pytest.raises(ExecutionError, match="`object` is not a value of a template"):
        program.render({"n": object()})
