import pytest
from go_programs import GO, HELM, budget, failure, written

from tornado_proxy.templates.errors import LimitError
from tornado_proxy.templates.golang.program import Program
from tornado_proxy.templates.golang.values import Map


def test_a_program_runs_any_number_of_times():
    """Nothing of one run is seen by the next."""
    program = Program("{{$x := .a}}{{$x}}", GO)
    assert [program.execute(Map({b"a": number}), budget()) for number in (1, 2)] == [b"1", b"2"]


def test_data_that_is_nil_is_no_value():
    """As what is missing."""
    assert written("{{.}}{{.x}}", None) == "<no value><no value>"


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
def test_what_a_template_writes_can_be_a_value(text, result):
    """One that is defined, or one made of a text."""
    assert written(text, {"x": "v", "t": "{{.x}}"}) == result


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{{include "nope" .}}', 'there is no template `nope`, in `include "nope" .`'),
        ('{{tpl "{{template \\"a\\" .}}" .}}{{define "a"}}{{end}}', 'there is no template `a`, in `template "a" .`'),
        ('{{tpl "{{" .}}', 'an action is not closed, in `tpl "{{" .`'),
    ],
)
def test_a_template_that_is_not_there_fails(text, message):
    """One made of a text knows those of the outermost by `include` only."""
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
def test_a_template_that_calls_itself_ends_before_python_s_limit(body):
    """It fails by its own count of frames, whatever stands around the call."""
    text = '{{define "a"}}' + body + '{{end}}{{template "a" 1}}'
    with pytest.raises(LimitError, match="nests too deep"):
        Program(text, HELM).execute(None, budget(steps=10**9, depth=10**6))
